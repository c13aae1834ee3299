//! The members of a forwarding header: where each one ends, and which address
//! it names. Two grammars, plain lists and RFC 7239.
//!
//! Whatever is not clearly an address is none.

use std::net::{IpAddr, Ipv6Addr};
use std::str;

use super::HeaderKind;

/// A port is at most 65535.
const PORT_DIGITS_MAX: usize = 5;

/// What stands between two commas.
pub(super) enum Member {
    Blank,
    NoAddress,
    Address(IpAddr),
}

impl Member {
    /// Surrounding spaces and tabs are no part of a member.
    pub(super) fn read(member: &[u8], kind: HeaderKind) -> Self {
        let member = trim(member);
        if member.is_empty() {
            return Self::Blank;
        }
        let node = match kind {
            HeaderKind::List => Some(member),
            HeaderKind::Forwarded => node_of(member),
        };
        node.and_then(|node| address_of(node, kind))
            .map_or(Self::NoAddress, Self::Address)
    }
}

/// The member left of the first comma, and what is right of it. `None` if the
/// quoting goes wrong before a comma is reached.
pub(super) fn split_first(members: &[u8], kind: HeaderKind) -> Option<(&[u8], Option<&[u8]>)> {
    let comma = match kind {
        HeaderKind::List => members.iter().position(|byte| *byte == b','),
        HeaderKind::Forwarded => unquoted(members, b',')?,
    };
    Some(match comma {
        Some(at) => (&members[..at], Some(&members[at + 1..])),
        None => (members, None),
    })
}

/// What is left of the last comma, and the member right of it.
///
/// Quotes are counted from the right end: a proxy closes all that it opens, so whatever
/// a caller left open further left changes nothing about what stands right of it.
pub(super) fn split_last(members: &[u8], kind: HeaderKind) -> (Option<&[u8]>, &[u8]) {
    let mut quoted = false;
    let comma = members.iter().enumerate().rposition(|(at, byte)| {
        // No quoting in a plain list: a quote around a comma makes no address.
        if kind == HeaderKind::Forwarded && *byte == b'"' && !is_escaped(members, at) {
            quoted = !quoted;
        }
        *byte == b',' && !quoted
    });
    match comma {
        Some(at) => (Some(&members[..at]), &members[at + 1..]),
        None => (None, members),
    }
}

/// Whether an odd number of backslashes stands before this place. Outside of
/// quotes a proxy writes none.
fn is_escaped(line: &[u8], at: usize) -> bool {
    let slashes = line[..at].iter().rev().take_while(|byte| **byte == b'\\');
    slashes.count() % 2 == 1
}

/// Where the first `separator` outside of quotes stands, if there is one; `None`
/// if the quoting goes wrong before it.
///
/// A quoted string (RFC 9110, 5.6.4) opens right after a `=`, and only white
/// space and then a `,`, a `;` or the end may follow it.
#[allow(clippy::option_option)] // Two different kinds of nothing, read at once by `?`.
fn unquoted(text: &[u8], separator: u8) -> Option<Option<usize>> {
    enum At {
        Token,
        Equals,
        Quoted,
        Escaped,
        Closed,
    }
    let mut state = At::Token;
    for (at, byte) in text.iter().enumerate() {
        state = match (state, *byte) {
            (At::Token | At::Equals | At::Closed, byte) if byte == separator => {
                return Some(Some(at));
            }
            (At::Equals | At::Escaped, b'"') | (At::Escaped, _) => At::Quoted,
            (At::Token | At::Closed, b'"') | (At::Token | At::Equals, b'\\') => return None,
            (At::Token | At::Equals, b'=') => At::Equals,
            (At::Token | At::Equals, _) | (At::Closed, b',' | b';') => At::Token,
            (At::Quoted, b'\\') => At::Escaped,
            (At::Quoted, b'"') | (At::Closed, b' ' | b'\t') => At::Closed,
            (At::Quoted, _) => At::Quoted,
            (At::Closed, _) => return None,
        };
    }
    match state {
        At::Token | At::Equals | At::Closed => Some(None),
        At::Quoted | At::Escaped => None,
    }
}

/// The value of the one `for` in an element of RFC 7239, 4. `None` if there is
/// none, if there are two, or if the element is not made of pairs.
fn node_of(element: &[u8]) -> Option<&[u8]> {
    let mut node = None;
    let mut rest = Some(element);
    while let Some(pairs) = rest {
        let end = unquoted(pairs, b';')?;
        let (pair, right) = match end {
            Some(at) => (&pairs[..at], Some(&pairs[at + 1..])),
            None => (pairs, None),
        };
        rest = right;
        let pair = trim(pair);
        if pair.is_empty() {
            continue;
        }
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        if !trim(&pair[..equals]).eq_ignore_ascii_case(b"for") {
            continue;
        }
        if node.is_some() {
            return None;
        }
        node = Some(&pair[equals + 1..]);
    }
    node
}

/// The address in `1.2.3.4`, `1.2.3.4:port`, `v6`, `v6%zone`, `[v6]`,
/// `[v6%zone]` or `[v6]:port`, all of that perhaps in double quotes (RFC 7239,
/// 6). A backslash is no part of any.
fn address_of(node: &[u8], kind: HeaderKind) -> Option<IpAddr> {
    let node = match node {
        [b'"', inner @ .., b'"'] => inner,
        _ => node,
    };
    let node = str::from_utf8(node).ok()?;
    let (ip, port) = if let Some(bracketed) = node.strip_prefix('[') {
        let (v6, after) = bracketed.split_once(']')?;
        let port = match after {
            "" => None,
            after => Some(after.strip_prefix(':')?),
        };
        (IpAddr::V6(without_zone(v6)?), port)
    } else if let Some(v6) = without_zone(node) {
        (IpAddr::V6(v6), None)
    } else {
        let (v4, port) = match node.split_once(':') {
            Some((v4, port)) => (v4, Some(port)),
            None => (node, None),
        };
        (IpAddr::V4(v4.parse().ok()?), port)
    };
    port.is_none_or(|port| is_port(port, kind)).then_some(ip)
}

/// An IPv6 address; a zone (RFC 6874) is dropped, since it names an interface
/// of somebody else's host.
fn without_zone(text: &str) -> Option<Ipv6Addr> {
    let Some((v6, zone)) = text.split_once('%') else {
        return text.parse().ok();
    };
    let is_zone = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    (!zone.is_empty() && zone.bytes().all(is_zone))
        .then(|| v6.parse().ok())
        .flatten()
}

/// `node-port` of RFC 7239, 6: digits, and in that header also `_` and a name.
fn is_port(port: &str, kind: HeaderKind) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if let (HeaderKind::Forwarded, Some(name)) = (kind, port.strip_prefix('_')) {
        return !name.is_empty() && name.bytes().all(is_name);
    }
    (1..=PORT_DIGITS_MAX).contains(&port.len())
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok()
}

/// Without spaces and tabs at both ends (OWS of RFC 9110, 5.6.3).
fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
