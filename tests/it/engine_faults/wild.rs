//! What engines were seen to do in the wild, each as a real process: ends that look
//! clean, stderr without measure, slow or absent reading, bad starts, and lines that
//! come so late that they stand where the next turn's reply must stand.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Seen, breaks, gateway, served, turn};
use crate::harness::{Gateway, Running, until};

/// Waits until another engine than this one is there.
fn until_replaced(gateway: &Running, before: &serde_json::Value) {
    until("the engine is replaced", || {
        let engines = gateway.children();
        (engines.len() == 1 && json!(engines[0]) != *before).then_some(())
    });
}

#[test]
fn an_exit_without_a_fault_while_idle_is_a_death() {
    let gateway = gateway(&["--log-format", "json"]).start();
    // It reports success, nobody asked it to leave, and its pipes are still held.
    let steps = json!(["reply", "fork:600", "sleep:30", "exit:0"]);
    let reply = gateway.turn(&turn("own", &steps));
    assert_eq!(reply.json()["mark"], "own");
    until_replaced(&gateway, &reply.json()["pid"]);
    let record = gateway.wait_for_log("a death", |record| {
        record["message"] == "the engine is dead"
    });
    assert_eq!(record["cause"], "it exited");
    assert_eq!(record["status"], "exit status: 0");
    assert_eq!(record["turns"], 1);
    assert!(record.get("client").is_none(), "nobody's turn: {record}");
    served(&gateway, "after");
}

/// Without a line end it is no reply, whatever it says.
#[test]
fn json_without_a_line_end_is_502() {
    let gateway = gateway(&[]).start();
    for end in ["exit:0", "abort", "close-stdout"] {
        let steps = json!(["raw:{\"mark\":\"broken\"}", end]);
        breaks(&gateway, &steps, 502, "engine_failed");
    }
}

#[test]
fn stderr_without_measure_blocks_nobody() {
    const TEN_MEBIBYTES: &str = "stderr-raw:10485760";
    let gateway = gateway(&["--log-format", "json", "--reply-timeout", "15s"]).start();
    let pid = served(&gateway, "before").json()["pid"].clone();
    for noise in ["stderr-raw:204800", TEN_MEBIBYTES, "stderr:100000"] {
        let reply = gateway.turn(&turn(noise, &json!([noise, "reply"])));
        assert_eq!(reply.status, 200, "{noise}: {}", reply.text());
        assert_eq!(reply.json()["mark"], noise);
    }
    assert_eq!(
        served(&gateway, "after").json()["pid"],
        pid,
        "none has died"
    );
    gateway.wait_for_log("all but a few lines are counted only", |_| {
        let records = gateway.log_records();
        let counted = records.iter().filter_map(|record| record["lines"].as_u64());
        counted.sum::<u64>() > 90_000
    });
    assert!(gateway.log().len() < 1_000_000, "the log stays small");
}

/// A short line fits into the pipe and a long one does not; neither is ever read.
#[test]
fn an_engine_that_never_reads_costs_504() {
    let gateway = gateway(&["--reply-timeout", "300ms", "--max-body", "1MiB"])
        .engine(&["sleep", "1000"])
        .start();
    for bytes in [1, 500_000] {
        let body = json!({ "kind": "look", "fill": "x".repeat(bytes) }).to_string();
        let reply = until("the engine has the turn", || {
            let reply = gateway.turn(&body);
            (reply.code() != "engine_down").then_some(reply)
        });
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (504, "engine_timeout")
        );
    }
    gateway.one_engine();
}

#[test]
fn an_engine_that_reads_slowly_is_waited_for() {
    let gateway = gateway(&["--max-body", "1MiB"])
        .stub(&["--sip", "4096"])
        .start();
    let fill = "x".repeat(500_000);
    for mark in ["first", "second"] {
        let began = Instant::now();
        let body = json!({ "kind": "look", "mark": mark, "do": ["raw:{\"mark\":", "raw:7}", "newline"], "fill": fill });
        let reply = gateway.turn(&body.to_string());
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.text(), r#"{"mark":7}"#);
        assert!(began.elapsed() > Duration::from_millis(122), "it was slow");
    }
}

/// Serves one turn well and dies of the next, each of them: every other turn is served, for ever.
#[test]
fn an_engine_that_works_once_and_then_crashes() {
    const ROUNDS: usize = 20;
    let seen = Seen::new();
    let log = seen.file();
    let script = r#"read -r line; echo "$line" >>"$0"; echo '{"served":true}'; read -r line; echo "$line" >>"$0"; exit 1"#;
    let gateway = gateway(&[])
        .engine(&["sh", "-c", script, log.to_str().unwrap()])
        .start();
    let asked = |mark: String| {
        let body = turn(&mark, &json!([]));
        until("the engine is up", || {
            let reply = gateway.turn(&body);
            (reply.code() != "engine_down").then_some(reply)
        })
    };
    let mut expected = Vec::new();
    for n in 0..ROUNDS {
        let served = asked(format!("{n} is served"));
        assert_eq!(served.status, 200, "{n}: {}", served.text());
        let crashed = asked(format!("{n} crashes"));
        assert_eq!(
            (crashed.status, crashed.code().as_str()),
            (502, "engine_failed")
        );
        expected.extend([format!("{n} is served"), format!("{n} crashes")]);
    }
    assert_eq!(seen.marks(), expected, "every line once");
}

/// A program that was made to serve once, and takes its time to start: a whole reply stands, whatever follows it.
#[test]
fn an_engine_for_one_turn_that_is_slow_to_start() {
    let script = r#"sleep 0.1; read -r line; echo "{\"pid\":$$}""#;
    let gateway = gateway(&[]).engine(&["sh", "-c", script]).start();
    for _ in 0..4 {
        let reply = until("the engine is up", || {
            let reply = gateway.turn(&turn("own", &json!([])));
            (reply.code() != "engine_down").then_some(reply)
        });
        assert_eq!(reply.status, 200, "{}", reply.text());
        until_replaced(&gateway, &reply.json()["pid"]);
    }
}

/// Only the twenty-first start answers the probe; until then nobody is let in, and nothing is tried in a tight loop.
#[test]
fn an_engine_that_fails_to_start_twenty_times() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let script = r#"echo >>"$0"; [ "$(wc -l <"$0")" -gt 20 ] || exit 3; exec "$1""#;
    let stub = crate::harness::stub_engine();
    let options = [
        "--restart-delay-max",
        "40ms",
        "--ready-probe",
        r#"{"kind":"look"}"#,
    ];
    let began = Instant::now();
    let gateway = Gateway::unlimited(&options)
        .engine(&[
            "sh",
            "-c",
            script,
            starts.to_str().unwrap(),
            stub.to_str().unwrap(),
        ])
        .start_unready();
    let mut refused = 0;
    let reply = until("it is up", || {
        let reply = gateway.turn(&turn("own", &json!([])));
        if reply.status == 200 {
            return Some(reply);
        }
        assert_eq!((reply.status, reply.code().as_str()), (503, "engine_down"));
        refused += 1;
        None
    });
    assert_eq!(reply.json()["mark"], "own");
    assert!(refused > 0);
    let count = fs::read_to_string(&starts).unwrap().lines().count();
    assert_eq!(count, 21);
    // Fifteen pauses follow the five starts at once, each 0.8 of the ceiling or more.
    assert!(began.elapsed() > Duration::from_millis(15 * 32));
}

/// Valid JSON in the place of the next turn's reply: that turn is 502, the engine goes, and nobody gets another's.
#[test]
fn a_late_line_costs_one_turn_and_reaches_nobody() {
    for late in [
        json!([
            "reply",
            "sleep:30",
            "raw:{\"mark\":\"nobody's\"}",
            "newline"
        ]),
        json!(["reply", "late:30"]),
        // A gateway that gets no time to look when it should does not take that for a good sign.
        json!(["reply", "late-unseen:30"]),
    ] {
        let gateway = gateway(&[]).start();
        let before = served(&gateway, "before").json()["pid"].clone();
        thread::scope(|scope| {
            let gate = gateway.folder().join("gate");
            let hold = turn(
                "hold",
                &json!([format!("wait-for:{}", gate.display()), "reply"]),
            );
            let hold = scope.spawn(|| gateway.turn(&{ hold }));
            let waits = |turns: u64| {
                until("it waits", || {
                    (gateway.health()["waiting"] == turns).then_some(())
                });
            };
            waits(1);
            let talks = scope.spawn(|| gateway.turn(&turn("talks", &late)));
            waits(2);
            let marks = ["a", "b", "c", "d"];
            let mut others = Vec::new();
            for (n, mark) in (3..).zip(marks) {
                let gateway = &gateway;
                let slow = json!(["sleep:60", "reply"]);
                others.push(scope.spawn(move || gateway.turn(&turn(mark, &slow))));
                waits(n);
            }
            fs::write(&gate, "").unwrap();
            assert_eq!(hold.join().unwrap().json()["mark"], "hold");
            assert_eq!(talks.join().unwrap().json()["mark"], "talks");
            let mut statuses = Vec::new();
            for (mark, other) in marks.into_iter().zip(others) {
                let reply = other.join().unwrap();
                statuses.push(reply.status);
                if reply.status == 200 {
                    assert_eq!(reply.json()["mark"], mark);
                    assert_ne!(reply.json()["pid"], before);
                }
            }
            assert_eq!(statuses, [502, 200, 200, 200], "{late}");
        });
    }
}

/// The late line could only be told from the reply by what follows it, and nothing does: time is up before that is sure.
#[test]
fn a_late_line_before_a_turn_without_a_reply_reaches_nobody() {
    for (late, codes) in [
        // The gateway goes on once the line has been read: what came before is held beyond the time.
        ("late-unseen:400", &["engine_timeout"][..]),
        // The late line may also be there while the other is still seen unread: out of step at once.
        ("late:400", &["engine_timeout", "engine_failed"]),
    ] {
        let gateway = gateway(&["--reply-timeout=1s"]).start();
        let talks = gateway.turn(&turn("talks", &json!(["reply", late])));
        assert_eq!(talks.json()["mark"], "talks");
        let hangs = gateway.turn(&turn("hangs", &json!(["hang"])));
        let code = hangs.code();
        assert!(codes.contains(&&*code), "{late}: {}", hangs.text());
        assert_eq!(served(&gateway, "next").json()["mark"], "next");
    }
}

/// It sleeps before it reads, and then replies as it should: its reply is looked at twice, and stands.
#[test]
fn an_engine_that_is_slow_to_begin_reading_is_believed() {
    let gateway = gateway(&[]).start();
    let pid = served(&gateway, "before").json()["pid"].clone();
    for n in 0..5 {
        let dozes = gateway.turn(&turn("dozes", &json!(["reply", "sleep:50"])));
        assert_eq!(dozes.json()["mark"], "dozes");
        let mark = format!("turn {n}");
        let reply = gateway.turn(&turn(&mark, &json!([])));
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["mark"], mark);
        assert_eq!(reply.json()["pid"], pid, "the engine is the same");
    }
}

/// It was seen to read before it replied: its reply is not held back for three times as long.
#[test]
fn a_reply_that_comes_well_after_the_reading_is_not_held() {
    let gateway = gateway(&[]).start();
    served(&gateway, "before");
    let dozes = gateway.turn(&turn("dozes", &json!(["reply", "sleep:50"])));
    assert_eq!(dozes.status, 200);
    let began = Instant::now();
    let slow = gateway.turn(&turn("slow", &json!(["sleep:500", "reply"])));
    assert_eq!(slow.json()["mark"], "slow");
    let took = began.elapsed();
    assert!(took < Duration::from_millis(1500), "{took:?}");
}

/// Eight seconds of real time: that its line lies unread so long makes a fresh engine no suspect.
#[test]
fn an_engine_that_needs_eight_seconds_to_start() {
    let stub = crate::harness::stub_engine();
    let needs_long = |options: &[&str]| {
        gateway(options).engine(&["sh", "-c", "sleep 8; exec \"$0\"", stub.to_str().unwrap()])
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let gateway = needs_long(&["--reply-timeout", "15s"]).start();
            let reply = gateway.turn(&turn("patient", &json!([])));
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert_eq!(reply.json()["mark"], "patient");
        });
        scope.spawn(|| {
            let probe = r#"{"kind":"look"}"#;
            let gateway =
                needs_long(&["--reply-timeout", "15s", "--ready-probe", probe]).start_unready();
            let reply = served(&gateway, "probed");
            assert_eq!(reply.json()["lines"], 2, "the probe was the first");
        });
    });
}
