//! A new version of the gateway takes over the socket of the old one, under load. The
//! test holds the socket as systemd would, and restarts the gateway as `systemctl
//! restart` does: SIGTERM, its end, the next one.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::harness::until;
use crate::http::Request;
use crate::systemd::given;

/// Players at once.
const PLAYERS: usize = 8;
/// How often the gateway is replaced.
const RESTARTS: usize = 5;
/// Turns between two restarts.
const TURNS_BETWEEN: usize = 200;

#[test]
fn a_restart_under_load_loses_no_turn() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let start = || {
        given(
            socket.try_clone().unwrap(),
            &["--rate", "1000000", "--burst", "1000000"],
        )
        .start()
    };
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let play = |player: usize| {
        let mut outcomes = BTreeMap::<String, usize>::new();
        for nth in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mark = format!("{player}-{nth}");
            let turn = json!({ "kind": "look", "mark": mark, "do": ["sleep:1", "reply"] });
            let outcome = match Request::turn(turn.to_string()).send_to(address) {
                Ok(reply) if reply.status == 200 => {
                    assert_eq!(reply.json()["mark"], mark);
                    "200".to_owned()
                }
                Ok(reply) => format!("{} {}", reply.status, reply.code()),
                Err(error) => error.to_string(),
            };
            *outcomes.entry(outcome).or_default() += 1;
            answered.fetch_add(1, Ordering::Relaxed);
        }
        outcomes
    };
    let mut all = BTreeMap::<String, usize>::new();
    thread::scope(|scope| {
        let players: Vec<_> = (0..PLAYERS)
            .map(|player| {
                let play = &play;
                scope.spawn(move || play(player))
            })
            .collect();
        for _ in 0..RESTARTS {
            let mut gateway = start();
            let before = answered.load(Ordering::Relaxed);
            until("turns", || {
                (answered.load(Ordering::Relaxed) >= before + TURNS_BETWEEN).then_some(())
            });
            gateway.signal("TERM");
            assert_eq!(gateway.wait().code(), Some(0));
        }
        let _last = start();
        stop.store(true, Ordering::Relaxed);
        for player in players {
            for (outcome, times) in player.join().unwrap() {
                *all.entry(outcome).or_default() += times;
            }
        }
    });
    assert_eq!(all.keys().collect::<Vec<_>>(), ["200"], "{all:?}");
}
