//! The options that change gate 3, and the values that they refuse.

use std::time::Instant;

use serde_json::Value;

use super::{LOOK, assert_headers, connect, headers, look, passes_of};
use crate::gates::assert_refused;
use crate::harness::{Gateway, output, until};
use crate::http::Request;

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
    let shadows = until("five turns in the log", || {
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
