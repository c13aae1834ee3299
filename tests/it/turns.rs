//! One turn: what the engine gets, what the client gets.

use serde_json::json;

use crate::harness::Gateway;
use crate::http::Request;

#[test]
fn one_turn_end_to_end() {
    let gateway = Gateway::with(&[]).start();
    let reply = gateway.turn(r#"{"kind":"look","mark":"m-1"}"#);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["mark"], "m-1");
    assert_eq!(
        reply.json()["saw"],
        "{\"kind\":\"look\",\"mark\":\"m-1\"}\n"
    );
    assert_eq!(
        reply.header("content-type"),
        Some("application/json; charset=utf-8")
    );
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}

/// The engine gets the same bytes on one line: key order, numbers and escapes as sent.
#[test]
fn the_line_is_what_was_sent() {
    let gateway = Gateway::unlimited(&[]).start();
    for (sent, seen) in [
        (
            "\r\n {\"z\":1.0e2,\r\n\t\"kind\" : \"say\",\n\"a\":\"\\u0041\\n\"} \n",
            "{\"z\":1.0e2,  \t\"kind\" : \"say\", \"a\":\"\\u0041\\n\"}\n",
        ),
        (
            "{\"kind\":\"say\",\"input\":\"\u{2028}\u{85}\"}",
            "{\"kind\":\"say\",\"input\":\"\u{2028}\u{85}\"}\n",
        ),
        (
            r#"{"kind":"say","n":12345678901234567890123}"#,
            "{\"kind\":\"say\",\"n\":12345678901234567890123}\n",
        ),
    ] {
        let reply = gateway.turn(sent);
        assert_eq!(reply.json()["saw"], seen, "{sent:?}");
    }
    let lines = gateway.turn(r#"{"kind":"look"}"#).json()["lines"].clone();
    assert_eq!(lines, json!(4), "each turn was one line");
}

#[test]
fn a_new_game_needs_no_kind() {
    let gateway = Gateway::unlimited(&[]).start();
    for (sent, seen) in [
        ("", "{\"kind\":\"new\"}\n"),
        (" \r\n", "{\"kind\":\"new\"}\n"),
        ("{}", "{\"kind\":\"new\"}\n"),
        (
            "{ \"lang\":\"ja\"}",
            "{\"kind\":\"new\", \"lang\":\"ja\"}\n",
        ),
        ("{\"kind\":\"new\"}", "{\"kind\":\"new\"}\n"),
    ] {
        let reply = gateway.send(&Request::new_game(sent));
        assert_eq!(reply.json()["saw"], seen, "{sent:?}: {reply:?}");
    }
    let reply = gateway.send(&Request::new_game(r#"{"kind":"look"}"#));
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_shape"));
}

/// The engine's line is the body, byte for byte, without its line end.
#[test]
fn the_reply_is_what_the_engine_wrote() {
    let gateway = Gateway::unlimited(&[]).start();
    for (steps, body) in [
        (r#"["raw: {\"é\" :1 }","newline"]"#, " {\"é\" :1 }"),
        (r#"["raw:{\"a\":1}\r","newline"]"#, "{\"a\":1}"),
        (r#""raw:7\n""#, "7"),
        (r#"["raw:[","sleep:20","raw:]","newline"]"#, "[]"),
    ] {
        let reply = gateway.turn(&format!(r#"{{"kind":"look","do":{steps}}}"#));
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (200, body),
            "{steps}"
        );
    }
}
