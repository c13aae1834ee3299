//! The metrics: what each counts, seen after turns whose outcome is known; that the README and
//! Prometheus' own tool agree with them; both formats.

mod connections;
mod counted;
mod engines;
mod prometheus;
pub mod scrape;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Gateway, Running, peer};
use crate::http::{Reply, Request};

use scrape::Scrape;

fn scrape_as(gateway: &Running, accept: &str) -> Reply {
    let reply = gateway.ask_admin(&Request::get("/metrics").header("Accept", accept));
    assert_eq!(reply.status, 200);
    reply
}

/// The rows of the README's table: name to type, label and label values.
fn table() -> BTreeMap<String, (String, String, BTreeSet<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let head = "| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n";
    let (_, rows) = readme.split_once(head).expect("the table is there");
    let rows = rows.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (label, values) = cells[3].split_once(": ").unwrap_or((cells[3], ""));
        let words = |text: &str| -> BTreeSet<String> {
            let words = text.split('`').skip(1).step_by(2);
            words.map(str::to_owned).collect()
        };
        assert!(cells[4].len() > 5, "{row} has a meaning");
        let name = cells[1].replace('`', "");
        (
            name,
            (cells[2].to_owned(), label.replace('`', ""), words(values)),
        )
    })
    .collect()
}

/// Nothing appears only once it has happened: an alert on a series that is not there sees nothing.
#[test]
fn the_readmes_table_is_what_a_fresh_gateway_shows() {
    let gateway = Gateway::with(&[]).admin().start();
    let scrape = Scrape::of(&gateway);
    let table = table();
    assert!(table.len() > 20, "{table:?}");
    let told: BTreeMap<_, _> = table
        .iter()
        .map(|(name, (kind, ..))| (name.clone(), kind.clone()))
        .collect();
    assert_eq!(told, scrape.types);
    for (name, (kind, label, values)) in table {
        let series = scrape.series(&name);
        if values.is_empty() {
            assert_eq!(
                series.len(),
                if kind == "histogram" { 18 } else { 1 },
                "{name}"
            );
            continue;
        }
        let prefix = format!("{name}{{{label}=\"");
        let shown: BTreeSet<_> = series
            .keys()
            .map(|series| series.strip_prefix(&prefix).unwrap().replace("\"}", ""))
            .collect();
        assert_eq!(shown, values, "{name}");
        let is_at_zero = kind != "counter" || series.values().all(|value| value == "0");
        assert!(is_at_zero, "{series:?}");
    }
}

#[test]
fn a_scraper_gets_the_format_it_likes_best() {
    let gateway = Gateway::with(&[]).admin().start();
    let text = "text/plain; version=0.0.4; charset=utf-8";
    let open = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for (accept, expected) in [
        ("", text),
        ("*/*", text),
        ("text/html", text),
        ("application/openmetrics-text", open),
        ("application/openmetrics-text;version=1.0.0", open),
        ("application/openmetrics-text;version=0.0.1", text),
        ("application/openmetrics-text;q=0", text),
        ("application/openmetrics-text;q=0.3,text/plain;q=0.5", text),
        ("text/plain;q=0.5,application/openmetrics-text;q=0.7", open),
        ("*/*;q=0.1, application/openmetrics-text;q=0.05", text),
        ("application/openmetrics-text, */*", open),
        ("text/*;q=0.2, application/openmetrics-text;q=0.1", text),
        // What Prometheus 2 sends.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            open,
        ),
    ] {
        let reply = scrape_as(&gateway, accept);
        assert_eq!(reply.header("content-type"), Some(expected), "{accept:?}");
        let body = reply.text();
        let is_open = expected == open;
        assert_eq!(body.ends_with("# EOF\n"), is_open, "{accept:?}");
        assert_eq!(body.contains("# UNIT"), is_open, "{accept:?}");
        assert_eq!(body.contains("# TYPE kidoban_turns counter"), is_open);
        assert_eq!(
            body.contains("# TYPE kidoban_turns_total counter"),
            !is_open
        );
        assert!(body.contains("\nkidoban_turns_total{outcome=\"ok\"} 0\n"));
    }
}

#[test]
fn promtool_finds_nothing_to_say() {
    let Some(promtool) = peer("promtool", "apt-get install prometheus") else {
        return;
    };
    let gateway = Gateway::with(&[]).admin().start();
    assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
    let scraped = scrape_as(&gateway, "text/plain").body;
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(&scraped).unwrap();
    let said = check.wait_with_output().unwrap();
    let words = [said.stdout, said.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    assert!(said.status.success() && words.is_empty(), "{words}");
}

/// Help is for somebody who sees the name for the first time, at night.
#[test]
fn every_metric_says_what_it_means() {
    let gateway = Gateway::with(&[]).admin().start();
    let scrape = Scrape::of(&gateway);
    for name in scrape.types.keys() {
        let help = scrape.help.get(name).expect(name);
        let is_sentence = help.ends_with('.') && help.split(' ').count() > 3;
        assert!(is_sentence, "{name}: {help}");
    }
}

#[test]
fn process_figures_are_those_of_the_gateway() {
    let gateway = Gateway::with(&[]).admin().start();
    let figure = |name: &str| Scrape::of(&gateway).value(name);
    let memory = crate::watch::resident_bytes(gateway.pid());
    let shown = figure("process_resident_memory_bytes");
    #[expect(clippy::cast_precision_loss, reason = "a rough comparison")]
    let ratio = shown / memory as f64;
    assert!((0.5..2.0).contains(&ratio), "{shown} and {memory}");
    let open = fs::read_dir(format!("/proc/{}/fd", gateway.pid())).unwrap();
    let (open, shown) = (open.count(), figure("process_open_fds"));
    // The scrape's own connection may come and go.
    #[expect(clippy::cast_precision_loss, reason = "descriptors are few")]
    let difference = (shown - open as f64).abs();
    assert!(difference <= 2.0, "{shown} and {open}");
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let age = now.as_secs_f64() - figure("process_start_time_seconds");
    assert!((-2.0..60.0).contains(&age), "started {age} s ago");
    let before = figure("process_cpu_seconds_total");
    for _ in 0..300 {
        gateway.turn(r#"{"kind":"look"}"#);
    }
    assert!(figure("process_cpu_seconds_total") > before);
    assert!(figure("process_max_fds") >= 256.0);
}
