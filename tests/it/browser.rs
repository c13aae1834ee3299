//! The demo as a player sees it, in a real Chromium. The pictures are kept in
//! `target/pictures`, to be looked at.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Gateway, absent, peer};

/// Whether node finds what drives a browser.
pub fn playwright_is_there() -> bool {
    let asked = Command::new("node")
        .args(["-e", "require('playwright-core')"])
        .output();
    let there = asked.is_ok_and(|output| output.status.success());
    if !there {
        absent("playwright-core is not found by node (npm install playwright-core, NODE_PATH)");
    }
    there
}

#[test]
fn the_page_plays() {
    let Some(chromium) = peer("chromium", "apt-get install chromium") else {
        return;
    };
    if peer("node", "apt-get install nodejs").is_none() || !playwright_is_there() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pictures = root.join("target/pictures");
    fs::create_dir_all(&pictures).unwrap();
    let gateway = Gateway::demo(&["--rate", "1/h", "--burst", "4"]).start();
    let url = format!("http://{}/", gateway.address());
    let output = Command::new("node")
        .arg(root.join("tests/browser/play.cjs"))
        .args([chromium.as_os_str(), url.as_ref(), pictures.as_os_str()])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |page: &str, what: &str| seen[page][what].as_str().unwrap_or_default().to_owned();

    assert_eq!(text("opening", "lang"), "en");
    assert!(text("opening", "story").len() > 200, "a story to read");
    assert!(
        text("taken", "carried").contains("lantern"),
        "{}",
        text("taken", "carried")
    );
    assert_ne!(text("moved", "place"), text("opening", "place"));
    assert_eq!(text("moved", "focus"), "input", "after a button, too");

    let refused = "(wait a moment, then once more)";
    assert!(
        text("refused", "last").contains(refused),
        "{}",
        text("refused", "last")
    );
    assert_eq!(text("refused", "input"), "go south", "what was typed stays");
    assert_eq!(text("refused", "place"), text("moved", "place"));
    assert_eq!(seen["retries"], 0, "nothing is sent again by itself");
    assert_eq!(text("reloaded", "place"), text("moved", "place"));

    assert_eq!(text("phone", "lang"), "ja");
    assert!(
        text("phone", "carried").contains("提灯"),
        "{}",
        text("phone", "carried")
    );
    let before = text("phone", "story").len();
    assert!(
        text("button", "story").len() > before,
        "a thing is a button"
    );
    assert_eq!(seen["longInput"], 200, "counted in Unicode scalar values");
    let refused = "（少し待ってからもう一度）";
    let last = text("refusedInJapanese", "last");
    assert!(last.contains(refused), "{last}");
    for page in ["opening", "taken", "refused", "phone", "night", "smallDay"] {
        assert_eq!(seen[page]["overflow"], 0, "{page} scrolls sideways");
    }
    assert_ne!(text("night", "background"), text("opening", "background"));
    assert_eq!(
        seen["strangers"],
        serde_json::json!([]),
        "no external request"
    );
    assert_eq!(seen["complaints"], serde_json::json!([]), "no script error");
}
