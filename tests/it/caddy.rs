//! Behind a real Caddy, with the Caddyfile that ships.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::early_answers::LARGE_BODIES;
use crate::harness::{Gateway, Running, peer, until};
use crate::http::Request;

fn caddyfile() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/Caddyfile")
}

fn caddy() -> Option<PathBuf> {
    peer("caddy", "apt-get install caddy")
}

/// A Caddy of its own in front of one gateway; killed when dropped.
struct Front {
    child: Child,
    address: SocketAddr,
    _home: TempDir,
}

impl Front {
    fn start(caddy: &Path, gateway: &Running) -> Self {
        let home = tempfile::tempdir().unwrap();
        let [http, https] = free_ports();
        let child = Command::new(caddy)
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(caddyfile())
            .env("HOME", home.path())
            .env("XDG_DATA_HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path())
            .env("CADDY_ADMIN", "off")
            .env("CADDY_HTTP_PORT", http.to_string())
            .env("CADDY_HTTPS_PORT", https.to_string())
            .env("KIDOBAN_SITE", "http://localhost")
            .env("KIDOBAN_UPSTREAM", gateway.address().to_string())
            .stdout(Stdio::null())
            .stderr(File::create(home.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], http));
        until("Caddy listens", || TcpStream::connect(address).ok());
        Self {
            child,
            address,
            _home: home,
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_ports() -> [u16; 2] {
    let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

#[test]
fn the_caddyfile_is_valid_and_formatted() {
    let Some(caddy) = caddy() else { return };
    for arguments in [
        &["validate", "--adapter", "caddyfile", "--config"][..],
        &["fmt", "--diff"],
    ] {
        let output = Command::new(&caddy)
            .args(arguments)
            .arg(caddyfile())
            .env("CADDY_ADMIN", "off")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
    }
}

/// What a caller says of itself is replaced: it is one client, whatever it sends.
#[test]
fn forged_headers_do_not_help() {
    let Some(caddy) = caddy() else { return };
    let gateway = Gateway::with(&["--rate", "1/h"]).start();
    let front = Front::start(&caddy, &gateway);
    let turn = |n: u8| {
        Request::turn(r#"{"kind":"look"}"#)
            .from(&format!("9.9.9.{n}"))
            .header("X-Real-IP", format!("9.9.9.{n}"))
            .header("Forwarded", format!("for=9.9.9.{n}"))
            .header("X-Request-Id", "forged")
            .send_to(front.address)
            .unwrap()
    };
    let replies = [turn(1), turn(2), turn(3)];
    assert_eq!(
        replies.each_ref().map(|reply| reply.status),
        [200, 200, 429]
    );
    let refused = &replies[2];
    assert_eq!(refused.code(), "rate_limited");
    assert!(refused.retry_after().is_some_and(|seconds| seconds > 1_000));
    assert!(refused.header("ratelimit").is_some());
    assert!(
        !gateway.log().contains("9.9.9."),
        "no forged address is logged"
    );
    assert!(!gateway.log().contains("forged"), "no forged id is logged");
}

/// A refusal that comes before the body was read gets through, and is kidoban's own: of a
/// hundred one may be lost.
#[test]
fn early_refusals_get_through() {
    let Some(caddy) = caddy() else { return };
    let gateway = Gateway::unlimited(&[]).start();
    let front = Front::start(&caddy, &gateway);
    let tries = LARGE_BODIES.iter().map(|(_, tries)| tries).sum::<usize>();
    let mut lost = Vec::new();
    for (bytes, tries) in LARGE_BODIES {
        let request = Request::turn(vec![b' '; bytes]);
        for _ in 0..tries {
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
}

#[test]
fn the_page_is_served_and_strangers_hosts_are_not() {
    let Some(caddy) = caddy() else { return };
    let gateway = Gateway::demo(&[]).start();
    let front = Front::start(&caddy, &gateway);
    let get = |host: &str| {
        let request = Request::get("/").header("Host", host);
        request.send_to(front.address).unwrap()
    };
    let page = get("localhost");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<html"));
    assert_eq!(get("elsewhere.example").status, 421);
}

/// What is refused directly is refused through Caddy, with the same code; and what leads nowhere leads nowhere.
#[test]
fn hostile_inputs_come_out_as_they_do_directly() {
    let Some(caddy) = caddy() else { return };
    let gateway = Gateway::unlimited(&[]).start();
    let front = Front::start(&caddy, &gateway);
    let deep = format!(r#"{{"kind":"look","x":{}"#, "[".repeat(30_000));
    let number = format!(r#"{{"kind":"look","x":{}}}"#, "9".repeat(60_000));
    let bodies: [&[u8]; 14] = [
        deep.as_bytes(),
        number.as_bytes(),
        br#"{"kind":"look","x":"\ud800"}"#,
        br#"{"kind":"look","x":1e999}"#,
        b"{\"kind\":\"look\",\"x\":\"\xc0\xaf\"}",
        b"{\"kind\":\"look\",\"x\":\"\xed\xa0\x80\"}",
        b"{\"kind\":\"look\",\"x\":\"\xff\"}",
        b"\xef\xbb\xbf{\"kind\":\"look\"}",
        br#"{"kind":"look"}x"#,
        br#"{"kind":"look","kind":"look"}"#,
        br#"["say","x"]"#,
        b"{\"kind\":\"look\",\"x\":\"\n\"}",
        br#"{"kind":"fly"}"#,
        b"",
    ];
    for body in bodies {
        let request = Request::turn(body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let direct = gateway.send(&request);
        let through = request.send_to(front.address).unwrap();
        assert_eq!(
            (direct.status, direct.code().as_str()),
            (400, "bad_shape"),
            "{shown}"
        );
        assert_eq!(through.status, 400, "{shown}");
        assert_eq!(through.code(), "bad_shape", "{shown}");
    }
    for target in [
        "/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%5c..%5cx",
        "/%00",
        "//x",
        "/%0aFAKE%1b[31m",
    ] {
        let through = Request::get(target).send_to(front.address).unwrap();
        assert!(
            (400..500).contains(&through.status),
            "{target}: {through:?}"
        );
    }
    assert!(
        !gateway.log().contains('\u{1b}'),
        "no escape reaches the log"
    );
    assert_eq!(
        gateway.turn(r#"{"kind":"look"}"#).json()["lines"],
        1,
        "the engine saw none of it"
    );
}
