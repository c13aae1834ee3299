//! The algorithms once more, slow and obvious: each verdict is worked out afresh from
//! everything that one client did before, as the definition reads, with numbers that cannot
//! overflow. Nothing here is shared with the code that it judges.

use super::super::{Algorithm, Verdict};
use crate::logic::bucket::{Limit, Nanos};

/// What the algorithm says to an arrival at `now`, after all these of the same client.
pub(super) fn decide(
    algorithm: Algorithm,
    limit: &Limit,
    history: &[(Nanos, Verdict)],
    now: Nanos,
) -> Verdict {
    let client = Client {
        interval: limit.rate().interval_nanos().into(),
        burst: limit.burst().tickets().into(),
        window: limit.window_nanos().into(),
        let_in: history
            .iter()
            .filter(|(_, verdict)| *verdict != Verdict::Refused)
            .map(|(at, _)| i128::from(*at))
            .collect(),
        now: now.into(),
    };
    let is_let_in = match algorithm {
        Algorithm::TokenBucket => client.has_a_token(),
        Algorithm::Gcra => client.conforms(client.burst - 1),
        Algorithm::GcraNoBurst => client.conforms(0),
        Algorithm::LeakyBucket => client.does_not_spill(),
        Algorithm::LeakyQueue => return client.queues(),
        Algorithm::FixedWindow => client.in_window_of_clock(0) < client.burst,
        Algorithm::FixedWindowFirst => client.in_window_it_opened() < client.burst,
        Algorithm::FixedWindowOffset => {
            // Where its edges are is all that is taken from the code.
            let (_, edge) = algorithm.start(limit).look(0, now).window.unwrap();
            client.in_window_of_clock(edge.into()) < client.burst
        }
        Algorithm::SlidingLog => client.younger_than_a_window() < client.burst,
        Algorithm::SlidingWindow => client.is_estimate_below_limit(),
    };
    if is_let_in {
        Verdict::Admitted
    } else {
        Verdict::Refused
    }
}

struct Client {
    interval: i128,
    burst: i128,
    window: i128,
    /// When those came that were let in.
    let_in: Vec<i128>,
    now: i128,
}

impl Client {
    /// What a bucket holds, in the time that it takes to come.
    fn bucketful(&self) -> i128 {
        self.burst * self.interval
    }

    fn count(&self, which: impl Fn(i128) -> bool) -> i128 {
        self.let_in.iter().filter(|at| which(**at)).count() as i128
    }

    /// `tokens = min(burst, tokens + elapsed × rate)`, with each token cut into as many pieces
    /// as an interval has nanoseconds.
    fn has_a_token(&self) -> bool {
        let mut pieces = self.bucketful();
        let mut last = 0;
        for at in &self.let_in {
            pieces = self.bucketful().min(pieces + at - last) - self.interval;
            last = *at;
        }
        self.bucketful().min(pieces + self.now - last) >= self.interval
    }

    /// However far back one begins to count, each turn let in since has used up one interval;
    /// the schedule may be ahead of the clock by so many.
    fn conforms(&self, tolerated: i128) -> bool {
        (0..self.let_in.len()).all(|from| {
            let since = &self.let_in[from..];
            let due = since[0] + since.len() as i128 * self.interval;
            self.now >= due - tolerated * self.interval
        })
    }

    /// Each turn pours one interval's worth; one nanosecond's worth leaks in a nanosecond.
    fn does_not_spill(&self) -> bool {
        let mut level = 0;
        let mut last = 0;
        for at in &self.let_in {
            level = 0.max(level - (at - last)) + self.interval;
            last = *at;
        }
        0.max(level - (self.now - last)) + self.interval <= self.bucketful()
    }

    /// A turn leaves one interval after the later of its arrival and its predecessor's
    /// leaving; no more wait than the burst.
    fn queues(&self) -> Verdict {
        let mut leavings: Vec<i128> = Vec::new();
        for at in self.let_in.iter().chain([&self.now]) {
            let after = leavings.last().copied().unwrap_or(0).max(*at);
            leavings.push(after + self.interval);
        }
        let own = leavings.pop().unwrap();
        let waiting = leavings.iter().filter(|leaving| **leaving > self.now);
        if (waiting.count() as i128) < self.burst {
            Verdict::Delayed(own.try_into().unwrap())
        } else {
            Verdict::Refused
        }
    }

    fn in_window_of_clock(&self, edge: i128) -> i128 {
        let number = |at: i128| (at - edge).div_euclid(self.window);
        self.count(|at| number(at) == number(self.now))
    }

    fn in_window_it_opened(&self) -> i128 {
        let mut left = &self.let_in[..];
        while let Some(opened) = left.first() {
            let inside = left.partition_point(|at| at - opened < self.window);
            if self.now - opened < self.window {
                return inside as i128;
            }
            left = &left[inside..];
        }
        0
    }

    fn younger_than_a_window(&self) -> i128 {
        self.count(|at| self.now - at < self.window)
    }

    /// Both sides times the window: of the count before, as much as the window that ends
    /// now overlaps with the one before the edge.
    fn is_estimate_below_limit(&self) -> bool {
        let edge = self.now - self.now % self.window;
        let current = self.count(|at| at >= edge);
        let previous = self.count(|at| at >= edge - self.window && at < edge);
        let overlap = edge - (self.now - self.window);
        current * self.window + previous * overlap < self.burst * self.window
    }
}
