//! Tables of what proxies and forgers send, and the properties that hold for
//! every header.

use super::*;
use proptest::prelude::*;

const FORGED: &str = "9.9.9.9";
const REAL: &str = "203.0.113.7";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn peer() -> Hop {
    Hop::new(ip("127.0.0.1"))
}

fn trusted(items: &[&str]) -> Trusted {
    Trusted::new(items.iter().map(|item| item.parse().unwrap()))
}

fn local() -> Trusted {
    trusted(&["127.0.0.0/8", "::1/128", "unix", "10.0.0.0/8"])
}

fn find_in(lines: &[&[u8]], kind: HeaderKind, order: Order) -> Hop {
    find(peer(), lines.iter().copied(), kind, order, &local())
}

fn list(header: &str) -> String {
    find_in(&[header.as_bytes()], HeaderKind::List, Order::Trusted).to_string()
}

fn forwarded(header: &str) -> String {
    find_in(&[header.as_bytes()], HeaderKind::Forwarded, Order::Trusted).to_string()
}

#[test]
fn lists() {
    let peer = "127.0.0.1";
    let cases = [
        ("9.9.9.1, 203.0.113.7", REAL),
        ("9.9.9.1,203.0.113.7", REAL),
        ("203.0.113.7,", REAL),
        (" ,\t203.0.113.7\t, ,", REAL),
        ("1.1.1.1, junk", peer),
        ("1.1.1.1, junk, 10.0.0.5", "10.0.0.5"),
        ("9.9.9.9, 203.0.113.7, 10.0.0.5, 127.0.0.9", REAL),
        ("10.0.0.4, 10.0.0.5", "10.0.0.4"),
        ("10.0.0.4, , 10.0.0.5", "10.0.0.4"),
        ("", peer),
        (" ", peer),
        (",", peer),
        ("a1", peer),
        ("unix", peer),
        ("\"9.9.9.9, 203.0.113.7\"", peer),
    ];
    for (header, client) in cases {
        assert_eq!(list(header), client, "{header:?}");
    }
}

#[test]
fn no_header_is_the_peer() {
    for order in [Order::Trusted, Order::First] {
        for kind in [HeaderKind::List, HeaderKind::Forwarded] {
            assert_eq!(find_in(&[], kind, order), peer());
        }
    }
}

#[test]
fn forms_of_an_address() {
    let cases = [
        ("1.2.3.4", Some("1.2.3.4")),
        ("1.2.3.4:5678", Some("1.2.3.4")),
        ("1.2.3.4:9", Some("1.2.3.4")),
        ("1.2.3.4:65535", Some("1.2.3.4")),
        ("\"1.2.3.4\"", Some("1.2.3.4")),
        ("2001:DB8::1", Some("2001:db8::1")),
        ("2001:db8:0:0:0:0:0:1", Some("2001:db8::1")),
        ("[2001:db8::1]", Some("2001:db8::1")),
        ("[2001:db8::1]:80", Some("2001:db8::1")),
        ("\"[2001:db8::1%25eth0]:80\"", Some("2001:db8::1")),
        ("fe80::1%eth0", Some("fe80::1")),
        ("fe80::1%eth1", Some("fe80::1")),
        ("::ffff:192.0.2.1", Some("192.0.2.1")),
        ("[::ffff:192.0.2.1]:443", Some("192.0.2.1")),
        ("64:ff9b::192.0.2.1", Some("192.0.2.1")),
        ("64:ff9b::808:808", Some("8.8.8.8")),
        ("64:ff9b::909:909", Some("9.9.9.9")),
        ("64:ff9b:1::909:909", Some("64:ff9b:1::909:909")),
        ("1.2.3.4:", None),
        ("1.2.3.4:65536", None),
        ("1.2.3.4:000080", None),
        ("1.2.3.4:+80", None),
        ("1.2.3.4:_http", None),
        ("1.2.3.4:80:80", None),
        ("1.2.3.4 5.6.7.8", None),
        ("01.2.3.4", None),
        ("1.2.3", None),
        ("16909060", None),
        ("1.2.3.4%eth0", None),
        ("[1.2.3.4]", None),
        ("[2001:db8::1", None),
        ("2001:db8::1]", None),
        ("[2001:db8::1]80", None),
        ("[2001:db8::1]:", None),
        ("[[2001:db8::1]]", None),
        ("fe80::1%", None),
        ("fe80::1%a b", None),
        ("\"1.2.3.4", None),
        ("1.2.3.4\"", None),
        ("\"", None),
        ("\"\"", None),
        ("\"\"1.2.3.4\"\"", None),
        ("unknown", None),
    ];
    for (member, address) in cases {
        assert_eq!(list(member), address.unwrap_or("127.0.0.1"), "{member}");
        // A member that is no address hides what stands left of it.
        let header = format!("9.9.9.9, {member}");
        assert_eq!(list(&header), address.unwrap_or("127.0.0.1"), "{header}");
    }
}

#[test]
fn several_lines_are_one_list() {
    for forged in 0..=255 {
        let forged = format!("9.9.9.{forged}");
        let lines = [forged.as_bytes(), REAL.as_bytes()];
        let found = find_in(&lines, HeaderKind::List, Order::Trusted);
        assert_eq!(found.to_string(), REAL);
    }
    let lines: [&[u8]; 4] = [b"9.9.9.9", b"203.0.113.7, 10.0.0.1", b"", b" , "];
    let found = find_in(&lines, HeaderKind::List, Order::Trusted);
    assert_eq!(found.to_string(), REAL);
    let lines: [&[u8]; 3] = [b"9.9.9.9", b"\xff\xfe", b"10.0.0.1"];
    let found = find_in(&lines, HeaderKind::List, Order::Trusted);
    assert_eq!(found.to_string(), "10.0.0.1");
}

#[test]
fn an_untrusted_peer_is_the_client() {
    let lines: [&[u8]; 1] = [b"9.9.9.9"];
    let stranger = Hop::Ip(ip("::ffff:198.51.100.1"));
    for order in [Order::Trusted, Order::First] {
        let found = find(
            stranger,
            lines.into_iter(),
            HeaderKind::List,
            order,
            &local(),
        );
        assert_eq!(found, Hop::new(ip("198.51.100.1")));
        let nobody = trusted(&[]);
        let found = find(
            Hop::Unix,
            lines.into_iter(),
            HeaderKind::List,
            order,
            &nobody,
        );
        assert_eq!(found, Hop::Unix);
    }
    let found = find(
        Hop::Unix,
        lines.into_iter(),
        HeaderKind::List,
        Order::Trusted,
        &local(),
    );
    assert_eq!(found.to_string(), FORGED);
}

#[test]
fn elements_of_rfc_7239() {
    let peer = "127.0.0.1";
    let cases = [
        ("for=203.0.113.7", REAL),
        ("For=203.0.113.7;proto=http;by=203.0.113.43", REAL),
        ("proto=https ; FOR=203.0.113.7 ;", REAL),
        ("for=\"203.0.113.7:4711\"", REAL),
        ("for=\"203.0.113.7:_x-1.y\"", REAL),
        ("for=203.0.113.7:80", REAL),
        ("for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
        ("for=9.9.9.9, for=203.0.113.7, for=10.0.0.1", REAL),
        ("for=9.9.9.9,, for=203.0.113.7 ,\t", REAL),
        ("for=10.0.0.2, for=10.0.0.1", "10.0.0.2"),
        ("for=9.9.9.9, for=unknown", peer),
        ("for=9.9.9.9, for=_hidden", peer),
        ("for=9.9.9.9, proto=http", peer),
        ("for=9.9.9.9, ;", peer),
        ("for=9.9.9.9, 8.8.8.8", peer),
        ("for=9.9.9.9;for=8.8.8.8", peer),
        ("for=9.9.9.9;For=\"9.9.9.9\"", peer),
        ("for=9.9.9.9;secret", peer),
        ("for=", peer),
        ("for=\"9.9.9.9:_\"", peer),
        ("for=\"9.9.9\\.9\"", peer),
        ("for=9.9.9.9;for=unknown, for=10.0.0.1", "10.0.0.1"),
    ];
    for (header, client) in cases {
        assert_eq!(forwarded(header), client, "{header}");
    }
}

#[test]
fn quotes_in_forwarded_cannot_forge_a_member() {
    let peer = "127.0.0.1";
    let cases = [
        ("for=203.0.113.7;host=\"x, for=9.9.9.9\"", REAL),
        ("for=203.0.113.7;host=\"x;for=9.9.9.9\"", REAL),
        ("for=203.0.113.7;host=\"x\\\", for=9.9.9.9\"", REAL),
        ("for=203.0.113.7;host=\"x\\\\\", for=10.0.0.1", REAL),
        ("for=203.0.113.7;host=\"x\\\\\\\", for=9.9.9.9\" ", REAL),
        ("for=203.0.113.7;host=\", for=9.9.9.9;x=\"", REAL),
        ("host=\"x, for=9.9.9.9\"", peer),
        // A quote left open by the caller, then what the proxy added.
        ("for=\"9.9.9.9, for=203.0.113.7", REAL),
        ("for=9.9.9.9, for=\", for=203.0.113.7", REAL),
        ("for=9.9.9.9, x=\", for=\"[2001:db8::1]\"", "2001:db8::1"),
        ("for=9.9.9.9, x=\"\\, for=\"[2001:db8::1]\"", "2001:db8::1"),
        ("x=\", for=1.1.1.1;host=\",for=9.9.9.9;x=\"", "1.1.1.1"),
        ("x=\", for=1.1.1.1;host=\",for=9.9.9.9;x=\\\"\"", "1.1.1.1"),
        ("x=\", for=1.1.1.1;host=\",for=9.9.9.9\"", "1.1.1.1"),
        ("\"for=9.9.9.9\"", peer),
        ("for= \"9.9.9.9\"", peer),
        ("for=9.9.9.9, x=\\", peer),
        ("for=9.9.9.9;x=a\\b", peer),
        ("for=9.9.9.9;x=\"a\"b", peer),
    ];
    for (header, client) in cases {
        assert_eq!(forwarded(header), client, "{header}");
    }
    let lines: [&[u8]; 2] = [b"for=9.9.9.9, x=\"", b"for=203.0.113.7"];
    let found = find_in(&lines, HeaderKind::Forwarded, Order::Trusted);
    assert_eq!(found.to_string(), REAL);
}

#[test]
fn the_first_member() {
    let peer = "127.0.0.1";
    let cases = [
        (HeaderKind::List, "9.9.9.9, 203.0.113.7", FORGED),
        (HeaderKind::List, ", ,[2001:db8::1]:80,", "2001:db8::1"),
        (HeaderKind::List, "10.0.0.1, 203.0.113.7", "10.0.0.1"),
        (HeaderKind::List, "junk, 203.0.113.7", peer),
        (HeaderKind::List, " , ", peer),
        (HeaderKind::Forwarded, "for=9.9.9.9, for=1.1.1.1", FORGED),
        (HeaderKind::Forwarded, "for=9.9.9.9, x=\"", FORGED),
        (HeaderKind::Forwarded, "for=9.9.9.9;x=\"a, b\"", FORGED),
        (HeaderKind::Forwarded, "x=\", for=9.9.9.9", peer),
        (HeaderKind::Forwarded, "x=\"a, b\", for=9.9.9.9", peer),
        (HeaderKind::Forwarded, "for=_a, for=9.9.9.9", peer),
    ];
    for (kind, header, client) in cases {
        let lines: [&[u8]; 3] = [b" ", header.as_bytes(), b"8.8.8.8"];
        let client = if header == " , " { "8.8.8.8" } else { client };
        let found = find_in(&lines, kind, Order::First);
        assert_eq!(found.to_string(), client, "{header}");
    }
}

#[test]
fn clients() {
    let of = |text: &str, prefix| Client::of(Hop::new(ip(text)), prefix);
    assert_eq!(of("2001:db8::1", 64), of("2001:db8::ffff:1", 64));
    assert_eq!(of("2001:db8::1", 64).to_string(), "2001:db8::");
    assert_ne!(of("2001:db8::1", 64), of("2001:db8:0:1::1", 64));
    assert_ne!(of("2001:db8::1", 128), of("2001:db8::2", 128));
    assert_ne!(of("2001:db8::1", 255), of("2001:db8::2", 255));
    assert_eq!(of("2001:db8::1", 127), of("2001:db8::", 127));
    assert_eq!(of("2001:db8::1", 0), of("fe80::1", 0));
    assert_ne!(of("192.0.2.1", 8), of("192.0.2.2", 8));
    assert_ne!(of("64:ff9b::808:808", 64), of("64:ff9b::909:909", 64));
    let mapped = Hop::Ip(ip("::ffff:192.0.2.1"));
    assert_eq!(Client::of(mapped, 64), of("192.0.2.1", 64));
    assert_eq!(Client::of(Hop::Unix, 64).to_string(), "unix");
}

#[test]
fn canonical_networks() {
    let cases = [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("::ffff:10.1.2.3/104", "10.0.0.0/8"),
        ("::ffff:10.1.2.3/128", "10.1.2.3/32"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("64:ff9b::192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:0:0/95", "::fffe:0:0/95"),
        ("::/0", "::/0"),
        ("2001:db8::1/97", "2001:db8::/97"),
    ];
    for (net, expected) in cases {
        let net = canonical_net(net.parse().unwrap());
        assert_eq!(net.to_string(), expected);
    }
}

#[test]
fn trusted_items() {
    let proxies = trusted(&["10.9.9.9/8", "192.0.2.1", "::ffff:198.51.100.0/120"]);
    for (address, is_trusted) in [
        ("10.1.1.1", true),
        ("::ffff:10.1.1.1", true),
        ("64:ff9b::10.1.1.1", true),
        ("192.0.2.1", true),
        ("192.0.2.2", false),
        ("198.51.100.9", true),
        ("::1", false),
    ] {
        let hop = Hop::Ip(ip(address));
        assert_eq!(proxies.contains(hop), is_trusted, "{address}");
    }
    assert!(!proxies.contains(Hop::Unix));
    assert!(trusted(&["unix"]).contains(Hop::Unix));
    for wrong in ["", "localhost", "10.0.0.0/33", "10.0.0", "Unix", "::1/129"] {
        let told = wrong.parse::<TrustedItem>().unwrap_err().to_string();
        assert!(told.starts_with(&format!("`{wrong}` is no network")));
        assert!(told.contains("10.0.0.0/8") && told.contains("`unix`"));
    }
    for same in ["10.0.0.0/8", "192.0.2.1/32", "unix"] {
        assert_eq!(same.parse::<TrustedItem>().unwrap().to_string(), same);
    }
}

#[test]
fn header_names() {
    assert_eq!(HeaderKind::of("Forwarded"), HeaderKind::Forwarded);
    assert_eq!(HeaderKind::of("x-forwarded-for"), HeaderKind::List);
    assert_eq!(HeaderKind::of("x-real-ip"), HeaderKind::List);
}

/// Bytes of which many matter to the parser.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b",;=\"\\ \t[]:%.0129afor".as_slice()),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..60)
}

fn kinds() -> impl Strategy<Value = HeaderKind> {
    prop_oneof![Just(HeaderKind::List), Just(HeaderKind::Forwarded)]
}

/// What trusted proxies wrote: one stranger, then some of themselves.
fn written_by_proxies(kind: HeaderKind, hops: u8, quoted: &str) -> String {
    let mut text = match kind {
        HeaderKind::List => REAL.to_owned(),
        HeaderKind::Forwarded => format!("for={REAL};host=\"{quoted}\""),
    };
    for hop in 0..hops {
        text += match kind {
            HeaderKind::List => ", 10.0.0.",
            HeaderKind::Forwarded => ", for=10.0.0.",
        };
        text += &hop.to_string();
    }
    text
}

proptest! {
    #[test]
    fn no_bytes_panic(
        lines in prop::collection::vec(prop_oneof![noise(), prop::collection::vec(any::<u8>(), 0..60)], 0..4),
        kind in kinds(),
    ) {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        find_in(&lines, kind, Order::Trusted);
        find_in(&lines, kind, Order::First);
    }

    #[test]
    fn nothing_left_of_the_first_untrusted_hop_is_read(
        forged in prop_oneof![noise(), Just(b"9.9.9.9, for=9.9.9.9".to_vec())],
        host in "[,;=x \\\\\"]{0,12}",
        hops in 0_u8..3,
        kind in kinds(),
    ) {
        let host = host.replace('\\', "\\\\").replace('"', "\\\"");
        let written = written_by_proxies(kind, hops, &host);
        let real = Hop::new(ip(REAL));
        let lines = [forged.as_slice(), written.as_bytes()];
        prop_assert_eq!(find_in(&lines, kind, Order::Trusted), real);
        let glued = [&forged, b", ".as_slice(), written.as_bytes()].concat();
        prop_assert_eq!(find_in(&[&glued], kind, Order::Trusted), real);
    }

    #[test]
    fn the_walk_is_a_fold_from_the_left(
        members in prop::collection::vec(prop_oneof![
            Just(None), Just(Some("junk")), Just(Some("10.0.0.1")), Just(Some("10.0.0.2")),
            Just(Some("9.9.9.9")), Just(Some("203.0.113.7")),
        ], 0..12),
        breaks in prop::collection::vec(any::<bool>(), 12),
        kind in kinds(),
    ) {
        // The same rule told the other way round: a member that is no address
        // forgets all before it, an untrusted one is the answer so far, and a
        // trusted one only while there is none.
        let mut expected = None;
        let mut header = String::new();
        for (member, line_break) in members.iter().zip(breaks) {
            match *member {
                None => {}
                Some("junk") => expected = None,
                Some(address) if !local().contains(Hop::new(ip(address))) => expected = Some(address),
                Some(address) => expected = expected.or(Some(address)),
            }
            let pair = if kind == HeaderKind::Forwarded { "for=" } else { "" };
            header += &member.map_or(String::new(), |member| format!("{pair}{member}"));
            header.push(if line_break { '\n' } else { ',' });
        }
        let lines: Vec<&[u8]> = header.split('\n').map(str::as_bytes).collect();
        let found = find_in(&lines, kind, Order::Trusted).to_string();
        prop_assert_eq!(found, expected.unwrap_or("127.0.0.1"));
    }

    #[test]
    fn every_form_of_an_address_is_that_address(v6 in any::<Ipv6Addr>(), v4 in any::<Ipv4Addr>(), port in any::<u16>()) {
        let forms = [
            (format!("{v6}"), IpAddr::V6(v6)),
            (format!("[{v6}]:{port}"), IpAddr::V6(v6)),
            (format!("\"[{v6}%eth0]:{port}\""), IpAddr::V6(v6)),
            (format!("{v4}:{port}"), IpAddr::V4(v4)),
            (format!("[::ffff:{v4}]:{port}"), IpAddr::V4(v4)),
            (format!("64:ff9b::{v4}"), IpAddr::V4(v4)),
        ];
        for (form, address) in forms {
            let list = find_in(&[form.as_bytes()], HeaderKind::List, Order::First);
            prop_assert_eq!(list, Hop::new(address));
            let element = format!("by=_x;for={form}");
            let found = find_in(&[element.as_bytes()], HeaderKind::Forwarded, Order::First);
            prop_assert_eq!(found, Hop::new(address));
        }
    }
}
