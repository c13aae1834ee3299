//! What must be quick even when the engine is not: health, and the next engine.
//!
//! The machine may be shared, and whatever else runs on it only ever makes a round
//! slower: so there are several, and the best of them counts, or the one in the middle
//! where the gateway itself might be slower from round to round.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::harness::{Gateway, until};
use crate::http::{Connection, Request};

/// Rounds of each measurement. Of engines killed, no more than are replaced without a pause.
const ROUNDS: usize = 5;

#[test]
fn health_is_quick_while_the_engine_hangs_and_the_queue_is_full() {
    const ASKED: usize = 300;
    const PLACES: usize = 32;
    let gateway = Gateway::unlimited(&["--reply-timeout", "1h", "--max-wait", "1h"]).start();
    let address = gateway.address();
    let hangs = Request::turn(r#"{"kind":"look","do":"hang"}"#).bytes();
    let waiting: Vec<_> = (0..PLACES)
        .map(|_| {
            let mut connection = Connection::open(address).unwrap();
            std::io::Write::write_all(&mut connection.stream, &hangs).unwrap();
            connection
        })
        .collect();
    until("the queue is full", || {
        (gateway.health()["waiting"] == PLACES).then_some(())
    });
    let mut connection = Connection::open(address).unwrap();
    let mut p99 = || {
        let mut took = [(); ASKED].map(|()| {
            let asked_at = Instant::now();
            let reply = connection.send(&Request::get("/api/health")).unwrap();
            let took = asked_at.elapsed();
            assert_eq!(reply.status, 200, "busy is not ill");
            assert_eq!(reply.json()["waiting"], PLACES);
            took
        });
        took.sort();
        took[ASKED * 99 / 100]
    };
    let best = (0..ROUNDS).map(|_| p99()).min().unwrap();
    assert!(best < Duration::from_millis(10), "{best:?}");
    assert_eq!(waiting.len(), PLACES);
}

#[test]
fn an_idle_engine_that_is_killed_is_soon_replaced() {
    let gateway = Gateway::unlimited(&[]).start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut ask = || {
        let reply = connection
            .send(&Request::turn(r#"{"kind":"look"}"#))
            .unwrap();
        (reply.status == 200).then(|| reply.json()["pid"].clone())
    };
    let mut round = || {
        let before: Value = ask().unwrap();
        let engine = i32::try_from(before.as_u64().unwrap()).unwrap();
        let killed_at = Instant::now();
        rustix::process::kill_process(Pid::from_raw(engine).unwrap(), Signal::KILL).unwrap();
        loop {
            // The line may go to the dead one, before its death is known: 502.
            if ask().is_some_and(|pid| pid != before) {
                return killed_at.elapsed();
            }
            assert!(killed_at.elapsed() < crate::harness::PATIENCE);
            thread::sleep(Duration::from_millis(1));
        }
    };
    let mut rounds = [(); ROUNDS].map(|()| round());
    rounds.sort();
    let median = rounds[ROUNDS / 2];
    assert!(median < Duration::from_millis(200), "{rounds:?}");
}
