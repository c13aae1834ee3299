//! What is told of the engine: how it stands since when, and how the last ones died. Kept by
//! the supervisor, read by whoever looks; bounded, and without any text of a client's.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::Status;
use super::pipe::Fault;
use crate::clock;

/// Deaths kept.
const DEATHS_MAX: usize = 8;

/// How one engine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It warms up, to serve or to take over.
    Starting,
    /// It takes turns.
    Up,
    /// There is none: it waits to be started.
    Down,
    /// It was replaced, and is on its way out.
    Leaving,
}

impl Stand {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Starting, Self::Up, Self::Down, Self::Leaving];

    /// As it stands in the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Up => "up",
            Self::Down => "down",
            Self::Leaving => "leaving",
        }
    }
}

impl From<Status> for Stand {
    fn from(status: Status) -> Self {
        match status {
            Status::Up => Self::Up,
            Status::Starting => Self::Starting,
            Status::Down { .. } => Self::Down,
        }
    }
}

/// How one engine died.
#[derive(Clone, Debug)]
pub struct Death {
    /// When it was reaped.
    pub at: Instant,
    /// What it did.
    pub cause: Fault,
    /// Its exit status, for a person.
    pub status: String,
    /// How long it had run.
    pub ran: Duration,
    /// Turns that it had served.
    pub turns: u64,
}

/// The engine's record.
#[derive(Clone, Debug)]
pub struct Record {
    /// How the one that serves stands.
    pub stand: Stand,
    /// Since when.
    pub since: Instant,
    /// Its process id, while there is one.
    pub pid: Option<u32>,
    /// Turns that this process has served.
    pub turns: u64,
    /// Since the gateway was started.
    pub deaths_total: u64,
    /// The last ones, newest first.
    pub deaths: VecDeque<Death>,
}

impl Record {
    /// Nothing was started yet.
    pub fn new() -> Self {
        Self {
            stand: Stand::Starting,
            since: clock::now(),
            pid: None,
            turns: 0,
            deaths_total: 0,
            deaths: VecDeque::with_capacity(DEATHS_MAX),
        }
    }

    /// The one that serves stands so now.
    pub fn stands(&mut self, stand: Stand, pid: Option<u32>, turns: u64) {
        // A fresh engine that took over has stood so since then.
        if self.stand != stand || self.pid != pid {
            self.since = clock::now();
        }
        self.stand = stand;
        self.pid = pid;
        self.turns = turns;
    }

    /// One more death; the oldest is forgotten for it if need be.
    pub fn died(&mut self, death: Death) {
        self.deaths_total += 1;
        self.deaths.truncate(DEATHS_MAX - 1);
        self.deaths.push_front(death);
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}
