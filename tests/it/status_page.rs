//! The status page as its operator sees it, in a real Chromium: what it shows is what
//! `/status.json` says. Pictures are kept in `KIDOBAN_SCREENSHOTS`, or else in
//! `target/pictures`, to be looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::browser::playwright_is_there;
use crate::harness::{Gateway, Running, peer};
use crate::http::Request;

/// Gates as the page's table has them, after the line for what was answered.
const GATES: [&str; 8] = [
    "protocol", "draining", "body", "shape", "ticket", "engine", "queue", "after",
];

fn pictures() -> PathBuf {
    let folder = std::env::var_os("KIDOBAN_SCREENSHOTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures"),
        PathBuf::from,
    );
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A number as the page groups it: `1,234`.
fn number(shown: &Value) -> u64 {
    let digits = text(shown).replace(',', "");
    digits
        .parse()
        .unwrap_or_else(|_| panic!("no number: {shown}"))
}

/// The sum of a field over the last points, at most so many.
fn sum(status: &Value, field: &str, points_max: usize) -> u64 {
    let points = status["recent"]["points"].as_array().unwrap();
    let recent = points.iter().rev().take(points_max);
    recent.map(|point| point[field].as_u64().unwrap()).sum()
}

/// A time as the page writes short ones, `12.3 ms` or `1.25 s`, is these milliseconds,
/// to the last digit shown. (A tie may be rounded either way.)
fn shows(shown: &Value, ms: &Value) -> bool {
    let (number, unit) = text(shown).split_once(' ').unwrap();
    let factor = match unit {
        "ms" => 1.0,
        "s" => 1e3,
        other => panic!("{other} in {shown}"),
    };
    let decimals = number.split_once('.').map_or(0, |(_, part)| part.len());
    let last_digit = factor / 10_f64.powi(i32::try_from(decimals).unwrap());
    let difference = number.parse::<f64>().unwrap() * factor - ms.as_f64().unwrap();
    difference.abs() <= last_digit / 2.0 + 1e-9
}

/// The page at one moment says what its last event said, number for number.
fn agrees(seen: &Value, what: &str) {
    let event = &seen["event"];
    let gates = seen["gates"].as_array().unwrap();
    assert_eq!(gates.len(), GATES.len() + 1, "{what}");
    let totals = |row: usize| {
        if row == 0 {
            ("ok", &event["turns"]["ok"])
        } else {
            (GATES[row - 1], &event["refusals"][GATES[row - 1]])
        }
    };
    for (i, row) in gates.iter().enumerate() {
        let (field, total) = totals(i);
        let expected = [
            sum(event, field, 12),
            sum(event, field, 120),
            total.as_u64().unwrap(),
        ];
        let shown = [1, 2, 3].map(|column| number(&row[column]));
        assert_eq!(shown, expected, "{what}: {field}");
    }
    let outcomes = event["turns"].as_object().unwrap();
    assert!(outcomes.len() > 10, "{what}: {outcomes:?}");
    assert_eq!(seen["outcomes"].as_object().unwrap().len(), outcomes.len());
    for (code, total) in outcomes {
        assert_eq!(
            json!(number(&seen["outcomes"][code])),
            *total,
            "{what}: {code}"
        );
    }
    let refused: u64 = GATES.iter().map(|gate| sum(event, gate, 12)).sum();
    let figures = &seen["figures"];
    let first = |name: &str| {
        text(&figures[name])
            .split_whitespace()
            .next()
            .unwrap()
            .replace(',', "")
    };
    assert_eq!(
        first("Answered, last minute"),
        sum(event, "ok", 12).to_string(),
        "{what}"
    );
    assert_eq!(first("Refused, last minute"), refused.to_string(), "{what}");
    let waiting = &event["queue"]["waiting"];
    assert_eq!(first("In the queue"), waiting.to_string(), "{what}");
    assert_eq!(seen["places"], *waiting, "{what}");

    agrees_on_the_rest(seen, what);
}

/// The same for what is told besides turns.
fn agrees_on_the_rest(seen: &Value, what: &str) {
    let event = &seen["event"];
    let times = &event["times"];
    if times["of_turns"] == 0 {
        assert_eq!(seen["noTurn"], true, "{what}");
    } else {
        for (i, name) in ["wait_ms", "engine_ms", "turn_ms"].into_iter().enumerate() {
            for (j, part) in ["p50", "p90", "p99"].into_iter().enumerate() {
                let (shown, told) = (&seen["times"][i][j + 1], &times[name][part]);
                assert!(shows(shown, told), "{what}: {name} {part}: {shown}, {told}");
            }
        }
    }
    let clients = event["most_refused"].as_array().unwrap();
    assert_eq!(
        seen["clients"].as_array().unwrap().len(),
        clients.len(),
        "{what}"
    );
    for (row, client) in seen["clients"].as_array().unwrap().iter().zip(clients) {
        assert_eq!(row[0], client["client"], "{what}");
        let last = text(&row[1]).rsplit(' ').next().unwrap();
        assert_eq!(last, client["refused"].to_string(), "{what}");
    }
    let limits = event["limits"].as_array().unwrap();
    assert!(limits.len() > 20, "{what}");
    for limit in limits {
        let value = text(&limit["value"]);
        let shown = &seen["limits"][text(&limit["flag"])];
        assert_eq!(text(shown), value, "{what}");
    }
    let by_default = limits.iter().filter(|limit| limit["source"] == "default");
    let by_default: Vec<_> = by_default.map(|limit| limit["flag"].clone()).collect();
    assert!((1..limits.len()).contains(&by_default.len()), "{what}");
    assert_eq!(seen["pale"], json!(by_default), "{what}");
    let connections = &event["connections"];
    assert_eq!(
        text(&seen["house"]["Connections"]).replace(',', ""),
        format!("{} of {}", connections["open"], connections["max"]),
        "{what}"
    );
    assert_eq!(
        seen["engine"]["Command"], event["engine"]["command"],
        "{what}"
    );
    assert_eq!(
        seen["deaths"].as_array().unwrap().len(),
        event["engine"]["deaths"].as_array().unwrap().len()
    );
}

/// The whole story in a browser: see `tests/browser/status.cjs`.
fn watch(gateway: &Running, shadow: &Running, ready: &Path) -> Option<Value> {
    let chromium = peer("chromium", "apt-get install chromium")?;
    if peer("node", "apt-get install nodejs").is_none() || !playwright_is_there() {
        return None;
    }
    let pictures = pictures();
    eprintln!("pictures: {}", pictures.display());
    let story = json!({
        "chromium": chromium,
        "admin": gateway.admin().to_string(),
        "public": gateway.address().to_string(),
        "pid": gateway.pid(),
        "ready": ready,
        "shadow": shadow.admin().to_string(),
        "folder": pictures,
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/status.cjs");
    let output = Command::new("node")
        .arg(script)
        .arg(story.to_string())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Turns answered, as the event of this moment has them.
fn answered(moment: &Value) -> u64 {
    moment["event"]["turns"]["ok"].as_u64().unwrap()
}

/// The engine is not up yet.
fn it_starts(seen: &Value) {
    let starting = &seen["starting"];
    assert_eq!(starting["word"], "Starting");
    assert_eq!(starting["said"], "kidoban: Starting");
    assert_eq!(seen["refusedAtStart"], 503);
    agrees(starting, "starting");
}

/// While turns run, and some are refused.
fn turns_run(seen: &Value) {
    assert_eq!(
        seen["statuses"],
        json!([400, 413, 405, 200, 200, 200, 429, 429])
    );
    let busy = seen["busy"].as_array().unwrap();
    for (i, moment) in busy.iter().enumerate() {
        agrees(moment, &format!("while turns run, {i}"));
        assert!(
            text(&moment["word"]).starts_with("Up"),
            "{}",
            moment["word"]
        );
    }
    assert!(
        answered(&busy[0]) < answered(&busy[busy.len() - 1]),
        "turns ran"
    );
}

/// The queue runs over; then the engine dies.
fn an_engine_dies(seen: &Value) {
    agrees(&seen["crowd"], "a crowd");
    assert_eq!(seen["slow"], json!([200, 200, 200, 429]));
    assert_eq!(seen["died"], 502);
    let death = &seen["death"];
    agrees(death, "after a death");
    let told = &death["event"]["engine"]["deaths"][0];
    for part in [text(&told["cause"]), text(&told["status"])] {
        assert!(
            text(&death["deaths"][0]).contains(part),
            "{part}: {}",
            death["deaths"]
        );
        assert!(
            text(&death["notes"][0]).contains(part),
            "{part}: {}",
            death["notes"]
        );
    }
    assert!(text(&told["status"]).contains('3'), "{told}");
}

/// The page, its last event and a fresh answer say the same.
fn all_is_quiet(seen: &Value) {
    let quiet = &seen["quiet"];
    agrees(quiet, "when all is quiet");
    let fetched = &seen["fetched"];
    for (code, total) in fetched["turns"].as_object().unwrap() {
        assert_eq!(json!(number(&quiet["outcomes"][code])), *total, "{code}");
    }
    for (i, gate) in GATES.into_iter().enumerate() {
        assert_eq!(
            json!(number(&quiet["gates"][i + 1][3])),
            fetched["refusals"][gate],
            "{gate}"
        );
        let some = fetched["refusals"][gate].as_u64().unwrap() > 0;
        assert_eq!(some, gate != "draining", "{gate}");
    }
    assert_eq!(answered(quiet), seen["answered"].as_u64().unwrap() + 3 + 3);
    let clients = quiet["clients"].as_array().unwrap();
    let limited = json!(["192.0.2.9", "2"]);
    assert!(clients.contains(&limited), "{}", quiet["clients"]);
    assert_eq!(
        quiet["bars"], 9,
        "answered, waiting, and each gate that refused"
    );
    assert!(text(&quiet["summary"]).contains("answered"));
    assert_eq!(quiet["landmarks"], json!(["header", "main", "footer"]));
    assert!(text(&quiet["headings"]).starts_with("H1 H2"));
    assert_eq!(quiet["icon"], "data:image/svg+xml,");
    assert!(
        text(&quiet["engine"]["Command"]).contains("<img src=x"),
        "shown as text"
    );
    assert_eq!(quiet["pictures"], 0, "and never as markup");
}

/// Each window has other numbers.
fn it_has_run_for_long(seen: &Value) {
    let aged = &seen["aged"];
    agrees(aged, "after a long life");
    let columns = [1, 2, 3].map(|column| number(&aged["gates"][0][column]));
    assert!(
        columns.is_sorted_by(|less, more| less < more),
        "{columns:?}"
    );
    assert_eq!(aged["word"], "Up, but shaky", "two deaths in a minute");
    assert_eq!(
        aged["clients"],
        json!([["2001:db8:85a3:8d3::/64", "41 to 45"]])
    );
}

/// By keyboard, at every size, in both themes, from nowhere else.
fn it_is_read(seen: &Value) {
    let reading = &seen["reading"];
    assert!(text(&reading[0]).contains(" ago: "), "{reading}");
    assert_eq!(reading[0], reading[1], "read out as well");

    let sizes = seen["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 12);
    for size in sizes {
        assert_eq!(size["overflow"], 0, "it scrolls sideways: {size}");
        assert!(size["letters_px"].as_f64().unwrap() > 34.0, "{size}");
        assert_eq!(
            size["background"] == sizes[0]["background"],
            size["theme"] == "light",
            "{size}"
        );
    }
    for what in ["strangers", "complaints", "violations"] {
        assert_eq!(seen[what], json!([]), "{what}");
    }
}

/// The gateway is not heard for a while.
fn news_gets_old(seen: &Value) {
    assert!(
        text(&seen["late"]["news"]).starts_with("no news for "),
        "{}",
        seen["late"]["news"]
    );
    assert!(
        text(&seen["late"]["word"]).starts_with("Up"),
        "late is not gone"
    );
    let gone = &seen["gone"];
    assert_eq!(gone["word"], "No news");
    assert_eq!(gone["title"], "No news · kidoban");
    assert_eq!(gone["said"], "kidoban: No news");
    assert_eq!(gone["notes"], json!([]), "their times would be wrong");
    let back = &seen["back"];
    assert_eq!(back["news"], "live");
    agrees(back, "once the gateway is back");
    assert_eq!(back["title"], format!("{} · kidoban", text(&back["word"])));
}

/// A shutdown.
fn it_drains(seen: &Value) {
    let draining = &seen["draining"];
    assert_eq!(draining["word"], "Draining");
    agrees(draining, "in a drain");
    assert_eq!(seen["lastTurn"], 200);
}

/// Shadow mode.
fn it_only_counts(seen: &Value) {
    let shadow = &seen["shadow"];
    agrees(shadow, "in shadow mode");
    let would = shadow["event"]["shadow_refusals"].as_u64().unwrap();
    assert_eq!(would, 2, "two of four were beyond the burst");
    let note = format!(
        "Shadow mode: an empty bucket refuses nobody. It would have refused {would} turns."
    );
    assert!(
        shadow["notes"].as_array().unwrap().contains(&json!(note)),
        "{}",
        shadow["notes"]
    );
}

#[test]
fn the_page_says_what_the_status_says() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    // What comes from outside is text, whatever it looks like.
    let log = folder.path().join("<img src=x onerror=alert(1)>");
    let gateway = Gateway::unlimited(&[
        "--limit-for",
        "192.0.2.0/24=1/h:3",
        "--queue",
        "3",
        "--max-body",
        "2KiB",
        "--ready-probe",
        r#"{"kind":"look"}"#,
        "--log-format",
        "json",
    ])
    .stub(&[
        "--start-when",
        ready.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ])
    .admin()
    .start_unready();
    let shadow = Gateway::with(&["--shadow", "--rate", "1/h", "--log-format", "json"])
        .admin()
        .start();
    for _ in 0..4 {
        assert_eq!(
            shadow.send(&Request::turn(r#"{"kind":"look"}"#)).status,
            200
        );
    }
    let Some(seen) = watch(&gateway, &shadow, &ready) else {
        return;
    };

    it_starts(&seen);
    turns_run(&seen);
    an_engine_dies(&seen);
    all_is_quiet(&seen);
    it_has_run_for_long(&seen);
    it_is_read(&seen);
    news_gets_old(&seen);
    it_drains(&seen);
    it_only_counts(&seen);
}
