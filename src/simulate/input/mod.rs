//! Where arrivals come from: a pattern of traffic, or an access log. Gives them out in
//! order of time, one after the other; keeps clients' names and never lines.

pub mod filter;
mod lines;
pub mod log;
pub mod names;
pub mod pattern;
mod reorder;
mod spread;
pub mod time;
pub mod told;

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::logic::bucket::{Limit, Nanos};

use log::Log;
use names::TooMany;
use pattern::Pattern;
use told::Told;

/// One request of somebody, at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Since 1970-01-01T00:00:00Z in a log, since its own beginning in a pattern.
    pub at: Nanos,
    /// A number of [`Told::names`].
    pub client: u32,
}

/// What is to be read.
#[derive(Clone, Debug)]
pub enum Input {
    /// Made up.
    Pattern(Pattern),
    /// What happened.
    Log(Log),
}

impl Input {
    /// What its moments count from.
    pub fn moments(&self) -> Moments {
        match self {
            Self::Pattern(_) => Moments::SinceStart,
            Self::Log(_) => Moments::SinceEpoch,
        }
    }

    /// The file that is read, if one is.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Pattern(_) => None,
            Self::Log(log) => log.file.as_deref(),
        }
    }

    /// A pattern, or a plain file. What cannot be looked at is told when it is read.
    pub fn can_be_read_again(&self) -> bool {
        match self {
            Self::Pattern(_) => true,
            Self::Log(log) => log.file.as_ref().is_some_and(|file| {
                fs::metadata(file).map_or(true, |found| found.is_file() || found.is_dir())
            }),
        }
    }
}

/// What moments count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// A pattern's own beginning: `9.5 s`.
    SinceStart,
    /// 1970-01-01T00:00:00Z: `14:30:05`, in UTC.
    SinceEpoch,
}

/// How far a log is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Lines so far.
    pub lines: u64,
    /// Bytes of the file so far, as it lies there: of a compressed one, compressed bytes.
    pub bytes: u64,
    /// Its size, where it has one.
    pub of_bytes: Option<u64>,
}

/// A duration of the command line.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// Why there are no arrivals, or not all of them.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The log cannot be opened, read or unpacked.
    #[error("--log {0}: {1}")]
    Unreadable(String, #[source] io::Error),
    /// Nothing in it counts.
    #[error("--log {0}: {why}", why = nothing(.1))]
    Nothing(String, Box<Told>),
    /// More clients than one run takes.
    #[error("--log {0}: {1}; filter by --client, --since or --until")]
    TooManyClients(String, #[source] TooMany),
    /// The pattern cannot be played under this limit.
    #[error("--pattern {0}")]
    Pattern(#[from] pattern::PatternError),
}

/// Why there is nothing, in a sentence.
fn nothing(told: &Told) -> String {
    if told.lines == 0 {
        return "it is empty".to_owned();
    }
    let notes = told.notes().join("; ");
    let lines = told.lines;
    format!("no request is left of its {lines} lines: {notes}")
}

/// Reads all of it. `watch` hears now and then how far a log is, `each` every arrival, in
/// order of time. `limit` is what patterns that aim at a limit aim at.
///
/// # Errors
/// [`InputError`]. What was given out before is then worth nothing.
pub fn read(
    input: &Input,
    limit: &Limit,
    watch: &mut dyn FnMut(Progress),
    each: &mut dyn FnMut(Arrival),
) -> Result<Told, InputError> {
    match input {
        Input::Pattern(pattern) => Ok(pattern.play(limit, each)?),
        Input::Log(log) => log::read(log, watch, each),
    }
}
