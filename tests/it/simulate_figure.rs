//! The page of `simulate` in a real Chromium: it draws what the file was drawn with, decides
//! as the program does, and can be used without a mouse. The pictures are kept in
//! `target/pictures`, to be looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kidoban::logic::bucket::{Limit, Nanos};
use kidoban::logic::limiter::{Algorithm, Verdict};
use kidoban::simulate::output::figure::{About, Asked, Figure, Moments, svg};
use kidoban::simulate::output::page;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::playwright_is_there;
use crate::harness::peer;

const MILLISECOND: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MILLISECOND;
/// 2026-11-30T14:28:41Z.
const SOME_DAY: Nanos = 1_796_048_921 * SECOND;

fn limit(rate: &str, burst: &str) -> Limit {
    Limit::new(rate.parse().unwrap(), burst.parse().unwrap()).unwrap()
}

fn one(at: Nanos, client: u32) -> Asked {
    Asked { at, client }
}

fn figure(asked: &[Asked], limit: &Limit, moments: Moments) -> Figure {
    let about = About {
        command: "kidoban simulate --rate 10/10s --burst 10 --pattern burst:10@9.5s+burst:10@10s",
        moments,
        name: &|client| format!("192.0.2.{client}"),
        outcomes: &[],
    };
    Figure::draw(asked, limit, &about)
}

/// Ten at 9.5 s and ten at 10 s.
fn edge() -> Vec<Asked> {
    let mut asked = vec![one(9_500 * MILLISECOND, 0); 10];
    asked.extend(vec![one(10 * SECOND, 0); 10]);
    asked
}

/// One that never stops, and some that do.
fn flood(start: Nanos, clients: u32) -> Vec<Asked> {
    let mut asked: Vec<_> = (0..100)
        .map(|n| one(start + n * 100 * MILLISECOND, 0))
        .collect();
    for client in 1..clients {
        let own = u64::from(client) * 170 * MILLISECOND;
        asked.extend((0..6).map(|n| one(start + own + n * 1_300 * MILLISECOND, client)));
    }
    asked.sort_by_key(|one| one.at);
    asked
}

/// The files that are opened, each with all that a page can be: dots and bars, one client and
/// several, a pattern and a log, and one with too many arrivals to keep.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let ten = limit("10/10s", "10");
    let two = limit("2", "2");
    let a_day = limit("200/d", "200");
    let mut daily = vec![one(0, 0); 200];
    daily.extend((0..199).map(|n| one(SECOND + n * 432 * SECOND, 0)));
    let many: Vec<_> = (0..6_000)
        .map(|n| one(SOME_DAY + n * 50 * MILLISECOND, (n % 9 % 4) as u32))
        .collect();
    let drawn = [
        ("edge", figure(&edge(), &ten, Moments::SinceStart)),
        ("flood", figure(&flood(0, 3), &two, Moments::SinceStart)),
        (
            "others",
            figure(&flood(SOME_DAY, 8), &two, Moments::SinceEpoch),
        ),
        ("daily", figure(&daily, &a_day, Moments::SinceStart)),
        ("log", figure(&many[..2_000], &two, Moments::SinceEpoch)),
        ("many", figure(&many, &two, Moments::SinceEpoch)),
    ];
    drawn
        .iter()
        .map(|(name, figure)| {
            fs::write(folder.join(format!("{name}.svg")), svg::document(figure)).unwrap();
            let path = folder.join(format!("{name}.html"));
            fs::write(&path, page::document(figure, "abc123")).unwrap();
            path
        })
        .collect()
}

/// Random arrivals under several limits, and what the program says to each: the moment it is
/// served, or null.
fn decisions() -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(6);
    let limits = [
        ("2", "2"),
        ("10/10s", "10"),
        ("3", "7"),
        ("30/min", "5"),
        ("200/d", "200"),
        ("1000000", "3"),
        ("0.000001", "1"),
        ("0.7", "1"),
    ];
    let mut all = Vec::new();
    for (rate, burst) in limits {
        let limit = limit(rate, burst);
        for start in [0, SOME_DAY, u64::MAX / 2 - SECOND, u64::MAX - SECOND] {
            let mut at = start;
            let asked: Vec<_> = (0..120)
                .map(|_| {
                    let gap = match random.u32(0..4) {
                        0 => 0,
                        1 => random.u64(0..=limit.rate().interval_nanos() * 2),
                        2 => limit.rate().interval_nanos(),
                        _ => random.u64(0..=limit.window_nanos()),
                    };
                    at = u64::saturating_add(at, gap);
                    one(at, random.u32(0..3))
                })
                .collect();
            for algorithm in Algorithm::ALL {
                all.push(decided(algorithm, &limit, rate, &asked));
            }
        }
    }
    all
}

fn decided(algorithm: Algorithm, limit: &Limit, rate: &str, asked: &[Asked]) -> Value {
    let mut limiter = algorithm.start(limit);
    let mut told = Vec::new();
    for one in asked {
        let before = limiter.look(one.client, one.at);
        let served = match limiter.decide(one.client, one.at) {
            Verdict::Admitted => Some(one.at.to_string()),
            Verdict::Delayed(until) => Some(until.to_string()),
            Verdict::Refused => None,
        };
        told.push(json!({
            "at": one.at.to_string(),
            "client": one.client,
            "level": before.level,
            "full": before.full,
            "window": before.window.map(|(from, to)| [from.to_string(), to.to_string()]),
            "served": served,
        }));
    }
    json!({
        "name": algorithm.name(),
        "rate": rate,
        "burst": limit.burst().tickets(),
        "told": told,
    })
}

fn seen(files: &[PathBuf], decisions: &Path) -> Option<Value> {
    let chromium = peer("chromium", "apt-get install chromium")?;
    peer("node", "apt-get install nodejs")?;
    if !playwright_is_there() {
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pictures = root.join("target/pictures");
    fs::create_dir_all(&pictures).unwrap();
    let output = Command::new("node")
        .arg(root.join("tests/browser/figure.cjs"))
        .args([chromium.as_path(), &pictures, decisions])
        .args(files)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_page_draws_and_decides_as_the_program_does() {
    let folder = TempDir::new().unwrap();
    let files = pages(folder.path());
    let path = folder.path().join("decisions.json");
    let decisions = decisions();
    fs::write(&path, Value::from(decisions.clone()).to_string()).unwrap();
    let Some(seen) = seen(&files, &path) else {
        return;
    };

    assert_eq!(seen["complaints"], json!([]), "no script error");
    assert_eq!(seen["strangers"], json!([]), "no external request");

    // Decision for decision, look for look.
    assert_eq!(seen["decisions"]["compared"], decisions.len() * 120);
    assert_eq!(seen["decisions"]["different"], json!([]));

    // Mark for mark, in both sizes: lanes and numbers of ten rows, titles and arrivals.
    for name in ["edge", "flood", "others", "daily", "log"] {
        let compared = seen["pages"][name]["compared"].as_u64().unwrap();
        assert!(compared >= 2 * (10 + 10 + 10 + 1), "{name}: {compared}");
        assert_eq!(seen["pages"][name]["different"], json!([]), "{name}");
    }
    assert_eq!(seen["pages"]["many"]["dials"], false);
    let tip = seen["pages"]["many"]["tip"].as_str().unwrap();
    assert!(tip.contains("let in") && tip.contains("refused"), "{tip}");
    for (name, page) in seen["pages"].as_object().unwrap() {
        assert_eq!(page["overflow"], 0, "{name} scrolls sideways");
        assert_eq!(
            page["phoneOverflow"], 0,
            "{name} scrolls sideways on a phone"
        );
        assert_ne!(page["day"], page["night"], "{name}");
    }

    // Another limit: the numbers of the program under that limit.
    let other = figure(&edge(), &limit("5/10s", "4"), Moments::SinceStart);
    let text = svg::document(&other);
    let document = roxmltree::Document::parse(&text).unwrap();
    let titles: Vec<_> = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("row"))
        .map(|row| row.first_element_child().unwrap().text().unwrap())
        .collect();
    assert_eq!(titles.len(), 10);
    assert_eq!(seen["dialled"]["titles"], json!(titles));
    assert_eq!(seen["dialled"]["line"], "kidoban --rate 5/10s --burst 4");

    using_the_page(&seen);
}

/// By keyboard, by mouse and by finger.
fn using_the_page(seen: &Value) {
    let count = |step: &str, what: &str| seen[step][what].as_u64().unwrap();
    assert_eq!(count("atFirst", "arrivals"), 20);
    assert_eq!(seen["atFirst"]["undo"], false);
    // With Tab and Enter alone.
    assert_eq!(count("byKey", "arrivals"), 21);
    assert_eq!(count("byKey", "let_in") + count("byKey", "refused"), 21);
    assert!(seen["byKey"]["said"].as_str().unwrap().contains("added at"));
    assert_eq!(count("tenMore", "arrivals"), 31);
    assert_eq!(count("byMouse", "arrivals"), 32);
    assert_eq!(count("undone", "arrivals"), 31);
    assert_eq!(
        count("tenUndone", "arrivals"),
        21,
        "a click is undone, whatever it added"
    );
    let all = "220 requests, 200 of them added here";
    assert_eq!(seen["allAdded"]["numbers"], all);
    assert_eq!(seen["allAdded"]["why"], "200 are added: no more");
    assert_eq!(count("reset", "arrivals"), 20);
    assert_eq!(seen["reset"]["undo"], false);
    assert_eq!(seen["reset"]["marks"], seen["atFirst"]["marks"]);
    let tip = seen["hovered"]["tip"].as_str().unwrap();
    assert!(tip.contains("Fixed window · "), "{tip}");
    assert!(tip.contains("let in since the edge: 10 of 10"), "{tip}");
    assert!(tip.contains("one more request would be refused"), "{tip}");
    // A finger's tap asks and adds nothing.
    assert_eq!(seen["tapped"]["arrivals"], 20);
    assert!(
        seen["tapped"]["tip"]
            .as_str()
            .unwrap()
            .contains("one more request")
    );
    assert_eq!(seen["unscripted"]["rows"], 10, "drawn without scripts too");
}
