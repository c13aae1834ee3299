//! What became of requests, told once each when the answer is known: into the metrics, and
//! into what the status page shows besides. Bounded in memory, and on the path of a
//! refusal one short lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::logic::address::Client;
use crate::logic::bucket::Nanos;
use crate::logic::history::History;
use crate::logic::most_refused::MostRefused;
use crate::logic::times::{Times, Took};
use crate::metrics::{Metrics, Outcome};
use crate::refusal::{Code, Gate};

/// What the history tells of each step: turns answered, then refusals by gate.
pub const KINDS: usize = 1 + Gate::ALL.len();

/// The tally.
#[derive(Debug)]
pub struct Tally {
    metrics: Arc<Metrics>,
    times: Mutex<Times>,
    most_refused: Mutex<MostRefused>,
    recent: Mutex<History<KINDS>>,
}

impl Tally {
    /// Nothing happened before `now`.
    pub fn new(metrics: Arc<Metrics>, now: Nanos) -> Self {
        Self {
            metrics,
            times: Mutex::default(),
            most_refused: Mutex::default(),
            recent: Mutex::new(History::new(now)),
        }
    }

    /// The metrics underneath.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// A turn got its reply.
    pub fn turn(&self) {
        self.metrics.turn(Outcome::Ok);
    }

    /// A turn's client left before its answer.
    pub fn client_left(&self) {
        self.metrics.turn(Outcome::ClientLeft);
    }

    /// A request was refused; a turn's client is counted.
    pub fn refusal(&self, code: Code, client_of_turn: Option<Client>) {
        self.metrics.refusal(code.gate());
        if let Some(client) = client_of_turn {
            self.metrics.turn(Outcome::Refused(code));
            self.most_refused().count(client);
        }
    }

    /// A turn that was in the engine has its answer.
    pub fn took(&self, took: Took) {
        self.metrics.turn_time.observe(took.whole.as_secs_f64());
        self.times().add(took);
    }

    /// Brings the history up to `now`; `peak` is the most that waited at once since it was
    /// last told. Says for how long that will do.
    pub fn tell_history(&self, now: Nanos, peak: usize) -> Duration {
        let mut totals = [0; KINDS];
        totals[0] = self.metrics.turns_of(Outcome::Ok);
        for (total, (_, refusals)) in totals[1..].iter_mut().zip(self.metrics.refusals()) {
            *total = refusals;
        }
        let mut recent = self.recent();
        recent.tell(now, totals, peak as u64);
        Duration::from_nanos(recent.ends_at().saturating_sub(now))
    }

    /// The last minutes.
    pub fn recent(&self) -> MutexGuard<'_, History<KINDS>> {
        whole(&self.recent)
    }

    /// How long the last turns took.
    pub fn times(&self) -> MutexGuard<'_, Times> {
        whole(&self.times)
    }

    /// Whose turns were refused.
    pub fn most_refused(&self) -> MutexGuard<'_, MostRefused> {
        whole(&self.most_refused)
    }
}

/// None of their steps panics half-way, so a poisoned lock still guards a whole thing.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
