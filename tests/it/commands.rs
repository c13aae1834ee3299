//! The small commands: `--version`, `completions`, `man`. The shells and the typesetter
//! themselves say whether what they are given is well formed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Outcome, absent, kidoban, outcome, peer};
use crate::options::helped;

fn said(arguments: &[&str]) -> String {
    let ended = outcome(kidoban().args(arguments));
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{arguments:?}");
    ended.stdout
}

fn succeeds(command: &mut Command) -> Outcome {
    let ended = outcome(command);
    assert_eq!(ended.code, Some(0), "{command:?}: {ended:?}");
    ended
}

#[test]
fn the_version_names_the_commit_and_its_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join(".git").exists() {
        return absent("these sources have no history");
    }
    let Some(git) = peer("git", "apt-get install git") else {
        return;
    };
    let mut ask = Command::new(git);
    ask.args(["log", "-1", "--abbrev=7", "--format=%h %cs"]);
    let head = succeeds(ask.current_dir(root)).stdout;
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!("kidoban {version} ({})\n", head.trim());
    assert_eq!(said(&["--version"]), expected);
    assert_eq!(said(&["-V"]), expected);
}

/// What the build script tells cargo, line by line, when it is run in this folder.
fn built_in(script: &Path, folder: &Path, given: &[(&str, &str)]) -> BTreeSet<String> {
    let mut run = Command::new(script);
    run.env_remove("KIDOBAN_COMMIT")
        .env_remove("KIDOBAN_COMMIT_DATE")
        .env("CARGO_PKG_VERSION", "1.2.3")
        .env("CARGO_MANIFEST_DIR", folder)
        .envs(given.iter().copied())
        .current_dir(folder);
    let said = succeeds(&mut run).stdout;
    let told = said
        .lines()
        .filter_map(|line| line.strip_prefix("cargo:rustc-env="));
    told.map(str::to_owned).collect()
}

#[test]
fn a_commit_that_is_not_ours_is_never_named() {
    let (Some(rustc), Some(git)) = (
        peer("rustc", "https://rustup.rs"),
        peer("git", "apt-get install git"),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("build");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/build.rs");
    let mut compile = Command::new(rustc);
    succeeds(
        compile
            .args(["--edition", "2024", "-o"])
            .arg(&script)
            .arg(source),
    );

    let lines = |lines: [&str; 3]| BTreeSet::from(lines.map(str::to_owned));
    let unknown = lines([
        "KIDOBAN_COMMIT=unknown",
        "KIDOBAN_COMMIT_DATE=unknown",
        "KIDOBAN_VERSION=1.2.3 (commit unknown)",
    ]);
    let inside = folder.path().join("other/kidoban");
    fs::create_dir_all(&inside).unwrap();
    assert_eq!(
        built_in(&script, &inside, &[]),
        unknown,
        "no history at all"
    );

    let other = folder.path().join("other");
    let commit = "-c user.name=a -c user.email=a@a.example commit -q --allow-empty -m other";
    for arguments in ["init -q", commit] {
        let mut run = Command::new(&git);
        succeeds(run.args(arguments.split(' ')).current_dir(&other));
    }
    assert_eq!(
        built_in(&script, &inside, &[]),
        unknown,
        "another project's"
    );
    let of_its_own = built_in(&script, &other, &[]);
    assert!(of_its_own.is_disjoint(&unknown), "{of_its_own:?}");

    let commit = ("KIDOBAN_COMMIT", "abc1234\ncargo:rustc-env=X=Y");
    let expected = lines([
        "KIDOBAN_COMMIT=abc1234",
        "KIDOBAN_COMMIT_DATE=unknown",
        "KIDOBAN_VERSION=1.2.3 (abc1234)",
    ]);
    assert_eq!(
        built_in(&script, &other, &[commit]),
        expected,
        "the environment wins"
    );
    let date = ("KIDOBAN_COMMIT_DATE", "2001-02-03");
    let expected = lines([
        "KIDOBAN_COMMIT=abc1234",
        "KIDOBAN_COMMIT_DATE=2001-02-03",
        "KIDOBAN_VERSION=1.2.3 (abc1234 2001-02-03)",
    ]);
    assert_eq!(built_in(&script, &inside, &[commit, date]), expected);
    assert_eq!(built_in(&script, &inside, &[date]), unknown, "a date alone");
}

#[test]
fn each_shell_takes_its_completions() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, install) in [
        ("bash", "apt-get install bash"),
        ("zsh", "apt-get install zsh"),
        ("fish", "apt-get install fish"),
    ] {
        let script = said(&["completions", shell]);
        for word in ["queue-order", "completions", "health"] {
            assert!(script.contains(word), "{shell} completes {word}");
        }
        let Some(shell) = peer(shell, install) else {
            continue;
        };
        let file = folder.path().join("script");
        fs::write(&file, script).unwrap();
        let parsed = succeeds(Command::new(shell).arg("-n").arg(&file));
        assert_eq!(parsed.stderr, "");
    }
    // No parser of these is in Debian.
    for shell in ["elvish", "powershell"] {
        assert!(said(&["completions", shell]).contains("queue-order"));
    }
    let unknown = outcome(kidoban().args(["completions", "ksh"]));
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("[possible values: bash,"),
        "{unknown:?}"
    );
}

/// Bash asks the script what can follow.
#[test]
fn a_word_is_completed() {
    let Some(bash) = peer("bash", "apt-get install bash") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script");
    fs::write(&file, said(&["completions", "bash"])).unwrap();
    let ask = r#"source "$1"; COMP_WORDS=(kidoban --queue-o); COMP_CWORD=1; _kidoban kidoban --queue-o kidoban; echo "${COMPREPLY[@]}""#;
    let ended = succeeds(Command::new(bash).args(["-c", ask, "bash"]).arg(file));
    assert_eq!(ended.stdout, "--queue-order\n");
}

/// The page as a terminal shows it, in plain letters.
fn shown(page: &str) -> Option<String> {
    let man = peer("man", "apt-get install man-db")?;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kidoban.1");
    fs::write(&file, page).unwrap();
    let mut show = Command::new(man);
    show.args(["--warnings", "-E", "UTF-8", "-l", "-P", "cat"])
        .arg(file)
        .envs([
            ("MANWIDTH", "1000"),
            ("GROFF_NO_SGR", "1"),
            ("MAN_KEEP_FORMATTING", ""),
        ]);
    let shown = succeeds(&mut show);
    assert_eq!(shown.stderr, "", "man warns of nothing");
    Some(shown.stdout)
}

#[test]
fn the_manual_is_one_page_of_the_whole_tool() {
    let page = said(&["man"]);
    if let Some(groff) = peer("groff", "apt-get install groff") {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kidoban.1");
        fs::write(&file, &page).unwrap();
        let mut set = Command::new(groff);
        set.args(["-man", "-ww", "-Tutf8", "-z"]).arg(file);
        assert_eq!(succeeds(&mut set).stderr, "", "groff warns of nothing");
    }
    let Some(shown) = shown(&page) else {
        return;
    };
    let lines: Vec<_> = shown.lines().map(str::trim).collect();
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    for command in [
        "[serve] [OPTION]... [-- ENGINE [ARG]...]",
        "demo",
        "engine",
        "health [URL]",
    ] {
        assert!(has(&format!("kidoban {command}")), "{command}\n{shown}");
    }
    let helped = helped();
    assert!(helped.len() > 30, "{helped:?}");
    for (flag, _) in helped {
        assert!(has(&format!("--{flag}")), "--{flag}\n{shown}");
        let variable = format!("KIDOBAN_{}", flag.replace('-', "_").to_uppercase());
        assert!(shown.contains(&variable), "{variable}\n{shown}");
    }
    let (_, exits) = shown.split_once("EXIT STATUS").expect("it has the section");
    for code in crate::readme::exit_codes() {
        let first_word = |line: &str| line.split_whitespace().next() == Some(&*code);
        assert!(exits.lines().any(first_word), "{code}\n{exits}");
    }
    assert!(
        !page.contains(env!("CARGO_MANIFEST_DIR")),
        "no path of where it was built"
    );
}
