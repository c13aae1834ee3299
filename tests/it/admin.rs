//! The admin listener: its paths, whom it answers, and that neither side is in the other's
//! way. What the metrics count is in `metrics`, the event streams are in `events`.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engine_file::{EngineFile, create, until_waiting};
use crate::harness::{Gateway, Running, kidoban, outcome, stub_engine, until};
use crate::http::{Connection, Reply, Request};

const LOOK: &str = r#"{"kind":"look"}"#;
/// Every path, and what it answers.
const PATHS: [(&str, &str); 5] = [
    ("/", "text/html; charset=utf-8"),
    ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
    ("/status.json", "application/json; charset=utf-8"),
    ("/livez", "text/plain; charset=utf-8"),
    ("/readyz", "application/json; charset=utf-8"),
];

fn status_of(gateway: &Running, path: &str) -> u16 {
    gateway.ask_admin(&Request::get(path)).status
}

#[test]
fn every_path_answers_get_and_head() {
    let gateway = Gateway::with(&[]).admin().start();
    for (path, kind) in PATHS {
        let got = gateway.ask_admin(&Request::get(path));
        let head = gateway.ask_admin(&Request::new("HEAD", path));
        for reply in [&got, &head] {
            assert_eq!(reply.status, 200, "{path}");
            for (name, value) in [
                ("content-type", kind),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
                ("referrer-policy", "no-referrer"),
            ] {
                assert_eq!(reply.header(name), Some(value), "{path} {name}");
            }
        }
        let length =
            |reply: &Reply| -> usize { reply.header("content-length").unwrap().parse().unwrap() };
        assert_eq!(length(&got), got.body.len());
        assert!(length(&head) > 0, "{path}: the length of what GET gets");
    }
}

#[test]
fn nothing_but_get_and_head_and_nothing_elsewhere() {
    let gateway = Gateway::with(&[]).admin().start();
    for (path, _) in PATHS {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            let reply = gateway.ask_admin(&Request::new(method, path));
            assert_eq!(reply.status, 405, "{method} {path}");
            assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        }
    }
    for path in [
        "/api/turn",
        "/api/health",
        "/metrics/",
        "/Metrics",
        "//",
        "/index.html",
    ] {
        assert_eq!(status_of(&gateway, path), 404, "{path}");
        let post = gateway.ask_admin(&Request::new("POST", path).body(LOOK));
        assert_eq!(post.status, 404, "{path}");
        // A body is not waited for.
        assert_eq!(post.header("connection"), Some("close"));
    }
    let with_query = gateway.ask_admin(&Request::get("/livez?verbose"));
    assert_eq!(with_query.status, 200);
}

#[test]
fn only_who_asks_by_a_name_that_is_ours_is_answered() {
    let gateway = Gateway::with(&["--admin-host", "Status.example.com"])
        .admin()
        .start();
    let port = gateway.admin().port();
    let ask = |path: &str, host: &str| {
        let host = host.replace("PORT", &port.to_string());
        gateway.ask_admin(&Request::get(path).header("Host", host))
    };
    for (path, _) in PATHS {
        for host in [
            "127.0.0.1",
            "127.0.0.1:PORT",
            "[::1]:PORT",
            "localhost:PORT",
            "LOCALHOST",
            "status.example.com",
            "status.example.COM:443",
        ] {
            assert_eq!(ask(path, host).status, 200, "{path} {host}");
        }
        for host in [
            "evil.example",
            "evil.example:PORT",
            "localhost.evil.example:PORT",
            "127.0.0.1.evil.example",
            "example.com",
            "x.status.example.com",
        ] {
            let reply = ask(path, host);
            assert_eq!(reply.status, 421, "{path} {host}");
            let told = reply.text();
            assert!(told.contains("--admin-host") && told.len() < 100, "{told}");
        }
    }
    assert_eq!(
        ask("/nowhere", "evil.example").status,
        421,
        "not even what there is"
    );
    let rebound = Request::get("http://evil.example/metrics").header("Host", "localhost");
    assert_eq!(gateway.ask_admin(&rebound).status, 421);
}

#[test]
fn a_head_without_one_host_is_refused() {
    let gateway = Gateway::with(&[]).admin().start();
    for (head, status) in [
        ("GET /livez HTTP/1.1\r\n\r\n", 400),
        (
            "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            400,
        ),
        ("GET /livez HTTP/1.0\r\n\r\n", 421),
        ("GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    ] {
        let mut connection = Connection::open(gateway.admin()).unwrap();
        connection.stream.write_all(head.as_bytes()).unwrap();
        let reply = connection.read(false).unwrap();
        assert_eq!(reply.status, status, "{head:?}");
        assert!(connection.is_closed(), "{head:?}");
    }
}

/// One page that needs nothing from anywhere, and lets nothing else in.
#[test]
fn the_page_runs_only_what_it_brought() {
    let gateway = Gateway::with(&[]).admin().start();
    let ask = || gateway.ask_admin(&Request::get("/"));
    let (page, again) = (ask(), ask());
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    let nonce = policy.split("'nonce-").nth(1).unwrap();
    let nonce = nonce.split('\'').next().unwrap();
    assert!(nonce.len() == 32 && !again.text().contains(nonce));
    let html = page.text();
    for tag in ["script", "style"] {
        let opened = html.matches(&format!("<{tag}")).count();
        let marked = html.matches(&format!("<{tag} nonce=\"{nonce}\">")).count();
        assert_eq!(opened, marked, "{tag}");
        assert!(
            policy.contains(&format!("{tag}-src 'nonce-{nonce}'")),
            "{policy}"
        );
    }
    assert!(html.contains("<script nonce="));
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("connect-src 'self'"));
}

#[test]
fn the_public_side_knows_nothing_of_it() {
    let gateway = Gateway::with(&[]).admin().start();
    for path in ["/metrics", "/status.json", "/livez", "/readyz", "/"] {
        assert_eq!(gateway.send(&Request::get(path)).status, 404, "{path}");
    }
}

#[test]
fn ready_is_what_health_says_and_live_is_always() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("start");
    let gateway = Gateway::unlimited(&["--ready-probe", LOOK])
        .admin()
        .stub(&["--start-when", starts.to_str().unwrap()])
        .start_unready();
    let ready = gateway.ask_admin(&Request::get("/readyz"));
    assert_eq!((ready.status, ready.retry_after()), (503, Some(1)));
    assert_eq!(ready.json(), gateway.health());
    assert_eq!(ready.json()["engine"], "starting");
    assert_eq!(status_of(&gateway, "/livez"), 200);
    create(&starts);
    until("ready", || {
        (status_of(&gateway, "/readyz") == 200).then_some(())
    });
    let ready = gateway.ask_admin(&Request::get("/readyz"));
    assert_eq!(ready.json(), gateway.health());
}

#[test]
fn it_answers_until_the_end_of_a_drain() {
    let file = EngineFile::stub("");
    let gateway = file.gateway(&[]).admin().start();
    let release = format!("wait-for:{}", file.beside("release").display());
    let address = gateway.address();
    let turn = json!({ "kind": "look", "do": [release, "reply"] }).to_string();
    let slow = thread::spawn(move || Request::turn(turn).send_to(address).unwrap().status);
    until_waiting(&gateway, 1);
    let mut kept = Connection::open(gateway.admin()).unwrap();
    assert_eq!(kept.send(&Request::get("/readyz")).unwrap().status, 200);
    gateway.signal("TERM");
    gateway.wait_for_log("the drain", |record| record["message"] == "draining");
    // On a connection from before, and on new ones.
    let ready = kept.send(&Request::get("/readyz")).unwrap();
    assert_eq!(
        (ready.status, &ready.json()["engine"]),
        (503, &json!("draining"))
    );
    for (path, status) in [
        ("/livez", 200),
        ("/readyz", 503),
        ("/metrics", 200),
        ("/", 200),
    ] {
        assert_eq!(status_of(&gateway, path), status, "{path}");
    }
    let status = gateway.status();
    assert_eq!(status["health"], "draining");
    assert_eq!(status["engine"]["state"], "up");
    create(&file.beside("release"));
    assert_eq!(slow.join().unwrap(), 200);
}

/// Connections of one side take no room of the other.
#[test]
fn neither_side_fills_the_other() {
    let gateway = Gateway::unlimited(&["--max-connections", "1"])
        .admin()
        .start();
    let mut busy = Connection::open(gateway.address()).unwrap();
    busy.stream
        .write_all(b"POST /api/turn HTTP/1.1\r\n")
        .unwrap();
    until("the public side is full", || {
        (gateway.status()["connections"]["open"] == 1).then_some(())
    });
    for (path, _) in PATHS {
        assert_eq!(status_of(&gateway, path), 200, "{path}");
    }
    let rest = format!("Host: h\r\nContent-Length: {}\r\n\r\n{LOOK}", LOOK.len());
    busy.stream.write_all(rest.as_bytes()).unwrap();
    assert_eq!(busy.read(false).unwrap().status, 200);
    drop(busy);

    let admin = gateway.admin();
    let half_sent: Vec<_> = (0..64)
        .map(|_| {
            let mut connection = Connection::open(admin).unwrap();
            connection
                .stream
                .write_all(b"GET /livez HTTP/1.1\r\n")
                .unwrap();
            connection
        })
        .collect();
    assert_eq!(gateway.turn(LOOK).status, 200);
    // There is room for one more as soon as one of them has taken too long.
    let began = Instant::now();
    let one_more = Request::get("/livez").send_to(admin).unwrap();
    assert_eq!(one_more.status, 200);
    let waited = began.elapsed();
    assert!(waited < Duration::from_secs(6), "after {waited:?}");
    drop(half_sent);
}

#[test]
fn on_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let _gateway = Gateway::with(&["--admin", &format!("unix:{}", path.display())]).start();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let mut connection = Connection::open_unix(&path).unwrap();
    let status = connection.send(&Request::get("/status.json")).unwrap();
    assert_eq!(status.json()["health"], "up");
}

/// The settings in force, as `--check` prints them, and no secrets.
#[test]
fn the_status_shows_the_limits_in_force() {
    let options = ["--rate", "30/min", "--engine-env", "TOKEN=hunter2"];
    let gateway = Gateway::with(&options)
        .env("KIDOBAN_BURST", "7")
        .admin()
        .start();
    let status = gateway.ask_admin(&Request::get("/status.json"));
    assert!(!status.text().contains("hunter2"));
    let status = status.json();
    let limits = status["limits"].as_array().unwrap();
    let value = |flag: &str| -> &Value {
        let limit = limits.iter().find(|limit| limit["flag"] == flag);
        &limit.expect(flag)["value"]
    };
    for (flag, expected) in [
        ("--rate", "30/min"),
        ("--burst", "7"),
        ("--queue", "32"),
        ("--shadow", "false"),
        ("--engine-env", "TOKEN=…"),
        ("--admin", "127.0.0.1:0"),
    ] {
        assert_eq!(value(flag), expected, "{flag}");
    }
    assert!(limits.len() > 30, "{limits:?}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        status["queue"],
        json!({ "waiting": 0, "places": 32, "order": "fair" })
    );
}

#[test]
fn without_the_flag_there_is_none() {
    let gateway = Gateway::with(&[]).start();
    let records = gateway.log_records();
    let listens = |record: &&Value| record["message"].as_str().unwrap().starts_with("listening");
    assert_eq!(records.iter().filter(listens).count(), 1, "{records:?}");
}

/// A demo is there to be played: without its status page, if need be. Asked for in so many words, it must be there.
#[test]
fn a_demo_is_played_without_it_where_its_place_is_taken() {
    let stands_in = TcpListener::bind("127.0.0.1:8788");
    let folder = tempfile::tempdir().unwrap();
    let (ports, log) = (folder.path().join("ports"), folder.path().join("log"));
    let mut demo = kidoban();
    demo.args(["demo", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    demo.arg("--port-file").arg(&ports);
    demo.stderr(fs::File::create(&log).unwrap());
    let mut demo = demo.stdout(std::process::Stdio::null()).spawn().unwrap();
    let address = until("the port file", || fs::read_to_string(&ports).ok());
    let health = until("health", || {
        let address = address.trim().parse().unwrap();
        Request::get("/api/health").send_to(address).ok()
    });
    let told = until("the warning", || {
        let log = fs::read_to_string(&log).unwrap();
        log.lines()
            .find(|line| line.contains("no status page"))
            .map(str::to_owned)
    });
    demo.kill().unwrap();
    demo.wait().unwrap();
    // Taken by this test, or by whoever else has it.
    drop(stands_in);
    assert_eq!(
        health.json()["engine"].as_str().map(str::is_empty),
        Some(false)
    );
    assert!(
        told.contains("WARN") && told.contains("127.0.0.1:8788"),
        "{told}"
    );

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let mut insists = kidoban();
    insists.args(["demo", "--listen", "127.0.0.1:0", "--admin", &at]);
    let ended = outcome(&mut insists);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&format!("cannot listen on {at}")),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_demo_says_where_it_would_be() {
    let told = outcome(kidoban().args(["demo", "--check"]));
    assert!(
        told.stdout
            .contains("--admin = 127.0.0.1:8788  (default)\n"),
        "{}",
        told.stdout
    );
    let told = outcome(kidoban().args(["--check", "--"]).arg(stub_engine()));
    assert!(!told.stdout.contains("--admin ="), "{}", told.stdout);
}

#[test]
fn a_place_of_its_own() {
    for (options, sentence) in [
        (
            &["--listen", "127.0.0.1:9", "--admin", "127.0.0.1:9"][..],
            "--admin: 127.0.0.1:9 is also named by --listen",
        ),
        (
            &["--admin", "127.0.0.1:9,127.0.0.1:9"],
            "--admin: 127.0.0.1:9 is named twice",
        ),
    ] {
        let told = outcome(kidoban().args(options).arg("--").arg(stub_engine()));
        assert_eq!(told.code, Some(2), "{}", told.stderr);
        assert!(told.stderr.contains(sentence), "{}", told.stderr);
    }
}
