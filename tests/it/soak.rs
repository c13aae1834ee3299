//! Everything at once and at random, for as long as one likes: players who hang up,
//! engines that die, stall, stammer, talk nonsense and too late, that are killed, stopped
//! and garbled from outside, and swapped meanwhile. Whoever gets a 200 gets their own,
//! everybody gets an answer, and afterwards nothing is left of it.
//!
//! `KIDOBAN_SOAK_SECONDS` says how long, `KIDOBAN_SOAK_SEED` repeats the choices (though
//! not the moments) of a run that printed it.

mod players;

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::iter;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};
use players::{Ends, check};

/// How long it goes on, unless told otherwise.
const SECONDS: u64 = 5;
/// Longest from the last fault until health is green.
const GREEN_WITHIN: Duration = Duration::from_secs(1);
/// How much more memory it may hold at its least after the end than at its most before
/// the middle, by which time every buffer and table has been in use. The allocator takes
/// and gives 2 MiB at a time, several times a second, so that single looks tell nothing.
const RSS_GROWN_MAX: u64 = 2 << 20;

/// For so long the least is looked for.
const RSS_AFTER: Duration = Duration::from_secs(1);

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

#[test]
fn no_reply_crosses_and_nothing_is_left_behind() {
    let seconds = variable("KIDOBAN_SOAK_SECONDS").unwrap_or(SECONDS);
    let seed = variable("KIDOBAN_SOAK_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("KIDOBAN_SOAK_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines");
    let gateway = Gateway::unlimited(&[
        "--queue=12",
        "--reply-timeout=150ms",
        "--max-wait=500ms",
        "--restart-delay-max=5ms",
    ])
    .stub(&["--log", lines.to_str().unwrap()])
    .start();
    let descriptors_before = descriptors(&gateway);

    let began = Instant::now();
    let end = began + Duration::from_secs(seconds);
    let players = players::start(gateway.address(), seed, end);
    let (rss_between, disturbed) = thread::scope(|scope| {
        let disturbing = scope.spawn(|| disturb(&gateway, Rng::with_seed(!seed), end));
        let middle = began + Duration::from_secs(seconds) / 2;
        let most = looks(&gateway, middle).max();
        (most.unwrap(), disturbing.join().unwrap())
    });
    let mut ends = Ends::new();
    for player in players {
        let of_one = player.join().unwrap_or_else(|panic| {
            std::panic::resume_unwind(panic);
        });
        for (ended, n) in of_one {
            *ends.entry(ended).or_insert(0) += n;
        }
    }
    println!("{ends:?} {disturbed:?}");
    for must in ["200", "hung up", "engine_failed", "engine_timeout"] {
        assert!(ends.contains_key(must), "{must}: {ends:?}");
    }
    is_soon_green(&gateway);
    is_well(&gateway);
    until("as many descriptors as before", || {
        (descriptors(&gateway) <= descriptors_before).then_some(())
    });
    let rss_after = looks(&gateway, Instant::now() + RSS_AFTER).min().unwrap();
    println!("VmRSS {rss_between} at most until the middle, {rss_after} at least after it");
    assert!(
        rss_after <= rss_between + RSS_GROWN_MAX,
        "{rss_between} {rss_after}"
    );
    each_was_sent_once(&lines);
}

/// Does to engines what comes from outside, at random; how often it did each thing.
fn disturb(gateway: &Running, mut rng: Rng, end: Instant) -> Ends {
    let mut done = Ends::new();
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(rng.u64(20..300)));
        let children = gateway.children();
        let Some(&engine) = rng.choice(&children) else {
            continue;
        };
        let what = match rng.u32(0..10) {
            0 | 1 => {
                signal(engine, Signal::KILL);
                "killed"
            }
            2 => {
                signal(engine, Signal::STOP);
                "stopped"
            }
            3..6 => {
                signal(engine, Signal::STOP);
                thread::sleep(Duration::from_millis(rng.u64(1..80)));
                signal(engine, Signal::CONT);
                "stopped for a while"
            }
            6 | 7 => {
                garble(engine);
                "garbled"
            }
            _ => {
                gateway.signal("HUP");
                "swapped"
            }
        };
        *done.entry(what.to_owned()).or_insert(0) += 1;
    }
    done
}

/// Gone already is as good.
fn signal(engine: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(engine).unwrap()).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

/// A byte that no reply can hold, wherever the engine's output stands.
fn garble(engine: u32) {
    let stdout = format!("/proc/{engine}/fd/1");
    if let Ok(mut stdout) = OpenOptions::new().write(true).open(stdout) {
        let _ = stdout.write_all(b"\xff");
    }
}

/// One last fault, and the time from there.
fn is_soon_green(gateway: &Running) {
    until("nobody waits", || {
        (gateway.health()["waiting"] == 0).then_some(())
    });
    for engine in gateway.children() {
        signal(engine, Signal::KILL);
    }
    let last_fault = Instant::now();
    until("the next engine serves", || {
        let body = json!({ "kind": "look", "mark": "last" }).to_string();
        (check(&gateway.turn(&body), "last", &json!([])) == "200").then_some(())
    });
    assert_eq!(gateway.health()["engine"], "up");
    let took = last_fault.elapsed();
    println!("green {took:?} after the last fault");
    assert!(took < GREEN_WITHIN, "{took:?}");
}

fn is_well(gateway: &Running) {
    // A swap may be under way, and an engine that was stopped takes 4 s to leave.
    gateway.one_engine();
    assert_eq!(gateway.health()["waiting"], 0);
    assert_eq!(gateway.health()["engine"], "up");
}

fn descriptors(gateway: &Running) -> usize {
    let folder = format!("/proc/{}/fd", gateway.pid());
    fs::read_dir(folder).unwrap().count()
}

/// What it holds at one moment after the other, until this one.
fn looks(gateway: &Running, until: Instant) -> impl Iterator<Item = u64> {
    let every = Duration::from_millis(20);
    iter::repeat_with(move || {
        thread::sleep(every);
        resident(gateway)
    })
    .take_while(move |_| Instant::now() < until)
}

/// Bytes of memory that it holds.
fn resident(gateway: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    kibibytes.unwrap().parse::<u64>().unwrap() * 1024
}

/// No line was ever given to an engine twice, whatever became of it.
fn each_was_sent_once(file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let mut marks = HashSet::new();
    // An engine may have been killed while it wrote its log: such a line is cut, and no JSON.
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    for line in lines {
        let line: Value = line;
        let mark = line["mark"].as_str().unwrap_or_default().to_owned();
        assert!(mark == "last" || marks.insert(mark), "sent twice: {line}");
    }
    assert!(!marks.is_empty());
}
