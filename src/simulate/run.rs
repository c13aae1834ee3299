//! Runs arrivals through the algorithms, side by side, and measures what each let in. Keeps
//! counts for each client and the turns of the last window, and never the arrivals: its
//! memory does not grow with the length of a log. Never asks the time: it is the arrivals'.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::{Algorithm, Limiter, Verdict};

use recent::Recent;

mod recent;

/// Algorithms side by side, at most.
const LANES: usize = Algorithm::ALL.len();
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
}

/// A run that goes on: arrivals go in one after the other, and a [`Summary`] comes out.
pub struct Run {
    limit: Limit,
    lanes: Vec<Lane>,
    /// What each algorithm said to the last arrival.
    verdicts: [Verdict; LANES],
    clients: Vec<Client>,
    /// Turns that are served later than they came: when, whose, and by which lane.
    waiting: BinaryHeap<Reverse<(Nanos, u32, usize)>>,
    recent: Recent,
    arrivals: u64,
}

/// One algorithm, and what it did to all clients together.
struct Lane {
    algorithm: Algorithm,
    limiter: Box<dyn Limiter>,
    delayed: u64,
    longest_wait: Nanos,
}

/// What one client asked for, and what it got from each algorithm.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    asked: u64,
    admitted: [u64; LANES],
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
            verdicts: [Verdict::Refused; LANES],
            clients: Vec::new(),
            waiting: BinaryHeap::new(),
            recent: Recent::new(limit.fill_nanos()),
            arrivals: 0,
        }
    }

    /// One more arrival; moments never go back. Says what each algorithm made of it, in the
    /// order they were asked for.
    pub fn arrive(&mut self, at: Nanos, client: u32) -> &[Verdict] {
        self.serve_waiting(at);
        self.arrivals += 1;
        let number = client as usize;
        if number >= self.clients.len() {
            self.clients.resize(number + 1, Client::default());
        }
        let counts = &mut self.clients[number];
        counts.asked += 1;
        let mut served = 0;
        for (n, lane) in self.lanes.iter_mut().enumerate() {
            let verdict = lane.limiter.decide(client, at);
            self.verdicts[n] = verdict;
            match verdict {
                Verdict::Admitted => served |= 1 << n,
                Verdict::Delayed(until) => {
                    lane.delayed += 1;
                    lane.longest_wait = lane.longest_wait.max(until.saturating_sub(at));
                    self.waiting.push(Reverse((until, client, n)));
                }
                Verdict::Refused => continue,
            }
            counts.admitted[n] += 1;
        }
        self.recent.served(at, client, served);
        &self.verdicts[..self.lanes.len()]
    }

    /// Serves the delayed turns that are due by now, each at its moment.
    fn serve_waiting(&mut self, now: Nanos) {
        while let Some(Reverse((until, client, lane))) = self.waiting.peek().copied()
            && until <= now
        {
            self.waiting.pop();
            self.recent.served(until, client, 1 << lane);
        }
    }

    /// Serves what still waits, and says what became of everything.
    pub fn finish(mut self) -> Summary {
        self.serve_waiting(Nanos::MAX);
        let known = || self.clients.iter().filter(|client| client.asked > 0);
        let outcome = |(n, lane): (usize, &Lane)| {
            let admitted = known().map(|client| client.admitted[n]).sum();
            let refused = |client: &&Client| client.admitted[n] < client.asked;
            Outcome {
                algorithm: lane.algorithm,
                admitted,
                refused: self.arrivals - admitted,
                delayed: lane.delayed,
                refused_clients: known().filter(refused).count() as u64,
                worst_window: self.recent.worst_window(n),
                worst_second: self.recent.worst_second(n),
                longest_wait: Duration::from_nanos(lane.longest_wait),
                fairness: jain(known().map(|client| share(client.admitted[n], client.asked))),
                bytes_per_client: lane.algorithm.bytes_per_client(&self.limit),
            }
        };
        Summary {
            arrivals: self.arrivals,
            clients: known().count() as u64,
            outcomes: self.lanes.iter().enumerate().map(outcome).collect(),
        }
    }
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
