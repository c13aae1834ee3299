//! What becomes of the connection: in sync after a refusal, or closed, or drained.

use std::io::Write as _;

use serde_json::Value;

use super::{
    HANG, Watched, assert_refused, chunked, has_rate_limit_headers, look, misshapen, too_large,
};
use crate::harness::{Gateway, until};
use crate::http::{Connection, Reply, Request};

/// 503 `draining` comes before gate 1; the turn in the engine hears it when the time is up.
#[test]
fn a_shutdown_refuses_before_the_gates() {
    let gateway = Gateway::with(&["--drain-timeout", "2s"]).start();
    // A head half sent keeps a connection open. It is read before the turn that comes after it.
    let mut late = Connection::open(gateway.address()).unwrap();
    let too_large = too_large().bytes();
    let (begun, rest) = too_large.split_at(10);
    late.stream.write_all(begun).unwrap();
    let mut early = Connection::open(gateway.address()).unwrap();
    early
        .stream
        .write_all(&Request::turn(HANG).bytes())
        .unwrap();
    until("its turn is in the engine", || {
        (gateway.health()["waiting"] == 1).then_some(())
    });
    gateway.signal("TERM");
    gateway.wait_for_log("the end of what may still come", |record| {
        record["message"] == "new turns are refused from now on"
    });
    late.stream.write_all(rest).unwrap();
    let reply = late.read(false).unwrap();
    assert_refused(&reply, "draining");
    assert_eq!(reply.retry_after(), Some(1));
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(!has_rate_limit_headers(&reply), "no ticket is taken");
    let reply = early.read(false).unwrap();
    assert_refused(&reply, "draining");
    assert!(has_rate_limit_headers(&reply), "it had paid");
}

/// After a refusal that read the body whole, the connection goes on, in sync.
#[test]
fn small_refusals_keep_the_connection_in_sync() {
    let gateway = Gateway::with(&["--rate", "1/h", "--burst", "3"]).start();
    let marked = |mark: &str| Request::turn(format!(r#"{{"kind":"look","mark":"{mark}"}}"#));
    let asked = [
        misshapen(),
        marked("a"),
        Request::get("/api/nothing"),
        chunked(r#"{"kind":"#),
        marked("b"),
        Request::get("/api/turn"),
        Request::turn(r#"{"kind":"look","do":"exit:1"}"#),
        marked("refused"),
        Request::get("/api/health"),
    ];
    let expected = [
        "bad_shape",
        "a",
        "not_found",
        "bad_shape",
        "b",
        "method_not_allowed",
        "engine_failed",
        "rate_limited",
        "",
    ];
    let what = |reply: &Reply| {
        let body = reply.json();
        assert_ne!(reply.header("connection"), Some("close"), "{body}");
        let word = body["mark"].as_str().or(body["code"].as_str());
        word.unwrap_or_default().to_owned()
    };
    let mut connection = Connection::open(gateway.address()).unwrap();
    let heard = asked
        .iter()
        .map(|request| connection.send(request).unwrap());
    assert_eq!(
        heard.map(|reply| what(&reply)).collect::<Vec<_>>(),
        expected
    );

    // All at once, before any answer is read: the same, but that the tickets are gone.
    let all: Vec<u8> = asked.iter().flat_map(Request::bytes).collect();
    connection.stream.write_all(&all).unwrap();
    for (expected, request) in expected.iter().zip(&asked) {
        let heard = what(&connection.read(false).unwrap());
        match *expected {
            "a" | "b" | "engine_failed" => assert_eq!(heard, "rate_limited", "{request:?}"),
            other => assert_eq!(heard, other, "{request:?}"),
        }
    }
}

/// What cannot be trusted to be in sync is closed, and the bytes behind it are no request.
#[test]
fn refusals_that_lose_the_thread_close_the_connection() {
    let watched = Watched::start(&["--max-body", "100", "--body-timeout", "200ms"]);
    let smuggled = look().bytes();
    let mut announced = Request::turn("").header("Content-Length", "101").bytes();
    announced.extend_from_slice(&smuggled);
    let coded = look().header("Content-Encoding", "gzip");
    let wondrous = look().header("Expect", "wonders");
    for (bytes, code) in [
        (announced, "body_too_large"),
        ([coded.bytes(), smuggled.clone()].concat(), "bad_request"),
        ([wondrous.bytes(), smuggled].concat(), "expectation_failed"),
    ] {
        let mut connection = Connection::open(watched.gateway.address()).unwrap();
        connection.stream.write_all(&bytes).unwrap();
        let reply = connection.read(false).unwrap();
        assert_refused(&reply, code);
        assert_eq!(reply.header("connection"), Some("close"), "{code}");
        assert!(connection.is_closed(), "{code}");
    }
    assert_eq!(watched.gateway.health()["ok"], Value::Bool(true));
    assert!(
        watched.lines_seen().is_empty(),
        "{:?}",
        watched.lines_seen()
    );
}
