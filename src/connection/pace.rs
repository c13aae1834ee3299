//! Who is the slowest to take an answer. Closes nothing itself.

use std::time::Duration;

use tokio::time::Instant;

use super::Connection;

/// Who takes nothing of an answer for so long is slower than anybody who takes something;
/// short of that, a pause tells nothing.
const STUCK_AFTER: Duration = Duration::from_millis(500);

/// How slowly an answer is taken; the slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// Not a byte was taken since.
    StuckSince(Instant),
    /// Not stuck yet: so many bytes were taken.
    Sent(usize),
}

impl Connection {
    /// How slowly its answer is taken, if there is something of one left to take.
    pub(super) fn pace(&self, now: Instant) -> Option<Pace> {
        let state = self.state();
        let pace = if state.progress_at + STUCK_AFTER <= now {
            Pace::StuckSince(state.progress_at)
        } else {
            Pace::Sent(state.sent_bytes)
        };
        (state.unsent_bytes > 0).then_some(pace)
    }
}
