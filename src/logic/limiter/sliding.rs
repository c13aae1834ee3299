//! The sliding window: exactly, by remembering the moment of each turn let in, and nearly, by
//! weighing two counts. Both look one window back from now; what is exactly one window old is
//! out of it. In whole numbers: the estimate is multiplied out, never divided.
//!
//! Source: sorted sets of moments in Redis (ZADD, ZREMRANGEBYSCORE, ZCARD) for the log;
//! Cloudflare, "How we built rate limiting capable of scaling to millions of domains", 2017,
//! for the counter.

use std::collections::VecDeque;

use super::super::bucket::{Limit, Nanos};
use super::{Clients, Limiter, Look, MOMENT_MAX, Verdict};

/// What the log keeps for each client, and for each turn of the last window.
pub(super) const COUNT_BYTES: usize = size_of::<u32>();
pub(super) const TURN_BYTES: usize = size_of::<Remembered>();
pub(super) const COUNTER_STATE_BYTES: usize = size_of::<Counts>();

/// Room for so many turns is never given back.
const REMEMBERED_MIN: usize = 1024;

/// The sliding window log.
///
/// `now` never goes back, so one log of everybody's turns is in order, and each that
/// expires is met once. It holds what was let in within one window, and no more.
///
/// State: a count of 4 bytes, and 16 bytes for each turn of the last window, of which there
/// are at most `burst`. Guarantee: at most `burst` within one window, exactly.
pub(super) struct Log {
    burst: u32,
    window: Nanos,
    /// Let in within the last window, oldest first.
    remembered: VecDeque<Remembered>,
    /// How many of them are whose.
    counts: Clients<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Remembered {
    at: Nanos,
    client: u32,
}

impl Log {
    pub(super) fn new(limit: &Limit) -> Self {
        Self {
            burst: limit.burst().tickets(),
            window: limit.window_nanos(),
            remembered: VecDeque::new(),
            counts: Clients::new(),
        }
    }

    fn has_expired(&self, turn: Remembered, now: Nanos) -> bool {
        now.saturating_sub(turn.at) >= self.window
    }

    fn forget(&mut self, now: Nanos) {
        while let Some(oldest) = self.remembered.front().copied()
            && self.has_expired(oldest, now)
        {
            self.remembered.pop_front();
            *self.counts.get_mut(oldest.client) -= 1;
        }
        let room = self.remembered.capacity();
        if room > REMEMBERED_MIN && self.remembered.len() < room / 4 {
            self.remembered.shrink_to(room / 2);
        }
    }
}

impl Limiter for Log {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let now = now.min(MOMENT_MAX);
        self.forget(now);
        let count = self.counts.get_mut(client);
        if *count >= self.burst {
            return Verdict::Refused;
        }
        *count += 1;
        self.remembered.push_back(Remembered { at: now, client });
        Verdict::Admitted
    }

    fn look(&self, client: u32, now: Nanos) -> Look {
        let now = now.min(MOMENT_MAX);
        let mut count = self.counts.get(client);
        // Looked at after a long silence, they are not walked through.
        let newest = self.remembered.back().copied();
        if newest.is_none_or(|turn| self.has_expired(turn, now)) {
            count = 0;
        }
        for turn in &self.remembered {
            if count == 0 || !self.has_expired(*turn, now) {
                break;
            }
            if turn.client == client {
                count -= 1;
            }
        }
        // What is one window old is out, what is at this moment is in.
        let end = now + 1;
        Look {
            level: f64::from(count),
            full: f64::from(self.burst),
            window: Some((end.saturating_sub(self.window), end)),
        }
    }
}

/// The sliding window counter: the count of the fixed window at hand, and of the one before
/// as large a share as still lies within one window of now. A turn is let in while that
/// estimate is below the limit.
///
/// State: 16 bytes, the window, its count and the count before. Guarantee: no better than
/// the fixed window's `2 × burst` within one window: after a burst at the end of a window
/// the estimate takes it to have been spread out evenly. But the second half then comes
/// in one by one, never at once.
pub(super) struct Counter {
    burst: u32,
    window: Nanos,
    counts: Clients<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Windows since moment 0.
    number: u64,
    current: u32,
    previous: u32,
}

impl Counts {
    /// The same counts seen from this window.
    fn seen_from(self, number: u64) -> Self {
        let previous = match number.saturating_sub(self.number) {
            0 => return self,
            1 => self.current,
            2.. => 0,
        };
        Self {
            number,
            current: 0,
            previous,
        }
    }
}

impl Counter {
    pub(super) fn new(limit: &Limit) -> Self {
        Self {
            burst: limit.burst().tickets(),
            window: limit.window_nanos(),
            counts: Clients::new(),
        }
    }

    /// The counts as they stand now, and the estimate from them times the window.
    fn estimate(&self, client: u32, now: Nanos) -> (Counts, u128) {
        let number = now / self.window;
        let counts = self.counts.get(client).seen_from(number);
        let left = (number + 1) * self.window - now;
        let estimate = u128::from(counts.current) * u128::from(self.window)
            + u128::from(counts.previous) * u128::from(left);
        (counts, estimate)
    }
}

impl Limiter for Counter {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let (mut counts, estimate) = self.estimate(client, now.min(MOMENT_MAX));
        let is_below = estimate < u128::from(self.burst) * u128::from(self.window);
        counts.current += u32::from(is_below);
        *self.counts.get_mut(client) = counts;
        if is_below {
            Verdict::Admitted
        } else {
            Verdict::Refused
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "for drawing: a billionth more or less cannot be seen"
    )]
    fn look(&self, client: u32, now: Nanos) -> Look {
        let (counts, estimate) = self.estimate(client, now.min(MOMENT_MAX));
        let start = counts.number * self.window;
        Look {
            level: estimate as f64 / self.window as f64,
            full: f64::from(self.burst),
            window: Some((start, start + self.window)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn the_log_holds_one_window_and_gives_the_room_back() {
        let limit = Limit::new("10/10s".parse().unwrap(), "10".parse().unwrap()).unwrap();
        let mut log = Log::new(&limit);
        for client in 0..10_000 {
            for _ in 0..20 {
                log.decide(client, 0);
            }
        }
        log.decide(0, 10 * SECOND - 1);
        assert_eq!(log.remembered.len(), 100_000);
        for at in 10 * SECOND..10 * SECOND + 20 {
            log.decide(7, at);
        }
        assert_eq!(log.remembered.len(), 10);
        let room = log.remembered.capacity();
        assert!(room <= REMEMBERED_MIN, "room for {room}");
    }
}
