//! Who is the slowest to take an answer. Closes nothing itself.

use std::cmp::Reverse;
use std::time::Duration;

use tokio::time::Instant;

use super::Connection;

/// Who takes nothing of an answer for so long is slower than anybody who takes something.
/// A reader on a slow line pauses as long, but not longer than one who has stopped.
const STUCK_AFTER: Duration = Duration::from_millis(100);

/// How slowly an answer is taken; the slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// Not a byte was taken since.
    StuckSince(Instant),
    /// Not stuck: so many bytes are left. The most of them first, so that no large answers
    /// of others cost somebody a small one.
    Left(Reverse<usize>),
}

impl Connection {
    /// How slowly its answer is taken, if there is something of one left to take.
    pub(super) fn pace(&self, now: Instant) -> Option<Pace> {
        let state = self.state();
        let pace = if state.progress_at + STUCK_AFTER <= now {
            Pace::StuckSince(state.progress_at)
        } else {
            Pace::Left(Reverse(state.unsent_bytes))
        };
        (state.unsent_bytes > 0).then_some(pace)
    }
}
