//! Options about the queue, the engine and the log, each seen obeyed. (The others: `listening`,
//! `connections`, `shutdown`, `cross_origin`, `static_files`, `rate_limit`, `who_is_the_client`, `gates`.)

use std::thread;

use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};
use crate::http::Reply;

fn look(gateway: &Running, steps: &Value) -> Reply {
    gateway.turn(&json!({ "kind": "look", "do": steps }).to_string())
}

/// Status and code of an answer; a reply has no code.
fn told(reply: &Reply) -> (u16, String) {
    (reply.status, reply.code())
}

fn until_waiting(gateway: &Running, turns: u64) {
    until("turns that wait", || {
        (gateway.health()["waiting"] == turns).then_some(())
    });
}

#[test]
fn queue() {
    let gateway = Gateway::unlimited(&["--queue", "2"]).start();
    assert_eq!(gateway.health()["queue"], 2);
    thread::scope(|scope| {
        let slow = scope.spawn(|| look(&gateway, &json!(["sleep:1500", "reply"])).status);
        until_waiting(&gateway, 1);
        let quick = scope.spawn(|| look(&gateway, &json!("reply")).status);
        until_waiting(&gateway, 2);
        let refused = look(&gateway, &json!([]));
        assert_eq!(told(&refused), (429, "queue_full".to_owned()));
        for turn in [slow, quick] {
            assert_eq!(turn.join().unwrap(), 200);
        }
    });
    assert_eq!(
        look(&gateway, &json!("reply")).status,
        200,
        "there is room again"
    );
}

#[test]
fn max_wait() {
    let gateway = Gateway::unlimited(&["--max-wait", "100ms"]).start();
    thread::scope(|scope| {
        let first = scope.spawn(|| look(&gateway, &json!(["sleep:1500", "reply"])));
        until_waiting(&gateway, 1);
        let shed = look(&gateway, &json!("reply"));
        assert_eq!(told(&shed), (503, "shed".to_owned()));
        assert!(shed.retry_after().is_some());
        assert_eq!(
            first.join().unwrap().status,
            200,
            "a turn in the engine is not shed"
        );
    });
    let lines = look(&gateway, &json!("reply")).json()["lines"].clone();
    assert_eq!(lines, 2, "the engine never saw the turn that was shed");
}

#[test]
fn reply_timeout() {
    let gateway = Gateway::unlimited(&["--reply-timeout", "300ms"]).start();
    let first = look(&gateway, &json!("reply")).json()["pid"].clone();
    let late = look(&gateway, &json!("hang"));
    assert_eq!(told(&late), (504, "engine_timeout".to_owned()));
    let second = until("the next engine", || {
        let reply = look(&gateway, &json!("reply"));
        (reply.status == 200).then(|| reply.json()["pid"].clone())
    });
    assert_ne!(first, second);
}

/// Without the ceiling the sixteenth death comes no earlier than 26 s after the first.
#[test]
fn restart_delay_max() {
    let gateway = Gateway::with(&["--restart-delay-max", "50ms"])
        .stub(&["--exit", "1"])
        .start_unready();
    until("sixteen deaths", || {
        let log = gateway.log();
        (log.matches("the engine is dead").count() >= 16).then_some(())
    });
}

#[test]
fn engine_dir() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().display().to_string();
    let gateway = Gateway::with(&["--engine-dir", &path]).start();
    assert_eq!(look(&gateway, &json!("cwd")).json()["cwd"], path);
}

#[test]
fn engine_env() {
    let seen = |gateway: &Running, name: &str| {
        look(gateway, &json!([format!("env:{name}")])).json()["env"].clone()
    };
    let options = ["--engine-env", "ONE=1,TWO=2", "--engine-env", "THREE=a=b"];
    let gateway = Gateway::unlimited(&options)
        .env("KIDOBAN_QUEUE", "7")
        .env("INHERITED", "yes")
        .start();
    assert_eq!(
        seen(&gateway, "ONE"),
        "1,TWO=2",
        "commas stand on the command line"
    );
    assert_eq!(seen(&gateway, "TWO"), Value::Null);
    assert_eq!(seen(&gateway, "THREE"), "a=b");
    assert_eq!(seen(&gateway, "INHERITED"), "yes");
    assert_eq!(seen(&gateway, "KIDOBAN_QUEUE"), Value::Null);

    let gateway = Gateway::unlimited(&[])
        .env("KIDOBAN_ENGINE_ENV", "ONE=1,TWO=")
        .start();
    assert_eq!(
        seen(&gateway, "ONE"),
        "1",
        "they separate in the environment"
    );
    assert_eq!(seen(&gateway, "TWO"), "");
    assert_eq!(seen(&gateway, "KIDOBAN_ENGINE_ENV"), Value::Null);
}

#[test]
fn max_reply() {
    let gateway = Gateway::unlimited(&["--max-reply", "1KiB"]).start();
    let reply = look(&gateway, &json!("big:1024"));
    assert_eq!((reply.status, reply.body.len()), (200, 1024));
    let failed = look(&gateway, &json!("big:1025"));
    assert_eq!(told(&failed), (502, "engine_failed".to_owned()));
}

#[test]
fn max_input() {
    let gateway = Gateway::unlimited(&["--max-input", "3"]).start();
    let say = |input: &str| gateway.turn(&json!({"kind": "say", "input": input}).to_string());
    assert_eq!(
        say("扉をけ").status,
        200,
        "characters are counted, not bytes"
    );
    assert_eq!(say("🎭🎭🎭").status, 200);
    let refused = say("扉を開け");
    assert_eq!(told(&refused), (400, "bad_shape".to_owned()));
}

#[test]
fn max_depth() {
    let gateway = Gateway::unlimited(&["--max-depth", "2"]).start();
    assert_eq!(gateway.turn(r#"{"kind":"look","x":[1]}"#).status, 200);
    let refused = gateway.turn(r#"{"kind":"look","x":[[]]}"#);
    assert_eq!(told(&refused), (400, "bad_shape".to_owned()));
}

#[test]
fn kinds() {
    let of_kind = |gateway: &Running, kind: &str| {
        let reply = gateway.turn(&json!({ "kind": kind }).to_string());
        assert!(
            reply.status == 200 || reply.code() == "bad_shape",
            "{reply:?}"
        );
        reply.status
    };
    let gateway = Gateway::unlimited(&["--kinds", "jump,跳ぶ"]).start();
    for (kind, status) in [("jump", 200), ("跳ぶ", 200), ("look", 400), ("Jump", 400)] {
        assert_eq!(of_kind(&gateway, kind), status, "{kind}");
    }
    let gateway = Gateway::unlimited(&["--kinds", "any"]).start();
    let (longest, longer) = ("札".repeat(64), "x".repeat(65));
    for (kind, status) in [
        ("look", 200),
        ("what ever\n", 200),
        (&longest, 200),
        (&longer, 400),
        ("", 400),
        ("new", 400),
    ] {
        assert_eq!(of_kind(&gateway, kind), status, "{kind:?}");
    }
}

#[test]
fn log_format() {
    for (format, is_json) in [("text", false), ("json", true), ("auto", true)] {
        let gateway = Gateway::with(&["--log-format", format]).start();
        let log = until("a line", || {
            let log = gateway.log();
            log.contains("the engine is up").then_some(log)
        });
        let first = log.lines().next().unwrap();
        let parsed = serde_json::from_str::<Value>(first);
        assert_eq!(parsed.is_ok(), is_json, "{format}: {first}");
        assert!(!log.contains('\x1b'), "no colours in a file: {log}");
    }
}

#[test]
fn log_client() {
    use crate::http::Request;
    for (how, v4, v6) in [
        ("full", json!("192.0.2.77"), json!("2001:db8:1:2::77")),
        ("prefix", json!("192.0.2.0/24"), json!("2001:db8:1::/48")),
        ("off", Value::Null, Value::Null),
    ] {
        let gateway = Gateway::unlimited(&["--log-client", how]).start();
        for (address, shown) in [("192.0.2.77", v4), ("2001:db8:1:2::77", v6)] {
            let turn = Request::turn(r#"{"kind":"look"}"#).from(address);
            let id = gateway
                .send(&turn)
                .header("x-request-id")
                .unwrap()
                .to_owned();
            let record = gateway.wait_for_log("the turn", |record| record["request_id"] == id);
            assert_eq!(record["client"], shown, "{how}");
        }
        if how != "full" {
            assert!(!gateway.log().contains("192.0.2.77"), "{how}");
        }
    }
}

#[test]
fn rust_log() {
    let gateway = Gateway::with(&[]).env("RUST_LOG", "warn").start();
    assert_eq!(look(&gateway, &json!("reply")).status, 200);
    assert_eq!(look(&gateway, &json!("exit:3")).status, 502);
    gateway.wait_for_log("a warning", |record| {
        record["message"] == "the engine is dead"
    });
    assert!(
        !gateway.log().contains(r#""level":"INFO""#),
        "{}",
        gateway.log()
    );

    let gateway = Gateway::with(&[]).env("RUST_LOG", "").start();
    gateway.wait_for_log("info, when it is empty", |record| record["level"] == "INFO");
}
