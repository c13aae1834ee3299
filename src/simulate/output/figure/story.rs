//! What one algorithm says to a list of arrivals, and the numbers of it.

use std::collections::BTreeSet;

use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::{Algorithm, Verdict};

use super::Asked;
use crate::simulate::run::Outcome;

/// The fullest window: the most turns of one client let in within one window, by the moment
/// they were served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Whose.
    pub client: u32,
    /// The first of them; the window ends, without its last moment, one window later.
    pub from: Nanos,
    /// How many.
    pub count: u64,
}

impl Worst {
    /// What the run found out about this algorithm, if it ran it.
    pub(super) fn found(algorithm: Algorithm, outcomes: &[Outcome]) -> Option<Self> {
        let outcome = outcomes.iter().find(|one| one.algorithm == algorithm)?;
        let (client, from) = outcome.fullest?;
        Some(Self {
            client,
            from,
            count: outcome.worst_window,
        })
    }
}

/// What is told of an algorithm in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Turns let in, at once or later.
    pub let_in: u64,
    /// Those of them that had to wait.
    pub later: u64,
    /// Turns refused.
    pub refused: u64,
    /// Clients that were refused at least once.
    pub refused_clients: u64,
    /// The longest wait of a turn.
    pub longest_wait: Nanos,
    /// The fullest window; none when nothing was let in, or nobody looked.
    pub worst: Option<Worst>,
}

impl Numbers {
    pub(super) fn count(&mut self, at: Nanos, verdict: Verdict) {
        match verdict {
            Verdict::Admitted => self.let_in += 1,
            Verdict::Delayed(until) => {
                self.let_in += 1;
                self.later += 1;
                self.longest_wait = self.longest_wait.max(until.saturating_sub(at));
            }
            Verdict::Refused => self.refused += 1,
        }
    }
}

/// The verdicts of an algorithm, one for each arrival.
pub(super) fn verdicts(algorithm: Algorithm, limit: &Limit, asked: &[Asked]) -> Vec<Verdict> {
    let mut limiter = algorithm.start(limit);
    asked
        .iter()
        .map(|one| limiter.decide(one.client, one.at))
        .collect()
}

/// The numbers of these verdicts.
pub(super) fn numbers(limit: &Limit, asked: &[Asked], verdicts: &[Verdict]) -> Numbers {
    let mut numbers = Numbers::default();
    let mut refused = BTreeSet::new();
    for (one, verdict) in asked.iter().zip(verdicts) {
        numbers.count(one.at, *verdict);
        if *verdict == Verdict::Refused {
            refused.insert(one.client);
        }
    }
    numbers.refused_clients = refused.len() as u64;
    numbers.worst = worst(limit.window_nanos(), asked, verdicts);
    numbers
}

/// The fullest window; of several the first of the first client.
fn worst(window: Nanos, asked: &[Asked], verdicts: &[Verdict]) -> Option<Worst> {
    let mut served: Vec<(u32, Nanos)> = asked
        .iter()
        .zip(verdicts)
        .filter_map(|(one, verdict)| match verdict {
            Verdict::Admitted => Some((one.client, one.at)),
            Verdict::Delayed(until) => Some((one.client, *until)),
            Verdict::Refused => None,
        })
        .collect();
    served.sort_unstable();
    let mut worst: Option<Worst> = None;
    let mut end = 0;
    for (begin, &(client, from)) in served.iter().enumerate() {
        while let Some(&(whose, at)) = served.get(end)
            && whose == client
            && at - from < window
        {
            end += 1;
        }
        let count = (end - begin) as u64;
        if worst.is_none_or(|worst| worst.count < count) {
            worst = Some(Worst {
                client,
                from,
                count,
            });
        }
    }
    worst
}
