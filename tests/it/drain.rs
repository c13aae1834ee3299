//! SIGTERM while much is going on: a full queue, a swap, an old engine on its way out.
//! Signals and exit codes are in `shutdown`.

use std::fs;
use std::io::Write as _;
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::engine_file::{
    EngineFile, PROBE, create, deaths, serving, told, until_a_long_pause, until_another_serves,
    until_told, until_waiting,
};
use crate::harness::{Running, is_gone, until};
use crate::http::{Connection, Reply, Request};

/// A turn on its way.
fn ask(gateway: &Running, mark: usize, step: &str) -> JoinHandle<Reply> {
    let address = gateway.address();
    let turn = json!({ "kind": "look", "mark": mark, "do": [step, "reply"] });
    let turn = Request::turn(turn.to_string());
    thread::spawn(move || turn.send_to(address).unwrap())
}

/// Each got its own reply.
fn all_answered(asked: Vec<JoinHandle<Reply>>) {
    for (mark, turn) in asked.into_iter().enumerate() {
        let reply = turn.join().unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["mark"], mark);
    }
}

/// Fills the places of a queue with turns, one of them in the engine until `release` is there.
fn fill(gateway: &Running, file: &EngineFile, places: usize) -> Vec<JoinHandle<Reply>> {
    let release = format!("wait-for:{}", file.beside("release").display());
    let mut asked = vec![ask(gateway, 0, &release)];
    until_waiting(gateway, 1);
    asked.extend((1..places).map(|mark| ask(gateway, mark, "sleep:2")));
    until_waiting(gateway, places);
    asked
}

#[test]
fn a_full_queue_is_answered_to_the_last() {
    let file = EngineFile::stub("");
    let mut gateway = file.gateway(&["--queue", "32"]).start();
    let engine = serving(&gateway);
    let asked = fill(&gateway, &file, 32);
    let refused = gateway.turn(r#"{"kind":"look"}"#);
    assert_eq!(refused.code(), "queue_full");
    gateway.signal("TERM");
    until_told(&gateway, "draining", 1);
    create(&file.beside("release"));
    all_answered(asked);
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(is_gone(engine));
    assert_eq!(deaths(&gateway), Vec::<Value>::new());
}

/// The engine dies in mid-drain: it is replaced, and whoever waits is served.
#[test]
fn an_engine_that_dies_in_a_drain_is_replaced() {
    let file = EngineFile::stub("");
    let mut gateway = file.gateway(&[]).start();
    let release = format!("wait-for:{}", file.beside("release").display());
    let address = gateway.address();
    let turn = json!({ "kind": "look", "do": [release, "exit:1"] });
    let turn = Request::turn(turn.to_string());
    let dies = thread::spawn(move || turn.send_to(address).unwrap());
    until_waiting(&gateway, 1);
    let asked: Vec<_> = (0..5).map(|mark| ask(&gateway, mark, "sleep:2")).collect();
    until_waiting(&gateway, 6);
    gateway.signal("TERM");
    until_told(&gateway, "draining", 1);
    create(&file.beside("release"));
    assert_eq!(dies.join().unwrap().code(), "engine_failed");
    all_answered(asked);
    assert_eq!(gateway.wait().code(), Some(0));
}

/// A successor that is warming up, and one that is ready and waits for the end of a turn.
#[test]
fn in_a_swap_both_engines_go() {
    for is_warm in [false, true] {
        let file = EngineFile::stub("");
        let mut gateway = file.gateway(&PROBE).start();
        let old = serving(&gateway);
        let log = file.beside("log");
        let warm = file.beside("warm");
        file.put_stub(&format!(
            "--start-when '{}' --log '{}'",
            warm.display(),
            log.display()
        ));
        let asked = fill(&gateway, &file, 6);
        gateway.signal("HUP");
        let successor = until("two engines", || {
            let engines = gateway.children();
            engines.into_iter().find(|engine| *engine != old)
        });
        if is_warm {
            create(&warm);
            until("it has its probe", || log.exists().then_some(()));
        }
        gateway.signal("TERM");
        until_told(&gateway, "draining", 1);
        create(&file.beside("release"));
        all_answered(asked);
        assert_eq!(gateway.wait().code(), Some(0));
        assert!(is_gone(old) && is_gone(successor));
    }
}

/// The old one has handed over and does not leave: the end waits for it too.
#[test]
fn an_old_engine_on_its_way_out_is_waited_for() {
    let file = EngineFile::stub("");
    let answers = "while read -r line; do echo \"{\\\"pid\\\":$$}\"; done";
    let stubborn = "while :; do sleep 0.02; done";
    file.put(format!("#!/bin/sh\ntrap '' TERM\n{answers}\n{stubborn}\n"));
    let mut gateway = file.gateway(&PROBE).start();
    let old = serving(&gateway);
    file.put_stub("");
    gateway.signal("HUP");
    let fresh = until_another_serves(&gateway, old);
    assert!(!is_gone(old));
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(is_gone(old) && is_gone(fresh));
    until_told(&gateway, "the engine is closed", 2);
}

/// There is none any more: nothing is signalled, and no end is told.
#[test]
fn an_engine_that_is_down_is_not_ended_again() {
    let file = EngineFile::stub("");
    file.put("#!/bin/sh\nexit 3\n");
    let options = ["--restart-delay-max", "1h"];
    let mut gateway = file.gateway(&options).start_unready();
    until_a_long_pause(&gateway);
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert_eq!(told(&gateway, "the engine is closed"), 0);
}

/// It was accepted when the drain began, and could not be served for want of room.
#[test]
fn who_waits_for_room_is_answered() {
    let file = EngineFile::stub("");
    let mut gateway = file.gateway(&["--max-connections", "1"]).start();
    let address = gateway.address();
    // The kernel's list; what nobody has accepted yet has no inode.
    let port = format!(":{:04X}", address.port());
    let accepted = || {
        let list = fs::read_to_string("/proc/net/tcp").unwrap();
        let open = list.lines().map(|line| line.split_whitespace().collect());
        open.filter(|fields: &Vec<_>| {
            fields[1].ends_with(&port) && fields[3] == "01" && fields[9] != "0"
        })
        .count()
    };
    until("nobody is connected", || (accepted() == 0).then_some(()));
    let turn = |steps: &[&str]| {
        let turn = json!({ "kind": "look", "do": steps }).to_string();
        let mut connection = Connection::open(address).unwrap();
        connection
            .stream
            .write_all(&Request::turn(turn).bytes())
            .unwrap();
        connection
    };
    let release = format!("wait-for:{}", file.beside("release").display());
    let mut served = turn(&[&release, "reply"]);
    until("it is accepted", || (accepted() == 1).then_some(()));
    let mut waits = turn(&["reply"]);
    until("so is the other", || (accepted() == 2).then_some(()));
    gateway.signal("TERM");
    until_told(&gateway, "draining", 1);
    create(&file.beside("release"));
    assert_eq!(served.read(false).unwrap().status, 200);
    let reply = waits.read(false).unwrap();
    assert!(
        reply.status == 200 || reply.code() == "draining",
        "{reply:?}"
    );
    assert_eq!(gateway.wait().code(), Some(0));
}
