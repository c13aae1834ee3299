//! Gate 3 through real sockets: how many pass, what refused clients are told, and the
//! options that change it. Limits so slow that a machine cannot be, wherever time is not
//! itself the claim; where it is, bounds follow from what really elapsed.

use std::io::Write as _;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gates::assert_refused;
use crate::harness::{Gateway, Running, output};
use crate::http::{Connection, Reply, Request};

const LOOK: &str = r#"{"kind":"look"}"#;
const POLL_EVERY: Duration = Duration::from_millis(100);

fn look(client: &str) -> Request {
    Request::turn(LOOK).from(client)
}

fn connect(gateway: &Running) -> Connection {
    Connection::open(gateway.address()).expect("a connection")
}

/// Writes a turn on every connection before any answer is read.
fn at_once(connections: &mut [Connection], client: &str) -> Vec<Reply> {
    let bytes = look(client).bytes();
    for connection in connections.iter_mut() {
        connection.stream.write_all(&bytes).expect("sent");
    }
    let replies = connections
        .iter_mut()
        .map(|connection| connection.read(false));
    replies.collect::<Result<_, _>>().expect("answers")
}

fn passed(replies: &[Reply]) -> usize {
    replies.iter().filter(|reply| reply.status == 200).count()
}

/// How many turns of this client pass in a row, out of `tried`.
fn passes_of(gateway: &Running, client: &str, tried: usize) -> usize {
    let mut connection = connect(gateway);
    let turns = (0..tried).map(|_| connection.send(&look(client)).expect("an answer"));
    passed(&turns.collect::<Vec<_>>())
}

/// Empties a bucket; hands back the refusal.
fn drain(connection: &mut Connection, client: &str) -> Reply {
    loop {
        let reply = connection.send(&look(client)).expect("an answer");
        if reply.status != 200 {
            assert_refused(&reply, "rate_limited");
            return reply;
        }
    }
}

#[test]
fn ten_at_once_are_two_and_eight() {
    let gateway = Gateway::with(&[]).start();
    let mut connections: Vec<_> = (0..10).map(|_| connect(&gateway)).collect();
    let start = Instant::now();
    let replies = at_once(&mut connections, "203.0.113.7");
    // On a machine that takes half a second for this, a third ticket is there.
    let more = usize::try_from(start.elapsed().as_millis() / 500).unwrap();
    let passed = passed(&replies);
    assert!((2..=2 + more).contains(&passed), "{passed} of 10 passed");
    for refused in replies.iter().filter(|reply| reply.status != 200) {
        let sentence = assert_refused(refused, "rate_limited");
        assert_eq!(sentence, "rate limit: 2 turns/sec per IP");
        assert_eq!(refused.retry_after(), Some(1));
    }
}

/// A bucket that held at least so many tickets when the polls began, and at most so many at a moment before.
struct Known {
    at_least: f64,
    at_most: f64,
    since: Instant,
}

/// Polls 50 times, one every 100 ms, and checks what passed against what the bucket held
/// and what two tickets a second made of it in the time that really elapsed; where that
/// was the time planned, also against what the article measured.
fn poll_for_five_seconds(
    gateway: &Running,
    client: &str,
    known: &Known,
    measured: RangeInclusive<u32>,
) {
    let mut connection = connect(gateway);
    let mut passed = 0;
    let mut lost = 0.0;
    let mut asked_at = None;
    let mut answered_at = None;
    let mut sure = Duration::ZERO;
    let start = Instant::now();
    for n in 0..50 {
        let due = POLL_EVERY * n;
        thread::sleep(due.saturating_sub(start.elapsed()));
        let before = asked_at.replace(Instant::now());
        sure = answered_at.map_or(sure, |at: Instant| at.elapsed());
        let reply = connection.send(&look(client)).expect("an answer");
        answered_at.get_or_insert_with(Instant::now);
        // What a pause lets grow beyond a full bucket is lost, and proves nothing.
        let gap = before.map_or(0.0, |at: Instant| at.elapsed().as_secs_f64());
        lost += (2.0 * gap - 1.0).max(0.0);
        passed += u32::from(reply.status == 200);
    }
    let most = known.at_most + 2.0 * known.since.elapsed().as_secs_f64();
    let least = known.at_least + 2.0 * sure.as_secs_f64() - 1.0 - lost;
    let got = f64::from(passed);
    assert!(least <= got && got <= most, "{least} {got} {most}");
    if known.since.elapsed() < Duration::from_secs(5) && lost == 0.0 {
        assert!(measured.contains(&passed), "{passed} of 50 passed");
    }
}

/// The paces of the article, side by side: each is a client of its own.
#[test]
fn a_client_gets_its_rate_and_its_burst_and_no_more() {
    let gateway = &Gateway::with(&[]).start();
    thread::scope(|scope| {
        scope.spawn(|| {
            let full = Known {
                at_least: 2.0,
                at_most: 2.0,
                since: Instant::now(),
            };
            poll_for_five_seconds(gateway, "203.0.113.1", &full, 11..=12);
        });
        scope.spawn(|| {
            let empty = Known {
                at_least: 0.0,
                at_most: 1.0,
                since: Instant::now(),
            };
            drain(&mut connect(gateway), "203.0.113.2");
            poll_for_five_seconds(gateway, "203.0.113.2", &empty, 9..=11);
        });
        scope.spawn(|| {
            let mut connection = connect(gateway);
            for _ in 0..200 {
                drain(&mut connection, "203.0.113.3");
            }
            thread::sleep(Duration::from_secs(1));
            let passed = passes_of(gateway, "203.0.113.3", 2);
            assert_eq!(passed, 2, "200 refusals took nothing");
        });
    });
}

/// A client that waits for its `Retry-After` alone is never refused again: 200 clients,
/// at limits whose waits are just under, just over and far from whole seconds.
#[test]
fn who_waits_as_told_is_never_refused_again() {
    let gateway = Gateway::with(&[
        "--limit-for",
        "10.1.0.0/16=1:1,10.2.0.0/16=0.7:1,10.3.0.0/16=2:2,10.4.0.0/16=0.5000001:1",
    ])
    .start();
    let mut connection = connect(&gateway);
    let mut waiting: Vec<_> = (0..200)
        .map(|n| {
            let client = format!("10.{}.0.{n}", n % 4 + 1);
            let refusal = drain(&mut connection, &client);
            let wait = Duration::from_secs(refusal.retry_after().expect("a 429 says when"));
            (Instant::now() + wait, client)
        })
        .collect();
    waiting.sort();
    for (due, client) in waiting {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let reply = connection.send(&look(&client)).unwrap();
        assert_eq!(reply.status, 200, "{client}: {}", reply.text());
    }
}

/// The exact wait in milliseconds is enough as well, and hardly more than needed.
#[test]
fn the_exact_wait_is_exact() {
    let gateway = Gateway::with(&["--rate", "4", "--burst", "1"]).start();
    let mut connection = connect(&gateway);
    for n in 0..4 {
        let client = format!("203.0.113.{n}");
        let start = Instant::now();
        let refusal = drain(&mut connection, &client);
        let refused_at = Instant::now();
        let ms = refusal.json()["retry_after_ms"].as_u64().unwrap();
        assert!((1..=250).contains(&ms), "{ms}");
        let early = connection.send(&look(&client)).unwrap();
        if start.elapsed() < Duration::from_millis(ms - 1) {
            assert_refused(&early, "rate_limited");
            let wait = Duration::from_millis(ms);
            thread::sleep(wait.saturating_sub(refused_at.elapsed()));
            let reply = connection.send(&look(&client)).unwrap();
            assert_eq!(reply.status, 200, "after {ms} ms");
        }
    }
}

/// Whoever comes first with fifty calls at once gets exactly two, however often somebody new does.
#[test]
fn fifty_first_calls_at_once_are_exactly_two() {
    let gateway = Gateway::with(&["--rate", "1/h"]).start();
    let mut connections: Vec<_> = (0..50).map(|_| connect(&gateway)).collect();
    for n in 0..200 {
        let replies = at_once(&mut connections, &format!("203.0.113.{n}"));
        assert_eq!(passed(&replies), 2, "client {n}");
        assert!(
            replies
                .iter()
                .all(|reply| [200, 429].contains(&reply.status))
        );
    }
}

/// The five headers' values: policy, state, and the three older ones.
fn headers(reply: &Reply) -> Option<[String; 5]> {
    let values = [
        "ratelimit-policy",
        "ratelimit",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ]
    .map(|name| reply.header(name).map(str::to_owned));
    if values.iter().all(Option::is_none) {
        return None;
    }
    Some(values.map(|value| value.expect("all five or none")))
}

/// Asserts the five headers. `reset` may have run down by what elapsed since `start`.
fn assert_headers(reply: &Reply, policy: &str, limit: u64, left: u64, reset: u64, start: Instant) {
    let headers = headers(reply).expect("it reached gate 3");
    let elapsed = start.elapsed().as_secs() + 1;
    let told: u64 = headers[4].parse().expect("whole seconds");
    assert!(
        told <= reset && told + elapsed > reset,
        "{told} for {reset}"
    );
    assert_eq!(
        headers,
        [
            policy.to_owned(),
            format!("\"ip\";r={left};t={told}"),
            limit.to_string(),
            left.to_string(),
            told.to_string(),
        ]
    );
}

#[test]
fn the_headers_tell_the_bucket() {
    let gateway = Gateway::with(&["--rate", "30/min", "--burst", "3"]).start();
    let mut connection = connect(&gateway);
    let policy = r#""ip";q=3;w=6"#;
    let start = Instant::now();
    let mut send = || connection.send(&look("203.0.113.7")).unwrap();
    let replies = [send(), send(), send(), send()];
    if start.elapsed() < Duration::from_secs(2) {
        for (reply, left) in replies.iter().zip([2, 1, 0, 0]) {
            assert_headers(reply, policy, 3, left, 2, start);
        }
        let sentence = assert_refused(&replies[3], "rate_limited");
        assert_eq!(sentence, "rate limit: 30/min per IP");
        assert!((1..=2).contains(&replies[3].retry_after().unwrap()));
    }
    // The default limits, to the letter.
    let gateway = Gateway::with(&[]).start();
    let reply = gateway.turn(LOOK);
    let expected = [r#""ip";q=2;w=1"#, r#""ip";r=1;t=1"#, "2", "1", "1"];
    assert_eq!(headers(&reply).unwrap(), expected);
    // A rate below one a second, and a window that is no whole second.
    let gateway = Gateway::with(&["--rate", "0.3", "--burst", "1"]).start();
    let reply = gateway.turn(LOOK);
    let expected = [r#""ip";q=1;w=4"#, r#""ip";r=0;t=4"#, "1", "0", "4"];
    assert_eq!(headers(&reply).unwrap(), expected);
}

/// They stand on whatever is answered after gate 3, and on nothing else.
#[test]
fn the_headers_stand_on_later_refusals_too() {
    let start = Instant::now();
    let options = ["--rate", "1/h", "--reply-timeout", "50ms"];
    let late = (Gateway::with(&options).start()).turn(r#"{"kind":"look","do":"hang"}"#);
    assert_refused(&late, "engine_timeout");
    assert_headers(&late, r#""ip";q=2;w=7200"#, 2, 1, 3_600, start);
    let gateway = Gateway::with(&["--rate", "1/h", "--burst", "2"]).start();
    let policy = r#""ip";q=2;w=7200"#;
    for (body, code, left) in [
        (r#"{"kind":"look","do":"exit:1"}"#, "engine_failed", 1),
        (r#"{"kind":"look","do":"newline"}"#, "engine_failed", 0),
        (LOOK, "rate_limited", 0),
    ] {
        crate::harness::until("the engine is up", || {
            (gateway.health()["engine"] == "up").then_some(())
        });
        let reply = gateway.turn(body);
        assert_refused(&reply, code);
        assert_headers(&reply, policy, 2, left, 3_600, start);
    }
    let misshapen = gateway.turn("[]");
    assert_refused(&misshapen, "bad_shape");
    assert_eq!(headers(&misshapen), None);
    assert_eq!(headers(&gateway.send(&Request::get("/api/health"))), None);
}

#[test]
fn networks_with_limits_of_their_own() {
    let gateway = Gateway::with(&[
        "--rate",
        "1/h",
        "--limit-for",
        "10.1.0.0/16=2/h:5",
        "--limit-for",
        "10.0.0.0/8=1/d:3",
        "--limit-for",
        "10.1.1.0/24=off,2001:db8::/32=1/h:4",
        "--limit-for",
        "2001:db8:0:5::7=off",
        "--limit-for",
        "::ffff:192.0.2.0/120=1/h:1",
    ])
    .start();
    for (client, burst, rate) in [
        ("203.0.113.7", 2, "1/h"),
        ("10.9.9.9", 3, "1/d"),
        ("10.1.9.9", 5, "2/h"),
        ("::ffff:10.1.9.8", 5, "2/h"),
        ("2001:db8::1", 4, "1/h"),
        ("2001:db8:0:5::8", 4, "1/h"),
        ("192.0.2.1", 1, "1/h"),
    ] {
        assert_eq!(passes_of(&gateway, client, burst + 2), burst, "{client}");
        let refused = gateway.send(&look(client));
        let sentence = assert_refused(&refused, "rate_limited");
        assert_eq!(sentence, format!("rate limit: {rate} per IP"), "{client}");
        let limit = refused.header("x-ratelimit-limit").unwrap();
        assert_eq!(limit, burst.to_string(), "{client}");
    }
    for exempt in ["10.1.1.1", "2001:db8:0:5::7"] {
        assert_eq!(passes_of(&gateway, exempt, 20), 20, "{exempt}");
        assert_eq!(headers(&gateway.send(&look(exempt))), None, "{exempt}");
    }
}

#[test]
fn kinds_may_cost_more_or_less() {
    let gateway = Gateway::with(&[
        "--rate",
        "1/h",
        "--burst",
        "4",
        "--cost",
        "say=3,look=0.5",
        "--cost",
        "new=2.5",
    ])
    .start();
    let start = Instant::now();
    let policy = r#""ip";q=4;w=14400"#;
    let turn = |kind: &str| gateway.turn(&format!(r#"{{"kind":"{kind}"}}"#));
    let looked = turn("look");
    assert_eq!(looked.status, 200);
    assert_headers(&looked, policy, 4, 3, 1_800, start);
    let said = turn("say");
    assert_eq!(said.status, 200);
    assert_headers(&said, policy, 4, 0, 1_800, start);
    let refused = turn("say");
    assert_refused(&refused, "rate_limited");
    let wait = refused.retry_after().unwrap();
    let elapsed = start.elapsed().as_secs() + 1;
    assert!(wait <= 9_000 && wait + elapsed > 9_000, "{wait}");
    assert_refused(&turn("move"), "rate_limited");
    assert_eq!(turn("look").status, 200, "half a ticket was left");
    assert_refused(&turn("look"), "rate_limited");
    let other = |request: Request| gateway.send(&request.from("203.0.113.7"));
    let new = other(Request::new_game(""));
    assert_eq!(
        (new.status, new.header("x-ratelimit-remaining")),
        (200, Some("1"))
    );
    assert_refused(&other(Request::new_game("")), "rate_limited");
}

/// Nothing is refused, all is told, and the log says what would have been.
#[test]
fn a_shadow_refuses_nothing() {
    let gateway = Gateway::with(&["--rate", "1/h", "--shadow"]).start();
    let start = Instant::now();
    let policy = r#""ip";q=2;w=7200"#;
    for left in [1, 0, 0, 0, 0] {
        let reply = gateway.turn(LOOK);
        assert_eq!((reply.status, reply.retry_after()), (200, None));
        assert_headers(&reply, policy, 2, left, 3_600, start);
    }
    let shadows = crate::harness::until("five turns in the log", || {
        let records = gateway.log_records();
        let turns = records
            .into_iter()
            .filter(|record| record["message"] == "turn");
        let shadows: Vec<Value> = turns.map(|record| record["shadow"].clone()).collect();
        (shadows.len() == 5).then_some(shadows)
    });
    let refused = Value::from("rate_limited");
    let expected = [&Value::Null, &Value::Null, &refused, &refused, &refused];
    assert!(shadows.iter().eq(expected), "{shadows:?}");
}

/// A full table forgets nobody: newcomers share one bucket, and a warning says so once.
#[test]
fn newcomers_share_a_bucket_when_the_table_is_full() {
    let gateway = Gateway::with(&[
        "--rate",
        "1/h",
        "--max-clients",
        "3",
        "--limit-for",
        "198.51.100.0/24=1/h:9",
    ])
    .start();
    let turn = |client: &str| gateway.send(&look(client));
    for known in ["203.0.113.1", "203.0.113.2", "198.51.100.1"] {
        assert_eq!(turn(known).status, 200, "{known}");
    }
    // Also of a network with limits of its own: the shared bucket has the default ones.
    let codes = [
        "192.0.2.1",
        "198.51.100.2",
        "192.0.2.2",
        "198.51.100.3",
        "192.0.2.1",
    ]
    .map(turn);
    let codes = codes.map(|reply| {
        assert_eq!(reply.header("x-ratelimit-limit"), Some("2"));
        reply.code()
    });
    let limited = "rate_limited";
    assert_eq!(codes, ["", "", limited, limited, limited]);
    for known in ["203.0.113.1", "203.0.113.2"] {
        assert_eq!(passes_of(&gateway, known, 3), 1, "{known} has its own");
    }
    assert_eq!(passes_of(&gateway, "198.51.100.1", 10), 8);
    let warnings = || {
        let records = gateway.log_records();
        let about = |record: &&Value| record.to_string().contains("--max-clients");
        records.iter().filter(about).cloned().collect::<Vec<_>>()
    };
    gateway.wait_for_log("a refusal", |record| record["code"] == limited);
    assert_eq!(warnings().len(), 1, "{:?}", warnings());
    assert_eq!(warnings()[0]["level"], "WARN");
    assert_eq!(warnings()[0]["clients_max"], 3);
}

#[test]
fn how_much_of_an_ipv6_address_makes_a_client() {
    let near = ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2");
    let far = ("2001:db8:0:1::1", "2001:db8:0:2::1");
    for (prefix, near_is_one, far_is_one) in [
        (None, true, false),
        (Some("64"), true, false),
        (Some("128"), false, false),
        (Some("48"), true, true),
        (Some("1"), true, true),
    ] {
        for ((a, b), is_one) in [(near, near_is_one), (far, far_is_one)] {
            let mut options = vec!["--rate", "1/h", "--burst", "1"];
            options.extend(prefix.iter().flat_map(|prefix| ["--ipv6-prefix", prefix]));
            let gateway = Gateway::with(&options).start();
            assert_eq!(gateway.send(&look(a)).status, 200);
            let expected = if is_one { "rate_limited" } else { "" };
            assert_eq!(
                gateway.send(&look(b)).code(),
                expected,
                "{prefix:?} {a} {b}"
            );
        }
    }
}

/// A value that cannot be is one message that names the flag, and exit 2.
#[test]
fn impossible_limits_are_refused_at_start() {
    for (options, flag) in [
        (&["--rate", "0"][..], "--rate"),
        (&["--rate", "-1"], "--rate"),
        (&["--rate=-1"], "--rate"),
        (&["--rate", "NaN"], "--rate"),
        (&["--rate", "inf"], "--rate"),
        (&["--rate", "1e-9"], "--rate"),
        (&["--rate", "1e18"], "--rate"),
        (&["--rate", "1000001"], "--rate"),
        (&["--rate", "0.0000009"], "--rate"),
        (&["--rate", "1/fortnight"], "--rate"),
        (&["--burst", "0"], "--burst"),
        (&["--burst", "-1"], "--burst"),
        (&["--burst", "1.5"], "--burst"),
        (&["--burst", "18446744073709551616"], "--burst"),
        (&["--burst", "1000001"], "--burst"),
        (&["--rate", "1/d", "--burst", "3651"], "--burst"),
        (&["--cost", "say=3"], "--cost"),
        (&["--cost", "say=0"], "--cost"),
        (&["--cost", "fly=1"], "--cost"),
        (
            &["--cost", "say=2", "--limit-for", "10.0.0.0/8=1:1"],
            "--cost",
        ),
        (&["--limit-for", "10.0.0.0/8"], "--limit-for"),
        (&["--limit-for", "10.0.0.0/8=0:1"], "--limit-for"),
        (&["--limit-for", "10.0.0.0/8=1:0"], "--limit-for"),
        (&["--limit-for", "10.0.0.0/33=1:1"], "--limit-for"),
        (&["--limit-for", "2001:db8::1=1:1"], "--limit-for"),
        (&["--limit-for", "2001:db8::/65=1:1"], "--limit-for"),
        (&["--ipv6-prefix", "0"], "--ipv6-prefix"),
        (&["--ipv6-prefix", "129"], "--ipv6-prefix"),
        (&["--max-clients", "0"], "--max-clients"),
    ] {
        let ended = output(&[options, &["--listen", "127.0.0.1:0"]].concat());
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{options:?}: {told}");
        assert!(told.contains(flag), "{options:?}: {told}");
        assert!(ended.stdout.is_empty(), "{options:?}");
    }
}

#[test]
fn the_fastest_and_the_slowest_rate_work() {
    let gateway = Gateway::with(&["--rate", "1000000", "--burst", "1"]).start();
    let mut connection = connect(&gateway);
    for _ in 0..200 {
        let reply = connection.send(&look("203.0.113.7")).unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let gateway = Gateway::with(&["--rate", "1/d", "--burst", "1"]).start();
    let start = Instant::now();
    assert_eq!(gateway.turn(LOOK).status, 200);
    let refused = gateway.turn(LOOK);
    let sentence = assert_refused(&refused, "rate_limited");
    assert_eq!(sentence, "rate limit: 1/d per IP");
    let wait = refused.retry_after().unwrap();
    let elapsed = start.elapsed().as_secs() + 1;
    assert!(wait <= 86_400 && wait + elapsed > 86_400, "{wait}");
    assert_headers(&refused, r#""ip";q=1;w=86400"#, 1, 0, 86_400, start);
}
