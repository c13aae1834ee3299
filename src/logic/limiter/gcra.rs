//! The generic cell rate algorithm, in its virtual scheduling form: each turn has a
//! theoretical arrival time, one interval after that of the turn before, and may come early
//! by the tolerance. Written from the standard, not from the token bucket, so that the two
//! can be held against each other.
//!
//! State: 8 bytes, the theoretical arrival time of the next turn. Guarantee: with the
//! tolerance of `burst − 1` intervals the token bucket's, `2 × burst − 1` within one window;
//! with none at most `burst`, one interval apart. Source: ITU-T I.371.

use super::super::bucket::{Limit, Nanos};
use super::{Clients, Limiter, Look, MOMENT_MAX, Verdict, in_turns};

pub(super) const STATE_BYTES: usize = size_of::<Nanos>();

/// Theoretical arrival times, one for each client. A new client's has long passed.
pub(super) struct Gcra {
    /// T of the standard: the increment.
    interval: Nanos,
    /// τ of the standard: how early a turn may be.
    tolerance: Nanos,
    /// For drawing: what the tolerance and the turn itself make, in turns.
    full: f64,
    theoretical: Clients<Nanos>,
}

impl Gcra {
    /// With the tolerance for a full burst.
    pub(super) fn new(limit: &Limit) -> Self {
        let interval = limit.rate().interval_nanos();
        Self {
            interval,
            tolerance: limit.fill_nanos() - interval,
            full: f64::from(limit.burst().tickets()),
            theoretical: Clients::new(),
        }
    }

    /// With no tolerance at all.
    pub(super) fn without_burst(limit: &Limit) -> Self {
        Self {
            tolerance: 0,
            full: 1.0,
            ..Self::new(limit)
        }
    }
}

impl Limiter for Gcra {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let now = now.min(MOMENT_MAX);
        let theoretical = self.theoretical.get_mut(client);
        if *theoretical > now + self.tolerance {
            return Verdict::Refused;
        }
        *theoretical = now.max(*theoretical) + self.interval;
        Verdict::Admitted
    }

    fn look(&self, client: u32, now: Nanos) -> Look {
        let ahead = self.theoretical.get(client);
        let ahead = ahead.saturating_sub(now.min(MOMENT_MAX));
        Look {
            level: in_turns(ahead, self.interval),
            full: self.full,
            window: None,
        }
    }
}
