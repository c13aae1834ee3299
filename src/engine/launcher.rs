//! The moment between fork and exec, as a program of its own: the gateway starts
//! itself with a mark as its first argument, and that copy turns into the engine. So whatever must be
//! done inside the child is done without `unsafe`. Never returns to the gateway's
//! own life, never prints but when it fails.

use std::convert::Infallible;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process;

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// First argument of the launcher. Nobody types it.
const MARK: &str = "--kidoban-launch";
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
        eprintln!("kidoban: cannot start the engine: {failure}");
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
    let limit = Rlimit {
        current: open_files_soft.to_str().and_then(|n| n.parse().ok()),
        ..rustix::process::getrlimit(Resource::Nofile)
    };
    rustix::process::setrlimit(Resource::Nofile, limit)?;
    let failure = process::Command::new(&program).args(arguments).exec();
    Err(io::Error::new(
        failure.kind(),
        format!("{}: {failure}", program.to_string_lossy()),
    ))
}

fn exit_code(failure: &io::Error) -> i32 {
    if failure.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    }
}
