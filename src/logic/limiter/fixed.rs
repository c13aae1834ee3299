//! The fixed window, three times: cut by the clock, cut by the clock at a moment of each
//! client's own, and opened by the client's first turn. Each counts what it let in and
//! forgets the count when the window ends; none knows what happened before its edge.
//!
//! Source: the Redis documentation of INCR, "Pattern: Rate limiter 1" (a key for each second
//! of the clock) and "Pattern: Rate limiter 2" (a key that expires one second after the first
//! turn); Convex's rate limiter for the edges apart.

use super::super::bucket::{Limit, Nanos};
use super::{Clients, Limiter, Look, MOMENT_MAX, Verdict};

pub(super) const STATE_BYTES: usize = size_of::<Counted>();
pub(super) const FIRST_STATE_BYTES: usize = size_of::<Opened>();

/// The fixed window on the clock: its edges are the multiples of the window since moment 0,
/// so that a window of a minute ends with the minute when moments count from the Unix epoch.
/// With offsets each client's edges are earlier by a share of the window that is a hash of
/// its number.
///
/// State: 16 bytes (12 and padding), the window and its count. Guarantee: at most
/// `2 × burst` within one window, on either side of an edge.
pub(super) struct FixedWindow {
    burst: u32,
    window: Nanos,
    has_offsets: bool,
    counts: Clients<Counted>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// Windows since moment 0, less the offset.
    number: u64,
    count: u32,
}

impl FixedWindow {
    /// The same edges for everybody.
    pub(super) fn on_the_clock(limit: &Limit) -> Self {
        Self {
            burst: limit.burst().tickets(),
            window: limit.window_nanos(),
            has_offsets: false,
            counts: Clients::new(),
        }
    }

    /// Edges of each client's own.
    pub(super) fn with_offsets(limit: &Limit) -> Self {
        Self {
            has_offsets: true,
            ..Self::on_the_clock(limit)
        }
    }

    fn offset(&self, client: u32) -> Nanos {
        if self.has_offsets {
            share(self.window, client)
        } else {
            0
        }
    }
}

impl Limiter for FixedWindow {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let number = (now.min(MOMENT_MAX) + self.offset(client)) / self.window;
        let counted = self.counts.get_mut(client);
        if counted.number != number {
            *counted = Counted { number, count: 0 };
        }
        if counted.count >= self.burst {
            return Verdict::Refused;
        }
        counted.count += 1;
        Verdict::Admitted
    }

    fn look(&self, client: u32, now: Nanos) -> Look {
        let offset = self.offset(client);
        let number = (now.min(MOMENT_MAX) + offset) / self.window;
        let counted = self.counts.get(client);
        let count = if counted.number == number {
            counted.count
        } else {
            0
        };
        let start = number * self.window;
        Look {
            level: f64::from(count),
            full: f64::from(self.burst),
            window: Some((start.saturating_sub(offset), start + self.window - offset)),
        }
    }
}

/// A share of the window, from 0 to just below all of it, evenly spread over client numbers.
///
/// `SplitMix64` (Steele, Lea and Flood, 2014): neighbouring numbers end up far apart, and the
/// same number always at the same place.
fn share(window: Nanos, client: u32) -> Nanos {
    let mut hash = u64::from(client).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    let share = (u128::from(hash) * u128::from(window)) >> u64::BITS;
    u64::try_from(share).expect("a hash is below 2^64, so the share is below the window")
}

/// The fixed window from the client's first turn: a turn that finds no open window opens one.
///
/// State: 16 bytes (12 and padding), when the window opened and its count. Guarantee: at most
/// `2 × burst − 1` within one window, since the turn that opened a window is one window old
/// when the next can open.
pub(super) struct FromFirst {
    burst: u32,
    window: Nanos,
    opened: Clients<Opened>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Opened {
    at: Nanos,
    /// None let in: there was no window yet.
    count: u32,
}

impl FromFirst {
    pub(super) fn new(limit: &Limit) -> Self {
        Self {
            burst: limit.burst().tickets(),
            window: limit.window_nanos(),
            opened: Clients::new(),
        }
    }
}

impl Opened {
    fn is_open(self, now: Nanos, window: Nanos) -> bool {
        self.count > 0 && now.saturating_sub(self.at) < window
    }
}

impl Limiter for FromFirst {
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict {
        let now = now.min(MOMENT_MAX);
        let opened = self.opened.get_mut(client);
        if !opened.is_open(now, self.window) {
            *opened = Opened { at: now, count: 0 };
        }
        if opened.count >= self.burst {
            return Verdict::Refused;
        }
        opened.count += 1;
        Verdict::Admitted
    }

    fn look(&self, client: u32, now: Nanos) -> Look {
        let opened = self.opened.get(client);
        let is_open = opened.is_open(now.min(MOMENT_MAX), self.window);
        Look {
            level: f64::from(if is_open { opened.count } else { 0 }),
            full: f64::from(self.burst),
            window: is_open.then(|| (opened.at, opened.at + self.window)),
        }
    }
}
