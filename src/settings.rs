//! The values that flags take: how each is written, and a sentence for each that is
//! not. Knows nothing of other flags, opens nothing, resolves no names.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use bytesize::ByteSize;
use clap::ValueEnum;
use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use ipnet::IpNet;
use serde::de::IgnoredAny;

use crate::logic::address::{Hop, Order, canonical_net};
use crate::logic::bucket::{Burst, Cost, Limit, Rate};
use crate::logic::queue;

/// Longest duration that a flag takes.
const DURATION_MAX: Duration = Duration::from_hours(24);
/// Largest size that a flag takes, in bytes.
const SIZE_MAX: u64 = 1 << 30;

/// `10s`, `500ms`, `1m 30s`: 1 ms to 24 h.
///
/// # Errors
/// A sentence.
pub fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .ok()
        .filter(|d| (Duration::from_millis(1)..=DURATION_MAX).contains(d))
        .ok_or_else(|| "takes a duration such as 10s, 500ms or 2m, from 1ms to 24h".to_owned())
}

/// `65536`, `64KiB`, `1MiB`: 1 byte to 1 GiB.
///
/// # Errors
/// A sentence.
pub fn size(text: &str) -> Result<usize, String> {
    text.parse::<ByteSize>()
        .ok()
        .filter(|size| (1..=SIZE_MAX).contains(&size.as_u64()))
        .and_then(|size| usize::try_from(size.as_u64()).ok())
        .ok_or_else(|| "takes a size such as 65536, 64KiB or 1MiB, from 1B to 1GiB".to_owned())
}

/// A whole number in a range.
pub fn count(
    least: usize,
    most: usize,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| {
        text.parse()
            .ok()
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| format!("takes a whole number from {least} to {most}"))
    }
}

/// The name of a request header.
///
/// # Errors
/// A sentence.
pub fn header_name(text: &str) -> Result<HeaderName, String> {
    HeaderName::from_str(text)
        .map_err(|_| "takes the name of a header, such as x-forwarded-for or x-real-ip".to_owned())
}

/// A host's name as a browser would send it, in small letters.
///
/// # Errors
/// A sentence.
pub fn host_name(text: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    if text.split('.').all(is_label) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("takes a host's name without a port, such as status.example.com".to_owned())
    }
}

/// One place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAt {
    /// An address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl ListenAt {
    /// Any port will do.
    pub fn has_free_port(&self) -> bool {
        matches!(self, Self::Tcp(address) if address.port() == 0)
    }
}

impl FromStr for ListenAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("unix:") {
            Some(path) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(_) => {
                Err("takes unix: with an absolute path, such as unix:/run/kidoban.sock".into())
            }
            None => text.parse().map(Self::Tcp).map_err(|_| {
                "takes IP:PORT such as 127.0.0.1:8787 or [::1]:8787, or unix:/path/to.sock".into()
            }),
        }
    }
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// An origin as browsers send it, or any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `*`
    Any,
    /// `https://example.com`
    One(HeaderValue),
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const TAKES: &str = "takes an origin as browsers send it, in small letters and without a \
                             path, such as https://example.com or http://localhost:3000, or *";
        if text == "*" {
            return Ok(Self::Any);
        }
        let uri: Uri = text.parse().map_err(|_| TAKES)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(TAKES.into());
        };
        // Browsers compare by letter: only the exact spelling can ever match.
        if text != format!("{scheme}://{authority}")
            || text.contains(['@', ' '])
            || text.bytes().any(|b| b.is_ascii_uppercase())
        {
            return Err(TAKES.into());
        }
        HeaderValue::from_str(text)
            .map(Self::One)
            .map_err(|_| TAKES.into())
    }
}

/// `CIDR=RATE:BURST` or `CIDR=off`
#[derive(Clone, Debug)]
pub struct LimitFor {
    /// Canonical.
    pub network: IpNet,
    /// None exempts it.
    pub limit: Option<Limit>,
}

impl FromStr for LimitFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const TAKES: &str = "takes CIDR=RATE:BURST such as 192.0.2.0/24=20:40, or CIDR=off";
        let (network, limit) = text.split_once('=').ok_or(TAKES)?;
        let network = network
            .parse()
            .or_else(|_| network.parse().map(IpNet::from as fn(IpAddr) -> IpNet))
            .map_err(|_| TAKES)?;
        let network = canonical_net(network);
        if limit == "off" {
            return Ok(Self {
                network,
                limit: None,
            });
        }
        let (rate, burst) = limit.rsplit_once(':').ok_or(TAKES)?;
        let rate: Rate = rate.parse().map_err(|why| format!("the rate {why}"))?;
        let burst: Burst = burst.parse().map_err(|why| format!("the burst {why}"))?;
        let limit = Some(Limit::new(rate, burst)?);
        Ok(Self { network, limit })
    }
}

/// `KIND=N`
#[derive(Clone, Debug)]
pub struct CostOf {
    /// Which kind of turn.
    pub kind: String,
    /// How many tickets.
    pub cost: Cost,
}

impl FromStr for CostOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, cost) = text
            .split_once('=')
            .filter(|(kind, _)| !kind.is_empty())
            .ok_or("takes KIND=N such as say=2 or look=0.5")?;
        let cost = cost.parse().map_err(|why| format!("the cost {why}"))?;
        let kind = kind.to_owned();
        Ok(Self { kind, cost })
    }
}

/// `NAME=VALUE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Never empty.
    pub name: String,
    /// May be empty.
    pub value: String,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, value)| {
                !name.is_empty() && !name.contains('\0') && !value.contains('\0')
            })
            .ok_or("takes NAME=VALUE")?;
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// A line of JSON for the engine, its line end included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe(pub Bytes);

impl FromStr for Probe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        if !is_json || text.contains(['\n', '\r']) {
            return Err(r#"takes one line of JSON such as {"kind":"new"}"#.to_owned());
        }
        Ok(Self(format!("{text}\n").into()))
    }
}

/// Which waiting turn is next.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum QueueOrder {
    /// Round robin over clients, newcomers first
    Fair,
    /// In order of arrival
    Fifo,
}

impl From<QueueOrder> for queue::Order {
    fn from(order: QueueOrder) -> Self {
        match order {
            QueueOrder::Fair => Self::Fair,
            QueueOrder::Fifo => Self::Fifo,
        }
    }
}

/// Which entry of a forwarding header is the client.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForwardedFor {
    /// The rightmost that is not a trusted proxy
    Trusted,
    /// The leftmost: only right behind a proxy that replaces what callers send
    First,
}

impl From<ForwardedFor> for Order {
    fn from(which: ForwardedFor) -> Self {
        match which {
            ForwardedFor::Trusted => Self::Trusted,
            ForwardedFor::First => Self::First,
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON lines otherwise
    Auto,
    /// Text
    Text,
    /// JSON lines
    Json,
}

/// How much of a client's address is logged.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogClient {
    /// The address
    Full,
    /// Its network: an IPv4 /24, an IPv6 /48
    Prefix,
    /// Nothing
    Off,
}

impl LogClient {
    /// What stands in the log of this client.
    pub fn shows(self, client: Hop) -> Option<String> {
        match (self, client) {
            (Self::Off, _) => None,
            (Self::Full, _) | (Self::Prefix, Hop::Unix) => Some(client.to_string()),
            (Self::Prefix, Hop::Ip(address)) => {
                let bits = match address {
                    IpAddr::V4(_) => 24,
                    IpAddr::V6(_) => 48,
                };
                let network = IpNet::new(address, bits).ok()?;
                Some(network.trunc().to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_have_bounds() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("64kB"), Ok(64_000));
        for bad in ["", "0s", "25h", "10", "-1s", "1 fortnight"] {
            assert!(duration(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "0", "2GiB", "-1", "many"] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn origins_are_what_a_browser_sends() {
        for good in [
            "https://example.com",
            "http://localhost:3000",
            "http://[::1]:80",
        ] {
            assert!(good.parse::<Origin>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "example.com",
            "https://example.com/",
            "https://Example.com",
            "https://u@h",
            "https://*.example.com/x",
            "null",
            "https://",
            "https://a b",
        ] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }

    #[test]
    fn host_names_have_no_port_and_no_path() {
        assert_eq!(
            host_name("Status.Example.com").as_deref(),
            Ok("status.example.com")
        );
        for bad in [
            "", ".", "a..b", "a:80", "a/b", "http://a", "a b", "*", "[::1]",
        ] {
            assert!(host_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn limits_for_networks() {
        let school: LimitFor = "192.0.2.0/24=30/min:40".parse().unwrap();
        assert_eq!(school.limit.unwrap().rate().to_string(), "30/min");
        let host: LimitFor = "2001:db8::/48=20:40".parse().unwrap();
        assert_eq!(host.network.to_string(), "2001:db8::/48");
        let mapped: LimitFor = "::ffff:192.0.2.0/120=off".parse().unwrap();
        assert_eq!(mapped.network.to_string(), "192.0.2.0/24");
        assert!(mapped.limit.is_none());
        for bad in [
            "",
            "192.0.2.0/24",
            "192.0.2.0/33=off",
            "x=off",
            "10.0.0.0/8=2",
            "10.0.0.0/8=0:2",
            "10.0.0.0/8=2:0",
        ] {
            assert!(bad.parse::<LimitFor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn how_much_of_an_address_is_shown() {
        let v4 = Hop::new("192.0.2.77".parse().unwrap());
        let v6 = Hop::new("2001:db8:1:2::77".parse().unwrap());
        let show = |hop, how: LogClient| how.shows(hop).unwrap_or_default();
        assert_eq!(show(v4, LogClient::Full), "192.0.2.77");
        assert_eq!(show(v4, LogClient::Prefix), "192.0.2.0/24");
        assert_eq!(show(v6, LogClient::Prefix), "2001:db8:1::/48");
        assert_eq!(show(v6, LogClient::Off), "");
        assert_eq!(show(Hop::Unix, LogClient::Prefix), "unix");
    }
}
