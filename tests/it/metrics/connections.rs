//! Connections: how many are open, and why some were not served as they wished.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use super::scrape::{Scrape, expected};
use crate::harness::{Gateway, until};
use crate::http::{Connection, Request};

const LOOK: &str = r#"{"kind":"look"}"#;

fn refusals(scrape: &Scrape) -> BTreeMap<String, u64> {
    scrape.by_label("kidoban_connection_refusals_total")
}

#[test]
fn connections_are_counted_while_they_are_open_and_when_they_are_refused() {
    let options = ["--max-connections=2", "--header-timeout=300ms"];
    let gateway = Gateway::unlimited(&options).admin().start();
    let open = || Connection::open(gateway.address()).unwrap();
    let refused = || refusals(&Scrape::of(&gateway));
    let is_alive = |connection: &mut Connection| {
        let health = connection.send(&Request::get("/api/health"));
        health.is_ok_and(|health| health.status == 200)
    };
    let (mut first, mut second) = (open(), open());
    assert!(is_alive(&mut first) && is_alive(&mut second));
    let connections = || Scrape::of(&gateway).count("kidoban_connections");
    assert_eq!(connections(), 2);
    assert_eq!(
        gateway.status()["connections"],
        json!({ "open": 2, "max": 2 })
    );
    assert_eq!(refused(), expected(&[]));

    // Both have been idle for less than half a second: the newcomer waits, then one is closed for it.
    let mut third = open();
    assert!(is_alive(&mut third));
    assert!(first.is_closed());
    assert_eq!(refused(), expected(&[("all_busy", 1), ("idle", 1)]));
    drop((second, third));
    until("all are gone", || (connections() == 0).then_some(()));

    let mut trickles = open();
    trickles.stream.write_all(b"GET ").unwrap();
    assert!(trickles.is_closed());
    let all = [("all_busy", 1), ("idle", 1), ("timeout", 1)];
    assert_eq!(refused(), expected(&all));
}

/// It is told, and counted as a turn: of its connection nothing more is to be said.
#[test]
fn a_body_that_stalls_is_a_turn_and_no_connection_refused() {
    let options = ["--body-timeout=200ms", "--write-timeout=300ms"];
    let gateway = Gateway::unlimited(&options).admin().start();
    let mut stalls = Connection::open(gateway.address()).unwrap();
    let whole = Request::turn(LOOK).bytes();
    stalls.stream.write_all(&whole[..whole.len() - 1]).unwrap();
    let reply = stalls.read(false).unwrap();
    assert_eq!((reply.status, &*reply.code()), (408, "body_timeout"));
    assert!(stalls.is_closed());
    until("it is gone", || {
        (Scrape::of(&gateway).count("kidoban_connections") == 0).then_some(())
    });
    let scrape = Scrape::of(&gateway);
    let turns = scrape.by_label("kidoban_turns_total");
    assert_eq!(turns, expected(&[("body_timeout", 1)]));
    assert_eq!(refusals(&scrape), expected(&[]));
}

#[test]
fn connections_that_the_system_did_not_give_are_counted() {
    let options = ["--rate", "1000", "--burst", "1000"];
    let gateway = Gateway::after("ulimit -n 40", &options).admin().start();
    // Kept: while there are no descriptors, the operator gets no other either.
    let mut operator = Connection::open(gateway.admin()).unwrap();
    let mut scrape = || {
        let reply = operator.send(&Request::get("/metrics")).unwrap();
        Scrape::read(&reply.text())
    };
    assert_eq!(refusals(&scrape()), expected(&[]));
    let flood: Vec<_> = (0..100)
        .map(|_| TcpStream::connect(gateway.address()).unwrap())
        .collect();
    until("some fail", || {
        (refusals(&scrape()).get("accept_failed") > Some(&2)).then_some(())
    });
    // Nor any figure less: they are wanted now.
    let short = scrape();
    let [open, most] = ["open", "max"].map(|of| short.count(&format!("process_{of}_fds")));
    // One that it was given by whoever started it may have a higher number.
    assert!(most == 40 && open >= most, "{open} of {most}");
    assert!(short.value("process_resident_memory_bytes") > 0.0);
    drop(flood);
    until("all are gone", || {
        (scrape().count("kidoban_connections") == 0).then_some(())
    });
    assert_eq!(gateway.turn(LOOK).status, 200);
    let told = gateway.log().matches("cannot accept a connection").count();
    let counted = expected(&[("accept_failed", told as u64)]);
    assert_eq!(refusals(&scrape()), counted);
}

#[test]
fn connections_closed_for_answers_that_pile_up_are_counted() {
    const ANSWER_BYTES: usize = 900_000;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    // A unix socket's buffers are small, and do not grow.
    let listen = format!("--listen=unix:{}", socket.display());
    let options = ["--listen=127.0.0.1:0", &listen, "--max-unsent=2MiB"];
    let gateway = Gateway::unlimited(&options).admin().start();
    let big = json!({ "kind": "look", "do": format!("big:{ANSWER_BYTES}") });
    let big = Request::turn(big.to_string()).bytes();
    let mut lazy = Vec::new();
    for _ in 0..4 {
        let mut connection = Connection::open_unix(&socket).unwrap();
        connection.stream.write_all(&big).unwrap();
        // Nothing of its answer is read.
        lazy.push(connection);
    }
    // Two of them fit.
    until("two are closed", || {
        let closed = refusals(&Scrape::of(&gateway));
        (closed == expected(&[("unsent", 2)])).then_some(())
    });
    // Which ones depends on who was slow at the time.
    let answers = lazy
        .iter_mut()
        .filter_map(|connection| connection.read(false).ok());
    assert_eq!(answers.filter(|answer| answer.status == 200).count(), 2);
}
