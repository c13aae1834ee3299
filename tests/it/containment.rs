//! What an engine is given and what it may leave behind: nothing of the gateway's own,
//! and nothing that outlives it. An engine that is no program is never run by a shell.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine_file::{EngineFile, PROBE, deaths, serving, until_waiting};
use crate::harness::{
    Gateway, Running, kidoban, outcome, peer, stub_engine, until, wait_until_gone,
};
use crate::http::Request;

/// One line of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.strip_prefix(':')?.trim().to_owned())
}

/// A set of signals, as the kernel tells it.
fn signals(pid: u32, name: &str) -> u64 {
    u64::from_str_radix(&status(pid, name).unwrap(), 16).unwrap()
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

/// Everybody whose parent this is, zombies included.
fn children(parent: u32) -> BTreeSet<u32> {
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| status(*pid, "PPid").is_some_and(|id| id == parent.to_string()))
        .collect()
}

/// Children and theirs.
fn descendants(parent: u32) -> BTreeSet<u32> {
    let mut all = children(parent);
    for child in all.clone() {
        all.extend(descendants(child));
    }
    all
}

/// Not even a zombie is left of it.
fn until_reaped(pid: u32) {
    until("it is reaped", || {
        (!fs::exists(format!("/proc/{pid}")).unwrap()).then_some(())
    });
}

/// A program that becomes the rest of its command line, with all signals ignored and blocked that can be.
const DEAF: &str = "
import os, signal, sys
cannot = {signal.SIGKILL, signal.SIGSTOP, signal.SIGILL, signal.SIGFPE, signal.SIGSEGV}
for number in set(range(1, 32)) - cannot:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execvp(sys.argv[1], sys.argv[1:])
";

/// A gateway that is started so; the folder must outlive its start.
fn deaf(options: &[&str]) -> Option<(TempDir, Gateway)> {
    let python = peer("python3", "apt install python3")?;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("deaf.py");
    fs::write(&script, DEAF).unwrap();
    let first = format!(
        "set -- '{}' '{}' \"$@\"",
        python.display(),
        script.display()
    );
    Some((folder, Gateway::after(&first, options)))
}

/// `cat` replies with the line that it reads, and changes no signal's disposition.
#[test]
fn no_signal_is_ignored_or_blocked_whatever_the_gateway_was_given() {
    let Some((_folder, gateway)) = deaf(&PROBE) else {
        return;
    };
    let gateway = gateway.engine(&["cat"]).start();
    let ignored = signals(gateway.pid(), "SigIgn");
    assert_ne!(ignored & (1 << 9), 0, "the gateway was given USR1 ignored");
    let engine = gateway.one_engine();
    assert_eq!(status(engine, "Name").unwrap(), "cat");
    for (name, what) in [
        ("SigIgn", "ignored"),
        ("SigBlk", "blocked"),
        ("SigCgt", "caught"),
    ] {
        // 32 and up are the C library's own.
        let standard = signals(engine, name) & 0x7fff_ffff;
        assert_eq!(standard, 0, "{what}: {standard:x}");
    }
}

/// Started with every signal blocked, the gateway still hears those that it lives by.
#[test]
fn a_gateway_that_was_started_deaf_hears_its_signals() {
    let Some((_folder, gateway)) = deaf(&[]) else {
        return;
    };
    let mut gateway = gateway.start();
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn it_has_three_pipes_and_no_other_descriptor() {
    let gateway = Gateway::after("exec 7</dev/null 8>/dev/null 9</", &PROBE).start();
    for stray in [7, 8, 9] {
        let link = format!("/proc/{}/fd/{stray}", gateway.pid());
        assert!(fs::read_link(link).is_ok(), "the gateway was given {stray}");
    }
    let folder = fs::read_dir(format!("/proc/{}/fd", gateway.one_engine())).unwrap();
    let open = folder.map(|entry| {
        let entry = entry.unwrap();
        let number = entry.file_name().into_string().unwrap();
        let leads_to = fs::read_link(entry.path()).unwrap();
        (
            number.parse::<u32>().unwrap(),
            leads_to.display().to_string(),
        )
    });
    let mut engines: Vec<_> = open.collect();
    engines.sort();
    let numbers: Vec<_> = engines.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 2], "{engines:?}");
    for (_, leads_to) in engines {
        assert!(leads_to.starts_with("pipe:"), "{leads_to}");
    }
}

/// Also where the gateway itself stands high on the list, as in a container without promises.
#[test]
fn it_goes_before_the_gateway_when_memory_runs_out() {
    let score = |pid: u32| -> i32 {
        let score = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
        score.trim().parse().unwrap()
    };
    for own in ["0", "300", "800"] {
        let raise = format!("echo {own} >/proc/self/oom_score_adj");
        let gateway = Gateway::after(&raise, &PROBE).start();
        let (engine, own) = (score(gateway.one_engine()), score(gateway.pid()));
        assert!(engine > own && engine >= 500, "{engine} {own}");
    }
}

#[test]
fn a_dead_engines_group_is_killed_and_reaped_to_the_last() {
    let file = EngineFile::stub("");
    let gateway = file.gateway(&[]).start();
    let before = serving(&gateway);
    let forks = json!({ "kind": "look", "do": ["fork:600", "fork:600", "fork:600", "reply"] });
    assert_eq!(gateway.turn(&forks.to_string()).status, 200);
    let group = children(before);
    assert_eq!(group.len(), 3);
    kill(before);
    for member in group {
        until_reaped(member);
    }
    let engine = gateway.one_engine();
    assert_eq!(descendants(gateway.pid()), BTreeSet::from([engine]));
}

/// Out of its group it is out of reach, and yet no zombie stays when it ends.
#[test]
fn who_left_the_group_is_reaped_when_it_ends() {
    let file = EngineFile::stub("");
    let gateway = file.gateway(&[]).start();
    let before = serving(&gateway);
    let forks = json!({ "kind": "look", "do": ["fork-away:600", "reply"] });
    assert_eq!(gateway.turn(&forks.to_string()).status, 200);
    let away = until("it has left", || {
        let child = *children(before).first()?;
        let name = status(child, "Name")?;
        (name == "sleep").then_some(child)
    });
    kill(before);
    until_reaped(before);
    until("the gateway adopts it", || {
        children(gateway.pid()).contains(&away).then_some(())
    });
    assert_ne!(status(away, "State").unwrap().chars().next(), Some('Z'));
    kill(away);
    until_reaped(away);
    until("another engine serves", || {
        (gateway.turn(r#"{"kind":"look"}"#).status == 200).then_some(())
    });
    gateway.one_engine();
}

/// In mid-turn and in mid-swap, so that no end of file tells them to leave.
#[test]
fn killed_the_gateway_takes_both_engines_along() {
    let file = EngineFile::stub("");
    let mut gateway = file.gateway(&PROBE).start();
    let old = serving(&gateway);
    let address = gateway.address();
    let hangs = Request::turn(r#"{"kind":"look","do":"hang"}"#);
    let open = thread::spawn(move || hangs.send_to(address).is_err());
    until_waiting(&gateway, 1);
    file.put_stub(&format!(
        "--start-when '{}'",
        file.beside("never").display()
    ));
    gateway.signal("HUP");
    let fresh = until("two engines", || {
        let mut engines = gateway.children().into_iter();
        let fresh = engines.find(|engine| *engine != old)?;
        // It is the engine, and no longer on its way there.
        (status(fresh, "Name")? == "stub-engine").then_some(fresh)
    });
    gateway.signal("KILL");
    gateway.wait();
    assert!(open.join().unwrap());
    wait_until_gone("the old engine", old);
    wait_until_gone("the fresh engine", fresh);
}

fn last_death(gateway: &Running, known: usize) -> Value {
    until("a death", || deaths(gateway).get(known).cloned())
}

#[test]
fn a_death_record_has_all_that_helps_and_nothing_that_was_said() {
    let client = "2001:db8:77:1::5";
    let shown = [
        ("full", json!(client)),
        ("prefix", json!("2001:db8:77::/48")),
        ("off", Value::Null),
    ];
    for (how, client_shown) in shown {
        let file = EngineFile::stub("");
        let options = ["--log-client", how, "--kinds", "any"];
        let gateway = file.gateway(&options).start();
        let dies = |kind: &str, step: &str| {
            let line = json!({ "kind": kind, "input": "open sesame", "do": ["stderr:9", step] });
            let line = line.to_string();
            let turn = Request::turn(&line).from(client);
            let reply = until("an engine is up", || {
                let reply = gateway.send(&turn);
                (reply.status != 503).then_some(reply)
            });
            assert_eq!(reply.status, 502);
            line.len()
        };
        serving(&gateway);
        let bytes = dies("say", "exit:3");
        let death = last_death(&gateway, 0);
        assert_eq!(death["level"], "WARN");
        assert_eq!(death["cause"], "it exited");
        assert_eq!(death["status"], "exit status: 3");
        assert!(
            death["ran_ms"].as_u64().is_some_and(|ran| ran < 60_000),
            "{death}"
        );
        assert_eq!(death["turns"], 1, "those that were answered");
        assert_eq!(death["client"], client_shown);
        assert_eq!(death["kind"], "say");
        let line_bytes = death["line_bytes"].as_u64().unwrap();
        assert_eq!(line_bytes, bytes as u64 + 1, "its line end counts");
        let hash = death["line_hash"].as_str().unwrap().to_owned();
        assert_eq!(hash.len(), 16);
        assert!(
            hash.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{hash}"
        );
        let last_stderr = death["last_stderr"].to_string();
        assert!(last_stderr.contains("stub line 8"), "{last_stderr}");
        assert!(
            !last_stderr.contains("stub line 3"),
            "only the last: {last_stderr}"
        );

        dies("say", "exit:3");
        assert_eq!(last_death(&gateway, 1)["line_hash"], hash, "the same line");
        dies("a\u{1b}\nb", "raw:garbage\n");
        let death = last_death(&gateway, 2);
        assert_ne!(death["line_hash"], hash);
        assert_eq!(death["cause"], "it wrote a line that is not JSON");
        assert_eq!(death["turns"], 0);
        let kind = death["kind"].as_str().unwrap();
        assert!(!kind.contains(['\u{1b}', '\n']), "{kind:?}");

        until("the next is up", || {
            (gateway.health()["engine"] == "up").then_some(())
        });
        kill(gateway.one_engine());
        let death = last_death(&gateway, 3);
        assert!(
            death["status"].as_str().unwrap().contains("SIGKILL"),
            "{death}"
        );
        for field in ["client", "kind", "line_bytes", "line_hash"] {
            assert_eq!(death[field], Value::Null, "no turn was in it: {field}");
        }
        assert!(!gateway.log().contains("sesame"));
        if how != "full" {
            assert!(!gateway.log().contains(client));
        }
    }
}

/// Files that may be executed, and are no programs.
fn no_programs(marker: &str) -> [(&'static str, Vec<u8>); 4] {
    let mut broken_elf = fs::read(stub_engine()).unwrap();
    broken_elf.truncate(100);
    [
        ("no interpreter", b"#!/absent/interpreter\n".to_vec()),
        (
            "a script without its first line",
            format!("touch '{marker}'\n").into_bytes(),
        ),
        ("half a program", broken_elf),
        ("nothing", Vec::new()),
    ]
}

#[test]
fn no_program_at_the_start_is_126_and_one_sentence() {
    let file = EngineFile::stub("");
    let marker = file.beside("marker");
    let path = file.path().display().to_string();
    for (what, content) in no_programs(marker.to_str().unwrap()) {
        file.put(&content);
        let listen = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log-format",
            "json",
            "--",
        ];
        let ended = outcome(kidoban().args(listen).arg(&path));
        assert_eq!(ended.code, Some(126), "{what}: {}", ended.stderr);
        let said: Vec<_> = (ended.stderr.lines())
            .filter(|line| serde_json::from_str::<Value>(line).is_err())
            .collect();
        let [sentence] = said[..] else {
            panic!("{what}: {said:?}")
        };
        let begins = format!("kidoban: the engine cannot be run: {path}: ");
        assert!(sentence.starts_with(&begins), "{what}: {sentence}");
        assert!(!marker.exists(), "{what}: no shell has run it");
    }
}

/// Later on it is a death like any other: tried again after pauses, and served again when it is whole.
#[test]
fn no_program_later_on_is_a_death() {
    let file = EngineFile::stub("");
    let marker = file.beside("marker");
    let gateway = file.gateway(&["--restart-delay-max", "100ms"]).start();
    for (what, content) in no_programs(marker.to_str().unwrap()) {
        let engine = serving(&gateway);
        file.put(&content);
        let known = deaths(&gateway).len();
        kill(engine);
        until("deaths after pauses", || {
            (deaths(&gateway).len() >= known + 7).then_some(())
        });
        let statuses: BTreeSet<_> = (deaths(&gateway)[known + 1..].iter())
            .map(|death| death["status"].as_str().unwrap().to_owned())
            .collect();
        assert!(
            statuses.iter().eq(["exit status: 126"]),
            "{what}: {statuses:?}"
        );
        let refused = gateway.turn(r#"{"kind":"look"}"#);
        assert!(matches!(refused.status, 502 | 503), "{}", refused.text());
        assert!(!marker.exists(), "{what}: no shell has run it");
        file.put_stub("");
        until("it serves again", || {
            (gateway.turn(r#"{"kind":"look"}"#).status == 200).then_some(())
        });
    }
}
