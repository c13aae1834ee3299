//! A new version of the gateway takes over the socket of the old one. The tests hold the
//! socket as systemd would, and restart the gateway as `systemctl restart` does: SIGTERM,
//! its end, the next one.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::engine_file::{EngineFile, PROBE, create};
use crate::harness::{Gateway, until};
use crate::http::{Connection, Reply, Request};
use crate::systemd::{PASS_STDIN, given};

/// Players at once: one half opens a connection for each turn, the other keeps its own.
const PLAYERS: usize = 8;
/// How often the gateway is replaced.
const RESTARTS: usize = 5;
/// Turns between two restarts.
const TURNS_BETWEEN: usize = 200;

/// A connection that is kept until the gateway says that it closes it.
struct Kept {
    address: SocketAddr,
    connection: Option<Connection>,
}

impl Kept {
    fn send(&mut self, request: &Request) -> std::io::Result<Reply> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.address)?,
        };
        let reply = connection.send(request)?;
        if reply.header("connection") != Some("close") {
            self.connection = Some(connection);
        }
        Ok(reply)
    }
}

/// Every turn gets its own reply; no 503, no connection that breaks.
#[test]
fn a_restart_under_load_loses_no_turn() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let start = || {
        let options = ["--rate", "1000000", "--burst", "1000000"];
        given(socket.try_clone().unwrap(), &options).start()
    };
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let play = |player: usize| {
        let mut outcomes = BTreeMap::<String, usize>::new();
        let mut kept = Kept {
            address,
            connection: None,
        };
        let mut nth = 0;
        while !stop.load(Ordering::Relaxed) {
            nth += 1;
            let mark = format!("{player}-{nth}");
            let turn = json!({ "kind": "look", "mark": mark, "do": ["sleep:1", "reply"] });
            let turn = Request::turn(turn.to_string());
            let reply = if player.is_multiple_of(2) {
                turn.send_to(address)
            } else {
                kept.send(&turn)
            };
            let outcome = match reply {
                Ok(reply) if reply.status == 200 && reply.json()["mark"] == mark => {
                    "its own".into()
                }
                Ok(reply) => format!("{} {}", reply.status, reply.text()),
                Err(error) => error.to_string(),
            };
            *outcomes.entry(outcome).or_default() += 1;
            answered.fetch_add(1, Ordering::Relaxed);
        }
        outcomes
    };
    let mut all = BTreeMap::<String, usize>::new();
    thread::scope(|scope| {
        let play = &play;
        let players: Vec<_> = (0..PLAYERS)
            .map(|player| scope.spawn(move || play(player)))
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
    let turns = all.get("its own").copied().unwrap_or_default();
    assert!(turns >= RESTARTS * TURNS_BETWEEN, "{all:?}");
    assert_eq!(all.len(), 1, "{all:?}");
}

/// A turn in the backlog of a gateway whose engine is not up yet; the socket must be kept.
fn in_the_backlog(file: &EngineFile, options: &[&str]) -> (TcpListener, Gateway, Connection) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut waits = Connection::open(socket.local_addr().unwrap()).unwrap();
    let turn = Request::turn(r#"{"kind":"look"}"#);
    waits.stream.write_all(&turn.bytes()).unwrap();
    let all = [&["--log-format", "json"][..], &PROBE, options].concat();
    let gateway = Gateway::after(PASS_STDIN, &all)
        .engine(&[file.path().to_str().unwrap()])
        .stdin(std::process::Stdio::from(std::os::fd::OwnedFd::from(
            socket.try_clone().unwrap(),
        )));
    (socket, gateway, waits)
}

#[test]
fn the_backlog_waits_for_the_first_engine() {
    let file = EngineFile::stub("");
    let log = file.beside("log");
    let warm = file.beside("warm");
    let stub = format!(
        "--start-when '{}' --log '{}'",
        warm.display(),
        log.display()
    );
    file.put_stub(&stub);
    let (_socket, gateway, mut waits) = in_the_backlog(&file, &[]);
    let gateway = gateway.start_unready();
    // Nobody would wait for an engine that was started only after the turn had been refused.
    gateway.one_engine();
    create(&warm);
    let reply = waits.read(false).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// It waits for as long as any turn may, and then hears why.
#[test]
fn the_backlog_waits_no_longer_than_a_turn_may() {
    for (stub, options) in [
        ("--start-when /nowhere/warm", ["--max-wait", "300ms"]),
        ("--exit 3", ["--max-wait", "1h"]),
    ] {
        let file = EngineFile::stub(stub);
        let (_socket, gateway, mut waits) = in_the_backlog(&file, &options);
        let _gateway = gateway.start_unready();
        let reply = waits.read(false).unwrap();
        assert_eq!(reply.code(), "engine_down", "{stub}");
        assert!(reply.retry_after().is_some());
    }
}

/// SIGTERM comes while the first engine is still starting: the next gateway has the backlog.
#[test]
fn a_gateway_that_never_served_leaves_its_backlog_to_the_next() {
    let file = EngineFile::stub("--start-when /nowhere/warm");
    let (socket, gateway, mut waits) = in_the_backlog(&file, &[]);
    let mut first = gateway.start_unready();
    first.signal("TERM");
    assert_eq!(first.wait().code(), Some(0));
    let _second = given(socket.try_clone().unwrap(), &[]).start();
    assert_eq!(waits.read(false).unwrap().status, 200);
}
