//! The moment between fork and exec, as a program of its own: the gateway starts
//! itself with a mark as its first argument, and that copy turns into the engine. So whatever must be
//! done inside the child is done without `unsafe`. Never returns to the gateway's
//! own life, never prints but when it fails.

use std::convert::Infallible;
use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::SigSet;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use signal_hook::consts::FORBIDDEN;

/// First argument of the launcher. Nobody types it.
const MARK: &str = "--kidoban-launch";
/// Behind stdin, stdout and stderr.
const FIRST_OWN_FD: i32 = 3;
/// By how much the engine goes before the gateway when memory runs out.
const OOM_SCORE_ADJ_MORE: i32 = 500;
const OOM_SCORE_ADJ_MAX: i32 = 1000;
const OOM_SCORE_ADJ: &str = "/proc/self/oom_score_adj";
/// The signals beyond are real-time ones, which nobody ignores by habit.
const LAST_STANDARD_SIGNAL: i32 = 31;
/// How the last line of a launcher that failed begins.
const FAILED: &str = "kidoban: cannot start the engine: ";
/// What runs the launcher: this very binary, also after it was replaced on disk.
pub const SELF: &str = "/proc/self/exe";

/// The arguments that make [`SELF`] a launcher of `program`.
pub fn arguments(program: &OsStr, open_files_soft: Option<u64>) -> [OsString; 4] {
    [
        MARK.into(),
        process::id().to_string().into(),
        // An unlimited soft limit has no number.
        open_files_soft
            .map_or_else(|| "unlimited".to_owned(), |n| n.to_string())
            .into(),
        program.into(),
    ]
}

/// Becomes the engine, if the first argument says so. Call before anything else.
pub fn become_engine_if_asked() {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == MARK) {
        let Err(failure) = become_engine(arguments);
        eprintln!("{FAILED}{failure}");
        process::exit(exit_code(&failure));
    }
}

fn become_engine(mut arguments: impl Iterator<Item = OsString>) -> Result<Infallible, io::Error> {
    let mut next = || arguments.next().ok_or(io::ErrorKind::InvalidInput);
    let parent = next()?;
    let open_files_soft = next()?;
    let program = next()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // A gateway that was gone before the line above sends no signal any more.
    let alive = rustix::process::getppid().map(Pid::as_raw_nonzero);
    if alive.is_none_or(|pid| OsString::from(pid.to_string()) != parent) {
        return Err(io::Error::other("the gateway is gone"));
    }
    reset_signals()?;
    // Whatever the gateway was started with, the engine gets its three pipes.
    close_fds::set_fds_cloexec(FIRST_OWN_FD, &[]);
    // Not worth failing for: it only says who goes first when memory runs out.
    let _ = raise_oom_score();
    let limit = Rlimit {
        current: open_files_soft.to_str().and_then(|n| n.parse().ok()),
        ..rustix::process::getrlimit(Resource::Nofile)
    };
    rustix::process::setrlimit(Resource::Nofile, limit)?;
    let argv: Vec<CString> = std::iter::once(program.clone())
        .chain(arguments)
        .map(|word| CString::new(word.into_vec()))
        .collect::<Result<_, _>>()?;
    // Not `execvp`: that hands a file that is no program to a shell.
    let Err(errno) = nix::unistd::execv(&argv[0], &argv);
    let failure = io::Error::from(errno);
    let shown = program.to_string_lossy();
    // What is not found may be what the file names in its first line.
    if failure.kind() == io::ErrorKind::NotFound && Path::new(&program).exists() {
        let missing = format!("{shown}: its interpreter was not found");
        return Err(io::Error::other(missing));
    }
    Err(io::Error::new(
        failure.kind(),
        format!("{shown}: {failure}"),
    ))
}

/// What a launcher that failed said, among the last words of an engine, and its exit code.
pub fn failure(last_words: &[String], code: Option<i32>) -> Option<(&str, u8)> {
    let said = last_words
        .iter()
        .find_map(|line| line.strip_prefix(FAILED))?;
    match code {
        Some(126) => Some((said, 126)),
        Some(127) => Some((said, 127)),
        Some(_) | None => None,
    }
}

/// An empty mask and default dispositions. What is ignored stays ignored across exec,
/// what is caught becomes default: so each ignored signal is caught for a moment.
fn reset_signals() -> io::Result<()> {
    SigSet::empty().thread_set_mask()?;
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let caught = Arc::new(AtomicBool::new(false));
    for signal in 1..=LAST_STANDARD_SIGNAL {
        let is_ignored = ignored & (1 << (signal - 1)) != 0;
        if is_ignored && !FORBIDDEN.contains(&signal) {
            signal_hook::flag::register(signal, Arc::clone(&caught))?;
        }
    }
    Ok(())
}

/// On top of the gateway's own, which may stand high already.
fn raise_oom_score() -> io::Result<()> {
    let own: i32 = fs::read_to_string(OOM_SCORE_ADJ)?
        .trim()
        .parse()
        .map_err(io::Error::other)?;
    let raised = (own.max(0) + OOM_SCORE_ADJ_MORE).min(OOM_SCORE_ADJ_MAX);
    fs::write(OOM_SCORE_ADJ, raised.to_string())
}

fn exit_code(failure: &io::Error) -> i32 {
    if failure.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    }
}
