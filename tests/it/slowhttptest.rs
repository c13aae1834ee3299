//! Beside 500 connections of slowhttptest, in three of its ways of being slow. The same
//! against Caddy is in `caddy::hostile`.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Gateway, PATIENCE, Running, peer, until};
use crate::http::{Connection, Request};

const CONNECTIONS: usize = 500;
/// What each slow client may take, by the flags below.
const TIMEOUT: Duration = Duration::from_secs(6);
/// A turn of somebody honest, beside all of them.
const TURN: Duration = Duration::from_millis(100);

/// Slow heads against a path that needs no body.
pub const SLOW_HEADS: (&[&str], &str) = (&["-H"], "/api/health");
/// Slow bodies of turns.
pub const SLOW_BODIES: (&[&str], &str) =
    (&["-B", "-t", "POST", "-s", "8192", "-x", "10"], "/api/turn");
/// Slow readers of a large page.
pub const SLOW_READERS: (&[&str], &str) = (
    &[
        "-X", "-w", "512", "-y", "1024", "-n", "1", "-z", "32", "-k", "3",
    ],
    "/page",
);

/// Who is attacked, and must stand.
pub struct Target {
    pub pid: u32,
    pub address: SocketAddr,
    /// Of ten honest turns, those that may get no answer: a Caddy whose own time to write is
    /// up, on a machine that gives it none, closes without a word.
    pub lost_max: usize,
}

/// Killed when dropped.
struct Attack(Child);

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn descriptors(pid: u32) -> usize {
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    open.map_or(0, Iterator::count)
}

/// Whose page is large, and whose patience with slow clients is [`TIMEOUT`].
pub fn impatient_gateway(folder: &Path) -> Running {
    fs::write(folder.join("page"), "p".repeat(2_000_000)).unwrap();
    Gateway::unlimited(&[
        "--header-timeout",
        "6s",
        "--body-timeout",
        "6s",
        "--write-timeout",
        "6s",
        "--max-unsent",
        "1GiB",
        "--static",
        folder.to_str().unwrap(),
    ])
    .start()
}

/// Starts it with these flags against this path, and watches until all are closed, which may take so long.
pub fn stands(target: &Target, (flags, path): (&[&str], &str), limit: Duration) {
    let Some(program) = peer("slowhttptest", "apt-get install slowhttptest") else {
        return;
    };
    let idle = descriptors(target.pid);
    let url = format!("http://localhost:{}{path}", target.address.port());
    let connections = CONNECTIONS.to_string();
    let attack = Command::new(program)
        .args(["-u", &url, "-c", &connections, "-r", &connections])
        // Far longer than any of them may live, and no probing of its own.
        .args(["-l", "60", "-i", "1", "-p", "30"])
        .args(flags)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _attack = Attack(attack);
    until("all are connected", || {
        (descriptors(target.pid) >= idle + CONNECTIONS * 4 / 5).then_some(())
    });
    let connected = Instant::now();
    let mut best = PATIENCE;
    let mut lost = Vec::new();
    for _ in 0..10 {
        let began = Instant::now();
        let mut honest = Connection::open(target.address).unwrap();
        match honest.send(&Request::turn(r#"{"kind":"look"}"#)) {
            Ok(reply) => {
                assert_eq!(reply.status, 200);
                best = best.min(began.elapsed());
            }
            Err(error) => lost.push((began.elapsed(), error)),
        }
    }
    assert!(lost.len() <= target.lost_max, "{flags:?}: {lost:?}");
    assert!(
        descriptors(target.pid) > idle + CONNECTIONS / 2,
        "they are still there"
    );
    assert!(best < TURN, "{flags:?}: a turn took {best:?}");
    // The one or two that it probes with may come and go.
    until("all are closed", || {
        (descriptors(target.pid) <= idle + 2).then_some(())
    });
    let took = connected.elapsed();
    assert!(took < limit, "{flags:?}: closed after {took:?}");
}

fn gateway_stands(mode: (&[&str], &str)) {
    let folder = tempfile::tempdir().unwrap();
    let gateway = impatient_gateway(folder.path());
    let target = Target {
        pid: gateway.pid(),
        address: gateway.address(),
        lost_max: 0,
    };
    stands(&target, mode, 2 * TIMEOUT);
}

#[test]
fn slow_heads_are_closed_in_time() {
    gateway_stands(SLOW_HEADS);
}

#[test]
fn slow_bodies_are_closed_in_time() {
    gateway_stands(SLOW_BODIES);
}

#[test]
fn slow_readers_are_closed_in_time() {
    gateway_stands(SLOW_READERS);
}
