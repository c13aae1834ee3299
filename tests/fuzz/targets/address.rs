//! Who is the client, from any header lines: never a panic, and never an address that is
//! neither the peer nor in the list. What stands left of an untrusted last entry changes nothing.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use kidoban::logic::address::{HeaderKind, Hop, Order, Trusted, TrustedItem, find};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let trusted = Trusted::new(["127.0.0.0/8", "::1/128"].map(|net| {
        let Ok(item) = net.parse::<TrustedItem>() else {
            unreachable!("a network")
        };
        item
    }));
    let peer = Hop::new(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let lines = || data.split(|byte| *byte == b'\n');
    for kind in [HeaderKind::List, HeaderKind::Forwarded] {
        for order in [Order::Trusted, Order::First] {
            let _ = find(peer, lines(), kind, order, &trusted);
        }
        let last: &[u8] = match kind {
            HeaderKind::List => b"203.0.113.7",
            HeaderKind::Forwarded => b"for=203.0.113.7",
        };
        let with_last = lines().chain([last]);
        let with_last: Vec<&[u8]> = with_last.collect();
        let found = find(peer, with_last.into_iter(), kind, Order::Trusted, &trusted);
        let real = Hop::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7)));
        assert_eq!(found, real);
        let glued = [data, b",", last].concat();
        let glued = glued.split(|byte| *byte == b'\n');
        assert_eq!(find(peer, glued, kind, Order::Trusted, &trusted), real);
        let untrusted = Hop::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
        assert_eq!(find(untrusted, lines(), kind, Order::Trusted, &trusted), untrusted);
    }
});
