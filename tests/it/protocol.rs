//! HTTP as the gateway takes it: what is refused before it is a turn, and what is closed.

use std::io::{Read, Write};

use crate::harness::{Gateway, Running};
use crate::http::{Connection, Reply, Request};

const LOOK: &str = r#"{"kind":"look"}"#;

/// Sends bytes as they are: the answer, and whether the connection is closed after it.
fn raw(gateway: &Running, bytes: impl AsRef<[u8]>) -> (Reply, bool) {
    let mut connection = Connection::open(gateway.address()).unwrap();
    connection.stream.write_all(bytes.as_ref()).unwrap();
    let reply = connection.read(false).unwrap();
    let closed = connection.is_closed();
    (reply, closed)
}

/// A turn's head with these lines, and its body.
fn turn(version: &str, lines: &str) -> String {
    let length = LOOK.len();
    format!("POST /api/turn HTTP/{version}\r\n{lines}Content-Length: {length}\r\n\r\n{LOOK}")
}

#[test]
fn a_head_has_a_limit_in_bytes_and_in_fields() {
    let gateway = Gateway::unlimited(&[]).start();
    let with_fields = |fields: usize| {
        let lines = (0..fields).map(|n| format!("X-{n}: y\r\n"));
        let lines = lines.collect::<Vec<_>>().concat();
        format!("GET /api/health HTTP/1.1\r\nHost: h\r\n{lines}\r\n")
    };
    let with_bytes = |bytes: usize| {
        let start = "GET /api/health HTTP/1.1\r\nHost: h\r\nX-Fill: ";
        let fill = "f".repeat(bytes - start.len() - 4);
        format!("{start}{fill}\r\n\r\n")
    };
    let answered = |head: String| {
        let reply = raw_open(&gateway, &head);
        assert_eq!(reply.status, 200, "{} bytes: {reply:?}", head.len());
    };
    answered(with_fields(63));
    answered(with_bytes(15 * 1024));
    for head in [with_fields(64), with_fields(200), with_bytes(17 * 1024)] {
        let (reply, closed) = raw(&gateway, &head);
        assert_eq!(reply.status, 431, "{} bytes: {reply:?}", head.len());
        assert!(closed);
    }
}

/// The same for an answer after which the connection stays.
fn raw_open(gateway: &Running, bytes: &str) -> Reply {
    let mut connection = Connection::open(gateway.address()).unwrap();
    connection.stream.write_all(bytes.as_bytes()).unwrap();
    let reply = connection.read(false).unwrap();
    let again = connection.send(&Request::get("/api/health"));
    assert!(again.is_ok(), "the connection stays after {reply:?}");
    reply
}

#[test]
fn a_target_has_a_limit() {
    let gateway = Gateway::unlimited(&[]).start();
    let with_target = |bytes: usize| {
        let target = format!("/api/health?{}", "q".repeat(bytes - "/api/health?".len()));
        format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")
    };
    assert_eq!(raw_open(&gateway, &with_target(8 * 1024)).status, 200);
    let (reply, closed) = raw(&gateway, with_target(8 * 1024 + 1));
    assert_eq!((reply.status, reply.code().as_str()), (414, "bad_request"));
    assert!(closed);
}

#[test]
fn a_head_that_could_be_read_two_ways_is_refused_and_closed() {
    let gateway = Gateway::with(&["--rate", "1/h", "--burst", "1"]).start();
    let chunked = format!("{:x}\r\n{LOOK}\r\n0\r\n\r\n", LOOK.len());
    let te = |lines: &str| format!("POST /api/turn HTTP/1.1\r\nHost: h\r\n{lines}\r\n{chunked}");
    for bytes in [
        turn("1.1", ""),
        turn("1.1", "Host: a\r\nHost: a\r\n"),
        turn("1.1", "Host: a, b\r\n"),
        turn("1.1", "Host: \r\n"),
        turn("1.1", "Host: user@h\r\n"),
        turn("1.1", "Host: h\r\nContent-Encoding: gzip\r\n"),
        turn("1.1", "Host: h\r\nContent-Encoding: identity\r\n"),
        te("Transfer-Encoding: chunked, chunked\r\n"),
        te("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        te("Transfer-Encoding: gzip, chunked\r\n"),
    ] {
        let (reply, closed) = raw(&gateway, &bytes);
        assert_eq!(reply.status, 400, "{bytes:?}: {reply:?}");
        assert_eq!(reply.code(), "bad_request", "{bytes:?}");
        assert_eq!(reply.header("connection"), Some("close"), "{bytes:?}");
        assert!(closed, "{bytes:?}");
    }
    for bytes in [
        turn("1.1", "Host: h\r\nContent-Length: 3\r\n"),
        turn("1.1", "Host: h\r\nno colon\r\n"),
        turn("1.1", "Host: h\r\nX: a\r\n folded\r\n"),
        turn("1.1", "Host : h\r\n"),
        te("Transfer-Encoding: identity\r\n"),
        "GARBAGE\r\n\r\n".to_owned(),
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n".to_owned(),
    ] {
        let (reply, closed) = raw(&gateway, &bytes);
        assert_eq!(reply.status, 400, "{bytes:?}: {reply:?}");
        assert!(closed, "{bytes:?}");
    }
    let reply = raw_open(&gateway, &te("Transfer-Encoding: chunked\r\n"));
    assert_eq!(reply.status, 200, "the one ticket was left: {reply:?}");
}

/// A coding wins over a length (RFC 9112, 6.3), and whatever stands behind such a body is not answered.
#[test]
fn a_length_beside_a_coding_counts_for_nothing_and_closes() {
    let gateway = Gateway::unlimited(&[]).start();
    let chunked = format!("{:x}\r\n{LOOK}\r\n0\r\n\r\n", LOOK.len());
    let smuggled = turn("1.1", "Host: h\r\n");
    for lines in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 400\r\n",
    ] {
        let mut connection = Connection::open(gateway.address()).unwrap();
        let head = format!("POST /api/turn HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
        let bytes = format!("{head}{chunked}{smuggled}");
        connection.stream.write_all(bytes.as_bytes()).unwrap();
        let reply = connection.read(false).unwrap();
        assert_eq!(reply.json()["saw"], format!("{LOOK}\n"), "{lines:?}");
        assert!(connection.is_closed(), "{lines:?}");
    }
    assert_eq!(gateway.turn(LOOK).json()["lines"], 3);
}

/// Fields behind a body are nothing that a turn has; where they end, parsers disagree.
#[test]
fn a_body_with_fields_behind_it_is_refused_and_closed() {
    let gateway = Gateway::unlimited(&[]).start();
    let get = "GET /api/health HTTP/1.1\r\nHost: h\r\n\r\n";
    for end in [
        "0\r\nX: y\r\n\r\n",
        "0\r\n\n",
        "0\r\nX: y\n\r\n",
        "0\r\nX: y\n\n",
        "0\r\nX: y\r\n\n",
    ] {
        let head = "POST /api/turn HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        let bytes = format!("{head}{:x}\r\n{LOOK}\r\n{end}{get}{get}", LOOK.len());
        let (reply, closed) = raw(&gateway, &bytes);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, "bad_request"),
            "{end:?}"
        );
        assert!(closed, "{end:?}");
    }
    assert_eq!(gateway.turn(LOOK).json()["lines"], 1);
}

/// What HTTP refuses by itself is a refusal like any other.
#[test]
fn a_head_that_nobody_could_read_is_logged_and_counted() {
    let gateway = Gateway::unlimited(&["--admin", "127.0.0.1:0"]).start();
    raw(&gateway, "GARBAGE\r\n\r\n");
    let long = format!(
        "GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n",
        "f".repeat(20_000)
    );
    raw(&gateway, long);
    for status in [400, 431] {
        let record = gateway.wait_for_log("the refusal", |record| record["status"] == status);
        assert_eq!(record["code"], "bad_request");
        assert_eq!(record["client"], "127.0.0.1");
    }
}

#[test]
fn http_1_0_is_answered_and_closed() {
    let gateway = Gateway::unlimited(&[]).start();
    for lines in ["", "Connection: keep-alive\r\n", "Host: h\r\n"] {
        let (reply, closed) = raw(&gateway, turn("1.0", lines));
        assert_eq!(reply.status, 200, "{lines:?}: {reply:?}");
        assert!(closed, "{lines:?}");
        let get = format!("GET /api/health HTTP/1.0\r\n{lines}\r\n");
        let (reply, closed) = raw(&gateway, get);
        assert_eq!((reply.status, closed), (200, true), "{lines:?}");
    }
}

#[test]
fn never_a_tunnel_and_never_another_protocol() {
    let gateway = Gateway::unlimited(&[]).start();
    let upgrade =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    for bytes in [
        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n".to_owned(),
        "CONNECT /api/turn HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "GET /api/health HTTP/2.0\r\nHost: h\r\n\r\n".to_owned(),
        "TRACE /api/health HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(),
    ] {
        let mut connection = Connection::open(gateway.address()).unwrap();
        connection.stream.write_all(bytes.as_bytes()).unwrap();
        // No answer at all, only a close, is a no as well.
        if let Ok(reply) = connection.read(false) {
            assert!((400..600).contains(&reply.status), "{bytes:?}: {reply:?}");
        }
    }
    // Asked to switch, it answers as if it had not been asked.
    let websocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AA==\r\nSec-WebSocket-Version: 13\r\n";
    for lines in [upgrade, websocket] {
        let mut connection = Connection::open(gateway.address()).unwrap();
        let request = turn("1.1", &format!("Host: h\r\n{lines}"));
        connection.stream.write_all(request.as_bytes()).unwrap();
        let reply = connection.read(false).unwrap();
        assert_eq!(reply.status, 200, "{lines:?}");
        assert_eq!(reply.json()["saw"], format!("{LOOK}\n"));
        assert_eq!(reply.header("upgrade"), None);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let gateway = Gateway::unlimited(&[]).start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut bytes = Vec::new();
    for n in 0..10 {
        // Later ones are faster, and every third never reaches the engine.
        let body = match n % 3 {
            0 => "{}".to_owned(),
            _ => format!(
                r#"{{"kind":"look","mark":{n},"do":["sleep:{}","reply"]}}"#,
                10 - n
            ),
        };
        bytes.extend(Request::turn(body).bytes());
    }
    connection.stream.write_all(&bytes).unwrap();
    for n in 0..10 {
        let reply = connection.read(false).unwrap();
        if n % 3 == 0 {
            assert_eq!(reply.code(), "bad_shape", "{n}");
        } else {
            assert_eq!(reply.json()["mark"], n);
        }
    }
}

/// What comes after a refusal that closes is never taken for a request.
#[test]
fn nothing_smuggled_behind_a_refusal_is_answered() {
    let gateway = Gateway::unlimited(&[]).start();
    let smuggled = String::from_utf8(Request::turn(r#"{"kind":"look"}"#).bytes()).unwrap();
    for head in [
        "POST /api/turn HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /api/turn HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        "POST /api/turn HTTP/1.1\r\nHost: h\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let mut connection = Connection::open(gateway.address()).unwrap();
        connection
            .stream
            .write_all(format!("{head}{smuggled}").as_bytes())
            .unwrap();
        let reply = connection.read(false).unwrap();
        assert!((400..500).contains(&reply.status), "{reply:?}");
        let mut rest = Vec::new();
        // A reset instead of a clean end is as good.
        let _ = connection.stream.read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "", "after {reply:?}");
    }
    let lines = gateway.turn(LOOK).json()["lines"].clone();
    assert_eq!(lines, 1, "the engine saw none of them");
}
