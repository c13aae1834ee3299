//! A site with TLS, as it runs on a real machine but for who signed its certificate: for
//! `localhost` that is an authority of Caddy's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::{Front, caddies};
use crate::harness::{Gateway, outcome, peer, until};
use crate::http::Request;

/// What curl ends with when there was no handshake.
const NO_HANDSHAKE: i32 = 35;
/// What it ends with when it does not know who signed the certificate.
const NOT_TRUSTED: i32 = 60;

/// Somebody with a browser who trusts this Caddy's authority.
struct Visitor<'a> {
    curl: PathBuf,
    front: &'a Front,
    authority: PathBuf,
}

/// What was answered, or what curl ended with.
#[derive(Debug, PartialEq)]
struct Got {
    code: i32,
    status: u16,
    /// `1.1`, or `2`.
    version: String,
    /// Where it is sent on to.
    location: String,
    body: String,
}

impl<'a> Visitor<'a> {
    fn new(curl: PathBuf, front: &'a Front) -> Self {
        let authority = front.home.path();
        let authority = authority.join("caddy/pki/authorities/local/root.crt");
        let visitor = Self {
            curl,
            front,
            authority,
        };
        until("Caddy has a certificate", || {
            let got = visitor.asks("localhost", "/api/health", &[]);
            (got.status == 200).then_some(())
        });
        visitor
    }

    /// Over TLS, the certificate verified against Caddy's authority.
    fn asks(&self, host: &str, target: &str, options: &[&str]) -> Got {
        let trusts = ["--cacert", self.authority.to_str().unwrap()];
        self.sends(host, target, &[&trusts, options].concat())
    }

    /// Over TLS, without a word on whom to trust.
    fn sends(&self, host: &str, target: &str, options: &[&str]) -> Got {
        let port = self.front.https_port;
        let ended = outcome(
            Command::new(&self.curl)
                // What the machine's user likes otherwise is not asked.
                .args(["--disable", "--silent", "--noproxy", "*"])
                .args(["--resolve", &format!("{host}:{port}:127.0.0.1")])
                .args([
                    "--write-out",
                    "\n%{http_code} %{http_version} %{redirect_url}",
                ])
                .args(options)
                .arg(format!("https://{host}:{port}{target}")),
        );
        let (body, told) = ended.stdout.rsplit_once('\n').expect("curl tells");
        let told: Vec<_> = told.split(' ').collect();
        Got {
            code: ended.code.expect("curl ends by itself"),
            status: told[0].parse().unwrap(),
            version: told[1].to_owned(),
            location: told[2].to_owned(),
            body: body.to_owned(),
        }
    }
}

/// Whom this machine trusts: every file, its length and when it was changed.
fn trusted() -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let folders = [
        "/usr/local/share/ca-certificates",
        "/etc/ssl/certs",
        "/etc/pki/ca-trust/source/anchors",
        "/etc/ca-certificates/trust-source/anchors",
    ];
    let folders = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    folders
        .flatten()
        .map(|entry| {
            let entry = entry.unwrap();
            let about = entry.metadata().unwrap();
            (entry.path(), (about.len(), about.modified().unwrap()))
        })
        .collect()
}

fn site(caddy: &Path, gateway: &crate::harness::Running) -> Front {
    let site = [("KIDOBAN_SITE", "localhost")];
    Front::with(caddy, &gateway.address().to_string(), &site)
}

#[test]
fn the_site_is_served_over_tls() {
    let Some(curl) = peer("curl", "apt-get install curl") else {
        return;
    };
    let before = trusted();
    for caddy in caddies() {
        let gateway = Gateway::demo(&["--rate", "1/h"]).start();
        let front = site(&caddy, &gateway);
        let visitor = Visitor::new(curl.clone(), &front);

        let page = visitor.asks("localhost", "/", &[]);
        assert_eq!((page.code, page.status, &*page.version), (0, 200, "2"));
        assert!(page.body.contains("<html"), "{page:?}");

        let turn = ["--data", r#"{"kind":"look"}"#];
        let turn =
            |options: &[&str]| visitor.asks("localhost", "/api/turn", &[&turn, options].concat());
        let forged = ["--header", "X-Forwarded-For: 9.9.9.9"];
        let replies = [turn(&[]), turn(&["--http1.1"]), turn(&forged)];
        let statuses = replies.each_ref().map(|got| (&*got.version, got.status));
        assert_eq!(statuses, [("2", 200), ("1.1", 200), ("2", 429)]);
        assert!(replies[0].body.starts_with('{'), "{replies:?}");
        let refused = &replies[2].body;
        assert!(refused.contains(r#""code":"rate_limited""#), "{refused}");
        gateway.wait_for_log("the refusal", |record| {
            record["code"] == "rate_limited" && record["client"] == "127.0.0.1"
        });

        let metrics = visitor.asks("localhost", "/metrics", &[]);
        assert_eq!((metrics.status, &*metrics.body), (404, ""));

        // It was signed by nobody that this machine knows.
        let stranger = visitor.sends("localhost", "/", &[]);
        assert_eq!((stranger.code, stranger.status), (NOT_TRUSTED, 0));
        until("Caddy could not make the machine trust it", || {
            let said = front.log();
            said.contains("failed to install root certificate")
                .then_some(())
        });
    }
    assert_eq!(trusted(), before, "the machine trusts nobody more");
}

#[test]
fn without_tls_it_only_says_where_to_go() {
    let Some(curl) = peer("curl", "apt-get install curl") else {
        return;
    };
    for caddy in caddies() {
        let gateway = Gateway::demo(&[]).start();
        let front = site(&caddy, &gateway);
        let _visitor = Visitor::new(curl.clone(), &front);
        for (method, target) in [
            ("GET", "/"),
            ("POST", "/api/turn"),
            ("GET", "/api/health"),
            ("GET", "/metrics"),
        ] {
            let reply = front.send(&Request::new(method, target));
            let to = format!("https://localhost{target}");
            assert_eq!(
                (reply.status, reply.header("location"), &*reply.text()),
                (308, Some(&*to), ""),
                "{method}"
            );
        }
    }
}

#[test]
fn strangers_names_get_no_page_with_tls_or_without() {
    let Some(curl) = peer("curl", "apt-get install curl") else {
        return;
    };
    for caddy in caddies() {
        let gateway = Gateway::demo(&[]).start();
        let front = site(&caddy, &gateway);
        let visitor = Visitor::new(curl.clone(), &front);
        for target in ["/", "/api/health", "/metrics"] {
            let plain = Request::get(target).header("Host", "elsewhere.example");
            let plain = front.send(&plain);
            assert_eq!((plain.status, &*plain.text()), (421, ""), "{target}");

            // It has no certificate for that name, nor for an address, however little the visitor asks for.
            for host in ["elsewhere.example", "127.0.0.1"] {
                let got = visitor.sends(host, target, &["--insecure"]);
                assert_eq!((got.code, got.status), (NO_HANDSHAKE, 0), "{host}");
            }
            // The handshake by its own name, and then another.
            let other = ["--header", "Host: elsewhere.example"];
            let got = visitor.asks("localhost", target, &other);
            assert_eq!((got.status, &*got.body), (421, ""), "{target}");
        }
    }
}
