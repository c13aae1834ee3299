//! SIGHUP: a fresh engine takes over from the old one, and nobody notices. The exact
//! moments are in `in_memory::swaps`.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::engine_file::{
    EngineFile, PROBE, create, deaths, serving, told, until_a_long_pause, until_another_serves,
    until_told, until_waiting,
};
use crate::harness::{Gateway, Running, stub_engine, until, wait_until_gone};
use crate::http::{Connection, Request};

const STARTING: &str = "starting a fresh engine to take over";
const STAYS: &str = "the fresh engine failed";
const CLOSED: &str = "the engine is closed";
const DEAD: &str = "the engine is dead";

/// Asks for the health until `done`; it must not change. How often it was asked.
fn stays_healthy(gateway: &Running, done: &AtomicBool) -> usize {
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut asked = 0;
    while !done.load(Ordering::Relaxed) {
        let health = connection.send(&Request::get("/api/health")).unwrap();
        assert_eq!(health.status, 200, "{}", health.text());
        assert_eq!(health.json()["engine"], "up");
        asked += 1;
        thread::sleep(Duration::from_millis(1));
    }
    asked
}

/// Plays until `done`, and one turn more: every turn is answered, and with its own reply. The engines seen.
fn plays(gateway: &Running, player: usize, done: &AtomicBool) -> Vec<u64> {
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut engines = Vec::new();
    let mut turns = 0;
    let mut is_last = false;
    while !is_last {
        is_last = done.load(Ordering::Relaxed);
        let mark = format!("{player}.{turns}");
        let turn = json!({ "kind": "look", "mark": mark, "do": ["sleep:2", "reply"] });
        let reply = connection.send(&Request::turn(turn.to_string())).unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["mark"], mark.as_str());
        engines.push(reply.json()["pid"].as_u64().unwrap());
        turns += 1;
    }
    engines.dedup();
    engines
}

/// Does something while players play and the health is watched; the engines that each player saw, in order.
fn under_load(gateway: &Running, act: impl FnOnce()) -> Vec<Vec<u64>> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let players: Vec<_> = (0..6)
            .map(|player| scope.spawn(move || plays(gateway, player, done)))
            .collect();
        let health = scope.spawn(move || stays_healthy(gateway, done));
        let end = End(done);
        act();
        drop(end);
        assert!(health.join().unwrap() > 0);
        players
            .into_iter()
            .map(|player| player.join().unwrap())
            .collect()
    })
}

/// Ends the others also when a test fails: a scope waits for all of them.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn three_swaps_under_load_cost_no_turn() {
    for options in [&PROBE[..], &[]] {
        let file = EngineFile::stub("");
        let gateway = file.gateway(options).start();
        let first = serving(&gateway);
        let mut served = vec![u64::from(first)];
        let seen = under_load(&gateway, || {
            let mut before = first;
            for swap in 1..=3 {
                gateway.signal("HUP");
                let after = until_another_serves(&gateway, before);
                until_told(&gateway, CLOSED, swap);
                wait_until_gone("the old engine", before);
                served.push(u64::from(after));
                before = after;
            }
        });
        for engines in seen {
            let known = served.iter().filter(|engine| engines.contains(engine));
            assert!(
                known.eq(&engines),
                "in order, none again: {engines:?} of {served:?}"
            );
            assert_eq!(engines.last(), served.last(), "it played to the end");
        }
        assert_eq!(u64::from(gateway.one_engine()), served[3]);
        assert_eq!(deaths(&gateway).len(), 0);
        assert_eq!(gateway.health()["waiting"], 0);
    }
}

/// A slow turn is in the old engine, others wait, and the fresh one is there.
#[test]
fn the_old_engine_finishes_its_turn_and_leaves() {
    let file = EngineFile::stub("");
    let gateway = file.gateway(&PROBE).start();
    let old = serving(&gateway);
    let release = file.beside("release");
    let turn = |mark: &str, step: &str| {
        let turn = json!({ "kind": "look", "mark": mark, "do": [step, "reply"] });
        gateway.turn(&turn.to_string())
    };
    thread::scope(|scope| {
        let slow = scope.spawn(|| turn("slow", &format!("wait-for:{}", release.display())));
        until_waiting(&gateway, 1);
        gateway.signal("HUP");
        until("two engines", || {
            (gateway.children().len() == 2).then_some(())
        });
        let waiting = ["a", "b", "c"].map(|mark| scope.spawn(move || turn(mark, "sleep:1")));
        until_waiting(&gateway, 4);
        create(&release);
        let slow = slow.join().unwrap();
        assert_eq!((slow.status, &slow.json()["mark"]), (200, &json!("slow")));
        assert_eq!(slow.json()["pid"], old, "its own engine finished it");
        for (turn, mark) in waiting.into_iter().zip(["a", "b", "c"]) {
            let reply = turn.join().unwrap();
            assert_eq!((reply.status, &reply.json()["mark"]), (200, &json!(mark)));
        }
    });
    until_another_serves(&gateway, old);
    wait_until_gone("the old engine", old);
    let record = gateway.wait_for_log("its end", |record| record["message"] == CLOSED);
    assert_eq!(record["status"], "exit status: 0", "no signal was needed");
}

/// Stdin closed, 2 s, TERM; served all the while.
#[test]
fn an_old_engine_that_does_not_leave_is_told_to() {
    let file = EngineFile::stub("");
    let end_of_file = "while read -r line; do echo \"{\\\"pid\\\":$$}\"; done";
    let stubborn = "while :; do sleep 0.02; done";
    file.put(format!(
        "#!/bin/sh\ntrap 'exit 7' TERM\n{end_of_file}\n{stubborn}\n"
    ));
    let gateway = file.gateway(&PROBE).start();
    let old = serving(&gateway);
    file.put_stub("");
    gateway.signal("HUP");
    until_another_serves(&gateway, old);
    let handed_over_at = Instant::now();
    let ended = until("its end", || {
        serving(&gateway);
        (told(&gateway, CLOSED) == 1).then(Instant::now)
    });
    let record = gateway.wait_for_log("its end", |record| record["message"] == CLOSED);
    assert_eq!(record["status"], "exit status: 7");
    let took = ended - handed_over_at;
    assert!(took > Duration::from_millis(1500), "{took:?}");
}

#[test]
fn a_fresh_engine_that_fails_leaves_the_old_in_place() {
    for options in [&PROBE[..], &[]] {
        let file = EngineFile::stub("");
        let gateway = file.gateway(options).start();
        let old = serving(&gateway);
        let mut bad = vec![
            ("exits", Some("#!/bin/sh\nexit 3\n")),
            ("is no program", Some("no program")),
            ("talks unasked", Some("#!/bin/sh\necho hello\nsleep 60\n")),
            ("is gone", None),
        ];
        if !options.is_empty() {
            bad.push((
                "fails its probe",
                Some("#!/bin/sh\nread -r line\necho hello\nsleep 60\n"),
            ));
        }
        let count = bad.len();
        let seen = under_load(&gateway, || {
            for (nth, (what, content)) in bad.iter().enumerate() {
                match content {
                    Some(content) => file.put(content),
                    None => file.remove(),
                }
                gateway.signal("HUP");
                until_told(&gateway, STAYS, nth + 1);
                assert_eq!(gateway.one_engine(), old, "{what}");
            }
        });
        for engines in seen {
            assert_eq!(engines, [u64::from(old)]);
        }
        assert_eq!(told(&gateway, "the engine cannot be started"), 1);
        until_told(&gateway, DEAD, count - 1);
        let deaths = deaths(&gateway);
        assert_eq!(deaths.len(), count - 1, "{deaths:?}");
        assert_eq!(deaths[0]["status"], "exit status: 3");
        assert_eq!(deaths[0]["turns"], 0);

        file.put_stub("");
        gateway.signal("HUP");
        until_another_serves(&gateway, old);
    }
}

/// So does an engine that was upgraded on disk, and only at a swap.
#[test]
fn the_file_on_disk_is_what_starts() {
    let file = EngineFile::stub("");
    let gateway = file.gateway(&PROBE).start();
    let old = serving(&gateway);
    let version = || {
        let reply = gateway.turn(r#"{"kind":"look","do":"env:VERSION"}"#);
        reply.json()["env"].clone()
    };
    let stub = stub_engine();
    file.put(format!("#!/bin/sh\nVERSION=2 exec '{}'\n", stub.display()));
    assert_eq!(version(), json!(null), "the old one runs on");
    gateway.signal("HUP");
    until_another_serves(&gateway, old);
    assert_eq!(version(), "2");
}

/// Deaths one after the other make the pause longer than this test is patient.
#[test]
fn while_the_engine_is_down_it_starts_now() {
    let file = EngineFile::stub("");
    file.put("#!/bin/sh\nexit 3\n");
    let gateway = file.gateway(&["--restart-delay-max", "1h"]).start_unready();
    until_a_long_pause(&gateway);
    let retry_after = gateway.turn(r#"{"kind":"look"}"#).retry_after();
    assert!(retry_after.is_some_and(|s| s > 100), "{retry_after:?}");
    file.put_stub("");
    gateway.signal("HUP");
    until("it serves", || {
        (gateway.turn(r#"{"kind":"look"}"#).status == 200).then_some(())
    });
    assert_eq!(told(&gateway, STARTING), 0, "there was nothing to swap");
}

#[test]
fn during_a_drain_it_is_ignored() {
    let file = EngineFile::stub("");
    let mut gateway = file.gateway(&PROBE).start();
    let release = file.beside("release");
    let step = format!("wait-for:{}", release.display());
    let turn = json!({ "kind": "look", "do": [step, "reply"] }).to_string();
    let address = gateway.address();
    let open = thread::spawn(move || Request::turn(turn).send_to(address).unwrap());
    until_waiting(&gateway, 1);
    gateway.signal("TERM");
    until_told(&gateway, "draining", 1);
    // It is heard before the gateway ends: the turn is answered later than it was sent.
    gateway.signal("HUP");
    create(&release);
    assert_eq!(open.join().unwrap().status, 200);
    assert_eq!(gateway.wait().code(), Some(0));
    until_told(&gateway, CLOSED, 1);
    assert_eq!(told(&gateway, STARTING), 0);
}

/// Its own binary is upgraded or removed: what runs can still start engines.
#[test]
fn the_gateways_own_file_is_not_needed_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("kidoban");
    let instead = format!(
        "cp \"$1\" '{0}' && shift && set -- '{0}' \"$@\"",
        copy.display()
    );
    let mut options = vec!["--rate", "1000000", "--burst", "1000000"];
    options.extend(PROBE);
    let gateway = Gateway::after(&instead, &options).start();
    let program = fs::read_link(format!("/proc/{}/exe", gateway.pid())).unwrap();
    assert_eq!(program, copy.canonicalize().unwrap(), "the copy runs");
    fs::remove_file(&copy).unwrap();

    let first = serving(&gateway);
    let pid = Pid::from_raw(i32::try_from(first).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    let second = until("the next engine", || {
        let reply = gateway.turn(r#"{"kind":"look"}"#);
        let pid = (reply.status == 200).then(|| reply.json()["pid"].as_u64().unwrap())?;
        u32::try_from(pid).ok()
    });
    assert_ne!(second, first);
    fs::write(&copy, "another program").unwrap();
    gateway.signal("HUP");
    until_another_serves(&gateway, second);
}

/// The old one dies while the fresh one warms up: that one takes over, and who waits is served.
#[test]
fn an_old_engine_that_dies_makes_way() {
    let file = EngineFile::stub("");
    let gateway = file.gateway(&PROBE).start();
    let old = serving(&gateway);
    let warm = file.beside("warm");
    file.put_stub(&format!("--start-when '{}'", warm.display()));
    gateway.signal("HUP");
    until("two engines", || {
        (gateway.children().len() == 2).then_some(())
    });
    let successor = (gateway.children().into_iter())
        .find(|pid| *pid != old)
        .unwrap();
    thread::scope(|scope| {
        let turn = |mark: &str, step: &str| {
            gateway.turn(&json!({ "kind": "look", "mark": mark, "do": step }).to_string())
        };
        let dies = scope.spawn(move || turn("dies", "hang"));
        until_waiting(&gateway, 1);
        let waits = scope.spawn(move || turn("waits", "reply"));
        until_waiting(&gateway, 2);
        let pid = Pid::from_raw(i32::try_from(old).unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
        assert_eq!(dies.join().unwrap().code(), "engine_failed");
        until("it has its successor's health", || {
            (gateway.health()["engine"] == "starting").then_some(())
        });
        create(&warm);
        let reply = waits.join().unwrap();
        assert_eq!(
            (reply.status, &reply.json()["mark"]),
            (200, &json!("waits"))
        );
        assert_eq!(reply.json()["pid"], successor);
    });
    assert_eq!(gateway.one_engine(), successor);
    until_told(&gateway, DEAD, 1);
    assert_eq!(deaths(&gateway).len(), 1);
}
