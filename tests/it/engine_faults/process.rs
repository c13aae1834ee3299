//! The engine as a process: where it runs, how it dies, and that nothing of it is left.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::{gateway, served, turn};
use crate::harness::{Running, until};

/// Kills the engine's own process, as the kernel does when memory is short.
pub fn kill_engine(gateway: &Running) {
    let engine = until("one engine", || match gateway.children()[..] {
        [engine] => Some(engine),
        _ => None,
    });
    let pid = Pid::from_raw(i32::try_from(engine).unwrap()).unwrap();
    // Gone already is as good.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// A number of seconds that no other test's `sleep` is told.
pub fn unique_seconds(gateway: &Running) -> String {
    (1_000_000 + gateway.pid()).to_string()
}

/// Is there a process `sleep` of so many seconds?
pub fn sleeps(seconds: &str) -> bool {
    let words = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .any(|line| line == words.as_bytes())
}

/// One line of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches(':').trim().to_owned())
}

/// Waits until there is one child, and it lives.
pub fn one_engine(gateway: &Running) -> u32 {
    until(
        "one engine and no zombie",
        || match gateway.children()[..] {
            [engine] if !status(engine, "State")?.starts_with('Z') => Some(engine),
            _ => None,
        },
    )
}

fn descriptors(gateway: &Running) -> usize {
    let folder = format!("/proc/{}/fd", gateway.pid());
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn what_is_the_gateways_own_is_not_inherited() {
    let own = [
        "KIDOBAN_QUEUE",
        "LISTEN_FDNAMES",
        "NOTIFY_SOCKET",
        "WATCHDOG_USEC",
        "CREDENTIALS_DIRECTORY",
    ];
    let mut gateway = gateway(&["--engine-env", "GIVEN=by flag"]).env("OTHER", "kept");
    for name in own {
        gateway = gateway.env(name, "7");
    }
    let gateway = gateway.start();
    let told = |name: &str| {
        let reply = gateway.turn(&turn("-", &json!([format!("env:{name}")])));
        reply.json()["env"].clone()
    };
    for name in own {
        assert_eq!(told(name), Value::Null, "{name}");
    }
    assert_eq!(told("OTHER"), "kept");
    assert_eq!(told("GIVEN"), "by flag");
    assert_ne!(told("PATH"), Value::Null);
    assert_eq!(
        gateway.health()["queue"],
        7,
        "the gateway itself reads its own"
    );
}

#[test]
fn it_leads_a_group_of_its_own_and_no_signal_is_blocked_or_ignored() {
    let gateway = gateway(&[]).start();
    let pid = served(&gateway, "-").json()["pid"].as_u64().unwrap();
    let engine = one_engine(&gateway);
    assert_eq!(
        u64::from(engine),
        pid,
        "nothing stands between gateway and engine"
    );
    let pid = Pid::from_raw(i32::try_from(engine).unwrap()).unwrap();
    assert_eq!(rustix::process::getpgid(Some(pid)).unwrap(), pid);
    let ignored = status(engine, "SigIgn").unwrap();
    // The stub, a Rust program, ignores PIPE (13) by itself; 32 and up are the C library's own.
    let of_interest = 0x7fff_ffff & !(1 << 12);
    let bits = u64::from_str_radix(&ignored, 16).unwrap() & of_interest;
    assert_eq!(bits, 0, "{ignored}");
    let blocked = status(engine, "SigBlk").unwrap();
    assert_eq!(u64::from_str_radix(&blocked, 16).unwrap(), 0, "{blocked}");
}

#[test]
fn killed_while_idle_it_is_soon_back() {
    let gateway = gateway(&[]).start();
    let before = served(&gateway, "before").json()["pid"].clone();
    let killed_at = Instant::now();
    kill_engine(&gateway);
    let after = until("the next engine serves", || {
        let reply = gateway.turn(&turn("after", &json!([])));
        (reply.status == 200).then(|| reply.json())
    });
    assert_ne!(after["pid"], before);
    assert!(
        killed_at.elapsed() < Duration::from_secs(5),
        "the first deaths cost no pause"
    );
    one_engine(&gateway);
}

#[test]
fn fifty_deaths_leave_nothing_behind() {
    let gateway = gateway(&[]).start();
    let seconds = unique_seconds(&gateway);
    served(&gateway, "before");
    one_engine(&gateway);
    let before = descriptors(&gateway);
    for n in 0..50 {
        let steps = match n % 5 {
            0 => json!([format!("fork:{seconds}"), "exit:1"]),
            1 => json!([format!("fork:{seconds}"), "raw:garbage\n"]),
            2 => json!(["reply", "exit:0"]),
            3 => json!(["close-stdout"]),
            _ => json!(["stderr-raw:100000", "abort"]),
        };
        let reply = until("the engine is up", || {
            let reply = gateway.turn(&turn("dies", &steps));
            (reply.code() != "engine_down").then_some(reply)
        });
        // The line may have gone to one that had replied and was about to exit.
        let expected = if n % 5 == 2 { 200 } else { 502 };
        assert!(
            reply.status == expected || reply.status == 502,
            "{}",
            reply.text()
        );
    }
    until("the next engine serves", || {
        (gateway.turn(&turn("after", &json!([]))).status == 200).then_some(())
    });
    one_engine(&gateway);
    until("no grandchild is left", || {
        (!sleeps(&seconds)).then_some(())
    });
    // The connection of a test's last request may still be closing.
    until("as many descriptors as before", || {
        (descriptors(&gateway) <= before).then_some(())
    });
    assert_eq!(gateway.health()["waiting"], 0);
}
