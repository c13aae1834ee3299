//! Replies never cross: players who hang up, engines that die, stall, stammer and talk
//! nonsense, all at random and all at once, and yet whoever gets a 200 gets their own.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Reply, Request};

/// Players at once: more than the queue has places, so that it is full at times.
const PLAYERS: u64 = 16;
/// How long they play, unless `KIDOBAN_SOAK_SECONDS` says otherwise.
const SECONDS: u64 = 4;

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

/// What the engine does with a turn.
///
/// One thing is left out on purpose: a line of *valid* JSON that comes some time after
/// the reply. If the next turn's line has gone out by then, it stands where that turn's
/// reply must stand, and a protocol without ids has nothing to tell them apart by. What
/// can be told is here: a second line together with the reply, and late bytes that no
/// reply can be made of. A late line while the engine is idle has a test in
/// `engine_faults`.
fn steps(rng: &mut Rng) -> Value {
    let pause = format!("sleep:{}", rng.u64(0..4));
    match rng.u32(0..60) {
        0 => json!(["exit:1"]),
        1 => json!(["abort"]),
        2 => json!([pause, "exit:0"]),
        3 => json!(["raw:{\"mark\":", "exit:0"]),
        4 => json!(["raw:garbage\n"]),
        5 => json!(["not-utf-8"]),
        // One write, so both lines are there at once.
        6 | 7 => json!(["raw:{\"mark\":\"nobody\"}\n{\"mark\":\"nobody\"}\n"]),
        8 | 9 => json!(["reply", "exit:0"]),
        10 => json!(["reply", pause, "raw:x"]),
        11 => json!(["reply", pause, "raw:\n"]),
        12 => json!(["reply", pause, "raw:late garbage\n"]),
        13 => json!(["reply", "close-stdin"]),
        14 => json!(["close-stdout"]),
        15 => json!(["hang"]),
        // Around the deadline: the late reply must reach nobody.
        16 | 17 => json!([format!("sleep:{}", rng.u64(90..110)), "reply"]),
        18 => json!(["reply-slowly"]),
        19 => json!(["fork:60", "raw:garbage\n"]),
        20 => json!(["stderr:3", "reply"]),
        _ => json!([pause, "reply"]),
    }
}

/// One player: every turn has a mark of its own. Counts how they ended.
fn play(address: SocketAddr, name: u64, mut rng: Rng, end: Instant) -> BTreeMap<String, u64> {
    let mut ends = BTreeMap::new();
    let mut kept = Connection::open(address).unwrap();
    for n in 0.. {
        if Instant::now() >= end {
            break;
        }
        let mark = format!("player {name}, turn {n}");
        let body = json!({ "kind": "look", "mark": mark, "do": steps(&mut rng) });
        let request = Request::turn(body.to_string());
        let ended = match rng.u32(0..10) {
            0 | 1 => hang_up(address, &request.bytes(), &mut rng),
            2 | 3 => check(&request.send_to(address).expect("an answer"), &mark),
            _ => check(&kept.send(&request).expect("an answer"), &mark),
        };
        if ended == "queue_full" || ended == "engine_down" {
            // Room for those who are let in; nothing waits for this.
            thread::sleep(Duration::from_millis(rng.u64(1..10)));
        }
        *ends.entry(ended).or_insert(0) += 1;
    }
    ends
}

/// Sends a part of the request, or all of it, waits a little or not at all, and leaves.
fn hang_up(address: SocketAddr, request: &[u8], rng: &mut Rng) -> String {
    let mut connection = Connection::open(address).unwrap();
    let sent = if rng.bool() {
        request.len()
    } else {
        rng.usize(0..request.len())
    };
    connection.stream.write_all(&request[..sent]).unwrap();
    if rng.bool() {
        thread::sleep(Duration::from_millis(rng.u64(0..20)));
    }
    if rng.bool() {
        // Half-closing is hanging up too.
        connection.stream.shutdown(Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(rng.u64(0..20)));
    }
    "hung up".to_owned()
}

fn check(reply: &Reply, mark: &str) -> String {
    if reply.status == 200 {
        let own = reply.json()["mark"] == mark;
        assert!(own, "{mark} got another's reply: {}", reply.text());
        return "200".to_owned();
    }
    let known = [
        (429, "queue_full"),
        (502, "engine_failed"),
        (503, "engine_down"),
        (503, "shed"),
        (504, "engine_timeout"),
    ];
    let code = reply.code();
    let ended = known.iter().any(|known| *known == (reply.status, &code));
    assert!(ended, "{mark}: {} {}", reply.status, reply.text());
    code
}

#[test]
fn every_reply_reaches_its_asker_and_nobody_else() {
    let seconds = variable("KIDOBAN_SOAK_SECONDS").unwrap_or(SECONDS);
    let seed = variable("KIDOBAN_SOAK_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("KIDOBAN_SOAK_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines");
    let gateway = Gateway::unlimited(&[
        "--queue=12",
        "--reply-timeout=100ms",
        "--max-wait=500ms",
        "--restart-delay-max=5ms",
    ])
    .stub(&["--log", lines.to_str().unwrap()])
    .start();

    let address = gateway.address();
    let end = Instant::now() + Duration::from_secs(seconds);
    let players: Vec<_> = (0..PLAYERS)
        .map(|name| {
            let rng = Rng::with_seed(seed.wrapping_add(name));
            thread::spawn(move || play(address, name, rng, end))
        })
        .collect();
    let mut ends = BTreeMap::new();
    for player in players {
        let of_one = player.join().unwrap_or_else(|panic| {
            std::panic::resume_unwind(panic);
        });
        for (ended, n) in of_one {
            *ends.entry(ended).or_insert(0) += n;
        }
    }
    println!("{ends:?}");
    for must in ["200", "hung up", "engine_failed", "engine_timeout"] {
        assert!(ends.contains_key(must), "{must}: {ends:?}");
    }
    is_well(&gateway);
    each_was_sent_once(&lines);
}

fn is_well(gateway: &Running) {
    until("nobody waits", || {
        (gateway.health()["waiting"] == 0).then_some(())
    });
    until("turns are served", || {
        let reply = gateway.turn(r#"{"kind":"look","mark":"last"}"#);
        (check(&reply, "last") == "200").then_some(())
    });
    gateway.one_engine();
    assert_eq!(gateway.health()["engine"], "up");
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
