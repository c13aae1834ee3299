//! Players for the soak: each turn has a mark of its own and asks for a fault or for
//! none, and whatever comes back is either its own reply or a refusal that is known.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::http::{Connection, Reply, Request};

/// Players at once: twice as many as the queue has places, so that it is full at times.
const PLAYERS: u64 = 24;
/// Behind so many addresses, so that lines of several turns form and are pushed out of.
const CLIENTS: u64 = 8;

/// How turns ended, and how many of each.
pub type Ends = BTreeMap<String, u64>;

/// All of them, until the end; each makes its own choices from the seed.
pub fn start(address: SocketAddr, seed: u64, end: Instant) -> Vec<JoinHandle<Ends>> {
    (0..PLAYERS)
        .map(|name| {
            let rng = Rng::with_seed(seed.wrapping_add(name));
            thread::spawn(move || play(address, name, rng, end))
        })
        .collect()
}

/// What the engine does with a turn.
///
/// A late line of valid JSON (`late`) stands where the next turn's reply must stand, and
/// a protocol without ids has but two things to tell them apart by: the next line lay
/// unread, and its true reply follows. Both take time: the stub waits for the next line,
/// and then for longer than the 10 ms in which an engine that is in step begins to read;
/// so long that the time for which such a reply is held back, thrice that, ends beyond
/// the deadline of that turn, however long the engine takes for it, or is stopped: without
/// its own reply it is a timeout.
fn steps(rng: &mut Rng) -> Value {
    let pause = format!("sleep:{}", rng.u64(0..4));
    match rng.u32(0..240) {
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
        16 | 17 => json!([format!("sleep:{}", rng.u64(140..160)), "reply"]),
        18 => json!(["reply-slowly"]),
        19 => json!(["fork:600", "raw:garbage\n"]),
        20 => json!(["stderr:3", "reply"]),
        21 => json!(["stderr-raw:200000", "reply"]),
        22 | 23 => json!(["reply", format!("late:{}", rng.u64(40..60))]),
        // Slow to begin with the next line, and nothing worse.
        24 => json!(["reply", format!("sleep:{}", rng.u64(15..40))]),
        25 => json!([format!("big:{}", rng.u64(60_000..140_000))]),
        _ => json!([pause, "reply"]),
    }
}

fn play(address: SocketAddr, name: u64, mut rng: Rng, end: Instant) -> Ends {
    let mut ends = Ends::new();
    let mut kept = Connection::open(address).unwrap();
    for n in 0.. {
        if Instant::now() >= end {
            break;
        }
        let mark = format!("player {name}, turn {n}");
        let steps = steps(&mut rng);
        let body = json!({ "kind": "look", "mark": mark, "do": steps });
        let client = format!("10.0.0.{}", name % CLIENTS);
        let request = Request::turn(body.to_string()).from(&client);
        let ended = match rng.u32(0..10) {
            0 | 1 => hang_up(address, &request.bytes(), &mut rng),
            2 | 3 => check(&request.send_to(address).expect("an answer"), &mark, &steps),
            _ => check(&kept.send(&request).expect("an answer"), &mark, &steps),
        };
        if ended == "queue_full" || ended == "engine_down" {
            // Room for those who are let in; nothing waits for this.
            thread::sleep(Duration::from_millis(rng.u64(5..40)));
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

/// How it ended: `200` with one's own reply, or the code of a refusal that there is.
pub fn check(reply: &Reply, mark: &str, steps: &Value) -> String {
    if reply.status == 200 {
        let big = (steps[0].as_str()).and_then(|step| step.strip_prefix("big:"));
        let own = match big {
            Some(bytes) => reply.body.len() == bytes.parse::<usize>().unwrap(),
            None => reply.json()["mark"] == mark,
        };
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
