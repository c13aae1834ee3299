//! Gates 1 and 2: what a body may be. Whatever it is, nothing refused here costs a ticket.

use std::io::Write as _;

use serde_json::json;

use super::{
    BODY_MAX, ONE_TICKET, Watched, assert_refused, chunked, has_rate_limit_headers, look,
    too_large, turn_of,
};
use crate::harness::Gateway;
use crate::http::{Connection, Request};

/// Small inputs: what gate 2 refuses, with a sentence that says what and where.
#[test]
fn misshapen_turns_are_told_what_is_wrong_and_take_no_ticket() {
    let deep = format!(r#"{{"kind":"look","x":{}"#, "[".repeat(30_000));
    let level_65 = format!(
        r#"{{"kind":"look","x":{}{}}}"#,
        "[".repeat(64),
        "]".repeat(64)
    );
    let long = format!(r#"{{"kind":"say","input":"{}"}}"#, "語".repeat(201));
    let misshapen: &[(&[u8], &str)] = &[
        (b"", "empty"),
        (b" \r\n", "empty"),
        (deep.as_bytes(), "too deep"),
        (level_65.as_bytes(), "too deep"),
        (br#"{"a":1,"a":2}"#, "\"a\" is there twice"),
        (
            br#"{"kind":"say","\u006bind":"look"}"#,
            "\"kind\" is there twice",
        ),
        (br#"["say","x"]"#, "not a JSON object"),
        (br#""say""#, "not a JSON object"),
        (b"{\"kind\":\"say\",\"input\":\"a\nb\"}", "line 2"),
        (b"{\"kind\":\"say\",\"input\":\"a\0b\"}", "line 1 column 25"),
        (b"{\"kind\":\"say\",\"input\":\"a\tb\"}", "line 1 column 25"),
        (b"\xef\xbb\xbf{\"kind\":\"look\"}", "byte order mark"),
        (
            b"{\"kind\":\"look\",\"x\":\"\xff\"}",
            "not UTF-8 at byte 21",
        ),
        (br#"{"kind":"look","x":"\ud800"}"#, "not valid JSON"),
        (br#"{"kind":"look","x":1e999}"#, "not valid JSON"),
        (br#"{"kind":"look"}{}"#, "line 1 column 16"),
        (br#"{"kind":"look""#, "line 1 column 14"),
        (br#"{"x":1}"#, "`kind` is missing"),
        (br#"{"kind":"new"}"#, "/api/new"),
        (br#"{"kind":"fly"}"#, "\"fly\""),
        (br#"{"kind":1}"#, "`kind` is not a string"),
        (br#"{"kind":"say","input":1}"#, "`input` is not a string"),
        (long.as_bytes(), "`input` is longer than 200"),
    ];
    let watched = Watched::start(&ONE_TICKET);
    for (body, says) in misshapen {
        let reply = watched.gateway.send(&Request::turn(body));
        let sentence = assert_refused(&reply, "bad_shape");
        assert!(sentence.contains(says), "{sentence:?} does not say {says}");
        assert!(!has_rate_limit_headers(&reply), "it reached gate 3");
    }
    let well_formed = "{\"kind\":\"say\",\n\t\"input\":\"\u{2028}\"\r\n}\n";
    assert_eq!(watched.gateway.turn(well_formed).status, 200);
    let second = watched.gateway.turn(well_formed);
    assert_refused(&second, "rate_limited");
    let one_line = "{\"kind\":\"say\", \t\"input\":\"\u{2028}\"  }";
    assert_eq!(watched.lines_seen(), [one_line], "one turn, on one line");
}

/// 413, 408 and what comes before the gates: the engine sees nothing and the ticket stays.
#[test]
fn nothing_refused_before_gate_3_takes_a_ticket_or_reaches_the_engine() {
    let options = [&ONE_TICKET[..], &["--body-timeout", "400ms"]].concat();
    let watched = Watched::start(&options);
    let valid = r#"{"kind":"look"}"#;
    let stalled = Request::turn(valid).header("Content-Length", "100");
    let expecting = look().header("Expect", "a miracle");
    let coded = || look().header("Content-Encoding", "gzip");
    let twice_hosted = || look().header("Host", "a").header("Host", "b");
    let two_codings = Request::turn("").header("Transfer-Encoding", "gzip, chunked");
    for (request, code) in [
        (too_large(), "body_too_large"),
        (Request::turn(turn_of(BODY_MAX + 1)), "body_too_large"),
        (chunked(&turn_of(BODY_MAX + 1)), "body_too_large"),
        (stalled, "body_timeout"),
        (expecting, "expectation_failed"),
        (coded(), "bad_request"),
        (twice_hosted(), "bad_request"),
        (two_codings, "bad_request"),
        (Request::new("POST", "/api/no").body(valid), "not_found"),
        (
            Request::new("PUT", "/api/turn").body(valid),
            "method_not_allowed",
        ),
    ] {
        let reply = watched.gateway.send(&request);
        assert_refused(&reply, code);
        assert!(!has_rate_limit_headers(&reply), "{code} reached gate 3");
    }
    assert_eq!(
        watched.gateway.turn(valid).status,
        200,
        "the ticket is there"
    );
    assert_eq!(watched.lines_seen(), [valid]);
}

#[test]
fn the_limit_of_a_body_is_exact() {
    let gateway = Gateway::unlimited(&[]).start();
    let fits = turn_of(BODY_MAX);
    for request in [Request::turn(&fits), chunked(&fits)] {
        let reply = gateway.send(&request);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json()["saw"], json!(format!("{fits}\n")));
    }
    let over = turn_of(BODY_MAX + 1);
    for request in [Request::turn(&over), chunked(&over)] {
        let sentence = assert_refused(&gateway.send(&request), "body_too_large");
        assert!(sentence.contains("65536"), "{sentence}");
    }
    let tight = Gateway::unlimited(&["--max-body", "30"]).start();
    assert_eq!(tight.turn(&turn_of(30)).status, 200);
    assert_refused(&tight.turn(&turn_of(31)), "body_too_large");
}

/// Neither waits for a byte of the body, nor asks for it.
#[test]
fn a_length_over_the_limit_is_refused_before_the_body() {
    let gateway = Gateway::unlimited(&["--body-timeout", "1h"]).start();
    let announced = Request::turn("").header("Content-Length", "65537");
    let mut connection = Connection::open(gateway.address()).unwrap();
    let reply = connection.send(&announced).unwrap();
    assert_refused(&reply, "body_too_large");
    assert_eq!(reply.header("connection"), Some("close"));
    // Who waits to be asked never is, and has nothing more to wait for.
    let mut connection = Connection::open(gateway.address()).unwrap();
    let polite = announced.header("Expect", "100-continue");
    let reply = connection.send(&polite).unwrap();
    assert_refused(&reply, "body_too_large");
    assert!(connection.is_closed());
    // Who is within the limit is asked to go on.
    let body = r#"{"kind":"look","mark":"m"}"#;
    let length = body.len().to_string();
    let polite = Request::turn("")
        .header("Content-Length", &length)
        .header("Expect", "100-continue");
    let mut connection = Connection::open(gateway.address()).unwrap();
    assert_eq!(connection.send(&polite).unwrap().status, 100);
    connection.stream.write_all(body.as_bytes()).unwrap();
    let reply = connection.read(false).unwrap();
    assert_eq!(reply.json()["mark"], "m");
}

/// A chunked body is refused as soon as it passes the limit, without its end.
#[test]
fn a_chunked_body_is_refused_as_soon_as_it_passes_the_limit() {
    let gateway = Gateway::unlimited(&["--max-body", "10"]).start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let unended = Request::turn("b\r\n{\"kind\":\"lo\r\n").header("Transfer-Encoding", "chunked");
    let reply = connection.send(&unended).unwrap();
    assert_refused(&reply, "body_too_large");
}

/// A client that is still sending gets to read its 413, and then the end.
#[test]
fn who_is_still_sending_reads_the_413() {
    let gateway = Gateway::unlimited(&[]).start();
    let large = "x".repeat(4_000_000);
    for request in [Request::turn(&large), chunked(&large)] {
        let mut connection = Connection::open(gateway.address()).unwrap();
        let reply = connection.send(&request).unwrap();
        assert_refused(&reply, "body_too_large");
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(connection.is_closed());
    }
}

#[test]
fn a_body_that_stalls_is_told_so() {
    let gateway = Gateway::unlimited(&["--body-timeout", "100ms"]).start();
    let stalls = [
        Request::turn(r#"{"kind""#).header("Content-Length", "15"),
        Request::turn("3\r\n{\"k\r\n").header("Transfer-Encoding", "chunked"),
    ];
    for request in stalls {
        let mut connection = Connection::open(gateway.address()).unwrap();
        let reply = connection.send(&request).unwrap();
        assert_refused(&reply, "body_timeout");
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(connection.is_closed());
    }
}
