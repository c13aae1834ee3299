//! The units in `config/`, read by systemd's own tools, and held against what the gateway
//! does. That systemd runs them is not tried here: it would have to be process 1.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args as _;
use kidoban::cli::Options;
use kidoban::systemd::BEYOND_THE_DRAIN;
use tempfile::TempDir;

use crate::engine_file::{serving, until_another_serves};
use crate::harness::{Gateway, Running, outcome, peer, until};

/// The highest exposure that is let pass, as systemd-analyze counts it: 0 to 10.
const EXPOSURE_MAX: f64 = 1.5;

fn unit(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("config")
        .join(name);
    fs::read_to_string(path).unwrap()
}

/// What the unit says under this name, in order.
fn said(unit: &str, name: &str) -> Vec<String> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(name));
    let values = lines.filter_map(|line| line.strip_prefix('='));
    values.map(str::to_owned).collect()
}

fn the(unit: &str, name: &str) -> String {
    let [value] = said(unit, name).try_into().unwrap_or_else(|values| {
        panic!("{name} is there once: {values:?}");
    });
    value
}

/// The units as they would be installed, with the program where it is on this machine.
fn installed() -> (TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["kidoban.service", "kidoban.socket"].map(|name| {
        let path = folder.path().join(name);
        let program = env!("CARGO_BIN_EXE_kidoban");
        let text = unit(name).replace("/usr/local/bin/kidoban", program);
        fs::write(&path, text).unwrap();
        path
    });
    (folder, paths)
}

#[test]
fn systemd_reads_the_units_without_a_word() {
    let Some(analyze) = peer("systemd-analyze", "apt-get install systemd") else {
        return;
    };
    let (_folder, units) = installed();
    let ended = outcome(
        Command::new(analyze)
            .args(["verify", "--man=no"])
            .args(units),
    );
    let all = (ended.code, &*ended.stdout, &*ended.stderr);
    assert_eq!(all, (Some(0), "", ""));
}

#[test]
fn the_service_is_exposed_to_little() {
    let Some(analyze) = peer("systemd-analyze", "apt-get install systemd") else {
        return;
    };
    let (_folder, [service, _]) = installed();
    let mut ask = Command::new(analyze);
    ask.args(["security", "--offline=yes", "--no-pager"])
        .arg(service);
    let ended = outcome(&mut ask);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let score = ended
        .stdout
        .split_once("Overall exposure level for kidoban.service: ");
    let score = score.and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    let score = score.unwrap_or_else(|| panic!("no score: {ended:?}"));
    assert!(score <= EXPOSURE_MAX, "{score}\n{}", ended.stdout);
}

/// How long a drain takes at most unless the operator says otherwise.
fn default_drain() -> Duration {
    let command = Options::augment_args(clap::Command::new("kidoban"));
    let mut flags = command.get_arguments();
    let flag = flags.find(|flag| flag.get_long() == Some("drain-timeout"));
    let default = &flag.unwrap().get_default_values()[0];
    humantime::parse_duration(default.to_str().unwrap()).unwrap()
}

#[test]
fn the_service_fits_what_the_gateway_does() {
    let service = unit("kidoban.service");
    assert_eq!(the(&service, "Type"), "notify");
    assert_eq!(the(&service, "KillMode"), "mixed");
    assert_eq!(the(&service, "OOMPolicy"), "continue");
    assert_eq!(the(&service, "ExecReload"), "/bin/kill -HUP $MAINPID");
    assert_eq!(
        the(&service, "EnvironmentFile"),
        "-/etc/kidoban/kidoban.env"
    );
    assert_eq!(the(&service, "Restart"), "always");
    assert!(the(&service, "MemoryMax").ends_with('M'));
    // A just-in-time compiler lives: it makes memory executable, reserves much more than it uses, and reads how much
    // the machine has.
    for name in [
        "MemoryDenyWriteExecute",
        "LimitAS",
        "LimitDATA",
        "LimitRSS",
        "LimitSTACK",
        "ProcSubset",
    ] {
        assert_eq!(said(&service, name), [""; 0], "{name}");
    }
    let stop = humantime::parse_duration(&the(&service, "TimeoutStopSec")).unwrap();
    assert_eq!(stop, default_drain() + BEYOND_THE_DRAIN);
    let socket = unit("kidoban.socket");
    assert_eq!(the(&socket, "ListenStream"), "/run/kidoban/kidoban.sock");
    assert_eq!(the(&socket, "SocketGroup"), "caddy");
    assert_eq!(the(&socket, "SocketMode"), "0660");
    // It would take the socket's folder away at each stop.
    assert_eq!(said(&service, "RuntimeDirectory"), [""; 0]);
}

/// A group of system calls and all that are in it.
fn calls(analyze: &Path, group: &str) -> BTreeSet<String> {
    let ended = outcome(Command::new(analyze).args(["syscall-filter", group]));
    assert_eq!(ended.code, Some(0), "{group}: {ended:?}");
    let lines = ended.stdout.lines().skip(1).map(str::trim);
    let names = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut all = BTreeSet::new();
    for name in names {
        if name.starts_with('@') {
            all.extend(calls(analyze, name));
        } else {
            all.insert(name.to_owned());
        }
    }
    all
}

/// What the unit's filter lets through, when its lines are applied in order.
fn let_through(analyze: &Path) -> BTreeSet<String> {
    let mut all = calls(analyze, "@default");
    let lines = said(&unit("kidoban.service"), "SystemCallFilter");
    assert!(lines.len() >= 2, "{lines:?}");
    for line in lines {
        let (groups, is_refused) = match line.strip_prefix('~') {
            Some(groups) => (groups, true),
            None => (&*line, false),
        };
        for group in groups.split(' ') {
            let group = calls(analyze, group);
            if is_refused {
                all = &all - &group;
            } else {
                all.extend(group);
            }
        }
    }
    all
}

/// Ends this gateway, which was started behind strace, and reads what that wrote: from the start to the end.
fn whole_trace(mut gateway: Running, trace: &Path) -> String {
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    until("the end of the trace", || {
        let text = fs::read_to_string(trace).ok()?;
        // Short numbers are padded.
        let is_its_end = |line: &str| {
            let rest = line.strip_prefix(&gateway.pid().to_string());
            rest.is_some_and(|rest| rest.trim_start().starts_with("+++ exited with 0"))
        };
        text.lines().any(is_its_end).then_some(text)
    })
}

/// The names of the system calls in a trace.
fn calls_in(trace: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (_, call) = line.split_once(' ')?;
        let (name, _) = call.trim_start().split_once('(')?;
        let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        name.bytes().all(is_name).then(|| name.to_owned())
    };
    trace.lines().filter_map(name).collect()
}

/// A gateway, and all that comes of it, traced into this file.
fn traced(strace: &Path, trace: &Path, options: &[&str]) -> Gateway {
    let [strace, trace] = [strace, trace].map(|path| path.to_str().unwrap());
    let words = [&[strace, "-D", "-f", "-q", "-o", trace], options].concat();
    Gateway::behind(&words, &["--rate", "1000000", "--burst", "1000000"])
}

/// From the start over turns and a swap to the end, the launcher and an engine included.
#[test]
fn the_filter_lets_all_through_that_the_gateway_asks_of_the_kernel() {
    let (Some(analyze), Some(strace)) = (
        peer("systemd-analyze", "apt-get install systemd"),
        peer("strace", "apt-get install strace"),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let gateway = traced(&strace, &trace, &[]).start();
    let old = serving(&gateway);
    gateway.signal("HUP");
    until_another_serves(&gateway, old);
    let used = calls_in(&whole_trace(gateway, &trace));
    for call in ["execve", "prlimit64", "pidfd_open", "prctl", "accept4"] {
        assert!(used.contains(call), "{call} is in the trace: {used:?}");
    }
    let refused: Vec<_> = used.difference(&let_through(&analyze)).cloned().collect();
    assert_eq!(refused, [""; 0]);
}

/// An engine with a just-in-time compiler, and work that gives it a reason to compile. That it does is not looked at.
const COMPILING_ENGINE: &str = "
    const work = (rounds) => {
        let sum = 0;
        for (let i = 0; i < rounds; i += 1) sum = (sum * 31 + i) % 1000003;
        return sum;
    };
    const lines = require('readline').createInterface({ input: process.stdin });
    lines.on('line', () => console.log(JSON.stringify({ sum: work(3000000) })));
";

/// What the filter refuses is refused here in the same way, and Node goes on without it: it asks for memory that it may
/// write and execute, as whoever has such a compiler does at its start, and replies as it should.
#[test]
fn an_engine_with_a_just_in_time_compiler_lives_with_the_filter() {
    let (Some(analyze), Some(strace), Some(node)) = (
        peer("systemd-analyze", "apt-get install systemd"),
        peer("strace", "apt-get install strace"),
        peer("node", "apt-get install nodejs"),
    ) else {
        return;
    };
    let error = the(&unit("kidoban.service"), "SystemCallErrorNumber");
    let let_through = let_through(&analyze);
    let sum = (0..3_000_000_u64).fold(0, |sum, i| (sum * 31 + i) % 1_000_003);
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let mut refused: BTreeSet<String> = BTreeSet::new();
    // Without one call it may ask for another.
    loop {
        let names: Vec<_> = refused.iter().map(String::as_str).collect();
        let inject = format!("inject={}:error={error}", names.join(","));
        let options: &[&str] = if names.is_empty() {
            &[]
        } else {
            &["-e", &inject]
        };
        let gateway = traced(&strace, &trace, options)
            .engine(&[node.to_str().unwrap(), "-e", COMPILING_ENGINE])
            .start();
        for _ in 0..2 {
            let reply = gateway.turn(r#"{"kind":"look"}"#);
            assert_eq!(
                (reply.status, &reply.json()["sum"]),
                (200, &sum.into()),
                "{names:?}"
            );
        }
        let trace = whole_trace(gateway, &trace);
        let asks_for_both = trace.contains("PROT_WRITE|PROT_EXEC");
        assert!(asks_for_both, "it has no such compiler");
        let injected = trace.lines().filter(|line| line.ends_with("(INJECTED)"));
        let injected: Vec<_> = injected.collect();
        for name in &refused {
            let [whole, resumed] = [format!(" {name}("), format!("<... {name} resumed>")];
            let is_refused = |line: &&str| line.contains(&whole) || line.contains(&resumed);
            assert!(injected.iter().any(is_refused), "{name} was not refused");
        }
        let more = &calls_in(&trace) - &let_through;
        if more.is_subset(&refused) {
            break;
        }
        refused.extend(more);
    }
}
