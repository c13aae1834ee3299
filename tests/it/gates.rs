//! The five gates: their order for every pair, what each refusal looks like, and what it
//! costs the client.

mod bodies;
mod connection;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Reply, Request};

/// Longest body at the default limit.
const BODY_MAX: usize = 65_536;
/// One ticket an hour: a second turn is refused however slow the machine is.
const ONE_TICKET: [&str; 4] = ["--rate", "1/h", "--burst", "1"];
/// A turn that the engine never answers.
const HANG: &str = r#"{"kind":"look","do":"hang"}"#;

/// Every code, its status, and whether it says when to come back.
const CODES: [(&str, u16, bool); 14] = [
    ("bad_request", 400, false),
    ("not_found", 404, false),
    ("method_not_allowed", 405, false),
    ("expectation_failed", 417, false),
    ("draining", 503, true),
    ("body_too_large", 413, false),
    ("body_timeout", 408, false),
    ("bad_shape", 400, false),
    ("rate_limited", 429, true),
    ("engine_down", 503, true),
    ("queue_full", 429, true),
    ("engine_failed", 502, false),
    ("engine_timeout", 504, false),
    ("shed", 503, true),
];

/// A refusal of this code, as the contract has it to the last field; hands back its sentence.
pub fn assert_refused(reply: &Reply, code: &str) -> String {
    let (_, status, comes_back) = CODES
        .into_iter()
        .find(|(known, ..)| *known == code)
        .expect("a code of the contract");
    assert_eq!((reply.code().as_str(), reply.status), (code, status));
    let body = reply.json();
    let fields: Vec<_> = body.as_object().expect("an object").keys().collect();
    let mut expected = vec!["code", "error", "ok"];
    if comes_back {
        expected.push("retry_after_ms");
    }
    assert_eq!(fields, expected, "{body}");
    assert_eq!(body["ok"], json!(false));
    let sentence = body["error"].as_str().expect("a sentence").to_owned();
    let words = sentence.split(' ').count();
    assert!(words >= 3 && !sentence.contains('\n'), "{sentence:?}");
    assert!(!sentence.ends_with('.'), "{sentence:?}");
    match reply.retry_after() {
        Some(seconds) => {
            assert!(comes_back, "{code} has a Retry-After");
            let ms = body["retry_after_ms"].as_u64().expect("whole milliseconds");
            assert!(ms <= seconds * 1_000, "{ms} ms, Retry-After {seconds}");
            let rounded_up = seconds == 1 || ms > (seconds - 1) * 1_000;
            assert!(rounded_up, "{ms} ms, Retry-After {seconds}");
        }
        None => assert!(!comes_back, "{code} has no Retry-After"),
    }
    for (name, value) in [
        ("content-type", "application/json; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{code}");
    }
    assert!(reply.header("x-request-id").is_some(), "{code}");
    sentence
}

fn has_rate_limit_headers(reply: &Reply) -> bool {
    let there = |name: &&str| reply.header(name).is_some();
    let names = [
        "ratelimit-policy",
        "ratelimit",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ];
    let count = names.iter().filter(|name| there(name)).count();
    assert!(count == 0 || count == names.len(), "some of: {reply:?}");
    count > 0
}

/// A gateway whose engine appends every line it sees to a file.
struct Watched {
    gateway: Running,
    _folder: TempDir,
    seen: PathBuf,
}

impl Watched {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = folder.path().join("seen");
        let gateway = Gateway::with(options)
            .stub(&["--log", &seen.display().to_string()])
            .start();
        Self {
            gateway,
            _folder: folder,
            seen,
        }
    }

    fn lines_seen(&self) -> Vec<String> {
        let seen = fs::read_to_string(&self.seen).unwrap_or_default();
        seen.lines().map(str::to_owned).collect()
    }
}

/// A body of exactly this many bytes that is a turn.
fn turn_of(bytes: usize) -> String {
    let frame = r#"{"kind":"look","x":""}"#.len();
    format!(r#"{{"kind":"look","x":"{}"}}"#, "x".repeat(bytes - frame))
}

/// The same turn in chunks.
fn chunked(body: &str) -> Request {
    let mut bytes = Vec::new();
    for piece in body.as_bytes().chunks(10_000) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    Request::turn(bytes).header("Transfer-Encoding", "chunked")
}

fn look() -> Request {
    Request::turn(r#"{"kind":"look"}"#)
}

fn too_large() -> Request {
    // No JSON either, so that gate 2 would refuse it as well.
    Request::turn("x".repeat(BODY_MAX + 1))
}

fn misshapen() -> Request {
    Request::turn("[]")
}

/// Takes the queue's only place, and keeps it as long as the connection lives.
fn fill_queue(gateway: &Running) -> Connection {
    let mut holder = Connection::open(gateway.address()).expect("a connection");
    let hang = Request::turn(HANG).from("192.0.2.250");
    holder.stream.write_all(&hang.bytes()).expect("sent");
    until("the queue is full", || {
        (gateway.health()["waiting"] == 1).then_some(())
    });
    holder
}

/// An engine that dies at every start, in a pause of more than a second before the next.
fn start_without_engine(options: &[&str]) -> Running {
    let gateway = Gateway::with(options)
        .stub(&["--exit", "1"])
        .start_unready();
    wait_until_long_down(&gateway);
    gateway
}

/// Hands back the `Retry-After` that says so.
fn wait_until_long_down(gateway: &Running) -> u64 {
    until("a long pause before the next start", || {
        let health = gateway.send(&Request::get("/api/health"));
        let due = health.retry_after().filter(|due| *due >= 2)?;
        (health.status == 503).then_some(due)
    })
}

/// Each pair of gates 1 to 3, and 1 to 3 before a full queue (gate 5).
#[test]
fn earlier_gates_refuse_first_in_front_of_a_full_queue() {
    let options = [&ONE_TICKET[..], &["--queue", "1"]].concat();
    let gateway = Gateway::with(&options).start();
    let _held = fill_queue(&gateway);
    let code = |request: Request, client: &str| gateway.send(&request.from(client)).code();
    // Gates 1 and 2 before 5, and 1 before 2, for a client that could pay.
    assert_eq!(code(too_large(), "192.0.2.1"), "body_too_large");
    assert_eq!(code(misshapen(), "192.0.2.1"), "bad_shape");
    // Its ticket is still there: it gets as far as gate 5. That takes it: 3 before 5.
    assert_eq!(code(look(), "192.0.2.1"), "queue_full");
    assert_eq!(code(look(), "192.0.2.1"), "rate_limited");
    // 1 and 2 before 3.
    assert_eq!(code(too_large(), "192.0.2.1"), "body_too_large");
    assert_eq!(code(misshapen(), "192.0.2.1"), "bad_shape");
    assert_eq!(code(look(), "192.0.2.2"), "queue_full", "all the while");
}

/// Gates 1 to 3 before gate 4.
#[test]
fn earlier_gates_refuse_first_in_front_of_a_dead_engine() {
    let gateway = start_without_engine(&ONE_TICKET);
    let code = |request: Request, client: &str| gateway.send(&request.from(client)).code();
    let mut attempts = 0..=255;
    let codes = until("one pause in which all are asked", || {
        // On a machine so slow that a start comes in between, clients that have paid nothing ask again.
        let attempt = attempts.next().expect("an attempt is left");
        let client = |n: u32| format!("10.0.{attempt}.{n}");
        wait_until_long_down(&gateway);
        let asked = [
            (look(), client(1)),
            (too_large(), client(2)),
            (misshapen(), client(2)),
            (look(), client(1)),
            (look(), client(2)),
        ];
        let codes = asked.map(|(request, client)| code(request, &client));
        (codes[0] == "engine_down" && codes[4] == "engine_down").then_some(codes)
    });
    assert_eq!(codes[1..4], ["body_too_large", "bad_shape", "rate_limited"]);
}

/// Gate 4 before gate 5: the engine is dead, and the only place is held by a turn that waits for the next one.
#[test]
fn a_dead_engine_comes_before_a_full_queue() {
    let gateway = Gateway::unlimited(&["--queue", "1"]).start();
    let refused = until("a turn that waits for a dead engine", || {
        until("the engine is up", || {
            (gateway.health()["engine"] == "up").then_some(())
        });
        let mut waits = Connection::open(gateway.address()).ok()?;
        waits.send(&Request::get("/api/health")).ok()?;
        let engine = gateway.children().pop()?;
        // Both things happen while the gateway looks away, the turn's arrival first.
        gateway.signal("STOP");
        let sent = waits.stream.write_all(&look().bytes());
        let killed = Command::new("kill")
            .args(["-KILL", &engine.to_string()])
            .status();
        gateway.signal("CONT");
        sent.ok()?;
        killed.ok()?;
        let full_and_down = || {
            let health = gateway.health();
            health["engine"] == "down" && health["waiting"] == 1
        };
        let before = full_and_down();
        let refused = gateway.send(&look());
        let both = before && full_and_down();
        // Its turn waited for the next engine, or, the engine being quicker, came to the dead one.
        let waited = waits.read(false).ok()?;
        assert!([200, 502, 503].contains(&waited.status), "{waited:?}");
        assert!(!both || waited.status == 200, "{waited:?}");
        both.then_some(refused)
    });
    assert_refused(&refused, "engine_down");
}

/// A refusal behind gate 3: it told that the last ticket is gone, and so it is.
fn assert_paid(gateway: &Running, body: &str, client: &str, code: &str) {
    let reply = gateway.send(&Request::turn(body).from(client));
    assert_refused(&reply, code);
    assert_eq!(reply.header("x-ratelimit-remaining"), Some("0"), "{code}");
    let again = gateway.send(&look().from(client));
    assert_refused(&again, "rate_limited");
}

/// A ticket paid is never given back: by nothing that goes wrong after gate 3.
#[test]
fn a_ticket_paid_is_never_given_back() {
    let options = ["--queue", "2", "--max-wait", "50ms"];
    let gateway = Gateway::with(&[&ONE_TICKET[..], &options].concat()).start();
    let dies = r#"{"kind":"look","do":"exit:3"}"#;
    assert_paid(&gateway, dies, "192.0.2.1", "engine_failed");
    until("the next engine", || {
        (gateway.health()["engine"] == "up").then_some(())
    });
    let mut leaves = Connection::open(gateway.address()).unwrap();
    let hang = Request::turn(HANG).from("192.0.2.2");
    leaves.stream.write_all(&hang.bytes()).unwrap();
    until("its turn is in the engine", || {
        (gateway.health()["waiting"] == 1).then_some(())
    });
    drop(leaves);
    gateway.wait_for_log("it left", |record| record["message"] == "client left");
    let again = gateway.send(&look().from("192.0.2.2"));
    assert_refused(&again, "rate_limited");
    assert_paid(&gateway, HANG, "192.0.2.3", "shed");

    let options = [&ONE_TICKET[..], &["--reply-timeout", "50ms"]].concat();
    let hasty = Gateway::with(&options).start();
    assert_paid(&hasty, HANG, "192.0.2.4", "engine_timeout");

    let options = [&ONE_TICKET[..], &["--queue", "1"]].concat();
    let full = Gateway::with(&options).start();
    let _held = fill_queue(&full);
    assert_paid(&full, HANG, "192.0.2.5", "queue_full");
}

/// The same of a dead engine, and its `Retry-After` is the next start.
#[test]
fn a_dead_engine_keeps_the_ticket_and_says_when_the_next_start_is_due() {
    let gateway = start_without_engine(&ONE_TICKET);
    let mut clients = (1..=200).map(|n| format!("192.0.2.{n}"));
    let (client, told, reply) = until("engine_down, well inside one pause", || {
        let start = Instant::now();
        let told = wait_until_long_down(&gateway);
        let client = clients.next().expect("a client is left");
        let reply = gateway.send(&look().from(&client));
        let inside = start.elapsed() < Duration::from_secs(1) && reply.code() == "engine_down";
        inside.then_some((client, told, reply))
    });
    assert_refused(&reply, "engine_down");
    assert!(has_rate_limit_headers(&reply));
    let due = reply.retry_after().unwrap();
    assert!(due == told || due + 1 == told, "{due}, health: {told}");
    assert_refused(&gateway.send(&look().from(&client)), "rate_limited");
}

/// A GET is answered whatever the gates would say, and takes no ticket.
#[test]
fn gets_pass_no_gate() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), "<p>").unwrap();
    let options = [
        "--queue",
        "1",
        "--static",
        &folder.path().display().to_string(),
    ];
    let options = [&ONE_TICKET[..], &options].concat();
    let gateway = Gateway::with(&options).start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut all_answered = || {
        for target in ["/api/health", "/"] {
            for method in ["GET", "HEAD"] {
                let reply = connection.send(&Request::new(method, target)).unwrap();
                assert_eq!(reply.status, 200, "{method} {target}");
                assert!(!has_rate_limit_headers(&reply), "{method} {target}");
                assert_eq!(reply.body.is_empty(), method == "HEAD", "{target}");
            }
        }
    };
    all_answered();
    let _held = fill_queue(&gateway);
    let first = gateway.send(&look());
    assert_refused(&first, "queue_full");
    let second = gateway.send(&look());
    assert_refused(&second, "rate_limited");
    all_answered();
}

#[test]
fn paths_and_methods_that_are_not_there() {
    let gateway = Gateway::unlimited(&[]).start();
    for (method, target, allow) in [
        ("GET", "/api/turn", "POST"),
        ("PUT", "/api/new", "POST"),
        ("OPTIONS", "/api/turn", "POST"),
        ("POST", "/api/health", "GET, HEAD"),
        ("DELETE", "/api/health?x=1", "GET, HEAD"),
    ] {
        let reply = gateway.send(&Request::new(method, target));
        let sentence = assert_refused(&reply, "method_not_allowed");
        assert_eq!(reply.header("allow"), Some(allow), "{method} {target}");
        assert!(sentence.contains(allow), "{sentence}");
    }
    for (method, target) in [
        ("GET", "/"),
        ("GET", "/api"),
        ("GET", "/api/"),
        ("POST", "/api/turn/"),
        ("POST", "/API/turn"),
        ("POST", "/api/%74urn"),
        ("POST", "//api/turn"),
    ] {
        let reply = gateway.send(&Request::new(method, target));
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (404, "not_found"),
            "{target}"
        );
        assert_eq!(reply.header("allow"), None);
    }
}
