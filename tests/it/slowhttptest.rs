//! Beside 500 connections of slowhttptest, in three of its ways of being slow.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Gateway, PATIENCE, Running, peer, until};
use crate::http::{Connection, Request};

const CONNECTIONS: usize = 500;
/// What each slow client may take, by the flags below.
const TIMEOUT: Duration = Duration::from_secs(6);
/// A turn of somebody honest, beside all of them.
const TURN: Duration = Duration::from_millis(100);

/// Killed when dropped.
struct Attack(Child);

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn descriptors(gateway: &Running) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", gateway.pid()));
    open.map_or(0, Iterator::count)
}

/// Starts it with this mode's flags against this path, and watches until all are closed.
fn stands(mode: &[&str], path: &str) {
    let Some(program) = peer("slowhttptest", "apt-get install slowhttptest") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page"), "p".repeat(2_000_000)).unwrap();
    let gateway = Gateway::unlimited(&[
        "--header-timeout",
        "6s",
        "--body-timeout",
        "6s",
        "--write-timeout",
        "6s",
        "--max-unsent",
        "1GiB",
        "--static",
        folder.path().to_str().unwrap(),
    ])
    .start();
    let idle = descriptors(&gateway);
    let url = format!("http://{}{path}", gateway.address());
    let connections = CONNECTIONS.to_string();
    let attack = Command::new(program)
        .args(["-u", &url, "-c", &connections, "-r", &connections])
        // Far longer than any of them may live, and no probing of its own.
        .args(["-l", "60", "-i", "1", "-p", "30"])
        .args(mode)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _attack = Attack(attack);
    until("all are connected", || {
        (descriptors(&gateway) >= idle + CONNECTIONS * 4 / 5).then_some(())
    });
    let connected = Instant::now();
    let mut best = PATIENCE;
    for _ in 0..10 {
        let began = Instant::now();
        let mut honest = Connection::open(gateway.address()).unwrap();
        let reply = honest.send(&Request::turn(r#"{"kind":"look"}"#)).unwrap();
        assert_eq!(reply.status, 200);
        best = best.min(began.elapsed());
    }
    assert!(
        descriptors(&gateway) > idle + CONNECTIONS / 2,
        "they are still there"
    );
    assert!(best < TURN, "{mode:?}: a turn took {best:?}");
    // The one or two that it probes with may come and go.
    until("all are closed", || {
        (descriptors(&gateway) <= idle + 2).then_some(())
    });
    let took = connected.elapsed();
    assert!(took < 2 * TIMEOUT, "{mode:?}: closed after {took:?}");
}

#[test]
fn slow_heads_are_closed_in_time() {
    stands(&["-H"], "/api/health");
}

#[test]
fn slow_bodies_are_closed_in_time() {
    stands(&["-B", "-t", "POST", "-s", "8192", "-x", "10"], "/api/turn");
}

#[test]
fn slow_readers_are_closed_in_time() {
    stands(
        &[
            "-X", "-w", "512", "-y", "1024", "-n", "1", "-z", "32", "-k", "3",
        ],
        "/page",
    );
}
