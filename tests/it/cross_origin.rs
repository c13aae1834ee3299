//! CORS: pages of allowed origins may call and read every answer, refusals too.

use crate::harness::Gateway;
use crate::http::{Reply, Request};

const PAGE: &str = "https://page.example";
const OTHER: &str = "http://localhost:3000";
const STRANGER: &str = "https://stranger.example";

/// What a page must be able to read.
const EXPOSED: [&str; 7] = [
    "retry-after",
    "ratelimit",
    "ratelimit-policy",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
];

fn from_page(request: Request, origin: &str) -> Request {
    request.header("Origin", origin)
}

fn preflight(path: &str, origin: &str) -> Request {
    from_page(Request::new("OPTIONS", path), origin)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type")
}

fn allowed(reply: &Reply) -> Option<&str> {
    reply.header("access-control-allow-origin")
}

fn varies_by_origin(reply: &Reply) -> bool {
    let mut values = reply.headers.iter().filter(|(name, _)| name == "vary");
    values.any(|(_, value)| {
        value
            .to_ascii_lowercase()
            .split(',')
            .any(|name| name.trim() == "origin")
    })
}

fn exposes_all(reply: &Reply) -> bool {
    let exposed = reply
        .header("access-control-expose-headers")
        .unwrap_or_default();
    let exposed = exposed.to_ascii_lowercase();
    let exposed: Vec<_> = exposed.split(',').map(str::trim).collect();
    EXPOSED.iter().all(|name| exposed.contains(name))
}

#[test]
fn a_preflight_is_answered_and_takes_no_ticket() {
    let gateway = Gateway::with(&["--cors-origin", PAGE, "--burst", "1", "--rate", "1/h"]).start();
    for path in ["/api/turn", "/api/new"] {
        let reply = gateway.send(&preflight(path, PAGE));
        assert_eq!((reply.status, reply.text().as_str()), (204, ""), "{path}");
        assert_eq!(allowed(&reply), Some(PAGE));
        let methods = reply.header("access-control-allow-methods").unwrap();
        assert!(methods.contains("POST"), "{methods}");
        let headers = reply.header("access-control-allow-headers").unwrap();
        assert!(headers.contains("content-type"), "{headers}");
        assert!(reply.header("access-control-max-age").is_some());
        assert!(varies_by_origin(&reply), "{reply:?}");
    }
    let reply = gateway.send(&preflight("/api/health", PAGE));
    assert_eq!((reply.status, allowed(&reply)), (204, Some(PAGE)));
    let unknown = gateway.send(&preflight("/api/nothing", PAGE));
    assert_eq!(unknown.code(), "not_found");
    assert_eq!(
        gateway.turn(r#"{"kind":"look"}"#).status,
        200,
        "the one ticket was left"
    );
}

#[test]
fn answers_and_refusals_can_be_read() {
    let options = ["--cors-origin", PAGE, "--rate", "1/h", "--burst", "1"];
    let gateway = Gateway::with(&options).start();
    let turn = Request::turn(r#"{"kind":"look"}"#);
    for (what, request, status) in [
        ("200", turn.clone(), 200),
        ("gate 3", turn.clone(), 429),
        ("gate 2", Request::turn("{"), 400),
        ("gate 1", Request::turn(vec![b' '; 70_000]), 413),
        ("404", Request::get("/api/nothing"), 404),
        ("405", Request::get("/api/turn"), 405),
        ("417", turn.clone().header("Expect", "wonders"), 417),
        ("protocol", turn.header("Content-Encoding", "gzip"), 400),
        ("health", Request::get("/api/health"), 200),
    ] {
        let reply = gateway.send(&from_page(request, PAGE));
        assert_eq!(reply.status, status, "{what}: {reply:?}");
        assert_eq!(allowed(&reply), Some(PAGE), "{what}: {reply:?}");
        assert!(exposes_all(&reply), "{what}: {reply:?}");
        assert!(varies_by_origin(&reply), "{what}: {reply:?}");
    }
}

#[test]
fn several_origins_and_no_stranger() {
    for gateway in [
        Gateway::unlimited(&["--cors-origin", PAGE, "--cors-origin", OTHER]),
        Gateway::unlimited(&[]).env("KIDOBAN_CORS_ORIGIN", format!("{PAGE},{OTHER}")),
    ] {
        let gateway = gateway.start();
        let turn = Request::turn(r#"{"kind":"look"}"#);
        for origin in [PAGE, OTHER] {
            let reply = gateway.send(&from_page(turn.clone(), origin));
            assert_eq!(allowed(&reply), Some(origin));
        }
        let near = PAGE.to_uppercase();
        let longer = format!("{PAGE}.evil.example");
        for origin in [STRANGER, "null", &near, &longer, "*"] {
            for request in [
                turn.clone(),
                Request::turn("{"),
                Request::new("OPTIONS", "/api/turn"),
            ] {
                let reply = gateway.send(&from_page(request, origin));
                assert_eq!(allowed(&reply), None, "{origin}: {reply:?}");
                assert!(varies_by_origin(&reply), "{origin}: {reply:?}");
            }
        }
        let without = gateway.send(&turn);
        assert_eq!((without.status, allowed(&without)), (200, None));
        assert!(
            varies_by_origin(&without),
            "a cache must not hand it to a page"
        );
    }
}

#[test]
fn any_origin() {
    let gateway = Gateway::unlimited(&["--cors-origin", "*"]).start();
    for request in [
        Request::turn(r#"{"kind":"look"}"#),
        Request::turn("{"),
        preflight("/api/turn", STRANGER),
    ] {
        let reply = gateway.send(&from_page(request, STRANGER));
        assert_eq!(allowed(&reply), Some("*"), "{reply:?}");
        assert!(exposes_all(&reply), "{reply:?}");
        assert_eq!(reply.header("access-control-allow-credentials"), None);
    }
}

#[test]
fn off_by_default() {
    let gateway = Gateway::unlimited(&[]).start();
    let reply = gateway.send(&from_page(Request::turn(r#"{"kind":"look"}"#), PAGE));
    assert_eq!((reply.status, allowed(&reply)), (200, None));
    assert_eq!(reply.header("access-control-expose-headers"), None);
    let reply = gateway.send(&preflight("/api/turn", PAGE));
    assert_eq!(reply.code(), "method_not_allowed");
    assert_eq!(reply.header("allow"), Some("POST"));
    assert_eq!(allowed(&reply), None);
}
