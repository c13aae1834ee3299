//! Time is the monotonic clock: the wall clock is thrown about under the running gateway
//! and its engine, and nobody notices but the log's timestamps.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::gates::assert_refused;
use crate::harness::{Gateway, Running, absent, peer, until};
use crate::http::{Connection, Reply, Request};

/// Tickets a second, and in a full bucket.
const RATE: u32 = 5;
const BURST: u32 = 2;

/// The library that lies about the wall clock, where its packages put it.
fn libfaketime() -> Option<PathBuf> {
    peer("faketime", "apt-get install faketime")?;
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found = folders
        .map(|folder| folder.path())
        .chain(["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from))
        .map(|folder| folder.join("faketime/libfaketimeMT.so.1"))
        .find(|library| library.is_file());
    if found.is_none() {
        absent("`libfaketimeMT.so.1` is not where packages put it (apt-get install faketime)");
    }
    found
}

/// The wall clock runs off by this from now on. Moved into place whole: it is read at every look at the clock.
fn set_wall_clock(file: &Path, offset: &str) {
    let beside = file.with_extension("new");
    fs::write(&beside, format!("{offset}\n")).expect("written");
    fs::rename(&beside, file).expect("in its place");
}

fn turn(connection: &mut Connection, client: &str) -> Reply {
    let request = Request::turn(r#"{"kind":"look"}"#).from(client);
    connection.send(&request).expect("an answer")
}

/// The log's time of the turn of this client.
fn logged_at(gateway: &Running, client: &str) -> String {
    let record = gateway.wait_for_log("the turn", |record| {
        record["message"] == "turn" && record["client"] == client
    });
    record["timestamp"].as_str().expect("a time").to_owned()
}

/// One client over all jumps: how often it was let in, and since when.
struct Steady {
    admitted: u32,
    since: Instant,
}

impl Steady {
    /// Asks, jumps, asks at once, waits as told, asks again.
    fn outlive(&mut self, connection: &mut Connection, jump: impl FnOnce()) {
        let client = "203.0.113.7";
        let (asked_at, refusal) = loop {
            let asked_at = Instant::now();
            let reply = turn(connection, client);
            if reply.status != 200 {
                break (asked_at, reply);
            }
            self.admitted += 1;
        };
        assert_refused(&refusal, "rate_limited");
        let refused_at = Instant::now();
        let ms = refusal.json()["retry_after_ms"].as_u64().expect("a number");
        assert!(ms <= 1_000 / u64::from(RATE), "{ms} ms is no wait here");
        jump();
        let early = turn(connection, client);
        if asked_at.elapsed() < Duration::from_millis(ms.saturating_sub(1)) {
            assert_refused(&early, "rate_limited");
        }
        self.admitted += u32::from(early.status == 200);
        let wait = Duration::from_millis(ms);
        thread::sleep(wait.saturating_sub(refused_at.elapsed()));
        if early.status != 200 {
            let reply = turn(connection, client);
            assert_eq!(reply.status, 200, "waited {ms} ms: {}", reply.text());
            self.admitted += 1;
        }
        let most = f64::from(BURST) + f64::from(RATE) * self.since.elapsed().as_secs_f64();
        assert!(f64::from(self.admitted) <= most, "more than {most}");
    }
}

#[test]
fn a_wall_clock_that_jumps_changes_nothing() {
    let Some(library) = libfaketime() else { return };
    let folder = tempfile::tempdir().unwrap();
    let offset = folder.path().join("offset");
    set_wall_clock(&offset, "+0");
    let (rate, burst) = (RATE.to_string(), BURST.to_string());
    let gateway = Gateway::with(&["--rate", &rate, "--burst", &burst])
        .env("LD_PRELOAD", &library)
        .env("FAKETIME_TIMESTAMP_FILE", &offset)
        .env("FAKETIME_NO_CACHE", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let pid = turn(&mut connection, "192.0.2.100").json()["pid"].clone();
    let mut last = logged_at(&gateway, "192.0.2.100");
    let since = Instant::now();
    let mut steady = Steady { admitted: 0, since };
    for (n, (jump, is_forward)) in [
        ("+400d", true),
        ("-400d", false),
        ("-399d", true),
        ("-400d", false),
        ("+7200", true),
        ("+0", false),
    ]
    .into_iter()
    .enumerate()
    {
        steady.outlive(&mut connection, || set_wall_clock(&offset, jump));
        // Somebody new has a full bucket, and it is as deep as ever.
        let newcomer = format!("192.0.2.{n}");
        let start = Instant::now();
        let codes = [(); 3].map(|()| turn(&mut connection, &newcomer).code());
        assert_eq!(codes[..2], ["", ""], "{jump}");
        if start.elapsed() < Duration::from_secs(1) / RATE {
            assert_eq!(codes[2], "rate_limited", "{jump}");
        }
        let now = logged_at(&gateway, &newcomer);
        assert_eq!(
            last < now,
            is_forward,
            "{jump}: no jump from {last} to {now}"
        );
        assert_ne!(last[..13], now[..13], "{jump}: no jump, less than an hour");
        last = now;
    }
    // A turn that the engine has meanwhile is neither late nor lost.
    let sleepy = Request::turn(r#"{"kind":"look","do":["sleep:200","reply"]}"#);
    connection.stream.write_all(&sleepy.bytes()).unwrap();
    until("the engine has it", || {
        (gateway.health()["waiting"] == 1).then_some(())
    });
    set_wall_clock(&offset, "+400d");
    let reply = connection.read(false).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let survivor = turn(&mut connection, "192.0.2.101").json()["pid"].clone();
    assert_eq!(pid, survivor, "the engine was left alone");
}
