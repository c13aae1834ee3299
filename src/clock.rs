//! The time: the only file that may ask for it. Monotonic only; what a wall clock
//! says is for log lines, and the log writes it itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::logic::bucket::Nanos;

/// Counts from the gateway's start. Tokio's clock, so that a paused one moves buckets and timers alike.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts counting.
    pub fn start() -> Self {
        Self { start: now() }
    }

    /// Nanoseconds since the start.
    pub fn nanos(self) -> Nanos {
        u64::try_from(now().duration_since(self.start).as_nanos()).unwrap_or(Nanos::MAX)
    }

    /// The moment for a timer.
    pub fn instant(self, at: Nanos) -> Instant {
        self.start + Duration::from_nanos(at)
    }
}

/// The moment it is, for timers.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Instant {
    Instant::now()
}
