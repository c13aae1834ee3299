//! Which requests of a log are looked at: by client, path and time. Knows no log format.

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;

use super::names::{Who, hop};
use super::time;
use crate::logic::address::{Client, Hop, canonical_net};
use crate::logic::bucket::Nanos;

/// All that a request must be. By default everything passes.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    /// One of these; empty is anybody.
    pub clients: Vec<ClientFilter>,
    /// What the path begins with, as the log has it, query included.
    pub path: Option<String>,
    /// Not before.
    pub since: Option<Moment>,
    /// Not then and not after.
    pub until: Option<Moment>,
}

impl Filter {
    /// Does it end before it begins?
    pub fn is_without_time(&self) -> bool {
        let times = self.since.zip(self.until);
        times.is_some_and(|(since, until)| until.0 <= since.0)
    }

    /// Whether this request is looked at.
    pub fn passes(&self, at: Nanos, client: &str, path: &[u8], ipv6_prefix: u8) -> bool {
        self.since.is_none_or(|since| at >= since.0)
            && self.until.is_none_or(|until| at < until.0)
            && self
                .path
                .as_ref()
                .is_none_or(|prefix| path.starts_with(prefix.as_bytes()))
            && (self.clients.is_empty()
                || self
                    .clients
                    .iter()
                    .any(|wanted| wanted.passes(client, ipv6_prefix)))
    }
}

/// One client, or a network of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientFilter {
    /// Whoever shares a bucket with this address.
    Like(Hop),
    /// Any address of this network. Canonical.
    In(IpNet),
    /// What is no address, exactly.
    Named(String),
}

impl ClientFilter {
    fn passes(&self, client: &str, ipv6_prefix: u8) -> bool {
        match self {
            Self::Like(wanted) => {
                Who::Client(Client::of(*wanted, ipv6_prefix)) == Who::read(client, ipv6_prefix)
            }
            Self::In(network) => match hop(client) {
                Some(Hop::Ip(address)) => network.contains(&address),
                Some(Hop::Unix) | None => false,
            },
            Self::Named(name) => name == client,
        }
    }
}

impl FromStr for ClientFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(hop) = hop(text) {
            return Ok(Self::Like(hop));
        }
        if let Ok(network) = text.parse() {
            return Ok(Self::In(canonical_net(network)));
        }
        // It was to be an address or a network. Names are left as they are: `unix:`, `42`.
        let is_dotted = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.contains('.');
        let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
            hop(host).is_some() && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
        });
        if text.is_empty() || text.contains('/') || is_dotted || has_port {
            return Err(
                "takes an address such as 192.0.2.1, a network such as 192.0.2.0/24, \
                        or a name as it stands in the log"
                    .to_owned(),
            );
        }
        Ok(Self::Named(text.to_owned()))
    }
}

impl fmt::Display for ClientFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Like(hop) => hop.fmt(f),
            Self::In(network) => network.fmt(f),
            Self::Named(name) => name.fmt(f),
        }
    }
}

/// A moment of the calendar, in nanoseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment(pub Nanos);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim().as_bytes();
        time::stamp(text)
            .map(|stamp| stamp.at)
            .or_else(|| time::date(text))
            .map(Self)
            .ok_or_else(|| {
                "takes a moment such as 2026-10-17T13:55:00+02:00, or a date such as 2026-10-17, \
                 in UTC where it says nothing else"
                    .to_owned()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_client(text: &str) -> Filter {
        Filter {
            clients: text.split(' ').map(|one| one.parse().unwrap()).collect(),
            ..Filter::default()
        }
    }

    #[test]
    fn clients_are_one_a_network_or_a_name() {
        for (filter, client, passes) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1 192.0.2.2", "192.0.2.2", true),
            ("2001:db8::1", "2001:db8::ffff:9", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("192.0.2.0/24", "192.0.2.77", true),
            ("192.0.2.0/24", "192.0.3.77", false),
            ("::ffff:192.0.2.0/120", "192.0.2.77", true),
            ("2001:db8::/127", "2001:db8::2", false),
            ("192.0.2.0/24", "host.example.com", false),
            ("host.example.com", "host.example.com", true),
            ("host.example.com", "host", false),
            ("unix", "unix", true),
            ("0.0.0.0/0", "unix", false),
        ] {
            assert_eq!(
                by_client(filter).passes(5, client, b"/", 64),
                passes,
                "{filter} {client}"
            );
        }
        assert!("".parse::<ClientFilter>().is_err());
    }

    #[test]
    fn paths_begin_and_times_are_half_open() {
        let filter = Filter {
            path: Some("/api/".into()),
            since: Some("1970-01-02".parse().unwrap()),
            until: Some("1970-01-02T00:00:01+00:00".parse().unwrap()),
            ..Filter::default()
        };
        let day = 86_400_000_000_000;
        for (at, path, passes) in [
            (day, "/api/turn", true),
            (day, "/api", false),
            (day - 1, "/api/turn", false),
            (day + 999_999_999, "/api/turn", true),
            (day + 1_000_000_000, "/api/turn", false),
        ] {
            assert_eq!(
                filter.passes(at, "x", path.as_bytes(), 64),
                passes,
                "{at} {path}"
            );
        }
        for bad in ["", "yesterday", "13:55", "2026-10"] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
    }
}
