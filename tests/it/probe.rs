//! `--ready-probe`: an engine counts as up when it has answered, and not before. The
//! exact moments are in `in_memory::swaps`.

use std::fs;
use std::thread;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::engine_file::{
    EngineFile, PROBE, create, deaths, serving, told, until_another_serves, until_told,
    until_waiting,
};
use crate::harness::{Running, until, wait_until_gone};

/// The lines that engines have read, from a file of the stub's.
fn marks(log: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["mark"].take())
        .collect()
}

fn kill(engine: u32) {
    let pid = Pid::from_raw(i32::try_from(engine).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

/// Takes no turn, and says when to come again.
fn is_not_up(gateway: &Running, engine: &[&str]) {
    let health = gateway.send(&crate::http::Request::get("/api/health"));
    assert_eq!(
        (health.status, health.json()["ok"].clone()),
        (503, json!(false))
    );
    let told = health.json()["engine"].clone();
    assert!(engine.iter().any(|word| told == *word), "{told}");
    assert!(health.retry_after().is_some());
    let turn = gateway.turn(r#"{"kind":"look","mark":"early"}"#);
    assert_eq!((turn.status, turn.code().as_str()), (503, "engine_down"));
    assert!(turn.retry_after().is_some());
    assert!(turn.json()["retry_after_ms"].is_u64(), "{}", turn.text());
}

#[test]
fn an_engine_is_up_once_it_has_answered() {
    let file = EngineFile::stub("");
    let (warm, log) = (file.beside("warm"), file.beside("log"));
    file.put_stub(&format!(
        "--start-when '{}' --log '{}'",
        warm.display(),
        log.display()
    ));
    let gateway = file.gateway(&PROBE).start_unready();
    let engine = gateway.one_engine();
    for _ in 0..10 {
        is_not_up(&gateway, &["starting"]);
    }
    assert_eq!(told(&gateway, "the engine is up"), 0);
    create(&warm);
    until("it is up", || {
        (gateway.health()["engine"] == "up").then_some(())
    });
    let reply = gateway.turn(r#"{"kind":"look","mark":"first"}"#).json();
    assert_eq!(
        (&reply["mark"], &reply["pid"]),
        (&json!("first"), &json!(engine))
    );
    assert_eq!(reply["lines"], 2, "the probe was the first");
    assert_eq!(marks(&log), ["probe", "first"], "those refused never came");
}

/// Killed and replaced, at once and then after pauses, and never up.
#[test]
fn an_engine_that_fails_its_probe_is_replaced() {
    let cases = [
        (
            "read -r l; echo hello; sleep 60",
            "it wrote a line that is not JSON",
        ),
        ("read -r l; exit 4", "it exited"),
        ("read -r l; sleep 60", "it did not reply in time"),
        (
            "read -r l; printf '{}\\n{}\\n'; sleep 60",
            "it wrote more than one line for one turn",
        ),
    ];
    thread::scope(|scope| {
        for (script, cause) in cases {
            scope.spawn(move || {
                let file = EngineFile::stub("");
                file.put(format!("#!/bin/sh\n{script}\n"));
                let options = [&PROBE[..], &["--reply-timeout", "300ms"]].concat();
                let gateway = file.gateway(&options).start_unready();
                let first = gateway.one_engine();
                until("five at once, and one more", || {
                    is_not_up(&gateway, &["starting", "down"]);
                    (deaths(&gateway).len() >= 6).then_some(())
                });
                wait_until_gone("the first", first);
                for death in deaths(&gateway) {
                    assert_eq!(death["cause"], cause);
                    assert_eq!(
                        (&death["turns"], &death["client"]),
                        (&json!(0), &Value::Null)
                    );
                    assert_eq!(death["line_hash"], Value::Null, "a probe is no turn");
                }
                assert_eq!(told(&gateway, "the engine is up"), 0);
            });
        }
    });
}

/// Once for each engine, the successor at a swap included, and no turn by any count.
#[test]
fn the_probe_is_seen_once_by_each_engine() {
    let file = EngineFile::stub("");
    let log = file.beside("log");
    file.put_stub(&format!("--log '{}'", log.display()));
    let gateway = file.gateway(&PROBE).start();
    let mut before = serving(&gateway);
    for engine in 1..=3 {
        assert_eq!(gateway.health()["waiting"], 0);
        kill(before);
        until("the next is up", || {
            let reply = gateway.turn(r#"{"kind":"look"}"#);
            (reply.status == 200).then_some(())
        });
        until("a death", || {
            (deaths(&gateway).len() == engine).then_some(())
        });
        assert_eq!(
            deaths(&gateway)[engine - 1]["turns"],
            if engine == 1 { 1 } else { 2 }
        );
        before = serving(&gateway);
    }
    gateway.signal("HUP");
    until_another_serves(&gateway, before);
    until_told(&gateway, "the engine is closed", 1);
    let marks = marks(&log);
    let probes = marks.iter().filter(|mark| *mark == "probe").count();
    assert_eq!(probes, 5, "{marks:?}");
    until_told(&gateway, "turn", marks.len() - probes);
    let records = gateway.log();
    assert!(
        !records.contains("\"probe\""),
        "nothing of it is in the log"
    );
}

#[test]
fn waiting_turns_are_served_after_the_probe() {
    let file = EngineFile::stub("");
    let (warm, log) = (file.beside("warm"), file.beside("log"));
    create(&warm);
    file.put_stub(&format!(
        "--start-when '{}' --log '{}'",
        warm.display(),
        log.display()
    ));
    let gateway = file.gateway(&PROBE).start();
    let old = gateway.one_engine();
    fs::remove_file(&warm).unwrap();
    thread::scope(|scope| {
        let turn = |mark: &str, step: &str| {
            gateway.turn(&json!({ "kind": "look", "mark": mark, "do": step }).to_string())
        };
        let dies = scope.spawn(move || turn("dies", "hang"));
        until_waiting(&gateway, 1);
        let waiting = ["a", "b"].map(|mark| scope.spawn(move || turn(mark, "reply")));
        until_waiting(&gateway, 3);
        kill(old);
        assert_eq!(dies.join().unwrap().code(), "engine_failed");
        until("the next one starts", || {
            (gateway.health()["engine"] == "starting").then_some(())
        });
        is_not_up(&gateway, &["starting"]);
        assert_eq!(gateway.health()["waiting"], 2);
        create(&warm);
        for (turn, mark) in waiting.into_iter().zip(["a", "b"]) {
            let reply = turn.join().unwrap();
            assert_eq!((reply.status, &reply.json()["mark"]), (200, &json!(mark)));
        }
    });
    let marks = marks(&log);
    assert_eq!(marks[..3], ["probe", "dies", "probe"]);
    assert_eq!(marks.len(), 5);
}
