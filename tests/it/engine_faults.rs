//! The engine breaks its contract in every way it can, as a real process: what the
//! asker gets, and that the next asker gets the next engine. Processes themselves, and
//! what is left of them, are in `process`.

mod process;
mod wild;

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};
use crate::http::{Reply, Request};

/// A mark, and what the stub does for it.
fn turn(mark: &str, steps: &Value) -> String {
    json!({ "kind": "look", "mark": mark, "do": steps }).to_string()
}

/// Asks until the engine is up, as a client does that honours 503.
pub fn served(gateway: &Running, mark: &str) -> Reply {
    let body = turn(mark, &json!([]));
    let reply = until("a turn is served", || {
        let reply = gateway.turn(&body);
        (reply.code() != "engine_down").then_some(reply)
    });
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["mark"], mark);
    reply
}

/// The turn ends like this, the engine is replaced, and nobody else is any the worse for it.
fn breaks(gateway: &Running, steps: &Value, status: u16, code: &str) {
    let before = served(gateway, "before").json()["pid"].clone();
    let reply = gateway.turn(&turn("broken", steps));
    let told = (reply.status, reply.code());
    assert_eq!(told, (status, code.to_owned()), "{steps}: {}", reply.text());
    assert_eq!(reply.retry_after(), None, "waiting does not help this turn");
    assert_ne!(served(gateway, "after").json()["pid"], before, "{steps}");
}

/// Deaths are answered at once or nearly so.
fn gateway(options: &[&str]) -> Gateway {
    let mut all = vec!["--restart-delay-max", "5ms"];
    all.extend(options);
    Gateway::unlimited(&all)
}

/// Lines that engines of this gateway have read.
struct Seen(tempfile::TempDir);

impl Seen {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("seen")
    }

    fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["mark"].clone())
            .map(|mark| mark.as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

#[test]
fn a_death_in_mid_turn_is_502_and_never_sent_again() {
    let seen = Seen::new();
    let log = seen.file();
    let gateway = gateway(&["--log-format", "json"])
        .stub(&["--log", log.to_str().unwrap()])
        .start();
    for steps in [
        json!(["exit:0"]),
        json!(["exit:3"]),
        json!(["abort"]),
        json!(["raw:{\"mark\":\"broken\"}", "exit:0"]),
        json!(["close-stdout"]),
    ] {
        breaks(&gateway, &steps, 502, "engine_failed");
    }
    let expected = ["before", "broken", "after"].repeat(5);
    assert_eq!(seen.marks(), expected, "every line once");
    let cause = |cause: &str, status: &str| {
        gateway.wait_for_log("a death", |record| {
            record["cause"] == cause && record["status"].as_str().unwrap_or("").contains(status)
        })
    };
    cause("it exited", "exit status: 3");
    cause("it exited", "SIGABRT");
    cause("it closed its stdout", "SIGKILL");
}

#[test]
fn waiting_turns_are_served_by_the_next_engine() {
    let seen = Seen::new();
    let log = seen.file();
    let gateway = gateway(&[]).stub(&["--log", log.to_str().unwrap()]).start();
    thread::scope(|scope| {
        let dies = turn("dies", &json!(["hang"]));
        let dies = scope.spawn(|| gateway.turn(&{ dies }));
        until("the turn is in the engine", || {
            (seen.marks() == ["dies"]).then_some(())
        });
        let marks = ["a", "b", "c", "d"];
        let waiting: Vec<_> = marks
            .map(|mark| scope.spawn(|| gateway.turn(&turn(mark, &json!([])))))
            .into();
        until("all of them wait", || {
            (gateway.health()["waiting"] == 5).then_some(())
        });
        process::kill_engine(&gateway);
        assert_eq!(dies.join().unwrap().code(), "engine_failed");
        for (asked, mark) in waiting.into_iter().zip(marks) {
            let reply = asked.join().unwrap();
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert_eq!(reply.json()["mark"], mark);
        }
    });
    let mut lines = seen.marks();
    lines.sort();
    assert_eq!(lines, ["a", "b", "c", "d", "dies"], "every line once");
    assert_eq!(gateway.health()["waiting"], 0);
}

/// The whole reply counts, whatever follows it; it is replaced before the next turn.
#[test]
fn a_whole_reply_stands() {
    let gateway = gateway(&[]).start();
    for steps in [
        json!(["reply", "exit:0"]),
        json!(["reply", "abort"]),
        json!(["reply", "close-stdout"]),
        json!(["reply", "fork:60", "exit:0"]),
        json!(["sleep:1", "reply-slowly", "exit:7"]),
    ] {
        let before = served(&gateway, "before").json()["pid"].clone();
        let reply = gateway.turn(&turn("whole", &steps));
        assert_eq!(reply.status, 200, "{steps}: {}", reply.text());
        assert_eq!(reply.json()["mark"], "whole");
        until("the engine is replaced", || {
            let engines = gateway.children();
            (engines.len() == 1 && json!(engines[0]) != before).then_some(())
        });
        served(&gateway, "after");
    }
}

#[test]
fn what_is_no_reply_is_502() {
    let gateway = gateway(&["--max-reply", "2000", "--reply-timeout", "20s"]).start();
    for steps in [
        json!(["raw:not JSON", "newline"]),
        json!(["newline"]),
        json!(["raw:{\"a\":1", "newline"]),
        json!(["raw:{} {}", "newline"]),
        json!(["raw:\u{feff}{}", "newline"]),
        json!(["not-utf-8"]),
        json!(["raw:{}\n{}\n"]),
        json!(["raw:{}\nx"]),
        json!(["big:2001"]),
        json!(["flood"]),
    ] {
        breaks(&gateway, &steps, 502, "engine_failed");
    }
    assert_eq!(gateway.turn(&turn("-", &json!(["big:2000"]))).status, 200);
}

#[test]
fn an_engine_that_takes_too_long_is_504_and_dies_with_its_group() {
    let gateway = gateway(&["--reply-timeout", "1s"]).start();
    let seconds = process::unique_seconds(&gateway);
    for steps in [
        json!(["hang"]),
        json!(["raw:{", "hang"]),
        json!([format!("fork:{seconds}"), "hang"]),
        // Closed by the engine, and yet it may reply: nothing is left to be written to it.
        json!(["close-stdin"]),
    ] {
        breaks(&gateway, &steps, 504, "engine_timeout");
    }
    until("the grandchild is gone", || {
        (!process::sleeps(&seconds)).then_some(())
    });
}

/// A line nobody asked for: in time to be told from a reply, it costs the engine and no turn.
#[test]
fn an_unasked_line_costs_the_engine() {
    let gateway = gateway(&[]).start();
    for (n, late) in ["raw:{\"mark\":\"late\"}\n", "raw:\n", "raw:x"]
        .iter()
        .enumerate()
    {
        // Not before the reply was handed on: one that is in doubt is held, and a line then costs the turn too.
        let gate = gateway.folder().join(format!("gate-{n}"));
        let wait = format!("wait-for:{}", gate.display());
        let reply = gateway.turn(&turn("own", &json!(["reply", wait, late])));
        assert_eq!(reply.json()["mark"], "own", "{}", reply.text());
        fs::write(&gate, "").unwrap();
        let before = reply.json()["pid"].clone();
        until("the engine is replaced", || {
            let engines = gateway.children();
            (engines.len() == 1 && json!(engines[0]) != before).then_some(())
        });
        served(&gateway, "next");
    }
}

/// It talks before it was asked, each time, and is never trusted. A turn that is written
/// before the greeting comes could not tell it from its reply, so none is asked here.
#[test]
fn a_banner_at_start_costs_the_engine() {
    let gateway = Gateway::unlimited(&["--log-format", "json"])
        .stub(&["--greet", "{\"mark\":\"banner\"}"])
        .start_unready();
    until(
        "five are replaced at once, and the sixth after a pause",
        || {
            let records = gateway.log_records();
            let deaths =
                (records.iter()).filter(|record| record["message"] == "the engine is dead");
            let causes: Vec<_> = deaths.map(|record| record["cause"].clone()).collect();
            let unasked = "it wrote a line that nobody asked for";
            assert!(causes.iter().all(|cause| cause == unasked), "{causes:?}");
            (causes.len() >= 6).then_some(())
        },
    );
}

/// Sizes around the edges of pages and pipes, and bytes one by one.
#[test]
fn replies_of_every_size_pass() {
    let gateway = gateway(&[]).start();
    for bytes in [
        2, 4_095, 4_096, 4_097, 8_191, 8_192, 8_193, 65_535, 65_536, 65_537, 1_048_576,
    ] {
        let reply = gateway.turn(&turn("-", &json!([format!("big:{bytes}")])));
        assert_eq!((reply.status, reply.body.len()), (200, bytes));
        assert!(reply.body[1..bytes - 1].iter().all(|byte| *byte == b'x'));
    }
    breaks(&gateway, &json!(["big:1048577"]), 502, "engine_failed");
    let reply = gateway.turn(&turn("byte by byte", &json!(["reply-slowly"])));
    assert_eq!(reply.json()["mark"], "byte by byte");
}

/// A line longer than a pipe, to an engine that does not read: its stdin breaks, or its time is up.
#[test]
fn an_engine_that_does_not_read_blocks_nobody() {
    let gateway = gateway(&["--reply-timeout", "2s", "--max-body", "1MiB"]).start();
    let long = |mark: &str, steps: Value| {
        let fill = "x".repeat(500_000);
        json!({ "kind": "look", "mark": mark, "do": steps, "fill": fill }).to_string()
    };
    let reply = gateway.turn(&long("long", json!([])));
    assert_eq!(reply.json()["mark"], "long");

    let reply = gateway.turn(&turn("last", &json!(["reply", "close-stdin"])));
    assert_eq!(reply.json()["mark"], "last");
    let reply = gateway.turn(&long("next", json!([])));
    assert!(matches!(reply.status, 200 | 502), "{}", reply.text());

    served(&gateway, "again");
    let reply = gateway.turn(&turn("last", &json!(["reply", "hang"])));
    assert_eq!(reply.json()["mark"], "last");
    let reply = gateway.turn(&long("next", json!([])));
    assert_eq!(reply.code(), "engine_timeout");
    served(&gateway, "after");
}

#[test]
fn stderr_of_any_kind_blocks_nobody() {
    let gateway = gateway(&["--log-format", "json"]).start();
    for steps in [
        json!(["stderr:20000", "reply"]),
        json!(["stderr-raw:3000000", "reply"]),
        json!(["stderr:1", "reply"]),
    ] {
        let reply = gateway.turn(&turn("loud", &steps));
        assert_eq!((reply.status, &reply.json()["mark"]), (200, &json!("loud")));
    }
    gateway.wait_for_log("the rest is counted", |record| {
        record["message"] == "engine stderr: more lines than are logged"
            && record["lines"].as_u64().is_some_and(|lines| lines > 10_000)
    });
    let lines = gateway.log_records();
    let lines = (lines.iter()).filter(|record| record["message"] == "engine stderr");
    assert!(lines.count() < 2_000, "at most 50 a second");
    assert!(gateway.log().len() < 1_000_000);
}

/// Half a request and then nothing, from many: no engine, no place.
#[test]
fn clients_that_leave_cost_no_engine() {
    let gateway = gateway(&["--queue", "4"]).start();
    let before = served(&gateway, "before").json()["pid"].clone();
    for _ in 0..20 {
        let request = Request::turn(turn("leaves", &json!(["sleep:20", "reply"]))).bytes();
        let mut connection = crate::http::Connection::open(gateway.address()).unwrap();
        std::io::Write::write_all(&mut connection.stream, &request).unwrap();
    }
    until("every place is free", || {
        (gateway.health()["waiting"] == 0).then_some(())
    });
    assert_eq!(served(&gateway, "after").json()["pid"], before);
}
