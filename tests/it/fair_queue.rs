//! The queue as clients and the engine see it: its bound, who is next, who makes room,
//! who leaves, and what is left for the polite beside somebody who is not.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Reply, Request};

/// A gateway whose engine holds its first turn until it is told to go on.
struct Held {
    gateway: Running,
    folder: tempfile::TempDir,
    first: Option<JoinHandle<Reply>>,
}

/// A turn of the client `10.0.0.N`.
fn request(client: u32, mark: &str, steps: &Value) -> Request {
    let body = json!({ "kind": "look", "mark": mark, "do": steps });
    Request::turn(body.to_string()).from(&format!("10.0.0.{client}"))
}

fn send(gateway: &Running, request: Request) -> JoinHandle<Reply> {
    let address = gateway.address();
    thread::spawn(move || request.send_to(address).unwrap())
}

impl Held {
    /// Client 0 has the engine.
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("lines");
        let gateway = Gateway::unlimited(options)
            .stub(&["--log", log.to_str().unwrap()])
            .start();
        let until_told = format!("wait-for:{}", folder.path().join("go").display());
        let first = request(0, "first", &json!([until_told, "reply"]));
        let first = Some(send(&gateway, first));
        let held = Self {
            gateway,
            folder,
            first,
        };
        until("the engine has it", || {
            (held.seen() == ["first"]).then_some(())
        });
        held
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("lines")
    }

    /// The marks that the engine has read, in order.
    fn seen(&self) -> Vec<String> {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str::<Value>);
        lines
            .map(|line| line.unwrap()["mark"].as_str().unwrap().to_owned())
            .collect()
    }

    fn until_waiting(&self, turns: u64) {
        until("so many places are taken", || {
            (self.gateway.health()["waiting"] == turns).then_some(())
        });
    }

    /// Sends it; it has its place when this returns.
    fn wait_in_line(&self, client: u32, mark: &str) -> JoinHandle<Reply> {
        let before = self.gateway.health()["waiting"].as_u64().unwrap();
        let turn = send(&self.gateway, request(client, mark, &json!([])));
        self.until_waiting(before + 1);
        turn
    }

    /// Sends it, and hears at once that there is no room.
    fn is_refused(&self, client: u32) {
        is_queue_full(&self.gateway.send(&request(client, "refused", &json!([]))));
    }

    fn let_go(&mut self) {
        fs::write(self.folder.path().join("go"), "").unwrap();
        let first = self.first.take().unwrap();
        is_served(first, "first");
    }
}

fn is_queue_full(reply: &Reply) {
    assert_eq!((reply.status, reply.code().as_str()), (429, "queue_full"));
    assert!(reply.retry_after().is_some());
    assert!(reply.json()["retry_after_ms"].is_u64());
}

fn is_served(turn: JoinHandle<Reply>, mark: &str) {
    let reply = turn.join().unwrap();
    assert_eq!(reply.status, 200, "{mark}: {}", reply.text());
    assert_eq!(reply.json()["mark"], mark);
}

/// Forty at once for eight places, one of which is the engine's: seven are let in, not one more or less.
#[test]
fn the_bound_is_exact() {
    let mut held = Held::start(&["--queue", "8"]);
    let turns: Vec<_> = (1..=40)
        .map(|client| send(&held.gateway, request(client, "one of many", &json!([]))))
        .collect();
    until("all others have been refused", || {
        (turns.iter().filter(|turn| turn.is_finished()).count() == 33).then_some(())
    });
    held.until_waiting(8);
    held.let_go();
    let replies: Vec<_> = turns.into_iter().map(|turn| turn.join().unwrap()).collect();
    let (served, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
    assert_eq!((served.len(), refused.len()), (7, 33));
    refused.into_iter().for_each(is_queue_full);
    held.until_waiting(0);
}

#[test]
fn the_greedy_clients_newest_turn_makes_room_for_newcomers() {
    let mut held = Held::start(&["--queue", "6"]);
    let mut greedy: Vec<_> = ["g1", "g2", "g3", "g4", "g5"]
        .map(|mark| held.wait_in_line(0, mark))
        .into();
    // Nobody pushes out a turn of one's own.
    held.is_refused(0);
    let mut newcomers = Vec::new();
    for (client, mark) in [(1, "n1"), (2, "n2"), (3, "n3")] {
        newcomers.push((mark, send(&held.gateway, request(client, mark, &json!([])))));
        // The newest, and the newest then, and again: g5, g4, g3.
        is_queue_full(&greedy.pop().unwrap().join().unwrap());
        held.until_waiting(6);
    }
    // Two more than none is not greedy enough.
    held.is_refused(4);
    held.let_go();
    for (mark, turn) in newcomers {
        is_served(turn, mark);
    }
    for (mark, turn) in ["g1", "g2"].into_iter().zip(greedy) {
        is_served(turn, mark);
    }
    assert_eq!(held.seen(), ["first", "n1", "n2", "n3", "g1", "g2"]);
}

/// The queue of the next two tests, in order of arrival: client and mark.
const ARRIVALS: [(u32, &str); 8] = [
    (0, "a1"),
    (0, "a2"),
    (0, "a3"),
    (1, "b1"),
    (1, "b2"),
    (1, "b3"),
    (2, "c1"),
    (0, "a4"),
];

fn served_in_order(options: &[&str]) -> Vec<String> {
    let mut held = Held::start(options);
    let turns = ARRIVALS.map(|(client, mark)| (mark, held.wait_in_line(client, mark)));
    held.let_go();
    for (mark, turn) in turns {
        is_served(turn, mark);
    }
    held.seen()
}

/// Clients 1 and 2 are new; 0, whose turn is in the engine, is in the rotation before them.
#[test]
fn newcomers_first_and_then_one_turn_each() {
    let order = ["first", "b1", "c1", "a1", "b2", "a2", "b3", "a3", "a4"];
    assert_eq!(served_in_order(&[]), order);
}

#[test]
fn fifo_is_the_order_of_arrival() {
    let mut arrivals = vec!["first"];
    arrivals.extend(ARRIVALS.map(|(_, mark)| mark));
    assert_eq!(served_in_order(&["--queue-order", "fifo"]), arrivals);

    let mut held = Held::start(&["--queue", "5", "--queue-order", "fifo"]);
    let greedy = ["g1", "g2", "g3", "g4"].map(|mark| (mark, held.wait_in_line(0, mark)));
    held.is_refused(1);
    held.let_go();
    for (mark, turn) in greedy {
        is_served(turn, mark);
    }
}

#[test]
fn who_leaves_makes_room_at_once() {
    let mut held = Held::start(&["--queue", "3"]);
    let mut leaves = Connection::open(held.gateway.address()).unwrap();
    let turn = request(1, "leaves", &json!([])).bytes();
    std::io::Write::write_all(&mut leaves.stream, &turn).unwrap();
    held.until_waiting(2);
    let stays = held.wait_in_line(2, "stays");
    held.is_refused(3);
    drop(leaves);
    // While the engine is held: nothing but the leaving can have made room.
    held.until_waiting(2);
    let comes = held.wait_in_line(3, "comes");
    held.let_go();
    is_served(stays, "stays");
    is_served(comes, "comes");
    assert_eq!(held.seen(), ["first", "stays", "comes"]);
}

/// What the engine takes for one turn: enough to be most of it on a machine that does other things too.
const TURN: Duration = Duration::from_millis(30);
/// Polite clients; together they ask for half of what the engine can serve.
const POLITE: u32 = 10;
const POLITE_EVERY: Duration = TURN.saturating_mul(2 * POLITE);
/// Connections of one client, which together ask for ten times what the engine can serve.
const GREEDY: u32 = 60;
const GREEDY_EVERY: Duration = TURN.saturating_mul(GREEDY).checked_div(10).unwrap();

/// Asks at its pace, or when the answer before is there, until the end; how long each served turn took, and how many were not served.
fn ask_at_pace(
    address: SocketAddr,
    request: &Request,
    first_at: Instant,
    every: Duration,
    end: Instant,
) -> (Vec<Duration>, usize) {
    let mut connection = Connection::open(address).unwrap();
    let (mut served, mut refused) = (Vec::new(), 0);
    let mut next = first_at;
    while next < end {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let asked_at = Instant::now();
        let reply = connection.send(request).unwrap();
        match reply.status {
            200 => served.push(asked_at.elapsed()),
            429 => refused += 1,
            _ => panic!("{}", reply.text()),
        }
        next = (next + every).max(Instant::now());
    }
    (served, refused)
}

/// The polite clients' share of served turns, and how many turn times these took in the
/// median. The engine is never idle, so a turn time is what it needed for each, all told.
fn polite_beside_greedy(options: &[&str], seconds: u64) -> (f64, f64) {
    let mut all = vec!["--limit-for", "10.0.0.200/32=off"];
    all.extend(options);
    let gateway = Gateway::unlimited(&all)
        .stub(&["--slow", &TURN.as_millis().to_string()])
        .start();
    let address = gateway.address();
    let began = Instant::now();
    let end = began + Duration::from_secs(seconds);
    let play = |client: u32, first_at: Instant, every: Duration| {
        let request = request(client, "-", &json!([]));
        thread::spawn(move || ask_at_pace(address, &request, first_at, every, end))
    };
    let greedy: Vec<_> = (0..GREEDY)
        .map(|n| play(200, began + GREEDY_EVERY * n / GREEDY, GREEDY_EVERY))
        .collect();
    let polite: Vec<_> = (1..=POLITE)
        .map(|n| play(n, began + POLITE_EVERY * n / POLITE, POLITE_EVERY))
        .collect();
    let (mut served_greedy, mut refused_greedy) = (0, 0);
    for player in greedy {
        let (served, refused) = player.join().unwrap();
        served_greedy += served.len();
        refused_greedy += refused;
    }
    assert!(refused_greedy > 100, "it was greedy: {refused_greedy}");
    let (mut took, mut refused) = (Vec::new(), 0);
    for player in polite {
        let of_one = player.join().unwrap();
        took.extend(of_one.0);
        refused += of_one.1;
    }
    let whole = began.elapsed();
    took.sort();
    let count = |n: usize| f64::from(u32::try_from(n).unwrap());
    let share = count(took.len()) / count(took.len() + refused);
    let turn = whole.as_secs_f64() / count(took.len() + served_greedy);
    let median = took.get(took.len() / 2);
    let median = median.map_or(f64::INFINITY, |took| took.as_secs_f64() / turn);
    println!(
        "{options:?}: {share:.3} of the polite turns, median {median:.2} turns of {turn:.4} s"
    );
    (share, median)
}

/// The median is the best of up to three rounds: on a machine that is kept busy by others, the polite may
/// ask for more than the engine can serve after all. The share holds in each of them.
#[test]
fn polite_clients_get_their_turns_beside_a_greedy_one() {
    let mut medians = Vec::new();
    while medians.len() < 3 && medians.iter().all(|median| *median >= 4.0) {
        let (share, median) = polite_beside_greedy(&[], 6);
        assert!(share >= 0.99, "{share}");
        medians.push(median);
    }
    assert!(medians.iter().any(|median| *median < 4.0), "{medians:?}");

    let (share, _) = polite_beside_greedy(&["--queue-order", "fifo"], 3);
    assert!(share < 0.5, "the contrast: {share}");
}
