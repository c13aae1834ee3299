//! The engine as a process: where it runs, how it dies, and that nothing of it is left.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::{gateway, served, turn};
use crate::harness::{Gateway, Running, stub_engine, until};

/// Kills the engine's own process, as the kernel does when memory is short.
pub fn kill_engine(gateway: &Running) {
    let engine = gateway.one_engine();
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
    let engine = gateway.one_engine();
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
fn fifty_deaths_leave_nothing_behind() {
    let gateway = gateway(&[]).start();
    let seconds = unique_seconds(&gateway);
    served(&gateway, "before");
    gateway.one_engine();
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
    gateway.one_engine();
    until("no grandchild is left", || {
        (!sleeps(&seconds)).then_some(())
    });
    // The connection of a test's last request may still be closing.
    until("as many descriptors as before", || {
        (descriptors(&gateway) <= before).then_some(())
    });
    assert_eq!(gateway.health()["waiting"], 0);
}

/// A folder with a copy of the stub, which can be taken away.
fn removable_engine() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let engine = folder.path().join("engine");
    fs::copy(stub_engine(), &engine).unwrap();
    (folder, engine)
}

#[test]
fn an_engine_that_cannot_be_started_any_more_is_tried_for_ever_and_comes_back() {
    let (_folder, engine) = removable_engine();
    let options = ["--log-format", "json", "--restart-delay-max", "200ms"];
    let gateway = Gateway::unlimited(&options)
        .engine(&[engine.to_str().unwrap()])
        .start();
    // Only then is the file no longer needed by the first one.
    served(&gateway, "the first engine runs");
    let away = engine.with_extension("away");
    fs::rename(&engine, &away).unwrap();
    kill_engine(&gateway);
    let failures = || {
        let records = gateway.log_records();
        let failures =
            (records.iter()).filter(|record| record["message"] == "the engine cannot be started");
        failures.count()
    };
    until("it is tried again, after pauses", || {
        (failures() >= 8).then_some(())
    });
    let (known, since) = (failures(), Instant::now());
    until("and again", || {
        let reply = gateway.turn(&turn("-", &json!([])));
        assert_eq!((reply.status, reply.code().as_str()), (503, "engine_down"));
        assert_eq!(reply.retry_after(), Some(1));
        assert_eq!(gateway.health()["engine"], "down");
        (failures() >= known + 3).then_some(())
    });
    // Two whole pauses at the very least, each 0.8 of the ceiling or more.
    assert!(
        since.elapsed() > Duration::from_millis(320),
        "{:?}",
        since.elapsed()
    );
    fs::rename(&away, &engine).unwrap();
    served(&gateway, "it is back");
}

/// The file is there and its interpreter is not: the launcher runs, and such a start is a death like any other.
#[test]
fn an_engine_without_its_interpreter_is_a_death() {
    let (_folder, engine) = removable_engine();
    let options = ["--log-format", "json", "--restart-delay-max", "200ms"];
    let gateway = Gateway::unlimited(&options)
        .engine(&[engine.to_str().unwrap()])
        .start();
    // Only then is the file no longer needed by the first one.
    served(&gateway, "the first engine runs");
    let broken = engine.with_extension("broken");
    fs::write(&broken, "#!/absent/interpreter\n").unwrap();
    fs::set_permissions(&broken, fs::metadata(&engine).unwrap().permissions()).unwrap();
    let whole = engine.with_extension("whole");
    fs::copy(&engine, &whole).unwrap();
    fs::rename(&broken, &engine).unwrap();
    kill_engine(&gateway);
    gateway.wait_for_log("the launcher says why", |record| {
        let line = record["line"].as_str().unwrap_or_default();
        line.contains("cannot start the engine")
    });
    gateway.wait_for_log("a death", |record| {
        record["message"] == "the engine is dead" && record["status"] == "exit status: 126"
    });
    fs::rename(&whole, &engine).unwrap();
    until("it is back", || {
        (gateway.turn(&turn("-", &json!([]))).status == 200).then_some(())
    });
}

/// Every way out takes the whole group along, the hurried one too.
#[test]
fn a_second_signal_leaves_no_grandchild() {
    let mut gateway = gateway(&["--drain-timeout", "1h"]).start();
    let seconds = unique_seconds(&gateway);
    let hangs = turn("-", &json!([format!("fork:{seconds}"), "hang"]));
    let address = gateway.address();
    let client = thread::spawn(move || crate::http::Request::turn(hangs).send_to(address));
    until("the grandchild lives", || sleeps(&seconds).then_some(()));
    gateway.signal("TERM");
    until("the drain has begun", || {
        // Nothing is accepted any more: the connection fails.
        let health = crate::http::Request::get("/api/health");
        gateway.try_send(&health).is_err().then_some(())
    });
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(143));
    until("no grandchild is left", || {
        (!sleeps(&seconds)).then_some(())
    });
    assert!(client.join().unwrap().is_err(), "the turn got no answer");
}
