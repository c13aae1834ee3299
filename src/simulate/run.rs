//! Runs arrivals through the algorithms, side by side, and measures what each let in. Keeps
//! counts for each client and the turns of the last window, and never the arrivals: its
//! memory does not grow with the length of a log. Never asks the time: it is the arrivals'.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::{Algorithm, Limiter, Verdict};
use crate::simulate::strip::Strip;

pub(super) use lanes::Lanes;
use recent::Recent;

mod lanes;
mod recent;

/// Algorithms side by side, at most.
const LANES: usize = Algorithm::ALL.len();
/// Arrivals that are decided on together: enough that clients come back within a batch
/// while their states are still at hand, and little memory beside theirs.
const BATCH: usize = 65_536;
/// The stretch that [`Outcome::worst_second`] is about.
const SECOND: Nanos = 1_000_000_000;

/// What one algorithm made of all arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Which one.
    pub algorithm: Algorithm,
    /// Turns let in, the delayed ones among them.
    pub admitted: u64,
    /// Turns turned away: all others.
    pub refused: u64,
    /// Those of the admitted that were served later than they came.
    pub delayed: u64,
    /// Clients that were refused at least once.
    pub refused_clients: u64,
    /// The most turns of any one client within any window of the limit, wherever it begins.
    /// Delayed turns count when they are served.
    pub worst_window: u64,
    /// Whose window that was, and the first moment of it: of several the first that was so
    /// full. None if nothing was let in.
    pub fullest: Option<(u32, Nanos)>,
    /// The most turns of all clients together within any one second, likewise.
    pub worst_second: u64,
    /// The longest that a turn was delayed.
    pub longest_wait: Duration,
    /// Jain's index (Jain, Chiu and Hawe, 1984) over the share that each client got of what
    /// it asked for: 1 when all shares are equal, 1/n when one of n clients got everything.
    pub fairness: f64,
    /// What the algorithm keeps for one client, at most.
    pub bytes_per_client: u64,
}

/// What came, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Turns that came.
    pub arrivals: u64,
    /// Clients they were of.
    pub clients: u64,
    /// One for each algorithm, in the order they were asked for.
    pub outcomes: Vec<Outcome>,
    /// All of it as one line for each algorithm.
    pub strip: Strip,
}

/// A run that goes on: arrivals go in one after the other, and a [`Summary`] comes out.
pub struct Run {
    limit: Limit,
    lanes: Vec<Lane>,
    /// Arrivals that no algorithm has seen yet.
    batch: Vec<Arrived>,
    /// Of each client, by its number: turns refused by each algorithm. Apart, since most are never refused.
    refused: Vec<[u64; LANES]>,
    /// Turns that are served later than they came: when, whose, and by which lane.
    waiting: BinaryHeap<Reverse<(Nanos, u32, u8)>>,
    recent: Recent,
    strip: Strip,
    arrivals: u64,
}

/// One algorithm, and what it did to all clients together.
struct Lane {
    algorithm: Algorithm,
    limiter: Box<dyn Limiter>,
    delayed: u64,
    longest_wait: Nanos,
}

/// One turn, and what became of it.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Nanos,
    client: u32,
    /// By which algorithms it was served on arrival, and which refused it.
    served: Lanes,
    refused: Lanes,
}

impl Run {
    /// A run with no arrivals yet. Each algorithm is asked for at most once.
    pub fn new(limit: &Limit, algorithms: &[Algorithm]) -> Self {
        let start = |algorithm: &Algorithm| Lane {
            algorithm: *algorithm,
            limiter: algorithm.start(limit),
            delayed: 0,
            longest_wait: 0,
        };
        Self {
            limit: limit.clone(),
            lanes: algorithms.iter().take(LANES).map(start).collect(),
            batch: Vec::with_capacity(BATCH),
            refused: Vec::new(),
            waiting: BinaryHeap::new(),
            recent: Recent::new(limit.window_nanos()),
            strip: Strip::default(),
            arrivals: 0,
        }
    }

    /// One more arrival. Moments never go back.
    pub fn arrive(&mut self, at: Nanos, client: u32) {
        self.batch.push(Arrived {
            at,
            client,
            served: Lanes::NONE,
            refused: Lanes::NONE,
        });
        if self.batch.len() == BATCH {
            self.decide();
            self.measure();
        }
    }

    /// Each algorithm sees the whole batch before the next does: with one at a time at work,
    /// its clients' states are at hand for the processor.
    fn decide(&mut self) {
        for (n, lane) in (0..).zip(&mut self.lanes) {
            for arrived in &mut self.batch {
                match lane.limiter.decide(arrived.client, arrived.at) {
                    Verdict::Admitted => arrived.served.add(n),
                    Verdict::Refused => arrived.refused.add(n),
                    Verdict::Delayed(until) => {
                        lane.delayed += 1;
                        let wait = until.saturating_sub(arrived.at);
                        lane.longest_wait = lane.longest_wait.max(wait);
                        self.waiting.push(Reverse((until, arrived.client, n)));
                    }
                }
            }
        }
    }

    /// Counts what became of the batch, in order of time, and empties it.
    fn measure(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        for arrived in batch.drain(..) {
            self.arrivals += 1;
            self.recent.asked(arrived.client);
            if arrived.refused != Lanes::NONE {
                let refused = at_number(&mut self.refused, arrived.client);
                for (n, count) in (0..).zip(refused) {
                    *count += u64::from(arrived.refused.has(n));
                }
            }
            self.serve_waiting(arrived.at);
            self.recent
                .served(arrived.at, arrived.client, arrived.served);
            let delayed = arrived.served.neither(arrived.refused, self.lanes.len());
            self.strip
                .add(arrived.at, arrived.served, delayed, arrived.refused);
        }
        self.batch = batch;
    }

    /// Serves the delayed turns that are due by now, each at its moment.
    fn serve_waiting(&mut self, now: Nanos) {
        while let Some(Reverse((until, client, lane))) = self.waiting.peek().copied()
            && until <= now
        {
            self.waiting.pop();
            self.recent.served(until, client, Lanes::only(lane));
        }
    }

    /// Serves what still waits, and says what became of everything.
    pub fn finish(mut self) -> Summary {
        self.decide();
        self.measure();
        self.serve_waiting(Nanos::MAX);
        let numbers = self.recent.asked_by_each().len();
        self.refused.resize(numbers, [0; LANES]);
        let outcomes = self.lanes.iter().enumerate();
        Summary {
            arrivals: self.arrivals,
            clients: self
                .recent
                .asked_by_each()
                .filter(|asked| *asked > 0)
                .count() as u64,
            outcomes: outcomes.map(|(n, lane)| self.outcome(n, lane)).collect(),
            strip: self.strip,
        }
    }

    fn outcome(&self, n: usize, lane: &Lane) -> Outcome {
        let clients = || {
            let counts = self.recent.asked_by_each().zip(&self.refused);
            let counts = counts.map(|(asked, refused)| (asked, refused[n]));
            counts.filter(|(asked, _)| *asked > 0)
        };
        let refused = clients().map(|(_, refused)| refused).sum();
        Outcome {
            algorithm: lane.algorithm,
            admitted: self.arrivals - refused,
            refused,
            delayed: lane.delayed,
            refused_clients: clients().filter(|(_, refused)| *refused > 0).count() as u64,
            worst_window: self.recent.worst_window(n),
            fullest: self.recent.fullest(n),
            worst_second: self.recent.worst_second(n),
            longest_wait: Duration::from_nanos(lane.longest_wait),
            fairness: jain(clients().map(|(asked, refused)| share(asked - refused, asked))),
            bytes_per_client: lane.algorithm.state().most(&self.limit),
        }
    }
}

/// What stands at a client's number, which may be new.
fn at_number<T: Copy + Default>(of_clients: &mut Vec<T>, client: u32) -> &mut T {
    let number = client as usize;
    if number >= of_clients.len() {
        of_clients.resize(number + 1, T::default());
    }
    &mut of_clients[number]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share: a billionth more or less says nothing"
)]
fn share(admitted: u64, asked: u64) -> f64 {
    admitted as f64 / asked as f64
}

/// Jain's index: `(Σx)² ÷ (n × Σx²)`. Where nobody got anything all got the same: 1.
fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        n += 1.0;
        sum += share;
        squares += share * share;
    }
    if squares > 0.0 {
        sum * sum / (n * squares)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests;
