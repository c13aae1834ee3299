//! What strangers send to Caddy: what could be read two ways, what would lead elsewhere,
//! and clients that are slow on purpose.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use super::{Front, caddies};
use crate::harness::{Gateway, peer};
use crate::http::{Connection, Request};
use crate::slowhttptest::{
    SLOW_BODIES, SLOW_HEADS, SLOW_READERS, Target, impatient_gateway, stands,
};

/// What is refused directly is refused through Caddy, with the same code; and what leads nowhere leads nowhere.
#[test]
fn hostile_inputs_come_out_as_they_do_directly() {
    for caddy in caddies() {
        come_out_as_directly(&caddy);
    }
}

fn come_out_as_directly(caddy: &Path) {
    let gateway = Gateway::unlimited(&[]).start();
    let front = Front::start(caddy, &gateway);
    let deep = format!(r#"{{"kind":"look","x":{}"#, "[".repeat(30_000));
    let number = format!(r#"{{"kind":"look","x":{}}}"#, "9".repeat(60_000));
    let bodies: [&[u8]; 14] = [
        deep.as_bytes(),
        number.as_bytes(),
        br#"{"kind":"look","x":"\ud800"}"#,
        br#"{"kind":"look","x":1e999}"#,
        b"{\"kind\":\"look\",\"x\":\"\xc0\xaf\"}",
        b"{\"kind\":\"look\",\"x\":\"\xed\xa0\x80\"}",
        b"{\"kind\":\"look\",\"x\":\"\xff\"}",
        b"\xef\xbb\xbf{\"kind\":\"look\"}",
        br#"{"kind":"look"}x"#,
        br#"{"kind":"look","kind":"look"}"#,
        br#"["say","x"]"#,
        b"{\"kind\":\"look\",\"x\":\"\n\"}",
        br#"{"kind":"fly"}"#,
        b"",
    ];
    for body in bodies {
        let request = Request::turn(body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let direct = gateway.send(&request);
        let through = request.send_to(front.address).unwrap();
        assert_eq!(
            (direct.status, direct.code().as_str()),
            (400, "bad_shape"),
            "{shown}"
        );
        assert_eq!(through.status, 400, "{shown}");
        assert_eq!(through.code(), "bad_shape", "{shown}");
    }
    for target in [
        "/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%5c..%5cx",
        "/%00",
        "//x",
        "/%0aFAKE%1b[31m",
    ] {
        let through = Request::get(target).send_to(front.address).unwrap();
        assert!(
            (400..500).contains(&through.status),
            "{target}: {through:?}"
        );
    }
    assert!(
        !gateway.log().contains('\u{1b}'),
        "no escape reaches the log"
    );
    assert_eq!(
        gateway.turn(r#"{"kind":"look"}"#).json()["lines"],
        1,
        "the engine saw none of it"
    );
}

/// All that comes until the other side closes; a side that keeps the connection is asked to close it by a last request.
fn everything_said(front: &Front, bytes: &[u8]) -> String {
    let last = "GET /last HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n";
    let mut connection = Connection::open(front.address).unwrap();
    // It may be closed before all of it is sent.
    let _ = connection.stream.write_all(bytes);
    let _ = connection.stream.write_all(last.as_bytes());
    let mut said = Vec::new();
    if let Err(error) = connection.stream.read_to_end(&mut said) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{bytes:?}");
    }
    String::from_utf8_lossy(&said).into_owned()
}

const HIDDEN: &str = r#"{"kind":"look","mark":"hidden"}"#;

fn hidden() -> String {
    String::from_utf8(Request::turn(HIDDEN).bytes()).unwrap()
}

/// Turns inside the bodies of other requests, and heads that no two readers agree on.
fn streams_that_hide_a_turn() -> Vec<String> {
    let hidden = hidden();
    let length = hidden.len();
    let chunked = format!("{length:x}\r\n{hidden}\r\n0\r\n\r\n");
    let mut streams = Vec::new();
    for (method, target) in [
        ("GET", "/api/health"),
        ("HEAD", "/none"),
        ("GET", "/api/turn"),
        ("POST", "/api/turn"),
        ("POST", "/api/nothing"),
        ("OPTIONS", "/api/turn"),
    ] {
        for framed in [
            format!("Content-Length: {length}\r\n\r\n{hidden}"),
            format!("Transfer-Encoding: chunked\r\n\r\n{chunked}"),
        ] {
            streams.push(format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{framed}"
            ));
        }
    }
    for line in [
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding:\x0bchunked",
        "Transfer-Encoding: \x0cchunked",
        "Transfer-Encoding: chunked\x0b",
        "Transfer-Encoding: \u{a0}chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: xchunked",
        "Content-Length: 9223372036854775808",
        "Content-Length: 18446744073709551616",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5, 6",
        "Content-Length: 5\r\nContent-Length: 6",
        "Host: localhost",
        "Host: elsewhere.example",
        "no colon",
        " folded",
        "Host : localhost",
        "X: a\x00b",
    ] {
        streams.push(format!(
            "POST /api/turn HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n{chunked}"
        ));
    }
    streams
}

/// The engine sees no turn but those whose answer came back on the same connection.
#[test]
fn nothing_is_smuggled_past_caddy() {
    for caddy in caddies() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let gateway = Gateway::unlimited(&[])
            .stub(&["--log", seen.to_str().unwrap()])
            .start();
        let front = Front::start(&caddy, &gateway);
        let times_seen = || {
            let seen = fs::read_to_string(&seen).unwrap_or_default();
            seen.matches("hidden").count()
        };
        for stream in streams_that_hide_a_turn() {
            let said = everything_said(&front, stream.as_bytes());
            assert!(said.starts_with("HTTP/1.1 "), "{stream:?}: {said:?}");
            assert!(!said.contains("hidden"), "{stream:?}: {said:?}");
            assert_eq!(times_seen(), 0, "{stream:?}: {said:?}");
        }
        // Where both framings stand, the chunked one counts; what follows it is a request like any other.
        let hidden = hidden();
        for framing in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            "Transfer-Encoding: chunked\r\nContent-Length: 400\r\n\r\n0\r\n\r\n".to_owned(),
            "Content-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}".to_owned(),
            "Content-Length: 2\r\nExpect: wonders\r\n\r\n{}".to_owned(),
            "Transfer-Encoding: chunked\r\n\r\n2;x=\"\n\"\r\n{}\r\n0\r\n\r\n".to_owned(),
            "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n".to_owned(),
        ] {
            let before = times_seen();
            let stream =
                format!("POST /api/nothing HTTP/1.1\r\nHost: localhost\r\n{framing}{hidden}");
            let said = everything_said(&front, stream.as_bytes());
            let answered = said.matches(r#""mark":"hidden""#).count();
            assert!(answered <= 1, "{stream:?}: {said:?}");
            assert_eq!(times_seen() - before, answered, "{stream:?}: {said:?}");
        }
        let turn = front.send(&Request::turn(r#"{"kind":"look"}"#));
        assert_eq!(turn.status, 200, "it goes on");
        assert_eq!(gateway.health()["engine"], "up");
    }
}

#[test]
fn no_tunnel_and_no_other_protocol_through_caddy() {
    let upgrade =
        |lines: &str| format!("GET /api/health HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
    let streams = [
        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n".to_owned(),
        "CONNECT localhost HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "CONNECT /api/turn HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "TRACE /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "GET /api/health HTTP/2.0\r\nHost: localhost\r\n\r\n".to_owned(),
        "GET http://127.0.0.1:22/ HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        upgrade(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n",
        ),
        upgrade(
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        ),
        upgrade("Connection: Upgrade\r\nUpgrade: anything\r\n"),
    ];
    for caddy in caddies() {
        let gateway = Gateway::unlimited(&[]).start();
        let front = Front::start(&caddy, &gateway);
        for stream in &streams {
            let said = everything_said(&front, stream.as_bytes());
            assert!(!said.contains(" 101 "), "{stream:?}: {said:?}");
            if stream.starts_with("CONNECT") {
                assert!(!said.starts_with("HTTP/1.1 200"), "{stream:?}: {said:?}");
            }
            assert!(!said.contains("SSH"), "{stream:?}: {said:?}");
        }
        assert_eq!(
            front.send(&Request::turn(r#"{"kind":"look"}"#)).json()["lines"],
            1
        );
    }
}

/// Patience with slow clients, of Caddy and of the gateway: from the head's first byte to the answer's last.
const TIMES: [(&str, &str); 4] = [
    ("CADDY_READ_HEADER", "4s"),
    ("CADDY_READ_BODY", "11s"),
    ("CADDY_WRITE", "8s"),
    ("CADDY_IDLE", "4s"),
];

fn caddy_stands(mode: (&[&str], &str)) {
    if peer("slowhttptest", "apt-get install slowhttptest").is_none() {
        return;
    }
    for caddy in caddies() {
        let folder = tempfile::tempdir().unwrap();
        let gateway = impatient_gateway(folder.path());
        let front = Front::with(&caddy, &gateway.address().to_string(), &TIMES);
        let target = Target {
            pid: front.child.id(),
            address: front.address,
            lost_max: 1,
        };
        stands(&target, mode, Duration::from_secs(20));
        let reply = front.send(&Request::turn(r#"{"kind":"look"}"#));
        assert_eq!(reply.status, 200);
    }
}

#[test]
fn slow_heads_are_closed_by_caddy() {
    caddy_stands(SLOW_HEADS);
}

#[test]
fn slow_bodies_are_closed_by_caddy() {
    caddy_stands(SLOW_BODIES);
}

#[test]
fn slow_readers_are_closed_by_caddy() {
    caddy_stands(SLOW_READERS);
}
