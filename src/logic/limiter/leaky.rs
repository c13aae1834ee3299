//! The leaky bucket, which is two things under one name. As a *meter* it only measures: a
//! turn pours one measure, and is refused if that would spill over. As a *queue* it shapes:
//! turns wait in it and leave one interval apart. Neither ever looks at the other.
//!
//! Source: Turner, "New directions in communications", IEEE Communications Magazine 24(10),
//! 1986, and ITU-T I.371 (continuous-state leaky bucket) for the meter; Tanenbaum,
//! "Computer Networks", on traffic shaping for the queue.

use super::super::bucket::{Limit, Nanos};
use super::{Clients, Limiter, Look, MOMENT_MAX, Verdict, in_turns};

pub(super) const METER_STATE_BYTES: usize = size_of::<Fill>();
pub(super) const QUEUE_STATE_BYTES: usize = size_of::<Nanos>();

/// The leaky bucket as a meter.
///
/// State: 16 bytes, how full the bucket was and when. Guarantee: the token bucket's, at most
/// `2 × burst − 1` within one window.
pub(super) struct Meter {
    /// One measure, as the time in which it leaks.
    interval: Nanos,
    /// A full bucket, likewise.
    depth: Nanos,
    fills: Clients<Fill>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    level: Nanos,
    /// When the level was that: at the last turn that was let in.
    at: Nanos,
}

impl Fill {
    fn level(self, now: Nanos) -> Nanos {
        self.level.saturating_sub(now.saturating_sub(self.at))
    }
}

impl Meter {
    pub(super) fn new(limit: &Limit) -> Self {
        Self {
            interval: limit.rate().interval_nanos(),
            depth: limit.fill_nanos(),
            fills: Clients::new(),
        }
    }
}

impl Limiter for Meter {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let now = now.min(MOMENT_MAX);
        let fill = self.fills.get_mut(client);
        let level = fill.level(now) + self.interval;
        if level > self.depth {
            return Verdict::Refused;
        }
        *fill = Fill { level, at: now };
        Verdict::Admitted
    }

    fn look(&self, client: u32, now: Nanos) -> Look {
        let level = self.fills.get(client).level(now.min(MOMENT_MAX));
        Look {
            level: in_turns(level, self.interval),
            full: in_turns(self.depth, self.interval),
            window: None,
        }
    }
}

/// The leaky bucket as a queue.
///
/// A turn leaves one interval after the later of its arrival and its predecessor's leaving.
/// The queue holds at most `burst` turns, so nobody waits longer than one window. It takes
/// the very turns that the token bucket lets in, and serves them evenly instead of at once.
///
/// State: 8 bytes, the last turn's leaving, beside the waiting turns themselves. Guarantee:
/// at most `burst` served within one window, one interval apart.
pub(super) struct Queue {
    interval: Nanos,
    /// How far off the last leaving may be for one more to find a place.
    ahead_max: Nanos,
    full: f64,
    last_leaving: Clients<Nanos>,
}

impl Queue {
    pub(super) fn new(limit: &Limit) -> Self {
        let interval = limit.rate().interval_nanos();
        Self {
            interval,
            ahead_max: limit.fill_nanos() - interval,
            full: f64::from(limit.burst().tickets()),
            last_leaving: Clients::new(),
        }
    }
}

impl Limiter for Queue {
    fn decide(&mut self, client: u32, arrival: Nanos) -> Verdict {
        let now = arrival.min(MOMENT_MAX);
        let last = self.last_leaving.get_mut(client);
        // Those that wait leave one interval apart, the first of them within one interval.
        if last.saturating_sub(now) > self.ahead_max {
            return Verdict::Refused;
        }
        *last = now.max(*last) + self.interval;
        Verdict::Delayed(arrival.max(*last))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "at most a burst, which is far below 2^53"
    )]
    fn look(&self, client: u32, now: Nanos) -> Look {
        let last = self.last_leaving.get(client);
        let ahead = last.saturating_sub(now.min(MOMENT_MAX));
        Look {
            level: ahead.div_ceil(self.interval) as f64,
            full: self.full,
            window: None,
        }
    }
}
