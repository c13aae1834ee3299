//! Who is who: a number for each client, from 0 without gaps, and back. Memory grows
//! with clients and never with lines.
//!
//! Clients of a log are told apart by the gateway's own rules
//! ([`crate::logic::address`]); what is no address is a client by its text, as a host
//! name in an Apache log is.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use foldhash::fast::RandomState;
use indexmap::{Equivalent, IndexMap};

use crate::logic::address::{Client, Hop};

/// Longest client that is no address: a host name has at most 253 (RFC 1035, 3.1).
pub const TEXT_MAX: usize = 255;
/// Most clients in one run: some 600 MB of IPv4 addresses, or 1.5 GB of IPv6 networks.
const NAMES_MAX: u32 = 1 << 24;
/// Whatever is given as the prefix of an IPv6 network, it does not matter to IPv4.
const IPV4_BITS: u8 = 32;

/// One client, by the gateway's rules or by its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Who<'a> {
    /// An address, a network of IPv6, or the unix socket.
    Client(Client),
    /// What is no address.
    Text(&'a str),
}

impl<'a> Who<'a> {
    /// Who is meant by what stands in a log.
    pub fn read(text: &'a str, ipv6_prefix: u8) -> Self {
        match hop(text) {
            Some(hop) => Self::Client(Client::of(hop, ipv6_prefix)),
            None => Self::Text(text),
        }
    }
}

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(client) => client.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The address, or the unix socket as the gateway's own log names it.
pub fn hop(text: &str) -> Option<Hop> {
    if text == "unix" {
        return Some(Hop::Unix);
    }
    text.parse::<IpAddr>().ok().map(Hop::new)
}

/// The same, owned: it must hash as [`Who`] does, so its variants stand in the same order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Name {
    Client(Client),
    Text(Box<str>),
}

impl Name {
    fn who(&self) -> Who<'_> {
        match self {
            Self::Client(client) => Who::Client(*client),
            Self::Text(text) => Who::Text(text),
        }
    }
}

impl Equivalent<Name> for Who<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        *self == name.who()
    }
}

/// Where the client of a number stands.
#[derive(Clone, Copy, Debug)]
enum Place {
    V4(Ipv4Addr),
    Other(u32),
}

/// All the clients of one run.
#[derive(Clone, Default, Debug)]
pub struct Names {
    /// By number.
    places: Vec<Place>,
    /// Most clients of most logs, by their 32 bits: so packed that a look-up is one memory access.
    v4: HashMap<u32, u32, RandomState>,
    others: IndexMap<Name, u32, RandomState>,
}

/// More clients than one run takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more than {NAMES_MAX} clients")]
pub struct TooMany;

impl Names {
    /// Nobody known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of this client: the next one for a client not seen before.
    pub fn number(&mut self, who: Who<'_>) -> Result<u32, TooMany> {
        if let Who::Client(client) = who
            && let Hop::Ip(IpAddr::V4(address)) = client.hop()
        {
            if let Some(number) = self.v4.get(&address.to_bits()) {
                return Ok(*number);
            }
            let number = self.next()?;
            self.v4.insert(address.to_bits(), number);
            self.places.push(Place::V4(address));
            return Ok(number);
        }
        if let Some(number) = self.others.get(&who) {
            return Ok(*number);
        }
        let number = self.next()?;
        let name = match who {
            Who::Client(client) => Name::Client(client),
            Who::Text(text) => Name::Text(text.into()),
        };
        let place = u32::try_from(self.others.insert_full(name, number).0);
        self.places.push(Place::Other(place.map_err(|_| TooMany)?));
        Ok(number)
    }

    fn next(&self) -> Result<u32, TooMany> {
        let next = u32::try_from(self.places.len()).ok();
        next.filter(|next| *next < NAMES_MAX).ok_or(TooMany)
    }

    /// The client of this number.
    pub fn name(&self, number: u32) -> Option<Who<'_>> {
        Some(match self.places.get(number as usize)? {
            Place::V4(address) => {
                Who::Client(Client::of(Hop::new(IpAddr::V4(*address)), IPV4_BITS))
            }
            Place::Other(place) => self.others.get_index(*place as usize)?.0.who(),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Nobody.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(names: &mut Names, text: &str) -> u32 {
        names.number(Who::read(text, 64)).unwrap()
    }

    #[test]
    fn one_client_one_number() {
        let mut names = Names::new();
        for (text, expected, shown) in [
            ("192.0.2.1", 0, "192.0.2.1"),
            ("2001:db8:1:2::1", 1, "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::9", 1, "2001:db8:1:2::"),
            ("2001:db8:1:3::1", 2, "2001:db8:1:3::"),
            ("::ffff:192.0.2.1", 0, "192.0.2.1"),
            ("64:ff9b::192.0.2.1", 0, "192.0.2.1"),
            ("host.example.com", 3, "host.example.com"),
            ("unix", 4, "unix"),
            ("192.0.2.0/24", 5, "192.0.2.0/24"),
            ("host.example.com", 3, "host.example.com"),
            ("unix", 4, "unix"),
            ("192.0.2.2", 6, "192.0.2.2"),
            ("192.0.2.1", 0, "192.0.2.1"),
        ] {
            assert_eq!(number(&mut names, text), expected, "{text}");
            assert_eq!(names.name(expected).unwrap().to_string(), shown);
        }
        assert_eq!((names.len(), names.name(7)), (7, None));
    }

    #[test]
    fn a_longer_prefix_tells_more_apart() {
        let mut names = Names::new();
        let mut of = |text| names.number(Who::read(text, 128)).unwrap();
        assert_ne!(of("2001:db8::1"), of("2001:db8::2"));
    }

    #[test]
    fn a_number_is_small() {
        assert_eq!(size_of::<Place>(), 8);
        assert!(size_of::<Name>() <= 24);
    }
}
