//! `--static`: files from memory, outside `/api/`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Reply, Request};

const PAGE: &str = "<!doctype html><p>top";

fn site() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    write("index.html", PAGE);
    write("app.js", "let plain;");
    write("app.js.br", "brotli bytes");
    write("app.js.gz", "gzip bytes");
    write("sub/index.html", "<p>sub");
    write("a b.txt", "space");
    write(".secret", "hidden");
    write(".git/config", "hidden");
    folder
}

fn serving(folder: &Path) -> Gateway {
    let folder = folder.to_str().expect("a path in UTF-8");
    Gateway::unlimited(&["--static", folder])
}

fn get(gateway: &Running, target: &str) -> Reply {
    gateway.send(&Request::get(target))
}

#[test]
fn exact_paths_and_an_index_only_at_the_top() {
    let folder = site();
    let gateway = serving(folder.path()).start();
    for (target, body) in [
        ("/", PAGE),
        ("/index.html", PAGE),
        ("/?q=1", PAGE),
        ("/sub/index.html", "<p>sub"),
        ("/app.js", "let plain;"),
        ("/a%20b.txt", "space"),
        ("/%61pp.js", "let plain;"),
    ] {
        let reply = get(&gateway, target);
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (200, body),
            "{target}"
        );
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert!(reply.header("x-request-id").is_some());
    }
    for target in [
        "/sub", "/sub/", "/app", "/app.js/", "/APP.JS", "//app.js", "/none",
    ] {
        let reply = get(&gateway, target);
        assert_eq!(reply.code(), "not_found", "{target}");
    }
    let types = [
        ("/", "text/html; charset=utf-8"),
        ("/a%20b.txt", "text/plain; charset=utf-8"),
    ];
    for (target, content_type) in types {
        let reply = get(&gateway, target);
        assert_eq!(reply.header("content-type"), Some(content_type));
    }
}

#[test]
fn the_folder_cannot_be_left_and_dotfiles_are_not_there() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("passwd"), "hidden").unwrap();
    let folder = site();
    symlink(
        outside.path().join("passwd"),
        folder.path().join("link.txt"),
    )
    .unwrap();
    symlink("index.html", folder.path().join("inside.html")).unwrap();
    symlink(outside.path(), folder.path().join("linked")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(pipe.unwrap().success());
    let gateway = serving(folder.path()).start();
    for target in [
        "/.secret",
        "/%2esecret",
        "/.git/config",
        "/link.txt",
        "/../passwd",
        "/sub/../index.html",
        "/sub/..",
        "/./index.html",
        "/%2e%2e/passwd",
        "/%2E%2E%2Fpasswd",
        "/..%2fpasswd",
        "/..%5cpasswd",
        "/..\\passwd",
        "/%252e%252e/passwd",
        "/..%c0%afpasswd",
        "/sub%2findex.html",
        "/index.html%00",
        "/%zz",
        "/%",
        "/api/../index.html",
        "/linked/passwd",
        "/linked/",
        "/pipe",
        "//index.html",
        "/sub//index.html",
        "/%2findex.html",
        "//../passwd",
        "/....//passwd",
        "/sub/%2e%2e/index.html",
        "/%2e/index.html",
        "/%5cindex.html",
        "/sub%5cindex.html",
        "/%5c..%5cpasswd",
        "/%00",
        "/index.html%00.txt",
        "/index%2ehtml/..",
        "/%u002e%u002e/passwd",
        "/%ef%bc%8e%ef%bc%8e/passwd",
        "/index.html;x",
        "/index.html%20",
        "/index.html.",
        "http://h/../passwd",
        "/.git",
        "/.git/",
        "/%2egit%2fconfig",
        "/sub",
        "/sub/",
        "/sub%2f",
    ] {
        let reply = get(&gateway, target);
        assert!(matches!(reply.status, 400 | 404), "{target}: {reply:?}");
        assert!(!reply.text().contains("hidden"), "{target}");
    }
    assert_eq!(get(&gateway, "/inside.html").text(), PAGE);
    for left_out in [".secret", ".git", "link.txt", "linked", "pipe"] {
        gateway.wait_for_log("what was left out is told", |record| {
            let told = record["left_out"].as_str().unwrap_or_default();
            told.contains(&format!("\"{left_out}\""))
        });
    }
}

#[test]
fn head_and_other_methods() {
    let folder = site();
    let gateway = serving(folder.path()).start();
    let whole = get(&gateway, "/app.js");
    let head = gateway.send(&Request::new("HEAD", "/app.js"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "content-type", "etag", "vary"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    assert_eq!(head.header("content-length"), Some("10"));

    let mut kept = Connection::open(gateway.address()).unwrap();
    assert_eq!(
        kept.send(&Request::new("HEAD", "/none")).unwrap().status,
        404
    );
    assert_eq!(
        kept.send(&Request::get("/")).unwrap().text(),
        PAGE,
        "no body was in the way"
    );

    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let reply = gateway.send(&Request::new(method, "/app.js"));
        assert_eq!(reply.code(), "method_not_allowed", "{method}");
        assert_eq!(reply.header("allow"), Some("GET, HEAD"), "{method}");
        let reply = gateway.send(&Request::new(method, "/none"));
        assert_eq!(reply.code(), "not_found", "{method}");
    }
}

#[test]
fn what_a_browser_has_is_not_sent_again() {
    let folder = site();
    let gateway = serving(folder.path()).start();
    let etag = get(&gateway, "/").header("etag").unwrap().to_owned();
    for known in [
        etag.clone(),
        format!("W/{etag}"),
        format!("\"x\", {etag}"),
        "*".to_owned(),
    ] {
        let reply = gateway.send(&Request::get("/").header("If-None-Match", &known));
        assert_eq!((reply.status, reply.body.len()), (304, 0), "{known}");
        assert_eq!(reply.header("etag"), Some(etag.as_str()));
    }
    let reply = gateway.send(&Request::get("/").header("If-None-Match", "\"other\""));
    assert_eq!((reply.status, reply.text().as_str()), (200, PAGE));
}

#[test]
fn packed_neighbours_are_sent_to_who_takes_them() {
    let folder = site();
    let gateway = serving(folder.path()).start();
    let mut etags = Vec::new();
    for (accepted, coding, body) in [
        ("", None, "let plain;"),
        ("br, gzip", Some("br"), "brotli bytes"),
        ("gzip", Some("gzip"), "gzip bytes"),
        ("br;q=0, gzip", Some("gzip"), "gzip bytes"),
        ("zstd", None, "let plain;"),
    ] {
        let request = Request::get("/app.js").header("Accept-Encoding", accepted);
        let reply = gateway.send(&request);
        assert_eq!(reply.text(), body, "{accepted}");
        assert_eq!(reply.header("content-encoding"), coding, "{accepted}");
        assert_eq!(
            reply.header("content-type"),
            Some("text/javascript; charset=utf-8")
        );
        assert_eq!(reply.header("vary"), Some("accept-encoding"), "{accepted}");
        etags.push(reply.header("etag").unwrap().to_owned());
    }
    assert!(etags[0] != etags[1] && etags[1] != etags[2] && etags[0] != etags[2]);
    assert_eq!(etags[0], etags[4]);
    let lone = gateway.send(&Request::get("/").header("Accept-Encoding", "br"));
    assert_eq!(
        (lone.header("content-encoding"), lone.header("vary")),
        (None, None)
    );
}

#[test]
fn a_hang_up_reads_the_folder_again_while_turns_go_on() {
    let folder = site();
    let gateway = serving(folder.path()).start();
    let etag = get(&gateway, "/").header("etag").unwrap().to_owned();
    thread::scope(|scope| {
        let turn = scope.spawn(|| gateway.turn(r#"{"kind":"look","do":["sleep:1500","reply"]}"#));
        until("the turn is in the engine", || {
            (gateway.health()["waiting"] == 1).then_some(())
        });
        fs::write(folder.path().join("index.html"), "<p>new").unwrap();
        fs::write(folder.path().join("added.txt"), "added").unwrap();
        fs::remove_file(folder.path().join("app.js")).unwrap();
        assert_eq!(
            get(&gateway, "/").text(),
            PAGE,
            "nothing is read before it is asked for"
        );
        gateway.signal("HUP");
        until("the new page", || {
            (get(&gateway, "/").text() == "<p>new").then_some(())
        });
        assert_eq!(turn.join().unwrap().status, 200);
    });
    assert_eq!(get(&gateway, "/added.txt").text(), "added");
    assert_eq!(get(&gateway, "/app.js").status, 404);
    let stale = gateway.send(&Request::get("/").header("If-None-Match", etag));
    assert_eq!(stale.status, 200, "the new page has another tag");
}

#[test]
fn a_folder_that_vanished_keeps_the_old_files() {
    let folder = site();
    let gateway = serving(folder.path()).start();
    folder.close().unwrap();
    gateway.signal("HUP");
    gateway.wait_for_log("the failure", |record| {
        record["message"] == "the static files stay as they were" && record["level"] == "ERROR"
    });
    assert_eq!(get(&gateway, "/").text(), PAGE);
    assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
}

#[test]
fn a_folder_that_is_not_there_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let mut command = crate::harness::kidoban();
    command
        .args(["--listen", "127.0.0.1:0", "--static"])
        .arg(&absent);
    command.arg("--").arg(crate::harness::stub_engine());
    let ended = crate::harness::outcome(&mut command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = &ended.stderr;
    assert!(
        told.contains("--static: the folder") && told.contains("absent"),
        "{told}"
    );
}

#[test]
fn without_a_folder_there_is_nothing() {
    let gateway = Gateway::with(&[]).start();
    for target in ["/", "/index.html", "/.secret"] {
        assert_eq!(get(&gateway, target).code(), "not_found", "{target}");
    }
}

#[test]
fn the_demo_serves_its_page_under_a_strict_policy() {
    let gateway = Gateway::demo(&[]).start();
    let page = get(&gateway, "/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for (target, content_type) in [
        ("/style.css", "text/css; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
    ] {
        let reply = get(&gateway, target);
        assert_eq!(reply.status, 200, "{target}");
        assert_eq!(reply.header("content-type"), Some(content_type));
        assert!(
            page.text().contains(&target[1..]),
            "the page names {target}"
        );
    }
    assert_eq!(gateway.send(&Request::new_game("")).status, 200);

    let folder = site();
    let own = Gateway::demo(&["--static", folder.path().to_str().unwrap()]).start();
    let page = get(&own, "/");
    assert_eq!(page.text(), PAGE, "a folder of one's own takes its place");
    assert_eq!(page.header("content-security-policy"), None);
}
