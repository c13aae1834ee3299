//! A real Prometheus with the configuration that ships. It asks for `OpenMetrics`, and takes a
//! scrape only if it can read all of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::table;
use crate::harness::{Gateway, outcome, peer, until};

/// A Prometheus of its own; killed when dropped, and what it said last is told if the test fails.
struct Prometheus {
    child: Child,
    curl: PathBuf,
    address: SocketAddr,
    log: PathBuf,
}

impl Prometheus {
    /// It scrapes this address. What it keeps, and what it says, is in this folder.
    fn start(program: &Path, curl: PathBuf, folder: &Path, scraped: SocketAddr) -> Self {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
        fs::copy(config.join("alerts.yml"), folder.join("alerts.yml")).unwrap();
        let shipped = fs::read_to_string(config.join("prometheus.yml")).unwrap();
        let ours = shipped
            .replace("127.0.0.1:8788", &scraped.to_string())
            .replace("interval: 15s", "interval: 200ms");
        let config = folder.join("prometheus.yml");
        fs::write(&config, ours).unwrap();
        // It does not tell which port it was given.
        let address = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = address.local_addr().unwrap();
        let log = folder.join("log");
        let child = Command::new(program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Self {
            child,
            curl,
            address,
            log,
        }
    }

    /// What it answers to this question; none while it does not listen yet.
    fn ask(&self, path: &str, parameter: &str) -> Option<Value> {
        let ended = outcome(
            Command::new(&self.curl)
                .args(["--disable", "--silent", "--noproxy", "*", "--get"])
                .args(["--data-urlencode", parameter])
                .arg(format!("http://{}/api/v1/{path}", self.address)),
        );
        let answer: Value = serde_json::from_str(&ended.stdout).ok()?;
        (answer["status"] == "success").then(|| answer["data"].clone())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let tail: Vec<_> = log.lines().rev().take(20).collect();
            let mut stderr = std::io::stderr().lock();
            let _ = writeln!(stderr, "--- Prometheus's last log lines ---");
            for line in tail.iter().rev() {
                let _ = writeln!(stderr, "{line}");
            }
        }
    }
}

#[test]
fn prometheus_reads_all_of_it() {
    let (Some(program), Some(curl)) = (
        peer("prometheus", "apt-get install prometheus"),
        peer("curl", "apt-get install curl"),
    ) else {
        return;
    };
    let gateway = Gateway::with(&[]).admin().start();
    assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
    let folder = tempfile::tempdir().unwrap();
    let prometheus = Prometheus::start(&program, curl, folder.path(), gateway.admin());
    let target = until("a scrape", || {
        let targets = prometheus.ask("targets", "state=active")?;
        let target = targets["activeTargets"][0].clone();
        let has_ended = matches!(target["health"].as_str(), Some("up" | "down"));
        has_ended.then_some(target)
    });
    assert_eq!(
        (&target["health"], &target["lastError"]),
        (&json!("up"), &json!(""))
    );

    // Every metric, with its type, its help, and its unit: only OpenMetrics tells units.
    let told = until("it tells what it read", || {
        let told = prometheus.ask("targets/metadata", "match_target={job=\"kidoban\"}")?;
        told.as_array()
            .is_some_and(|all| !all.is_empty())
            .then_some(told)
    });
    let word = |metric: &Value, name: &str| metric[name].as_str().unwrap().to_owned();
    let told = told.as_array().unwrap().iter().map(|metric| {
        assert!(word(metric, "help").ends_with('.'), "{metric}");
        let about = (word(metric, "type"), word(metric, "unit"));
        (word(metric, "metric"), about)
    });
    let told: BTreeMap<_, _> = told.collect();
    let expected = table().into_iter().map(|(name, (kind, ..))| {
        // There it is the series that is counted whose name ends so, and what is always 1 has a type of its own.
        let (name, kind) = match (kind.as_str(), name.strip_suffix("_info")) {
            ("gauge", Some(name)) => (name, "info"),
            (kind, _) => (name.trim_end_matches("_total"), kind),
        };
        let units = ["seconds", "bytes"].into_iter();
        let unit = units.filter(|unit| name.ends_with(unit)).collect();
        (name.to_owned(), (kind.to_owned(), unit))
    });
    assert_eq!(told, expected.collect());

    let value = |query: &str| {
        // A scrape may be told of before its values can be asked for.
        until(query, || {
            let found = prometheus.ask("query", &format!("query={query}"))?;
            let found = found["result"].as_array().unwrap();
            let values = found.iter().map(|series| series["value"][1].clone());
            let values: Vec<_> = values.collect();
            (!values.is_empty()).then_some(values)
        })
    };
    for (query, expected) in [
        (r#"kidoban_turns_total{outcome="ok"}"#, "1"),
        (r#"kidoban_turns_total{outcome="rate_limited"}"#, "0"),
        (r#"kidoban_turn_seconds_bucket{le="+Inf"}"#, "1"),
        ("kidoban_engines{state=\"up\"}", "1"),
        ("kidoban_queue_places", "32"),
        ("count(kidoban_build_info)", "1"),
    ] {
        assert_eq!(value(query), [expected], "{query}");
    }
}
