//! Who is who: a number for each client, from 0 without gaps, and back. Memory grows
//! with clients, 24 bytes and an index each, and never with lines.
//!
//! Clients of a log are told apart by the gateway's own rules
//! ([`crate::logic::address`]); what is no address is a client by its text, as a host
//! name in an Apache log is.

use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use indexmap::{Equivalent, IndexSet};

use crate::logic::address::{Client, Hop};

/// Longest client that is no address: a host name has at most 253 (RFC 1035, 3.1).
pub const TEXT_MAX: usize = 255;
/// Most clients in one run: some 700 MB of names. Each algorithm needs as much again.
const NAMES_MAX: u32 = 1 << 24;

/// One client's name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Name {
    /// An address, a network of IPv6, or the unix socket.
    Client(Client),
    /// What is no address.
    Text(Box<str>),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(client) => client.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The same, borrowed: it must hash as [`Name`] does, so the variants stand in its order.
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

/// The address, or the unix socket as the gateway's own log names it.
pub fn hop(text: &str) -> Option<Hop> {
    if text == "unix" {
        return Some(Hop::Unix);
    }
    text.parse::<IpAddr>().ok().map(Hop::new)
}

impl Equivalent<Name> for Who<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        match (self, name) {
            (Self::Client(one), Name::Client(other)) => one == other,
            (Self::Text(one), Name::Text(other)) => **one == **other,
            (Self::Client(_), Name::Text(_)) | (Self::Text(_), Name::Client(_)) => false,
        }
    }
}

/// All the clients of one run.
#[derive(Clone, Default, Debug)]
pub struct Names {
    known: IndexSet<Name, RandomState>,
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
        let number = if let Some(number) = self.known.get_index_of(&who) {
            number
        } else {
            let name = match who {
                Who::Client(client) => Name::Client(client),
                Who::Text(text) => Name::Text(text.into()),
            };
            self.known.insert_full(name).0
        };
        u32::try_from(number)
            .ok()
            .filter(|number| *number < NAMES_MAX)
            .ok_or(TooMany)
    }

    /// The client of this number.
    pub fn name(&self, number: u32) -> Option<&Name> {
        self.known.get_index(usize::try_from(number).ok()?)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Nobody.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
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
        ] {
            assert_eq!(number(&mut names, text), expected, "{text}");
            assert_eq!(names.name(expected).unwrap().to_string(), shown);
        }
        assert_eq!((names.len(), names.name(6)), (6, None));
    }

    #[test]
    fn a_longer_prefix_tells_more_apart() {
        let mut names = Names::new();
        let mut of = |text| names.number(Who::read(text, 128)).unwrap();
        assert_ne!(of("2001:db8::1"), of("2001:db8::2"));
    }

    #[test]
    fn a_name_is_small() {
        assert!(size_of::<Name>() <= 24);
    }
}
