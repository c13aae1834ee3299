//! What cannot be meant is said in one clear message, and nothing starts: exit 2.

use std::os::unix::ffi::OsStrExt;

use crate::harness::{kidoban, stub_engine};
use crate::options::{SAMPLES, Sample, WORDS, outcome, variable};

/// Runs `serve` with these arguments and variables before the stub: what it says, once it has ended with 2.
fn told(arguments: &[String], variables: &[(String, &str)]) -> String {
    let mut command = kidoban();
    command
        .arg("serve")
        .args(arguments)
        .arg("--")
        .arg(stub_engine());
    for (name, value) in variables {
        command.env(name, value);
    }
    let (code, stdout, stderr) = outcome(&mut command);
    assert_eq!(code, Some(2), "{arguments:?} {variables:?}: {stderr}");
    assert_eq!(stdout, "", "{arguments:?} {variables:?}");
    stderr
}

#[test]
fn each_bad_value_is_told_with_its_flag_and_what_that_takes() {
    let of_engine_env = [Sample {
        flag: "engine-env",
        one: "",
        other: "",
        bad: "=x",
        told: "takes NAME=VALUE",
    }];
    for Sample {
        flag,
        bad,
        told: why,
        ..
    } in SAMPLES.iter().chain(&WORDS).chain(&of_engine_env)
    {
        for said in [
            told(&[format!("--{flag}={bad}")], &[]),
            told(&[], &[(variable(flag), bad)]),
        ] {
            assert!(said.contains(&format!("--{flag}")), "{flag}: {said}");
            assert!(said.contains(why), "{flag}: {said}");
            assert_eq!(said.matches("error:").count(), 1, "{flag}: {said}");
        }
    }
}

#[test]
fn switches_take_no_value_and_their_variables_only_a_boolean() {
    for flag in ["shadow", "check"] {
        let said = told(&[format!("--{flag}=maybe")], &[]);
        assert!(said.contains(&format!("for '--{flag}'")), "{said}");
        let said = told(&[], &[(variable(flag), "maybe")]);
        assert!(said.contains(&format!("for '--{flag}'")), "{said}");
        assert!(said.contains("boolean"), "{said}");
    }
}

#[test]
fn one_bad_value_among_good_ones_is_found() {
    for (flag, values) in [
        ("listen", "127.0.0.1:0,here"),
        ("cors-origin", "*,here"),
        ("limit-for", "10.0.0.0/8=off,here"),
        ("cost", "say=1,here"),
        ("trusted-proxy", "unix,here"),
        ("kinds", "look,"),
        ("engine-env", "A=1,here"),
    ] {
        let said = told(&[], &[(variable(flag), values)]);
        assert!(said.contains(&format!("--{flag}")), "{flag}: {said}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bytes = std::ffi::OsStr::from_bytes(b"\xff");
    let mut command = kidoban();
    command
        .env("KIDOBAN_RATE", bytes)
        .arg("--")
        .arg(stub_engine());
    let (code, _, said) = outcome(&mut command);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn contradictions_are_told_all_together() {
    let mut command = kidoban();
    let options = [
        "--burst=2",
        "--cost=say=3",
        "--cost=jump=1",
        "--limit-for=10.0.0.0/8=off",
        "--limit-for=10.0.0.0/8=1:1",
        "--limit-for=2001:db8::/96=1:1",
        "--cors-origin=*",
        "--cors-origin=https://a.example",
        "--max-reply=2MiB",
        "--max-unsent=1MiB",
        "--listen=127.0.0.1:9",
        "--listen=127.0.0.1:9",
        "--engine-dir=/dev/null",
    ];
    let (code, _, said) = outcome(command.args(options).args(["--", "no-such-engine"]));
    assert_eq!(code, Some(2), "{said}");
    for contradiction in [
        "--cost: say=3 is more than a burst",
        "--cost: `jump` is no kind",
        "--limit-for: 10.0.0.0/8 is named twice",
        "--limit-for: 2001:db8::/96 is only a part of one client",
        "--cors-origin: * allows every origin",
        "--max-unsent: 1048576 bytes are less than one reply of --max-reply",
        "--listen: 127.0.0.1:9 is named twice",
        "--engine-dir: /dev/null is no directory",
    ] {
        assert!(said.contains(contradiction), "{contradiction} in\n{said}");
    }
    assert_eq!(said.lines().count(), 8, "one line each:\n{said}");
}

#[test]
fn an_unknown_flag_is_told() {
    for arguments in [
        &["--no-such-flag"][..],
        &["serve", "--no-such-flag"],
        &["demo", "--no-such-flag"],
        &["health", "--no-such-flag"],
    ] {
        let (code, _, said) = outcome(kidoban().args(arguments));
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains("'--no-such-flag'"), "{arguments:?}: {said}");
    }
    let (code, _, said) = outcome(kidoban().args(["--rate", "3", "demo"]));
    assert_eq!(code, Some(2), "options stand after their command: {said}");
}

#[test]
fn a_bad_log_filter_is_told() {
    for check in [&["--check"][..], &[]] {
        let mut command = kidoban();
        command.args(check).env("RUST_LOG", "kidoban=loud");
        let (code, _, said) = outcome(command.arg("--").arg(stub_engine()));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with("kidoban: RUST_LOG: "), "{said}");
    }
}
