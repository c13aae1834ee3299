//! What the engine writes to stderr: logged line by line, cut, capped, never in anybody's way.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};

fn look(gateway: &Running, steps: &Value) -> u16 {
    gateway
        .turn(&json!({ "kind": "look", "do": steps }).to_string())
        .status
}

/// The lines that came from it, as they are logged.
fn lines(gateway: &Running) -> Vec<Value> {
    let records = gateway.log_records().into_iter();
    records
        .filter(|record| record["message"] == "engine stderr")
        .collect()
}

#[test]
fn each_line_is_logged() {
    let gateway = Gateway::unlimited(&[]).start();
    assert_eq!(look(&gateway, &json!(["stderr:3", "reply"])), 200);
    let logged = until("three lines", || {
        let logged = lines(&gateway);
        (logged.len() == 3).then_some(logged)
    });
    for (n, record) in logged.iter().enumerate() {
        assert_eq!(record["line"], format!("stub line {n}"), "{record}");
        assert_eq!(record.get("cut_bytes"), None);
    }
}

#[test]
fn the_last_words_of_a_dying_engine_are_logged() {
    let gateway = Gateway::unlimited(&[]).start();
    assert_eq!(look(&gateway, &json!(["stderr-raw:5", "exit:3"])), 502);
    let record = gateway.wait_for_log("a line without an end", |record| {
        record["message"] == "engine stderr"
    });
    assert_eq!(record["line"], "\u{fffd}eeeee");
}

#[test]
fn a_long_line_of_any_bytes_is_cut() {
    let gateway = Gateway::unlimited(&[]).start();
    assert_eq!(
        look(&gateway, &json!(["stderr-raw:10000", "stderr:2", "reply"])),
        200
    );
    let logged = until("both lines", || {
        let logged = lines(&gateway);
        (logged.len() == 2).then_some(logged)
    });
    let line = logged[0]["line"].as_str().unwrap();
    assert!(line.starts_with("\u{fffd}eee"));
    let kept = 4 * 1024 - 1;
    assert_eq!(line.matches('e').count(), kept);
    // The raw byte, 10,000 bytes and "stub line 0", less what was kept.
    assert_eq!(logged[0]["cut_bytes"], 10_000 + 1 + 11 - 4 * 1024);
    assert_eq!(logged[1]["line"], "stub line 1", "the next line is whole");
}

#[test]
fn fifty_lines_a_second_and_the_rest_is_counted() {
    const LINES: u64 = 5_000;
    let gateway = Gateway::unlimited(&[]).start();
    let began = Instant::now();
    assert_eq!(
        look(&gateway, &json!([format!("stderr:{LINES}"), "reply"])),
        200
    );
    until("all are logged or counted", || {
        let seconds = began.elapsed().as_secs();
        let logged = lines(&gateway).len() as u64;
        let counted: u64 = gateway
            .log_records()
            .iter()
            .filter_map(|record| record["lines"].as_u64())
            .sum();
        assert!(
            logged <= 50 * (seconds + 1),
            "{logged} lines in {seconds} s"
        );
        (logged >= 50 && logged + counted == LINES).then_some(())
    });
}

/// An engine that writes without an end neither blocks nor fills the gateway's memory.
#[test]
fn it_is_drained_and_not_kept() {
    const MEBIBYTE: u64 = 1 << 20;
    let gateway = Gateway::unlimited(&[]).start();
    let peak = || {
        let status = fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next());
        kibibytes.unwrap().parse::<u64>().unwrap() * 1024
    };
    let before = peak();
    let steps = json!([format!("stderr-raw:{}", 48 * MEBIBYTE), "reply"]);
    assert_eq!(look(&gateway, &steps), 200);
    let grown = peak() - before;
    assert!(grown < 16 * MEBIBYTE, "{} MiB more", grown / MEBIBYTE);
}
