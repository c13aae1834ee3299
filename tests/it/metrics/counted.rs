//! Turns and refusals whose outcome is known, and what is counted of them: in the metrics, and
//! the same in the status.

use std::fs;
use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::scrape::{Scrape, above_zero, expected};
use crate::engine_file::{create, until_waiting};
use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Request};

const LOOK: &str = r#"{"kind":"look"}"#;

fn look(steps: &Value) -> Request {
    Request::turn(json!({ "kind": "look", "do": steps }).to_string())
}

/// What is counted by outcome, by gate, and that the status says the same.
#[track_caller]
fn counts(gateway: &Running, turns: &[(&str, u64)], refusals: &[(&str, u64)]) {
    let (turns, refusals) = (expected(turns), expected(refusals));
    let scrape = Scrape::of(gateway);
    assert_eq!(scrape.by_label("kidoban_turns_total"), turns);
    assert_eq!(scrape.by_label("kidoban_refusals_total"), refusals);
    let status = gateway.status();
    assert_eq!(above_zero(&status["turns"]), turns);
    assert_eq!(above_zero(&status["refusals"]), refusals);
    let sum = |kind: &str| {
        let points = status["recent"]["points"].as_array().unwrap().iter();
        points
            .map(|point| point[kind].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(sum("ok"), turns.get("ok").copied().unwrap_or(0));
    for gate in status["refusals"].as_object().unwrap().keys() {
        let before = refusals.get(gate).copied().unwrap_or(0);
        assert_eq!(sum(gate), before, "{gate}");
    }
}

/// Sends this, and has it refused so.
#[track_caller]
fn refused(gateway: &Running, request: &Request, status: u16, code: &str) {
    let reply = gateway.send(request);
    assert_eq!((reply.status, reply.code().as_str()), (status, code));
}

#[test]
fn what_is_no_turn_is_no_turn() {
    let gateway = Gateway::with(&[]).admin().start();
    let before = above_zero(&gateway.status()["refusals"]);
    assert_eq!(
        before,
        expected(&[]),
        "questions after health are no refusals"
    );
    refused(&gateway, &Request::get("/nowhere"), 404, "not_found");
    refused(
        &gateway,
        &Request::get("/api/turn"),
        405,
        "method_not_allowed",
    );
    let delete = Request::new("DELETE", "/api/health");
    refused(&gateway, &delete, 405, "method_not_allowed");
    counts(&gateway, &[], &[("protocol", 3)]);
    assert_eq!(gateway.status()["most_refused"], json!([]));
}

/// Each of the five gates, and what stands before them.
#[test]
fn each_gate_counts_what_it_refuses() {
    let options = [
        "--limit-for=192.0.2.0/24=1/h:1",
        "--max-body=1KiB",
        "--body-timeout=300ms",
        "--queue=1",
    ];
    let gateway = Gateway::unlimited(&options).admin().start();
    let turn = || Request::turn(LOOK);
    let packed = turn().header("Content-Encoding", "gzip");
    refused(&gateway, &packed, 400, "bad_request");
    let expects = turn().header("Expect", "applause");
    refused(&gateway, &expects, 417, "expectation_failed");
    let large = Request::turn(vec![b'x'; 2_000]);
    refused(&gateway, &large, 413, "body_too_large");
    let stalled = turn().header("Content-Length", "100");
    refused(&gateway, &stalled, 408, "body_timeout");
    refused(&gateway, &Request::turn("{"), 400, "bad_shape");
    refused(&gateway, &Request::turn("[]"), 400, "bad_shape");
    assert_eq!(gateway.send(&turn().from("192.0.2.1")).status, 200);
    for _ in 0..3 {
        refused(&gateway, &turn().from("192.0.2.1"), 429, "rate_limited");
    }
    thread::scope(|scope| {
        let slow = scope.spawn(|| gateway.send(&look(&json!(["sleep:700", "reply"]))).status);
        until_waiting(&gateway, 1);
        refused(&gateway, &turn(), 429, "queue_full");
        assert_eq!(slow.join().unwrap(), 200);
    });
    counts(
        &gateway,
        &[
            ("ok", 2),
            ("bad_request", 1),
            ("expectation_failed", 1),
            ("body_too_large", 1),
            ("body_timeout", 1),
            ("bad_shape", 2),
            ("rate_limited", 3),
            ("queue_full", 1),
        ],
        &[
            ("protocol", 2),
            ("body", 2),
            ("shape", 2),
            ("ticket", 3),
            ("queue", 1),
        ],
    );
    let most_refused = &gateway.status()["most_refused"];
    let of = |client, refused| json!({ "client": client, "refused": refused, "at_least": refused });
    assert_eq!(
        *most_refused,
        json!([of("127.0.0.1", 7), of("192.0.2.1", 3)])
    );
}

/// What comes of a turn behind the gates.
#[test]
fn each_end_of_a_turn_is_counted() {
    let options = ["--reply-timeout=400ms", "--max-wait=150ms"];
    let gateway = Gateway::unlimited(&options).admin().start();
    let up = || {
        until("the engine is up", || {
            (gateway.health()["ok"] == true).then_some(())
        });
    };
    assert_eq!(gateway.turn(LOOK).status, 200);
    let dies = look(&json!("exit:1"));
    refused(&gateway, &dies, 502, "engine_failed");
    up();
    thread::scope(|scope| {
        let hangs = scope.spawn(|| {
            let hangs = look(&json!("hang"));
            refused(&gateway, &hangs, 504, "engine_timeout");
        });
        until_waiting(&gateway, 1);
        refused(&gateway, &Request::turn(LOOK), 503, "shed");
        hangs.join().unwrap();
    });
    up();
    let slow = look(&json!(["sleep:100", "reply"]));
    let mut leaves = Connection::open(gateway.address()).unwrap();
    leaves.stream.write_all(&slow.bytes()).unwrap();
    until_waiting(&gateway, 1);
    drop(leaves);
    until("the turn is counted as left", || {
        let left = gateway.status()["turns"]["client_left"] == 1;
        (left && gateway.health()["waiting"] == 0).then_some(())
    });
    counts(
        &gateway,
        &[
            ("ok", 1),
            ("engine_failed", 1),
            ("engine_timeout", 1),
            ("shed", 1),
            ("client_left", 1),
        ],
        &[("after", 3)],
    );
    let scrape = Scrape::of(&gateway);
    let count = |name: &str| scrape.count(&format!("kidoban_{name}_seconds_count"));
    // The one that left is measured in the engine, and has no whole time; the one that was shed only waited.
    assert_eq!(["queue_wait", "engine", "turn"].map(count), [5, 4, 3]);
    let sum = |name: &str| scrape.value(&format!("kidoban_{name}_seconds_sum"));
    assert!(
        (0.15..0.35).contains(&sum("queue_wait")),
        "{}",
        sum("queue_wait")
    );
    assert!((0.5..1.5).contains(&sum("engine")), "{}", sum("engine"));
    let times = &gateway.status()["times"];
    assert_eq!(times["of_turns"], 3);
    let p99 = |name: &str| times[name]["p99"].as_f64().unwrap();
    assert!(p99("engine_ms") >= 400.0, "{times}");
    assert!(p99("turn_ms") >= p99("engine_ms"), "{times}");
    assert!(p99("wait_ms") < 100.0, "{times}");
}

#[test]
fn turns_while_the_engine_starts_and_while_the_gateway_ends_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let starts = file("start").display().to_string();
    let gateway = Gateway::unlimited(&["--ready-probe", LOOK])
        .admin()
        .stub(&["--start-when", &starts])
        .start_unready();
    refused(&gateway, &Request::turn(LOOK), 503, "engine_down");
    let status = gateway.status();
    assert_eq!(
        (&status["health"], &status["engine"]["state"]),
        (&json!("starting"), &json!("starting"))
    );
    create(&file("start"));
    until("the engine is up", || {
        (gateway.health()["ok"] == true).then_some(())
    });
    let address = gateway.address();
    let release = format!("wait-for:{}", file("release").display());
    let slow = look(&json!([release, "reply"]));
    let slow = thread::spawn(move || slow.send_to(address).unwrap().status);
    until_waiting(&gateway, 1);
    let bytes = Request::turn(LOOK).bytes();
    let mut begun = Connection::open(address).unwrap();
    begun.stream.write_all(&bytes[..10]).unwrap();
    gateway.health();
    gateway.signal("TERM");
    gateway.wait_for_log("the drain", |record| {
        record["message"] == "new turns are refused from now on"
    });
    begun.stream.write_all(&bytes[10..]).unwrap();
    assert_eq!(begun.read(false).unwrap().code(), "draining");
    counts(
        &gateway,
        &[("engine_down", 1), ("draining", 1)],
        &[("engine", 1), ("draining", 1)],
    );
    assert_eq!(gateway.status()["queue"]["waiting"], 1);
    assert_eq!(Scrape::of(&gateway).count("kidoban_waiting_turns"), 1);
    fs::write(file("release"), "").unwrap();
    assert_eq!(slow.join().unwrap(), 200);
}

#[test]
fn shadow_refusals_and_an_overflowing_table_are_counted() {
    let options = ["--rate=1/h", "--burst=1", "--shadow", "--max-clients=2"];
    let gateway = Gateway::with(&options).admin().start();
    for client in [
        "192.0.2.1",
        "192.0.2.2",
        "192.0.2.3",
        "192.0.2.4",
        "192.0.2.1",
    ] {
        assert_eq!(gateway.send(&Request::turn(LOOK).from(client)).status, 200);
    }
    // The fourth found the shared bucket empty, and the fifth its own.
    let scrape = Scrape::of(&gateway);
    assert_eq!(scrape.count("kidoban_shadow_refusals_total"), 2);
    assert_eq!(scrape.count("kidoban_clients_overflowed_total"), 2);
    assert_eq!(scrape.count("kidoban_clients_remembered"), 2);
    counts(&gateway, &[("ok", 5)], &[]);
    let status = gateway.status();
    assert_eq!(status["shadow_refusals"], 2);
    let clients = json!({ "remembered": 2, "max": 2, "forgotten": 0, "overflowed": 2 });
    assert_eq!(status["clients"], clients);
}

#[test]
fn clients_with_full_buckets_are_forgotten_and_counted() {
    let gateway = Gateway::with(&["--rate=1000", "--burst=1"]).admin().start();
    for client in 1..=20 {
        let turn = Request::turn(LOOK).from(&format!("192.0.2.{client}"));
        assert_eq!(gateway.send(&turn).status, 200);
    }
    let scrape = until("nobody is remembered", || {
        let scrape = Scrape::of(&gateway);
        (scrape.count("kidoban_clients_remembered") == 0).then_some(scrape)
    });
    assert_eq!(scrape.count("kidoban_clients_forgotten_total"), 20);
}

#[test]
fn lines_that_nobody_reads_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let admin = folder.path().join("admin");
    let (unread, stderr) = std::io::pipe().unwrap();
    let gateway = Gateway::unlimited(&["--admin", &format!("unix:{}", admin.display())])
        .stderr(stderr)
        .start();
    let lost = || {
        let mut connection = Connection::open_unix(&admin).unwrap();
        let reply = connection.send(&Request::get("/metrics")).unwrap();
        Scrape::read(&reply.text()).count("kidoban_log_lines_lost_total")
    };
    assert_eq!(lost(), 0);
    let mut connection = Connection::open(gateway.address()).unwrap();
    until("lost lines", || {
        for _ in 0..200 {
            assert_eq!(connection.send(&Request::turn(LOOK)).unwrap().status, 200);
        }
        (lost() > 0).then_some(())
    });
    drop(unread);
}

/// Ten minutes in steps of five seconds; what has not been is not shown.
#[test]
fn the_last_minutes_begin_with_the_gateway() {
    let gateway = Gateway::with(&[]).admin().start();
    let status = gateway.status();
    assert_eq!(status["recent"]["step_s"].as_f64(), Some(5.0));
    let points = status["recent"]["points"].as_array().unwrap();
    assert!((1..=3).contains(&points.len()), "{points:?}");
    let nothing = json!({ "of_turns": 0, "wait_ms": null, "engine_ms": null, "turn_ms": null });
    assert_eq!(status["times"], nothing);
    gateway.turn(LOOK);
    let later = until("the next step", || {
        let points = gateway.status()["recent"]["points"].clone();
        (points.as_array().unwrap().len() > 1).then_some(points)
    });
    let later = later.as_array().unwrap();
    assert_eq!(later.last().unwrap()["ok"], 0, "{later:?}");
    let peak = later
        .iter()
        .map(|point| point["waiting_max"].as_u64().unwrap());
    assert_eq!(peak.max(), Some(1), "{later:?}");
    let uptime = gateway.status()["uptime_s"].as_f64().unwrap();
    assert!(Duration::from_secs_f64(uptime) >= Duration::from_secs(4));
}
