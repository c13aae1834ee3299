//! `kidoban health`: asks once, says what it heard, exits 0 or 1.

use std::net::TcpListener;

use crate::harness::{Gateway, kidoban, outcome, until};

fn ask(arguments: &[&str]) -> (Option<i32>, String, String) {
    let ended = outcome(kidoban().arg("health").args(arguments));
    (ended.code, ended.stdout, ended.stderr)
}

#[test]
fn every_form_of_the_url_reaches_a_gateway_that_takes_turns() {
    let folder = tempfile::tempdir().unwrap();
    let unix = format!("unix:{}", folder.path().join("sock").display());
    let gateway = Gateway::with(&["--listen", "127.0.0.1:0", "--listen", &unix]).start();
    let http = format!("http://{}", gateway.address());
    for url in [
        http.clone(),
        format!("{http}/"),
        format!("{http}/api/health"),
        format!("http://localhost:{}", gateway.address().port()),
        unix,
    ] {
        let (code, said, _) = ask(&[&url]);
        assert_eq!(code, Some(0), "{url}: {said}");
        assert!(said.starts_with("200 OK "), "{url}: {said}");
        assert_eq!(said.lines().count(), 1, "{url}: {said}");
    }
    let (code, said, _) = ask(&[&format!("{http}/api/nothing")]);
    assert_eq!(code, Some(1), "a path of one's own is asked for: {said}");
    assert!(said.starts_with("404 "), "{said}");
}

#[test]
fn an_engine_that_is_down_is_told() {
    let gateway = Gateway::with(&[]).stub(&["--exit", "3"]).start_unready();
    gateway.wait_for_log("five deaths, then a pause", |record| {
        record["message"] == "the engine is dead"
    });
    let url = format!("http://{}", gateway.address());
    let heard = until("a 503", || {
        let (code, said, _) = ask(&[&url]);
        said.starts_with("503 ").then_some((code, said))
    });
    assert_eq!(heard.0, Some(1));
    assert!(heard.1.contains("down"), "{}", heard.1);
}

#[test]
fn nobody_there_is_1_and_nonsense_is_2() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let no_socket = format!("unix:{}", folder.path().join("none").display());
    for url in [closed, no_socket] {
        let (code, said, _) = ask(&[&url]);
        assert_eq!(code, Some(1), "{url}: {said}");
        assert!(said.contains(&url), "{said}");
    }
    for url in ["", "127.0.0.1:80", "https://127.0.0.1", "ftp://x", "/"] {
        let (code, _, told) = ask(&[url]);
        assert_eq!(code, Some(2), "{url:?}: {told}");
        assert!(told.contains("http://HOST:PORT"), "{url:?}: {told}");
    }
}

/// Something that listens and is no gateway does not hold the one who asks for ever.
#[test]
fn a_port_that_never_answers_is_1() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (code, said, _) = ask(&[&format!("http://{}", silent.local_addr().unwrap())]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no answer"), "{said}");
}
