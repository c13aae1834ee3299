//! While the gateway or its engine is away: who answers, how soon it is over, and that
//! no turn is lost that need not be.

use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Front, caddies, free_ports};
use crate::engine_file::{EngineFile, PROBE, serving, until_another_serves, until_told};
use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Reply, Request};
use crate::systemd::given;

const LOOK: &str = r#"{"kind":"look"}"#;

/// In the shape of the gateway's own refusals.
fn assert_away(reply: &Reply) {
    assert_eq!(reply.status, 503, "{reply:?}");
    assert_eq!(reply.code(), "gateway_away");
    let body = reply.json();
    assert_eq!(
        (&body["ok"], &body["retry_after_ms"]),
        (&json!(false), &json!(1000))
    );
    assert!(body["error"].is_string());
    assert_eq!(reply.retry_after(), Some(1));
    let header = |name| reply.header(name);
    assert_eq!(
        header("content-type"),
        Some("application/json; charset=utf-8")
    );
    assert_eq!(header("cache-control"), Some("no-store"));
    assert_eq!(header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn caddy_answers_for_a_gateway_that_is_away() {
    for caddy in caddies() {
        let [nobody, _] = free_ports();
        let front = Front::with(&caddy, &format!("127.0.0.1:{nobody}"), &[]);
        let began = Instant::now();
        thread::scope(|scope| {
            let front = &front;
            let all = [
                Request::turn(LOOK),
                Request::new_game(""),
                Request::get("/api/health"),
            ]
            .map(|request| scope.spawn(move || front.send(&request)));
            let page = scope.spawn(|| front.send(&Request::get("/")));
            for reply in all {
                assert_away(&reply.join().unwrap());
            }
            let page = page.join().unwrap();
            assert_eq!((page.status, page.retry_after()), (503, Some(1)));
            assert!(page.text().starts_with("Away"), "{page:?}");
        });
        let took = began.elapsed();
        assert!(took < Duration::from_secs(6), "{took:?}");
        assert_eq!(front.send(&Request::get("/metrics")).status, 404);
    }
}

/// Plays until `done`, and one turn more. Each answer is its own; what was no 200 is returned.
fn plays(address: SocketAddr, player: usize, done: &AtomicBool) -> (usize, Vec<Reply>) {
    let mut connection = Connection::open(address).unwrap();
    let mut turns = 0;
    let mut refused = Vec::new();
    let mut is_last = false;
    while !is_last {
        is_last = done.load(Ordering::Relaxed);
        // All as long as each other: what is mixed up would still be JSON.
        let mark = format!("{player:02}.{turns:07}");
        let turn = json!({ "kind": "look", "mark": mark, "do": ["sleep:1", "reply"] });
        let reply = connection.send(&Request::turn(turn.to_string())).unwrap();
        turns += 1;
        if reply.status == 200 {
            assert_eq!(reply.json()["mark"], mark.as_str(), "somebody else's reply");
        } else {
            refused.push(reply);
        }
    }
    (turns, refused)
}

/// Does something while eight players play: how many turns, and those that were refused.
fn under_load(front: &Front, act: impl FnOnce()) -> (usize, Vec<Reply>) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let players: Vec<_> = (0..8)
            .map(|player| scope.spawn(move || plays(front.address, player, done)))
            .collect();
        let end = End(done);
        act();
        drop(end);
        let mut all = (0, Vec::new());
        for player in players {
            let (turns, refused) = player.join().unwrap();
            all.0 += turns;
            all.1.extend(refused);
        }
        all
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
fn an_upgrade_of_the_engine_loses_no_turn() {
    for caddy in caddies() {
        let file = EngineFile::stub("");
        let gateway = file.gateway(&PROBE).start();
        let front = Front::start(&caddy, &gateway);
        let (turns, refused) = under_load(&front, || {
            for swap in 1..=3 {
                let before = serving(&gateway);
                gateway.signal("HUP");
                until_another_serves(&gateway, before);
                until_told(&gateway, "the engine is closed", swap);
            }
        });
        assert!(turns > 20, "only {turns}");
        assert!(
            refused.is_empty(),
            "{} of {turns}: {refused:?}",
            refused.len()
        );
    }
}

/// As it ships: the socket is kept by somebody else, and handed to one gateway after the other.
#[test]
fn a_restart_of_the_gateway_loses_no_turn() {
    for caddy in caddies() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kidoban.sock");
        let socket = UnixListener::bind(&path).unwrap();
        let start = || {
            let options = ["--rate", "1000000", "--burst", "1000000"];
            given(socket.try_clone().unwrap(), &options).start_unready()
        };
        let mut gateway = start();
        let front = Front::with(&caddy, &format!("unix/{}", path.display()), &[]);
        let again = || {
            let reply = front.send(&Request::turn(LOOK));
            assert_eq!(reply.status, 200, "{reply:?}");
        };
        again();
        let restarts = 5;
        let (turns, refused) = under_load(&front, || {
            for _ in 0..restarts {
                gateway.signal("TERM");
                assert_eq!(gateway.wait().code(), Some(0));
                gateway = start();
                for _ in 0..20 {
                    again();
                }
            }
        });
        assert!(turns > restarts * 8, "only {turns}");
        assert!(
            refused.is_empty(),
            "{} of {turns}: {refused:?}",
            refused.len()
        );
    }
}

/// Without a socket that stays, a turn may be refused over a restart; it is told so, and
/// nobody ever gets another's reply.
#[test]
fn a_plain_restart_mixes_nothing_up() {
    for caddy in caddies() {
        let [port, _] = free_ports();
        let listen = format!("127.0.0.1:{port}");
        let start = || Gateway::unlimited(&["--listen", &listen]).start();
        let mut gateway = start();
        let front = Front::with(&caddy, &listen, &[]);
        let (turns, refused) = under_load(&front, || {
            for _ in 0..4 {
                gateway.signal("TERM");
                assert_eq!(gateway.wait().code(), Some(0));
                gateway = start();
                until("turns are played again", || {
                    (front.send(&Request::turn(LOOK)).status == 200).then_some(())
                });
            }
        });
        assert!(turns > 8, "nobody got beyond the first");
        for reply in &refused {
            assert_eq!(reply.status, 503, "{reply:?}");
            assert!(reply.retry_after().is_some(), "{reply:?}");
            let code = reply.code();
            let known = ["gateway_away", "draining", "engine_down"];
            assert!(known.contains(&code.as_str()), "{reply:?}");
        }
    }
}

/// How long Caddy answers for the gateway after the engine is back: one interval of its
/// health check, half a second, and what a busy machine adds.
const PRICE: Duration = Duration::from_secs(1);

/// Takes the engine away until Caddy has noticed, and gives it back.
fn engine_away(file: &EngineFile, gateway: &Running, front: &Front) -> Duration {
    let engine = serving(gateway);
    file.put("#!/bin/sh\nexit 3\n");
    let pid = rustix::process::Pid::from_raw(i32::try_from(engine).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // Not asked by a turn: one that came just before the death waits for the next engine.
    until("Caddy answers for the gateway", || {
        let health = front.send(&Request::get("/api/health"));
        (health.code() == "gateway_away").then_some(())
    });
    file.put_stub("");
    until("the engine is back", || {
        gateway.signal("HUP");
        (gateway.turn(LOOK).status == 200).then_some(())
    });
    let back = Instant::now();
    let waits = front.send(&Request::turn(LOOK));
    assert_eq!(waits.status, 200, "it waits for Caddy to notice: {waits:?}");
    back.elapsed()
}

#[test]
fn the_health_check_costs_half_a_second_after_an_engine_is_back() {
    for caddy in caddies() {
        let file = EngineFile::stub("");
        // Deaths follow each other more and more slowly: it stays away until it is told to come back.
        let mut options = vec!["--restart-delay-max", "1h"];
        options.extend(PROBE);
        let gateway = file.gateway(&options).start();
        let front = Front::start(&caddy, &gateway);
        let mut price = Duration::ZERO;
        let (turns, refused) = under_load(&front, || {
            price = engine_away(&file, &gateway, &front);
        });
        assert!(price < PRICE, "{price:?}");
        assert!(turns > refused.len());
        let known = ["gateway_away", "engine_down", "engine_failed"];
        for reply in &refused {
            assert!(known.contains(&reply.code().as_str()), "{reply:?}");
        }
        let count = |code: &str| refused.iter().filter(|reply| reply.code() == code).count();
        assert!(count("gateway_away") > 0, "Caddy was seen to answer");
        assert!(count("engine_failed") <= 1, "one turn was in the engine");
    }
}
