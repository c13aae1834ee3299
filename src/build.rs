//! Run by cargo before the crate is built: finds the commit that `--version` names. It
//! never fails a build: a source without a history is of an unknown commit. The
//! environment wins, for images and packages, which are built without the repository.

use std::env;
use std::path::Path;
use std::process::Command;

const COMMIT: &str = "KIDOBAN_COMMIT";
const DATE: &str = "KIDOBAN_COMMIT_DATE";
const UNKNOWN: &str = "unknown";
/// Files of a repository of which at least one changes when another commit is checked out.
const SIGNS: [&str; 3] = ["HEAD", "logs/HEAD", "packed-refs"];

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    for variable in [COMMIT, DATE] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let (commit, date) = from_environment()
        .or_else(from_git)
        .unwrap_or_else(|| (UNKNOWN.to_owned(), UNKNOWN.to_owned()));
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let told = match (commit.as_str(), date.as_str()) {
        (UNKNOWN, _) => "commit unknown".to_owned(),
        (commit, UNKNOWN) => commit.to_owned(),
        (commit, date) => format!("{commit} {date}"),
    };
    println!("cargo:rustc-env={COMMIT}={commit}");
    println!("cargo:rustc-env={DATE}={date}");
    println!("cargo:rustc-env=KIDOBAN_VERSION={version} ({told})");
}

fn from_environment() -> Option<(String, String)> {
    let said = |variable| {
        let value = env::var(variable).ok()?;
        let first_word = value.split_whitespace().next()?;
        Some(first_word.to_owned())
    };
    // A date alone would stand beside a commit that it may not be of.
    let commit = said(COMMIT)?;
    Some((commit, said(DATE).unwrap_or_else(|| UNKNOWN.to_owned())))
}

fn from_git() -> Option<(String, String)> {
    // Unpacked inside another project's repository, that project's commit is not ours.
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let here = env::var("CARGO_MANIFEST_DIR").ok()?;
    if Path::new(&root).canonicalize().ok()? != Path::new(&here).canonicalize().ok()? {
        return None;
    }
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for sign in SIGNS.into_iter().chain(branch.as_deref()) {
        // Cargo runs a script again and again for a file that is not there.
        if let Some(path) = git(&["rev-parse", "--git-path", sign])
            && Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let format = [
        "log",
        "-1",
        "--no-show-signature",
        "--abbrev=7",
        "--format=%h %cs",
    ];
    let (commit, date) = git(&format)?
        .split_once(' ')
        .map(|(commit, date)| (commit.to_owned(), date.to_owned()))?;
    Some((commit, date))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !said.trim().is_empty()).then(|| said.trim().to_owned())
}
