//! `kidoban demo`: one command, and one plays.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;

use crate::harness::kidoban;
use crate::http::Request;

/// Killed when dropped.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_says_where_to_play_and_plays() {
    let child = kidoban()
        .args(["demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut demo = Demo(child);
    let mut stdout = BufReader::new(demo.0.stdout.take().unwrap());
    let mut line = || {
        let mut said = String::new();
        stdout.read_line(&mut said).unwrap();
        said
    };
    let said = line();
    let address = said
        .strip_prefix("Open http://")
        .and_then(|rest| rest.strip_suffix("/ in a browser to play.\n"))
        .unwrap_or_else(|| panic!("{said:?}"));
    let address = address.parse().unwrap();

    let watched = line();
    let watched = watched
        .strip_prefix("How it goes is at http://")
        .and_then(|rest| rest.strip_suffix("/\n"))
        .unwrap_or_else(|| panic!("{watched:?}"));
    let status = Request::get("/status.json").send_to(watched.parse().unwrap());
    assert_eq!(
        status.unwrap().json()["engine"]["command"],
        "kidoban engine"
    );

    let page = Request::get("/").send_to(address).unwrap();
    assert!(page.text().starts_with("<!doctype html>"), "{page:?}");
    let opening = Request::new_game(r#"{"lang":"en"}"#).send_to(address);
    let opening = opening.unwrap().json();
    assert_eq!(opening["place"]["id"], "wicket");
    let turn = json!({"kind": "say", "input": "go north", "lang": "en", "state": opening["state"]});
    let moved = Request::turn(turn.to_string()).send_to(address).unwrap();
    assert_eq!(moved.json()["place"]["id"], "house");
}
