//! Engines: how many stand how, and what they died of.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::scrape::{Scrape, expected};
use crate::engine_file::{EngineFile, create, serving, told, until_another_serves};
use crate::harness::{Gateway, Running, until};

/// Lets the engine do this; the turn comes to whatever it comes to, then this file is there, and another engine is up.
fn breaks(gateway: &Running, steps: &Value, replied: &Path) {
    let before = gateway.status()["engine"]["deaths_total"].clone();
    let _ = fs::remove_file(replied);
    gateway.turn(&json!({ "kind": "look", "do": steps }).to_string());
    create(replied);
    until("one more death, and an engine", || {
        let engine = gateway.status()["engine"].clone();
        (engine["deaths_total"] != before && engine["state"] == "up").then_some(())
    });
}

#[test]
fn deaths_are_counted_by_cause() {
    let options = ["--reply-timeout=500ms", "--restart-delay-max=10ms"];
    let gateway = Gateway::unlimited(&options).admin().start();
    let command = gateway.status()["engine"]["command"].clone();
    assert!(
        command.as_str().unwrap().ends_with("stub-engine"),
        "{command}"
    );
    let folder = tempfile::tempdir().unwrap();
    let replied = folder.path().join("replied");
    let unasked = format!("wait-for:{}", replied.display());
    for steps in [
        json!("exit:3"),
        json!("abort"),
        json!("hang"),
        json!("close-stdout"),
        json!(["raw:nonsense\n"]),
        json!(["raw:{}\n{}\n"]),
        json!(["big:1200000"]),
        json!(["reply", unasked, "raw:{}\n", "hang"]),
        json!("exit:0"),
    ] {
        breaks(&gateway, &steps, &replied);
    }
    let scrape = Scrape::of(&gateway);
    let causes = [
        ("exited", 3),
        ("timed_out", 1),
        ("stdout_closed", 1),
        ("not_json", 1),
        ("more_than_one_line", 1),
        ("too_long", 1),
        ("unasked", 1),
    ];
    let counted = scrape.by_label("kidoban_engine_deaths_total");
    assert_eq!(counted, expected(&causes));
    assert_eq!(scrape.count("kidoban_protocol_violations_total"), 4);

    let engine = &gateway.status()["engine"];
    assert_eq!(engine["deaths_total"], 9);
    let deaths = engine["deaths"].as_array().unwrap();
    let codes: Vec<_> = deaths.iter().map(|death| death["code"].clone()).collect();
    let newest_first = [
        "exited",
        "unasked",
        "too_long",
        "more_than_one_line",
        "not_json",
        "stdout_closed",
        "timed_out",
        "exited",
    ];
    assert_eq!(codes, newest_first);
    assert_eq!(deaths[0]["cause"], "it exited");
    assert_eq!(deaths[0]["status"], "exit status: 0");
    assert_eq!(deaths[0]["turns"], 0);
    assert_eq!(deaths[1]["turns"], 1, "the turn that it replied to first");
    assert!(deaths[7]["status"].as_str().unwrap().contains("SIGABRT"));
    for two in deaths.windows(2) {
        let ago = |death: &Value| death["ago_s"].as_f64().unwrap();
        assert!(ago(&two[0]) <= ago(&two[1]), "{two:?}");
        assert!(two[0]["ran_s"].as_f64().unwrap() < 20.0, "{two:?}");
    }
}

/// What an engine did after its reply, seen when the next turn comes to it.
#[test]
fn deaths_that_the_next_turn_finds_are_counted_by_cause() {
    let gateway = Gateway::unlimited(&[]).admin().start();
    let turn = |steps: &Value| {
        let reply = gateway.turn(&json!({ "kind": "look", "do": steps }).to_string());
        (reply.status, reply.json()["pid"].clone())
    };
    let counted = || {
        let scrape = Scrape::of(&gateway);
        let violations = scrape.count("kidoban_protocol_violations_total");
        (scrape.by_label("kidoban_engine_deaths_total"), violations)
    };

    let (status, first) = turn(&json!(["reply", "close-stdin"]));
    assert_eq!(status, 200);
    until("its stdin is closed", || {
        let stdin = fs::read_link(format!("/proc/{first}/fd/0")).unwrap();
        (stdin == Path::new("/dev/null")).then_some(())
    });
    // Not a byte of it went out: it is served by the next engine.
    let (status, second) = turn(&json!([]));
    assert_eq!(status, 200);
    assert_ne!(second, first);
    assert_eq!(counted(), (expected(&[("stdin_closed", 1)]), 0));

    // A line that is nobody's comes when the next turn has, and before that was read; its own reply is no part of that.
    assert_eq!(turn(&json!(["reply", "late:100"])), (200, second));
    assert_eq!(turn(&json!(["sleep:100", "reply"])).0, 502);
    until("it is dead", || (counted().1 == 1).then_some(()));
    let causes = [("stdin_closed", 1), ("out_of_step", 1)];
    assert_eq!(counted(), (expected(&causes), 1));
}

/// The program is gone, and later there again.
#[test]
fn an_engine_that_cannot_be_run_is_a_death_too() {
    let file = EngineFile::stub("");
    let gateway = file
        .gateway(&["--restart-delay-max", "10ms"])
        .admin()
        .start();
    // It has been run: one that never was would be no engine to wait for.
    serving(&gateway);
    file.remove();
    gateway.turn(r#"{"kind":"look","do":"exit:1"}"#);
    let engine = until("starts that failed", || {
        let engine = gateway.status()["engine"].clone();
        (engine["deaths_total"].as_u64() > Some(2)).then_some(engine)
    });
    assert_eq!(engine["pid"], Value::Null);
    assert_eq!(engine["deaths"][0]["code"], "not_run");
    let engines = Scrape::of(&gateway).by_label("kidoban_engines");
    assert_eq!(engines.values().sum::<u64>(), 1, "{engines:?}");
    file.put_stub("");
    until("the engine is up again", || {
        (gateway.health()["ok"] == true).then_some(())
    });
    let deaths = Scrape::of(&gateway).by_label("kidoban_engine_deaths_total");
    assert_eq!(deaths["exited"], 1);
    assert!(deaths["not_run"] > 1, "{deaths:?}");
}

#[test]
fn a_swap_shows_two_engines_and_then_one() {
    let file = EngineFile::stub("");
    let gateway = file
        .gateway(&["--ready-probe", r#"{"kind":"look"}"#])
        .admin()
        .start();
    let before = serving(&gateway);
    let engine = gateway.status()["engine"].clone();
    assert_eq!(
        (&engine["pid"], &engine["turns"]),
        (&json!(before), &json!(1))
    );
    let starts = file.beside("start");
    file.put_stub(&format!("--start-when {}", starts.display()));
    let engines = || Scrape::of(&gateway).by_label("kidoban_engines");
    assert_eq!(engines(), expected(&[("up", 1)]));
    gateway.signal("HUP");
    until("a fresh one warms up", || {
        (engines() == expected(&[("up", 1), ("starting", 1)])).then_some(())
    });
    create(&starts);
    let after = until_another_serves(&gateway, before);
    until("one engine", || {
        (engines() == expected(&[("up", 1)])).then_some(())
    });
    let engine = gateway.status()["engine"].clone();
    assert_eq!(engine["pid"], after);
    assert_eq!(engine["deaths_total"], 0, "who is replaced has not died");
}

#[test]
fn lines_of_stderr_that_are_too_many_are_counted() {
    let gateway = Gateway::unlimited(&[]).admin().start();
    gateway.turn(r#"{"kind":"look","do":["stderr:500","reply"]}"#);
    until("every line is logged or counted", || {
        let dropped = Scrape::of(&gateway).count("kidoban_engine_stderr_lines_dropped_total");
        assert_eq!(gateway.status()["stderr_lines_dropped"], dropped);
        let logged = told(&gateway, "engine stderr") as u64;
        (dropped >= 400 && logged + dropped == 500).then_some(())
    });
}
