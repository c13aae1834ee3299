//! Who is the client: from the peer of a connection and the one forwarding
//! header that is read, to the holder of a bucket.
//!
//! A header is text that anybody may have written. It is read from its right
//! end, the end that a trusted proxy wrote, and nothing left of the first
//! address that is not trusted may ever change the answer. Arbitrary bytes
//! never panic here, nothing is allocated, and the time is linear in the
//! header's length.

mod member;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};

use member::{Member, split_first, split_last};

/// The well-known prefix of addresses that translate IPv4 (RFC 6052, 2.1).
const NAT64_PREFIX: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];

/// Bits before the IPv4 address in the two ranges that hold one.
const EMBEDDED_PREFIX_BITS: u8 = 96;

/// Where a request comes from: one network address, or a unix socket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hop {
    /// A network address, [`canonical`] where [`Hop::new`] made it.
    Ip(IpAddr),
    /// The other end of a unix socket, whoever that is.
    Unix,
}

impl Hop {
    /// The hop at this address, in its canonical form.
    pub fn new(ip: IpAddr) -> Self {
        Self::Ip(canonical(ip))
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(out),
            Self::Unix => out.pad("unix"),
        }
    }
}

/// One host, one address: `::ffff:a.b.c.d` (RFC 4291, 2.5.5.2) and
/// `64:ff9b::a.b.c.d` (RFC 6052, 2.1) become `a.b.c.d`, others stay.
pub fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => embedded(v6).map_or(ip, IpAddr::V4),
    }
}

/// The same for a network that lies inside one of those two ranges; others
/// stay, and so do larger ones around a range: `::/0` is every IPv6 address and
/// no IPv4 one. Host bits are cut off.
pub fn canonical_net(net: IpNet) -> IpNet {
    let net = net.trunc();
    let IpNet::V6(v6) = net else { return net };
    v6.prefix_len()
        .checked_sub(EMBEDDED_PREFIX_BITS)
        .zip(embedded(v6.addr()))
        .and_then(|(prefix, v4)| Ipv4Net::new(v4, prefix).ok())
        .map_or(net, IpNet::V4)
}

/// The IPv4 address inside an IPv6 one, if it is of a kind that has one.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    if v6.segments()[..6] == NAT64_PREFIX {
        let [.., a, b, c, d] = v6.octets();
        return Some(Ipv4Addr::new(a, b, c, d));
    }
    v6.to_ipv4_mapped()
}

/// One holder of a bucket: an IPv4 address, the first LEN bits of an IPv6 one,
/// or the unix socket.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client(Hop);

impl Client {
    /// Whoever comes through a unix socket.
    pub const UNIX: Self = Self(Hop::Unix);

    /// The address, its host bits zero, or the socket.
    pub fn hop(self) -> Hop {
        self.0
    }

    /// The client behind this hop. `ipv6_prefix` is in bits; above 128 it
    /// counts as 128.
    pub fn of(hop: Hop, ipv6_prefix: u8) -> Self {
        let Hop::Ip(ip) = hop else { return Self(hop) };
        Self(Hop::Ip(match canonical(ip) {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => {
                let host_bits = 128_u32.saturating_sub(u32::from(ipv6_prefix));
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        }))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Whose forwarding header is believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trusted {
    /// Canonical, without host bits.
    networks: Vec<IpNet>,
    unix: bool,
}

impl Trusted {
    /// Trusts these and nobody else.
    pub fn new(items: impl IntoIterator<Item = TrustedItem>) -> Self {
        let mut trusted = Self {
            networks: Vec::new(),
            unix: false,
        };
        for item in items {
            match item {
                TrustedItem::Net(net) => trusted.networks.push(canonical_net(net)),
                TrustedItem::Unix => trusted.unix = true,
            }
        }
        trusted
    }

    /// Whether this hop is one of them.
    pub fn contains(&self, hop: Hop) -> bool {
        match hop {
            Hop::Ip(ip) => {
                let ip = canonical(ip);
                self.networks.iter().any(|net| net.contains(&ip))
            }
            Hop::Unix => self.unix,
        }
    }
}

/// One entry of a list of trusted proxies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrustedItem {
    /// Every address of a network.
    Net(IpNet),
    /// Whoever comes through a unix socket.
    Unix,
}

/// Text that is no [`TrustedItem`]; says what it takes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is no network such as 10.0.0.0/8, no address such as 10.0.0.1 and not the word `unix`"
)]
pub struct NoTrustedItem(String);

impl FromStr for TrustedItem {
    type Err = NoTrustedItem;

    fn from_str(text: &str) -> Result<Self, NoTrustedItem> {
        if text == "unix" {
            return Ok(Self::Unix);
        }
        let net = text
            .parse()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        net.map(Self::Net)
            .map_err(|_| NoTrustedItem(text.to_owned()))
    }
}

impl fmt::Display for TrustedItem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) => net.fmt(out),
            Self::Unix => out.pad("unix"),
        }
    }
}

/// Which member of a forwarding header is the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The rightmost that is not trusted.
    Trusted,
    /// The leftmost. Only right behind a proxy that replaces what callers send.
    First,
}

/// How a forwarding header is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderKind {
    /// Addresses with commas between them: `x-forwarded-for`, and any header
    /// that carries a single address.
    List,
    /// `forwarded`, RFC 7239.
    Forwarded,
}

impl HeaderKind {
    /// How the header of this name is written. Case does not matter.
    pub fn of(name: &str) -> Self {
        if name.eq_ignore_ascii_case("forwarded") {
            Self::Forwarded
        } else {
            Self::List
        }
    }
}

/// Where a request really comes from.
///
/// `lines` are the values of the one header that is read, in the order in which
/// they came; together they are one list. An untrusted peer is itself the
/// answer, whatever the header says. Else the list is walked from its right
/// end: blank members are skipped, trusted addresses are passed, and the first
/// that is not trusted is the answer; when all are trusted, the leftmost is. A
/// member that is no address ends the walk where it stands, at the last good
/// hop. The answer is the peer or an address of the list, canonical.
pub fn find<'a>(
    peer: Hop,
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    kind: HeaderKind,
    order: Order,
    trusted: &Trusted,
) -> Hop {
    let peer = match peer {
        Hop::Ip(ip) => Hop::new(ip),
        Hop::Unix => Hop::Unix,
    };
    if !trusted.contains(peer) {
        return peer;
    }
    match order {
        Order::Trusted => walk(peer, lines, kind, trusted),
        Order::First => first(lines, kind).unwrap_or(peer),
    }
}

/// From the right end to the first hop that is not trusted.
fn walk<'a>(
    peer: Hop,
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    kind: HeaderKind,
    trusted: &Trusted,
) -> Hop {
    let mut hop = peer;
    for line in lines.rev() {
        let mut rest = Some(line);
        while let Some(members) = rest {
            let (left, member) = split_last(members, kind);
            rest = left;
            match Member::read(member, kind) {
                Member::Blank => {}
                Member::NoAddress => return hop,
                Member::Address(ip) => {
                    hop = Hop::new(ip);
                    if !trusted.contains(hop) {
                        return hop;
                    }
                }
            }
        }
    }
    hop
}

/// The first member that is not blank, if it is an address.
fn first<'a>(lines: impl Iterator<Item = &'a [u8]>, kind: HeaderKind) -> Option<Hop> {
    for line in lines {
        let mut rest = Some(line);
        while let Some(members) = rest {
            let (member, right) = split_first(members, kind)?;
            rest = right;
            match Member::read(member, kind) {
                Member::Blank => {}
                Member::NoAddress => return None,
                Member::Address(ip) => return Some(Hop::new(ip)),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
