//! Who is the client, through the real program: two turns pass, a third of the same
//! client does not.

use std::os::unix::net::UnixStream;

use crate::gates::assert_refused;
use crate::harness::{Gateway, Running};
use crate::http::{Connection, Request};

/// Two tickets and no third within the hour, however slow the machine is.
const TWO_TICKETS: [&str; 4] = ["--rate", "1/h", "--burst", "2"];
const XFF: &str = "X-Forwarded-For";

/// A turn with these header lines.
fn turn(lines: &[(&str, &str)]) -> Request {
    let request = Request::turn(r#"{"kind":"look"}"#);
    lines.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    })
}

fn start(options: &[&str]) -> Running {
    Gateway::with(&[&TWO_TICKETS[..], options].concat()).start()
}

/// Codes of three turns with these header lines each, at a gateway of their own; empty is a 200.
fn codes_of_three(options: &[&str], turns: [&[(&str, &str)]; 3]) -> [String; 3] {
    let gateway = start(options);
    turns.map(|lines| gateway.send(&turn(lines)).code())
}

/// The third turn is refused: all three are one client.
fn one_client(options: &[&str], turns: [&[(&str, &str)]; 3]) {
    let codes = codes_of_three(options, turns);
    assert_eq!(codes, ["", "", "rate_limited"], "{options:?} {turns:?}");
}

/// a, a and b: b is somebody else.
fn two_clients(options: &[&str], a: &[(&str, &str)], b: &[(&str, &str)]) {
    let codes = codes_of_three(options, [a, a, b]);
    assert_eq!(codes, ["", "", ""], "{options:?} {a:?} {b:?}");
}

/// Three different values of `X-Forwarded-For` that lead to one client.
#[test]
fn what_is_left_of_the_client_cannot_change_who_it_is() {
    for [a, b, c] in [
        [
            "9.9.9.1, 203.0.113.7",
            "9.9.9.2, 203.0.113.7",
            "9.9.9.3, 203.0.113.7",
        ],
        ["1.1.1.1, junk", "1.1.1.2, junk", "1.1.1.3, junk"],
        ["", " ", ","],
        ["a1", "a2", "a3"],
        [
            "9.9.9.1,127.0.0.1, junk",
            "9.9.9.2,junk , 127.0.0.1",
            "9.9.9.3,1.2.3.4.5",
        ],
        [
            "1.1.1.1,127.0.0.1",
            "9.9.9.9, 1.1.1.1, ::1",
            "1.1.1.1, 127.9.9.9",
        ],
    ] {
        one_client(&[], [&[(XFF, a)], &[(XFF, b)], &[(XFF, c)]]);
    }
}

#[test]
fn one_address_however_it_is_written() {
    for (a, b) in [
        ("1.2.3.4:5678", "1.2.3.4:9"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:80", "\"2001:db8::1\""),
        ("fe80::1%eth0", "fe80::1%eth1"),
        ("2001:DB8::1", "2001:db8:0:0:0:0:0:1"),
        ("203.0.113.7,", "203.0.113.7"),
        ("10.9.9.9,203.0.113.7", "10.9.9.9, 203.0.113.7"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("64:ff9b::192.0.2.1", "192.0.2.1"),
        ("64:ff9b::c000:201", "[::ffff:192.0.2.1]:443"),
    ] {
        let (a, b) = (&[(XFF, a)][..], &[(XFF, b)][..]);
        one_client(&[], [a, a, b]);
    }
}

#[test]
fn different_clients_stay_different() {
    for (a, b) in [
        ("203.0.113.9, 198.51.100.1", "203.0.113.9"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2"),
        ("64:ff9b::808:808", "64:ff9b::909:909"),
        ("203.0.113.9", "203.0.113.10"),
        ("2001:db8::1", "2001:db8:0:1::1"),
        ("203.0.113.9", "junk"),
    ] {
        two_clients(&[], &[(XFF, a)], &[(XFF, b)]);
    }
}

#[test]
fn several_header_lines_are_one_list() {
    let lines = |first| [(XFF, first), ("x-forwarded-for", "203.0.113.7")];
    one_client(
        &[],
        [&lines("9.9.9.1"), &lines("9.9.9.2"), &lines("9.9.9.3")],
    );
    // The last line is all trusted: the walk goes on in the line before it.
    let through = |first| [(XFF, first), (XFF, "127.0.0.1, "), (XFF, "")];
    two_clients(&[], &through("203.0.113.7"), &through("203.0.113.8"));
}

/// Given at all, `--trusted-proxy` replaces the default.
#[test]
fn trusted_proxies_are_passed_and_the_first_other_is_the_client() {
    let ours = ["--trusted-proxy", "127.0.0.1,198.51.100.0/24"];
    let chain = |left| format!("{left}, 203.0.113.9, 198.51.100.1, ::ffff:198.51.100.2");
    let gateway = start(&ours);
    for (left, expected) in [("9.9.9.1", 200), ("9.9.9.2", 200), ("9.9.9.3", 429)] {
        let reply = gateway.send(&turn(&[(XFF, &chain(left))]));
        assert_eq!(reply.status, expected, "{left}");
    }
    let logged = gateway.wait_for_log("a turn", |record| record["message"] == "turn");
    assert_eq!(logged["client"], "203.0.113.9");
    // ::1 is trusted by default, and not here: it is the client, whoever stands left of it.
    let walks_on = ("9.9.9.1, ::1", "9.9.9.2, ::1");
    let (a, b) = (&[(XFF, walks_on.0)][..], &[(XFF, walks_on.1)][..]);
    one_client(&ours, [a, a, b]);
    two_clients(&[], a, b);
}

/// A header from anybody else is ignored, and a warning says so once.
#[test]
fn an_untrusted_peer_is_the_client_whatever_it_says() {
    let gateway = start(&["--trusted-proxy", "10.0.0.0/8,unix"]);
    let codes = ["9.9.9.1", "9.9.9.2", "9.9.9.3"]
        .map(|client| gateway.send(&turn(&[(XFF, client)])).code());
    assert_eq!(codes, ["", "", "rate_limited"]);
    gateway.wait_for_log("the refusal", |record| record["code"] == "rate_limited");
    let records = gateway.log_records();
    let warnings = records.iter().filter(|record| {
        let message = record["message"].as_str().unwrap_or_default();
        record["level"] == "WARN" && message.contains("--trusted-proxy")
    });
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["peer"], "127.0.0.1");
    let clients = records
        .iter()
        .filter(|record| record["route"] == "/api/turn");
    let clients: Vec<_> = clients.map(|record| &record["client"]).collect();
    assert_eq!(clients, ["127.0.0.1"; 3]);
}

/// Only the one header is ever read.
#[test]
fn other_headers_say_nothing() {
    const FORWARDED: &str = "Forwarded";
    const REAL: &str = "X-Real-IP";
    let headers = [
        ("x-forwarded-for", XFF),
        ("forwarded", FORWARDED),
        ("X-Real-IP", REAL),
    ];
    for (flag, read) in headers {
        let options = ["--client-ip-header", flag];
        let value = |name, client: &str| match name {
            FORWARDED => format!("for={client}"),
            _ => client.to_owned(),
        };
        for (_, name) in headers {
            let clients = ["9.9.9.1", "9.9.9.2"].map(|client| value(name, client));
            let [a, b] = clients.each_ref().map(|client| [(name, client.as_str())]);
            if name == read {
                two_clients(&options, &a, &b);
            } else {
                one_client(&options, [&a, &a, &b]);
            }
        }
    }
}

#[test]
fn the_header_of_rfc_7239() {
    let options = ["--client-ip-header", "forwarded"];
    let name = "forwarded";
    for (a, b) in [
        (
            "for=192.0.2.1",
            "For=\"192.0.2.1:443\";proto=https;by=10.0.0.1",
        ),
        ("for=9.9.9.1, for=192.0.2.1", "for=9.9.9.2,for=192.0.2.1"),
        ("for=\"[2001:db8::1]:80\"", "host=x;for=\"[2001:db8::1]\""),
        ("for=9.9.9.1, for=unknown", "for=9.9.9.2, for=_hidden"),
        (
            "for=9.9.9.1, proto=http",
            "for=9.9.9.2, proto=\"a,for=1.1.1.1\"",
        ),
    ] {
        let (a, b) = (&[(name, a)][..], &[(name, b)][..]);
        one_client(&options, [a, a, b]);
    }
    two_clients(
        &options,
        &[(name, "for=9.9.9.1;by=\"a, b\"")],
        &[(name, "for=9.9.9.2;by=\"a, b\"")],
    );
}

#[test]
fn the_leftmost_entry_where_that_is_asked_for() {
    let options = ["--forwarded-for", "first"];
    let (a, b) = ("203.0.113.9, 198.51.100.1", "203.0.113.9, 198.51.100.2");
    let (other, same) = ("203.0.113.8, 198.51.100.1", " ,203.0.113.9");
    one_client(&options, [&[(XFF, a)], &[(XFF, b)], &[(XFF, same)]]);
    two_clients(&options, &[(XFF, a)], &[(XFF, other)]);
    // No address there: the peer, and nobody further right.
    let (a, b) = (&[(XFF, "junk, 9.9.9.1")][..], &[(XFF, "a1, 9.9.9.2")][..]);
    one_client(&options, [a, a, b]);
    two_clients(&[], a, b);
}

#[test]
fn peers_on_a_unix_socket_are_one_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kidoban.sock");
    let listen = format!("127.0.0.1:0,unix:{}", path.display());
    let gateway = start(&["--listen", &listen]);
    let send = |lines: &[(&str, &str)]| {
        let stream = UnixStream::connect(&path).unwrap();
        Connection::over(stream).send(&turn(lines)).unwrap()
    };
    assert_eq!(send(&[]).status, 200);
    assert_eq!(send(&[]).status, 200);
    assert_refused(&send(&[]), "rate_limited");
    let logged = gateway.wait_for_log("a turn", |record| record["message"] == "turn");
    assert_eq!(logged["client"], "unix");
    assert_eq!(gateway.send(&turn(&[])).status, 200, "TCP is somebody else");
    assert_eq!(send(&[(XFF, "203.0.113.7")]).status, 200, "it is trusted");

    // Given at all, --trusted-proxy replaces the default: `unix` is not among them.
    let listen = format!("127.0.0.1:0,unix:{}", path.with_extension("2").display());
    let gateway = start(&["--listen", &listen, "--trusted-proxy", "127.0.0.1"]);
    let codes = ["9.9.9.1", "9.9.9.2", "9.9.9.3"].map(|client| {
        let stream = UnixStream::connect(path.with_extension("2")).unwrap();
        let reply = Connection::over(stream).send(&turn(&[(XFF, client)]));
        reply.unwrap().code()
    });
    assert_eq!(codes, ["", "", "rate_limited"]);
    drop(gateway);
}
