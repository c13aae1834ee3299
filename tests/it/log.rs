//! The log: one event for each turn and each refusal, and nothing in it that a client could forge.

use std::io::Write;
use std::net::Shutdown;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Reply, Request};

const LOOK: &str = r#"{"kind":"look"}"#;

fn id(reply: &Reply) -> &str {
    reply.header("x-request-id").expect("every answer has one")
}

/// The one record of this request.
fn record_of(gateway: &Running, id: &str) -> Value {
    gateway.wait_for_log("its record", |record| record["request_id"] == id)
}

fn is_made(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn a_turn_is_one_event_with_fixed_fields() {
    let gateway = Gateway::unlimited(&[]).start();
    let turn = Request::turn(r#"{"kind":"say","do":["sleep:30","reply"]}"#).from("192.0.2.7");
    let reply = gateway.send(&turn);
    let record = record_of(&gateway, id(&reply));
    for (field, value) in [
        ("level", "INFO"),
        ("message", "turn"),
        ("client", "192.0.2.7"),
        ("route", "/api/turn"),
        ("kind", "say"),
    ] {
        assert_eq!(record[field], value, "{field} in {record}");
    }
    assert_eq!(record["status"], 200);
    assert!(
        record["wait_ms"].as_f64().is_some_and(|wait| wait >= 0.0),
        "{record}"
    );
    assert!(
        record["engine_ms"]
            .as_f64()
            .is_some_and(|time| time >= 30.0),
        "{record}"
    );
    assert_eq!(record.get("code"), None, "a reply has no code: {record}");

    let game = gateway.send(&Request::new_game(""));
    let later = record_of(&gateway, id(&game));
    assert_eq!(
        (&later["route"], &later["kind"]),
        (&json!("/api/new"), &json!("new"))
    );
    let events = gateway.log_records();
    let of_first = events
        .iter()
        .filter(|record| record["request_id"] == id(&reply));
    assert_eq!(of_first.count(), 1);
}

#[test]
fn a_refusal_is_one_event_with_its_code() {
    let gateway = Gateway::with(&["--rate", "1/h", "--burst", "2"]).start();
    assert_eq!(gateway.turn(LOOK).status, 200);
    for (request, route, kind, status, code) in [
        (Request::turn("{"), "/api/turn", None, 400, "bad_shape"),
        (
            Request::new_game(vec![b' '; 70_000]),
            "/api/new",
            None,
            413,
            "body_too_large",
        ),
        (
            Request::turn(r#"{"kind":"look","do":"exit:3"}"#),
            "/api/turn",
            Some("look"),
            502,
            "engine_failed",
        ),
        (
            Request::turn(LOOK),
            "/api/turn",
            Some("look"),
            429,
            "rate_limited",
        ),
        (
            Request::get("/api/turn"),
            "/api/turn",
            None,
            405,
            "method_not_allowed",
        ),
        (Request::get("/api/x"), "other", None, 404, "not_found"),
        (
            Request::get("/api/health").header("Expect", "x"),
            "/api/health",
            None,
            417,
            "expectation_failed",
        ),
    ] {
        let reply = gateway.send(&request);
        let record = record_of(&gateway, id(&reply));
        assert_eq!(record["message"], "refused", "{record}");
        assert_eq!(record["route"], route, "{record}");
        assert_eq!(record.get("kind").and_then(Value::as_str), kind, "{record}");
        assert_eq!(record["status"], status, "{record}");
        assert_eq!(record["code"], code, "{record}");
        assert_eq!(record["client"], "127.0.0.1", "{record}");
    }
}

#[test]
fn refusals_are_logged_up_to_ten_a_second_and_the_rest_is_counted() {
    const REFUSALS: u64 = 200;
    let gateway = Gateway::unlimited(&[]).start();
    let began = Instant::now();
    let mut connection = Connection::open(gateway.address()).unwrap();
    for _ in 0..REFUSALS {
        assert_eq!(connection.send(&Request::turn("{")).unwrap().status, 400);
    }
    let seconds = began.elapsed().as_secs();
    until("all are logged or counted", || {
        let records = gateway.log_records();
        let one_by_one = records
            .iter()
            .filter(|record| record["message"] == "refused")
            .count();
        let counted: u64 = records
            .iter()
            .filter_map(|record| record["refusals"].as_u64())
            .sum();
        let most = 10 * (usize::try_from(seconds).unwrap() + 1);
        assert!(one_by_one <= most, "{one_by_one} lines in {seconds} s");
        (one_by_one as u64 + counted == REFUSALS).then_some(())
    });

    for _ in 0..30 {
        connection.send(&Request::turn(LOOK)).unwrap();
    }
    until("every turn is logged", || {
        let log = gateway.log();
        (log.matches(r#""message":"turn""#).count() == 30).then_some(())
    });
}

#[test]
fn a_request_id_is_taken_from_a_trusted_proxy_if_well_formed() {
    let gateway = Gateway::unlimited(&[]).start();
    let named = |name: &[u8]| Request::turn(LOOK).header("X-Request-Id", name);
    let longest = "x".repeat(64);
    for given in ["0b7c-A_x.9:1", &longest] {
        let reply = gateway.send(&named(given.as_bytes()));
        assert_eq!(id(&reply), given);
        assert_eq!(record_of(&gateway, given)["status"], 200);
    }
    let longer = "x".repeat(65);
    for given in [
        &b""[..],
        b"a b",
        b"a\"b",
        b"\xff\xfe",
        b"a\tb",
        longer.as_bytes(),
    ] {
        let reply = gateway.send(&named(given));
        assert!(is_made(id(&reply)), "{given:?}: {reply:?}");
        record_of(&gateway, id(&reply));
    }
}

#[test]
fn a_request_id_from_anybody_else_is_made_anew() {
    let gateway = Gateway::unlimited(&["--trusted-proxy", "10.0.0.0/8"]).start();
    let request = Request::turn(LOOK).header("X-Request-Id", "mine");
    let (one, other) = (gateway.send(&request), gateway.send(&request));
    assert!(is_made(id(&one)) && is_made(id(&other)));
    assert_ne!(id(&one), id(&other));
}

#[test]
fn every_answer_bears_its_id() {
    let gateway = Gateway::unlimited(&["--cors-origin", "*"]).start();
    for request in [
        Request::get("/api/health"),
        Request::get("/"),
        Request::get("/api/x"),
        Request::turn("{"),
        Request::turn(LOOK).header("Content-Encoding", "gzip"),
        Request::new("OPTIONS", "/api/turn"),
        Request::new("HEAD", "/api/health"),
    ] {
        let reply = gateway.send(&request.clone().header("X-Request-Id", "mine"));
        assert_eq!(id(&reply), "mine", "{request:?}");
    }
}

#[test]
fn nothing_of_an_input_is_logged() {
    let gateway = Gateway::unlimited(&["--max-input", "20"])
        .env("RUST_LOG", "kidoban=trace,info")
        .start();
    for body in [
        r#"{"kind":"say","input":"himitsu"}"#,
        r#"{"kind":"say","input":"himitsu himitsu himitsu"}"#,
        r#"{"kind":"himitsu","input":"himitsu"}"#,
        r#"{"kind":"say","input":"himitsu","do":"exit:3"}"#,
        r#"{"kind":"say","himitsu":1,"himitsu":2}"#,
        r#"{"kind":"say","input":"himitsu"#,
    ] {
        let reply = gateway.turn(body);
        record_of(&gateway, id(&reply));
    }
    gateway.wait_for_log("the death", |record| {
        record["message"] == "the engine is dead"
    });
    let log = gateway.log();
    assert!(!log.contains("himitsu"), "{log}");
}

/// Bytes that would end a line, forge one, or paint the reader's terminal.
#[test]
fn hostile_bytes_never_break_a_line() {
    const FORGED: &str = "\n{\"level\":\"ERROR\",\"message\":\"forged\"}\n2026-01-01T00:00:00Z ERROR forged \u{1b}[31m\u{85}\u{2028}\r";
    for format in ["json", "text"] {
        let options = ["--kinds", "any", "--log-format", format];
        let gateway = Gateway::unlimited(&options).start();
        let kind = json!({ "kind": FORGED.chars().take(64).collect::<String>() }).to_string();
        let mut ids = Vec::new();
        for request in [
            Request::turn(&kind),
            Request::turn(r#"{"kind":"\u0000\u001b]0;title\u0007\u009b2J"}"#),
            Request::turn(r#"{"kind":"\" kind=\"x\" status=200"}"#),
            Request::get("/api/%0A%1B%5B31m\"forged"),
            Request::get("/%0aFAKE%1b[31m"),
            Request::turn("{").header("User-Agent", (0x80..=0xff).collect::<Vec<u8>>()),
            Request::turn(LOOK)
                .header("User-Agent", b"\xff\x80 \t \"x\" %0a")
                .from("\u{9b}31m\", forged"),
            Request::turn(LOOK).header("X-Request-Id", b"x\" forged=\"1"),
        ] {
            let reply = gateway.send(&request);
            ids.push(id(&reply).to_owned());
        }
        let mut raw = Connection::open(gateway.address()).unwrap();
        let target = b"GET /\xff\x1b[31m\x00forged HTTP/1.1\r\nHost: h\r\n\r\n";
        raw.stream.write_all(target).unwrap();
        let _ = raw.read(false);

        until("every record", || {
            let log = gateway.log();
            ids.iter().all(|id| log.contains(id.as_str())).then_some(())
        });
        let log = gateway.log();
        for id in &ids {
            let lines = log.lines().filter(|line| line.contains(id.as_str()));
            assert_eq!(lines.count(), 1, "{format}: {id}");
        }
        assert!(!log.contains("FAKE"), "{format}: {log}");
        assert!(log.ends_with('\n'));
        let controls = log.chars().filter(|c| c.is_control() && *c != '\n');
        assert_eq!(controls.count(), 0, "{format}: {log:?}");
        for line in log.lines() {
            let (whole, forged) = match serde_json::from_str::<Value>(line) {
                Ok(record) => (
                    record["timestamp"].is_string(),
                    record["message"] == "forged",
                ),
                Err(_) => (
                    format == "text" && line.starts_with("20"),
                    line.starts_with("2026-01-01T00:00:00Z"),
                ),
            };
            assert!(whole && !forged, "{format}: {line:?}");
        }
    }
}

#[test]
fn text_when_asked() {
    let gateway = Gateway::unlimited(&["--log-format", "text"]).start();
    let reply = gateway.send(&Request::turn(LOOK).from("192.0.2.7"));
    let line = until("its line", || {
        let log = gateway.log();
        log.lines()
            .find(|line| line.contains(id(&reply)))
            .map(str::to_owned)
    });
    for part in [
        " INFO ",
        "turn",
        "client=192.0.2.7",
        "kind=\"look\"",
        "status=200",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

/// Whoever reads the log may stop: turns go on, and so does the end.
#[test]
fn a_reader_that_stopped_holds_nobody_up() {
    let (unread, stderr) = std::io::pipe().unwrap();
    let mut gateway = Gateway::unlimited(&[])
        .env("RUST_LOG", "trace")
        .stderr(stderr)
        .start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let turn = Request::turn(r#"{"kind":"look","do":["stderr:20","reply"]}"#);
    // Many times what a pipe holds, and more lines than wait for a reader.
    for n in 1..=600 {
        let reply = connection.send(&turn).unwrap();
        assert_eq!(reply.json()["lines"], n);
    }
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    drop(unread);
}

/// Neither does one that is gone.
#[test]
fn a_reader_that_is_gone_holds_nobody_up() {
    let (unread, stderr) = std::io::pipe().unwrap();
    drop(unread);
    let mut gateway = Gateway::unlimited(&[]).stderr(stderr).start();
    for _ in 0..5 {
        assert_eq!(gateway.turn(LOOK).status, 200);
    }
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
}

/// Nobody was refused anything: whoever leaves in mid-body has left, gone or half-closed.
#[test]
fn who_leaves_in_mid_body_has_left() {
    let gateway = Gateway::unlimited(&[]).start();
    let heads = [
        "Content-Length: 100\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    ];
    for (n, head) in heads.iter().enumerate() {
        for how in [Shutdown::Both, Shutdown::Write] {
            let mut connection = Connection::open(gateway.address()).unwrap();
            let id = format!("{n}-{how:?}").to_lowercase();
            let bytes =
                format!("POST /api/turn HTTP/1.1\r\nHost: h\r\nX-Request-Id: {id}\r\n{head}");
            connection.stream.write_all(bytes.as_bytes()).unwrap();
            connection.stream.shutdown(how).unwrap();
            let record = record_of(&gateway, &id);
            assert_eq!(record["message"], "client left", "{record}");
            assert_eq!(record.get("code"), None, "{record}");
        }
    }
}
