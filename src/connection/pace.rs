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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::config::ConnectionLimits;
    use crate::connection::{AnswerBody, Connections, Permit};

    fn connections() -> Arc<Connections> {
        let timeout = Duration::from_mins(1);
        Arc::new(Connections::new(ConnectionLimits {
            header_timeout: timeout,
            write_timeout: timeout,
            idle_timeout: timeout,
            connections_max: 10,
            unsent_bytes_max: 1_000,
        }))
    }

    /// A connection with so many bytes to send.
    async fn answering(connections: &Arc<Connections>, bytes: usize) -> (Permit, AnswerBody) {
        let permit = connections.permit().await;
        let body = permit.answer_body(Bytes::from(vec![0; bytes]), false);
        (permit, body)
    }

    fn is_closing((permit, _): &(Permit, AnswerBody)) -> bool {
        permit.connection.is_closing()
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_answer_is_not_cut_for_large_ones() {
        let connections = connections();
        let largest = answering(&connections, 600).await;
        let large = answering(&connections, 400).await;
        let small = answering(&connections, 10).await;
        assert!(is_closing(&largest));
        assert!(!is_closing(&large) && !is_closing(&small));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_stopped_is_cut_before_anybody_who_goes_on() {
        let connections = connections();
        let stuck = answering(&connections, 300).await;
        tokio::time::advance(STUCK_AFTER).await;
        let large = answering(&connections, 600).await;
        let newcomer = answering(&connections, 200).await;
        assert!(is_closing(&stuck));
        assert!(!is_closing(&large) && !is_closing(&newcomer));
    }
}
