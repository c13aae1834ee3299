//! Gate 2 against a second, independent reader of JSON: what passes is JSON to that one
//! too, and reaches the engine as exactly one line that says the same. And what the worst
//! bodies cost.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use kidoban::logic::shape::{self, Kinds, Route, Rules};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tinyjson::JsonValue;

use crate::harness::{Gateway, PATIENCE};
use crate::http::{Connection, Request};
use crate::watch::{forget_peak, peak_bytes, resident_bytes};

/// As large as a body may be by default.
const BODY_BYTES: usize = 64 * 1024;

fn rules() -> Rules {
    Rules {
        kinds: Kinds::Any,
        input_chars_max: 200,
        depth_max: 64,
    }
}

/// So many, and what fails is shown and not kept in a file: it becomes a test of its own.
fn cases(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

fn said_by_the_other(json: &[u8]) -> Result<JsonValue, String> {
    let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
    text.parse().map_err(|error| format!("{error}: {text:?}"))
}

/// JSON text as strange as the grammar allows, so that no writer's habits hide anything.
fn value() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?";
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false"]).prop_map(str::to_owned),
        number.prop_map(|number| number),
        string(),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let pair = (blank(), string(), blank(), blank(), inner.clone())
            .prop_map(|(a, name, b, c, value)| format!("{a}{name}{b}:{c}{value}"));
        prop_oneof![
            (prop::collection::vec(inner, 0..5), blank()).prop_map(|(values, blank)| format!(
                "[{}{blank}]",
                values.join(&format!("{blank},"))
            )),
            prop::collection::vec(pair, 0..5).prop_map(|pairs| format!("{{{}}}", pairs.join(","))),
        ]
    })
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -!#-\\[\\]-~]{0,6}",
        "[あ-ん\u{80}\u{2028}\u{2029}\u{7f}\u{feff}\u{10ffff}]{1,3}",
        prop::sample::select(vec![
            "\\n",
            "\\u000a",
            "\\u0000",
            "\\\"",
            "\\\\",
            "\\/",
            "\\ud83d\\uDE00",
            "\\u2028",
            "\\b",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn blank() -> impl Strategy<Value = String> {
    "[ \t\r\n]{0,2}"
}

/// A turn, mostly right before it is changed.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let more = prop::collection::vec((string(), value()), 0..4);
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
    let changes = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec(change, 1..3),
    ];
    (blank(), more, blank(), changes).prop_map(|(a, more, b, changes)| {
        let mut text = format!("{a}{{{a}\"kind\"{b}:\"look\"");
        for (name, value) in more {
            let _ = write!(text, "{b},{name}:{value}");
        }
        let _ = write!(text, "{a}}}{b}");
        let mut bytes = text.into_bytes();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[at]),
            }
        }
        bytes
    })
}

/// The one line it becomes, if it passes: held against what was sent, by the other reader.
fn line_of(sent: &[u8]) -> Result<Option<Vec<u8>>, TestCaseError> {
    let Ok(turn) = shape::check(sent.to_vec(), Route::Turn, &rules()) else {
        return Ok(None);
    };
    let line = turn.line();
    let end = line.iter().position(|byte| *byte == b'\n');
    prop_assert_eq!(end, Some(line.len() - 1));
    prop_assert!(!line.contains(&b'\r'));
    let before = said_by_the_other(sent).map_err(TestCaseError::fail)?;
    let after = said_by_the_other(line).map_err(TestCaseError::fail)?;
    prop_assert_eq!(before, after);
    Ok(Some(line.to_vec()))
}

#[test]
fn what_passes_is_json_to_a_second_reader_and_says_the_same() {
    let mut runner = TestRunner::new(cases(3_000));
    let (passed, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let held = runner.run(&body(), |sent| {
        let counted = match line_of(&sent)? {
            Some(_) => &passed,
            None => &refused,
        };
        counted.set(counted.get() + 1);
        Ok(())
    });
    held.unwrap_or_else(|fault| panic!("{fault}"));
    let (passed, refused) = (passed.get(), refused.get());
    assert!(
        passed > 300 && refused > 300,
        "{passed} passed, {refused} did not"
    );
}

/// The same through the whole gateway: what gate 2 lets pass is what the engine sees.
#[test]
fn the_engine_sees_exactly_that_line() {
    let gateway = Gateway::unlimited(&["--kinds", "any"]).start();
    let connection = Connection::open(gateway.address()).unwrap();
    let connection = std::cell::RefCell::new(connection);
    let lines = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(cases(300));
    let held = runner.run(&body(), |sent| {
        let line = line_of(&sent)?;
        // Of these the stand-in engine would make something else than a reply.
        let text = String::from_utf8_lossy(&sent);
        prop_assume!(!text.contains("do") && !text.contains("\\u"));
        let reply = connection.borrow_mut().send(&Request::turn(&sent)).unwrap();
        if let Some(line) = line {
            lines.set(lines.get() + 1);
            prop_assert_eq!(reply.status, 200, "{:?}", reply);
            let reply = reply.json();
            prop_assert_eq!(reply["saw"].as_str().unwrap().as_bytes(), line);
            prop_assert_eq!(reply["lines"].as_u64(), Some(lines.get()));
        } else {
            prop_assert_eq!(reply.code(), "bad_shape");
        }
        Ok(())
    });
    held.unwrap_or_else(|fault| panic!("{fault}"));
    assert!(lines.get() > 50, "only {} passed", lines.get());
}

#[test]
fn bytes_that_readers_disagree_on_are_refused() {
    let gateway = Gateway::with(&["--rate", "1/h", "--burst", "1"]).start();
    let in_string = |bytes: &[u8]| [b"{\"kind\":\"look\",\"x\":\"", bytes, b"\"}"].concat();
    let with_value = |value: &str| format!("{{\"kind\":\"look\",\"x\":{value}}}").into_bytes();
    let look = br#"{"kind":"look"}"#;
    let mut bodies = vec![
        with_value(&"9".repeat(60_000)),
        with_value(&format!("-{}.5", "9".repeat(60_000))),
        with_value("1e999"),
        with_value("-1e999"),
        with_value("[[{\"y\":1e400}]]"),
        with_value("\"\\ud800\""),
        with_value("\"\\udc00\\ud800\""),
        with_value("{\"\\ud800\":1}"),
        [b"\xef\xbb\xbf".as_slice(), look].concat(),
        [look.as_slice(), b"x"].concat(),
        [look.as_slice(), b"\0"].concat(),
        [look.as_slice(), look].concat(),
        [look.as_slice(), b"\n", look].concat(),
    ];
    // Overlong, a lone surrogate, and no UTF-8 at all: in a string, between tokens, in a name, at either end.
    for wrong in [
        &b"\xc0\xaf"[..],
        b"\xed\xa0\x80",
        b"\xff",
        b"\xf4\x90\x80\x80",
        b"\xe3\x81",
    ] {
        bodies.push(in_string(wrong));
        bodies.push([b"{\"".as_slice(), wrong, b"\":1,\"kind\":\"look\"}"].concat());
        for at in [0, 1, 7, 8, look.len() - 1, look.len()] {
            bodies.push([&look[..at], wrong, &look[at..]].concat());
        }
    }
    let mut connection = Connection::open(gateway.address()).unwrap();
    for body in &bodies {
        for target in ["/api/turn", "/api/new"] {
            let reply = connection
                .send(&Request::new("POST", target).body(body))
                .unwrap();
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
            assert_eq!(
                (reply.status, reply.code().as_str()),
                (400, "bad_shape"),
                "{shown}"
            );
        }
    }
    assert_eq!(
        gateway.turn(r#"{"kind":"look"}"#).json()["lines"],
        1,
        "the one ticket was left"
    );
}

/// Bodies of about so many bytes that make a reader work: named, right or wrong.
fn worst_bodies(bytes: usize) -> Vec<(&'static str, String)> {
    let fill = |start: &str, piece: &dyn Fn(usize) -> String, end: &str| {
        let mut body = start.to_owned();
        let mut n = 0;
        loop {
            let next = piece(n);
            if body.len() + next.len() + end.len() > bytes {
                break body + end;
            }
            body.push_str(&next);
            n += 1;
        }
    };
    let start = r#"{"kind":"look","x":"#;
    let same = |text: &'static str| move |_: usize| text.to_owned();
    let open = format!("{start}[0");
    let text = format!("{start}\"");
    vec![
        ("deep", fill(start, &same("["), "")),
        ("deep objects", fill(start, &same("{\"\":"), "")),
        (
            "wide and deep",
            fill(
                &open,
                &|_| format!(",{}{}", "[".repeat(60), "]".repeat(60)),
                "]}",
            ),
        ),
        (
            "names",
            fill(r#"{"kind":"look""#, &|n| format!(",\"{n:x}\":1"), "}"),
        ),
        (
            "escaped names",
            fill(r#"{"kind":"look""#, &|n| format!(",\"\\u{n:04x}\":1"), "}"),
        ),
        (
            "the last name twice",
            fill(
                r#"{"kind":"look""#,
                &|n| format!(",\"{n:x}\":1"),
                r#","0":1}"#,
            ),
        ),
        (
            "names within",
            fill(
                r#"{"kind":"look","x":{"a":0"#,
                &|n| format!(",\"{n:x}\":1"),
                "}}",
            ),
        ),
        ("a long number", fill(start, &same("9"), "}")),
        (
            "a long fraction",
            fill(&format!("{start}0."), &same("9"), "}"),
        ),
        (
            "a long exponent",
            fill(&format!("{start}1e"), &same("0"), "1}"),
        ),
        (
            "many numbers",
            fill(&open, &same(",1.7976931348623157e308"), "]}"),
        ),
        (
            "small numbers",
            fill(&open, &same(",2.2250738585072011e-308"), "]}"),
        ),
        ("digits", fill(&open, &same(",0"), "]}")),
        ("nothings", fill(&open, &same(",[]"), "]}")),
        ("escapes", fill(&text, &same("\\n"), "\"}")),
        ("pairs", fill(&text, &same("\\ud83d\\ude00"), "\"}")),
        (
            "an input of escapes",
            fill(r#"{"kind":"look","input":""#, &same("\\u0041"), "\"}"),
        ),
        (
            "a kind of escapes",
            fill(r#"{"kind":""#, &same("\\u0041"), "\"}"),
        ),
        ("blanks", fill(start, &same("\r\n"), "0}")),
        ("blanks before", fill("", &same("\n"), r#"{"kind":"look"}"#)),
        ("blanks behind", fill(r#"{"kind":"look"}"#, &same("\n"), "")),
    ]
}

/// A debug build is many times slower than what ships, most of all at sorting names; the
/// limit is for the latter, which `.ci/run` tests too.
#[test]
fn no_body_takes_long() {
    const LIMIT: Duration = Duration::from_millis(5);
    let limit = if cfg!(debug_assertions) {
        20 * LIMIT
    } else {
        LIMIT
    };
    for route in [Route::Turn, Route::New] {
        for (what, body) in worst_bodies(BODY_BYTES) {
            assert!(body.len() > BODY_BYTES * 9 / 10, "{what}");
            let mut best = PATIENCE;
            for _ in 0..7 {
                let body = body.clone().into_bytes();
                let began = Instant::now();
                let _ = shape::check(body, route, &rules());
                best = best.min(began.elapsed());
            }
            assert!(best < limit, "{what}: {best:?}");
        }
    }
}

/// With bodies so large that nothing else in the process weighs as much.
#[test]
fn no_body_takes_more_than_ten_times_its_size() {
    const LARGE: usize = 2 * 1024 * 1024;
    for (what, body) in worst_bodies(LARGE) {
        let options = [
            "--max-body",
            "3MiB",
            "--kinds",
            "any",
            "--body-timeout",
            "60s",
        ];
        let gateway = Gateway::unlimited(&options).start();
        let idle = resident_bytes(gateway.pid());
        forget_peak(gateway.pid());
        let mut connection = Connection::open(gateway.address()).unwrap();
        // What the stand-in engine says of so long a line is too long, or comes too late.
        let bytes = Request::turn(&body).bytes();
        let mut writer = connection.stream.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || std::io::Write::write_all(&mut writer, &bytes));
            let status = connection.read(false).unwrap().status;
            assert!(matches!(status, 200 | 400 | 502), "{what}: {status}");
        });
        let more = peak_bytes(gateway.pid()).saturating_sub(idle);
        assert!(more < 10 * body.len() as u64, "{what}: {more} bytes");
    }
}
