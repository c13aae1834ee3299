//! The options as such: each is in `--help` with its variable, each can be checked
//! without a start, and a flag wins. That each is obeyed is in `options_obeyed`,
//! `listening`, and the files on what it is about.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::harness::{self, Gateway, kidoban, stub_engine};

/// An option that takes a value: two good values, and a bad one.
pub struct Sample {
    pub flag: &'static str,
    pub one: &'static str,
    pub other: &'static str,
    pub bad: &'static str,
    /// What the message about the bad one says besides the flag.
    pub told: &'static str,
}

const fn sample(
    flag: &'static str,
    [one, other]: [&'static str; 2],
    bad: &'static str,
    told: &'static str,
) -> Sample {
    Sample {
        flag,
        one,
        other,
        bad,
        told,
    }
}

/// Every option of `serve` that takes a value.
#[rustfmt::skip]
pub const SAMPLES: [Sample; 34] = [
    sample("listen", ["127.0.0.1:0", "127.0.0.2:0"], "localhost:80", "takes IP:PORT"),
    sample("admin", ["127.0.0.1:8788", "unix:/run/admin.sock"], "localhost:80", "takes IP:PORT"),
    sample("admin-host", ["one.example", "other"], "one.example:80", "takes a host's name"),
    sample("port-file", ["/one", "/other"], "", "a value is required"),
    sample("static", ["/one", "/other"], "", "a value is required"),
    sample("cors-origin", ["https://a.example", "*"], "a.example", "takes an origin"),
    sample("rate", ["3", "30/min"], "0", "takes tickets per second"),
    sample("burst", ["3", "4"], "0", "takes a whole number"),
    sample("limit-for", ["10.0.0.0/8=off", "10.0.0.0/8=2:3"], "10.0.0.0/8", "takes CIDR=RATE:BURST"),
    sample("cost", ["say=2", "look=0.5"], "say", "takes KIND=N"),
    sample("ipv6-prefix", ["56", "48"], "129", "1..=128"),
    sample("max-clients", ["10", "20"], "0", "takes a whole number"),
    sample("trusted-proxy", ["10.0.0.0/8", "unix"], "proxy.example", "no network such as"),
    sample("client-ip-header", ["x-real-ip", "forwarded"], "x real ip", "takes the name of a header"),
    sample("forwarded-for", ["first", "trusted"], "last", "[possible values: trusted, first]"),
    sample("queue", ["1", "2"], "0", "takes a whole number from 1"),
    sample("queue-order", ["fifo", "fair"], "lifo", "[possible values: fair, fifo]"),
    sample("ready-probe", ["{}", "[1]"], "{", "takes one line of JSON"),
    sample("write-timeout", ["1s", "2s"], "1", "takes a duration"),
    sample("max-wait", ["1s", "2s"], "1", "takes a duration"),
    sample("reply-timeout", ["1s", "2s"], "25h", "takes a duration"),
    sample("restart-delay-max", ["1s", "2s"], "0s", "takes a duration"),
    sample("engine-dir", ["/", "/usr"], "", "a value is required"),
    sample("max-body", ["1KiB", "2KiB"], "2GiB", "takes a size"),
    sample("max-reply", ["1KiB", "2KiB"], "0", "takes a size"),
    sample("max-input", ["1", "2"], "-1", "takes a whole number from 0"),
    sample("max-depth", ["1", "2"], "0", "takes a whole number from 1"),
    sample("kinds", ["look", "any"], "any,look", "stands alone"),
    sample("header-timeout", ["1s", "2s"], "soon", "takes a duration"),
    sample("body-timeout", ["1s", "2s"], "", "takes a duration"),
    sample("idle-timeout", ["1s", "2s"], "-1s", "takes a duration"),
    sample("max-connections", ["1", "2"], "many", "takes a whole number from 1"),
    sample("max-unsent", ["8MiB", "16MiB"], "1XB", "takes a size"),
    sample("drain-timeout", ["1s", "2s"], "1 fortnight", "takes a duration"),
];

/// The others: words to choose from, an option whose values are hidden, and switches.
#[rustfmt::skip]
pub const WORDS: [Sample; 2] = [
    sample("log-format", ["text", "json"], "xml", "[possible values: auto, text, json]"),
    sample("log-client", ["off", "prefix"], "some", "[possible values: full, prefix, off]"),
];
const SWITCHES: [&str; 2] = ["shadow", "check"];
const HIDDEN: &str = "engine-env";

/// The name of an option's variable.
pub fn variable(flag: &str) -> String {
    format!("KIDOBAN_{}", flag.replace('-', "_").to_uppercase())
}

/// Exit code, stdout, stderr.
pub fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let ended = harness::outcome(command);
    (ended.code, ended.stdout, ended.stderr)
}

/// The options that `--help` shows, each with its text.
pub fn helped() -> Vec<(String, String)> {
    let help = outcome(kidoban().args(["serve", "--help"])).1;
    let mut options: Vec<(String, String)> = Vec::new();
    for line in help.lines().map(str::trim) {
        if let Some(flag) = line.strip_prefix("--") {
            let flag = flag.split(' ').next().unwrap_or_default().to_owned();
            options.push((flag, line.to_owned()));
        } else if let Some((_, text)) = options.last_mut() {
            text.push(' ');
            text.push_str(line);
        }
    }
    options
}

#[test]
fn every_option_has_its_variable_in_the_help_and_a_sample_here() {
    let helped = helped();
    for (flag, text) in &helped {
        let variable = format!("[env: {}=", variable(flag));
        let shown = text.contains(&variable) || text.contains(&variable.replace('=', "]"));
        assert!(shown, "--{flag} names its variable: {text}");
    }
    let mut of_help: Vec<_> = helped.iter().map(|(flag, _)| flag.as_str()).collect();
    let samples = SAMPLES.iter().chain(&WORDS).map(|sample| sample.flag);
    let mut of_samples: Vec<_> = samples.chain(SWITCHES).chain([HIDDEN]).collect();
    of_help.sort_unstable();
    of_samples.sort_unstable();
    assert_eq!(of_help, of_samples);
}

#[test]
fn each_option_is_taken_from_its_variable_and_a_flag_wins() {
    for Sample {
        flag, one, other, ..
    } in SAMPLES.iter().chain(&WORDS)
    {
        let check = || {
            let mut command = kidoban();
            command.args(["serve", "--check"]).env(variable(flag), one);
            command
        };
        let stub = stub_engine();
        let (code, told, why) = outcome(check().arg("--").arg(&stub));
        assert_eq!(code, Some(0), "{flag}: {why}");
        let from_variable = format!("--{flag} = {one}  (environment)\n");
        assert!(told.contains(&from_variable), "{from_variable} in\n{told}");

        let (code, told, why) = outcome(
            check()
                .arg(format!("--{flag}={other}"))
                .arg("--")
                .arg(&stub),
        );
        assert_eq!(code, Some(0), "{flag}: {why}");
        let from_flag = format!("\n--{flag} = {other}\n");
        assert!(
            format!("\n{told}").contains(&from_flag),
            "{from_flag} in\n{told}"
        );
    }
}

#[test]
fn switches_have_variables_too() {
    let check = |value| {
        let mut command = kidoban();
        command
            .env("KIDOBAN_CHECK", "true")
            .env("KIDOBAN_SHADOW", value);
        let (code, told, why) = outcome(command.arg("--").arg(stub_engine()));
        assert_eq!(code, Some(0), "{why}");
        told
    };
    assert!(check("true").contains("--shadow = true  (environment)\n"));
    assert!(check("false").contains("--shadow = false  (environment)\n"));
}

/// The demo has the same options, and every command lives with variables that are none of its business.
#[test]
fn variables_do_not_get_in_a_commands_way() {
    for command in ["serve", "demo"] {
        let mut kidoban = kidoban();
        kidoban.args([command, "--check"]).env("KIDOBAN_RATE", "7");
        if command == "serve" {
            kidoban.arg("--").arg(stub_engine());
        }
        let (code, told, why) = outcome(&mut kidoban);
        assert_eq!(code, Some(0), "{command}: {why}");
        assert!(told.contains("--rate = 7  (environment)\n"), "{told}");
    }
    let (code, _, why) = outcome(kidoban().arg("engine").env("KIDOBAN_RATE", "7"));
    assert_eq!(code, Some(0), "{why}");
    let mut health = kidoban();
    health.args(["health", "unix:/nowhere"]);
    let (code, _, why) = outcome(health.env("KIDOBAN_LISTEN", "127.0.0.1:9"));
    assert_eq!(code, Some(1), "{why}");
}

#[test]
fn the_word_serve_may_be_left_out() {
    let gateway = Gateway::without_serve(&["--rate", "3", "--burst", "1"]).start();
    let reply = gateway.turn(r#"{"kind":"look"}"#);
    assert_eq!(reply.header("ratelimit-policy"), Some(r#""ip";q=1;w=1"#));
    let refused = gateway.turn(r#"{"kind":"look"}"#);
    assert_eq!(refused.json()["error"], "rate limit: 3 turns/sec per IP");
}

#[test]
fn check_hides_what_may_be_secret() {
    let mut command = kidoban();
    command.args(["--check", "--engine-env", "TOKEN=hunter2,hunter3=hunter4"]);
    command.args(["--engine-env", "EMPTY="]);
    let (code, told, _) = outcome(command.arg("--").arg(stub_engine()));
    assert_eq!(code, Some(0));
    assert!(told.contains("--engine-env = TOKEN=…, EMPTY=…\n"), "{told}");

    let mut command = kidoban();
    command.env("KIDOBAN_ENGINE_ENV", "TOKEN=hunter2,KEY=hunter3");
    let (code, told, _) = outcome(command.arg("--check").arg("--").arg(stub_engine()));
    assert_eq!(code, Some(0));
    let hidden = "--engine-env = TOKEN=…, KEY=…  (environment)\n";
    assert!(told.contains(hidden), "{told}");
    let (_, help, _) = outcome(command.arg("--help"));
    assert!(!help.contains("hunter"), "{help}");
}

#[test]
fn an_engine_that_is_absent_is_127() {
    let folder = tempfile::tempdir().unwrap();
    for check in [&["--check"][..], &[]] {
        let mut command = kidoban();
        command.args(check).env("PATH", folder.path());
        let (code, _, told) = outcome(&mut command);
        assert_eq!(code, Some(127), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        for word in ["`adv-sim`", "PATH", "`kidoban demo` needs none"] {
            assert!(told.contains(word), "{word} in {told}");
        }
        let path = folder.path().join("none").display().to_string();
        let (code, _, told) = outcome(kidoban().args(check).args(["--", &path]));
        assert_eq!(code, Some(127), "{told}");
        assert!(told.contains(&path) && !told.contains("PATH"), "{told}");
    }
    let (code, told, why) = outcome(kidoban().args(["demo", "--check"]).env("PATH", ""));
    assert_eq!(code, Some(0), "{told}{why}");
}

#[test]
fn an_engine_that_is_not_executable_is_126() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    for check in [&["--check"][..], &[]] {
        for engine in [plain.as_path(), folder.path()] {
            let (code, _, told) = outcome(kidoban().args(check).arg("--").arg(engine));
            assert_eq!(code, Some(126), "{told}");
            let sentence = format!("`{}` is not an executable file", engine.display());
            assert!(told.contains(&sentence), "{told}");
        }
    }
}

/// Checking starts nothing and binds nothing.
#[test]
fn check_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let listen = format!("unix:{}", path("sock"));
    let (port_file, log) = (path("ports"), path("seen"));
    let mut command = kidoban();
    command.args(["--check", "--listen", &listen, "--port-file", &port_file]);
    command.arg("--").arg(stub_engine()).args(["--log", &log]);
    assert_eq!(outcome(&mut command).0, Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
