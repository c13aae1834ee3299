//! The rate-limit algorithms side by side: the gateway's own token bucket and what others
//! use in its place, all under one [`Limit`] and one trait. In whole nanoseconds, so that
//! the same arrivals get the same verdicts on every machine. Never asks the time, never
//! knows who a client is, and decides nothing in the gateway: that is
//! [`bucket`](super::bucket) alone.
//!
//! A limit is a rate and a burst. The *window* is `burst ÷ rate` ([`Limit::window_nanos`]),
//! and the window algorithms let `burst` turns into each, so that all guard the same
//! long-run rate. Everywhere an event exactly one window
//! old has expired: a window holds its first moment and not its last.

use std::fmt;

use super::bucket::{Limit, Nanos};

mod facts;
mod fixed;
mod gcra;
mod leaky;
mod sliding;
mod token_bucket;

/// Moments after this one, 292 years in, count as this one: a limit fills within ten years,
/// so no sum of a moment and a window can overflow.
const MOMENT_MAX: Nanos = u64::MAX / 2;

/// What an algorithm says to one arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Served on arrival.
    Admitted,
    /// Served then, and not before; never before its arrival.
    Delayed(Nanos),
    /// Turned away. It leaves no trace in the client's state.
    Refused,
}

/// What a client's state is at one moment, for drawing and explaining.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// What [`Algorithm::level`] names, counted in turns.
    pub level: f64,
    /// What the level goes up to. Only the sliding window counter's goes higher, by less than
    /// one: it lets a turn in while the estimate is below the limit, and then counts it.
    pub full: f64,
    /// The first moment of the window that counts now, and the first after it; none for the
    /// algorithms without windows, and where no window has begun.
    pub window: Option<(Nanos, Nanos)>,
}

/// One algorithm with the state of all its clients.
///
/// Clients are numbers from 0 on, given out without gaps: memory goes with the highest one
/// seen. A new client has done nothing yet.
pub trait Limiter {
    /// Decides on one turn of this client. `now` never goes back.
    ///
    /// Total: no client and no moment makes it panic or overflow. Where `now` does go back,
    /// the verdicts are of no use.
    fn decide(&mut self, client: u32, now: Nanos) -> Verdict;

    /// How this client stands at `now`, at or after the last decision. Changes nothing.
    fn look(&self, client: u32, now: Nanos) -> Look;
}

/// Every algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The gateway's own: [`Bucket`](super::bucket::Bucket).
    TokenBucket,
    /// The generic cell rate algorithm, as tolerant as the burst allows.
    Gcra,
    /// The same with no tolerance: the burst is 1.
    GcraNoBurst,
    /// The leaky bucket as a meter: what would spill over is refused.
    LeakyBucket,
    /// The leaky bucket as a queue: turns wait and drip out one at a time.
    LeakyQueue,
    /// A count that starts again at fixed moments, the same for all.
    FixedWindow,
    /// A count that starts again with the client's first turn after a window.
    FixedWindowFirst,
    /// A count that starts again at fixed moments, other ones for each client.
    FixedWindowOffset,
    /// The moments of all turns of one window back.
    SlidingLog,
    /// An estimate of the same from two counts.
    SlidingWindow,
}

impl Algorithm {
    /// All of them, in the order they are shown in.
    pub const ALL: [Self; 10] = [
        Self::TokenBucket,
        Self::Gcra,
        Self::GcraNoBurst,
        Self::LeakyBucket,
        Self::LeakyQueue,
        Self::FixedWindow,
        Self::FixedWindowFirst,
        Self::FixedWindowOffset,
        Self::SlidingLog,
        Self::SlidingWindow,
    ];

    /// For programs, such as `token-bucket`.
    pub fn name(self) -> &'static str {
        facts::of(self).name
    }

    /// For people, such as `Token bucket`.
    pub fn title(self) -> &'static str {
        facts::of(self).title
    }

    /// How it works, in one sentence for somebody who has never heard of it.
    pub fn about(self) -> &'static str {
        facts::of(self).about
    }

    /// What [`Look::level`] counts.
    pub fn level(self) -> &'static str {
        facts::of(self).level
    }

    /// Where it is described, or who is known to use it.
    pub fn source(self) -> &'static str {
        facts::of(self).source
    }

    /// What one client's state takes here.
    pub fn state(self) -> StateBytes {
        let of_client = match self {
            Self::TokenBucket => token_bucket::STATE_BYTES,
            Self::Gcra | Self::GcraNoBurst => gcra::STATE_BYTES,
            Self::LeakyBucket => leaky::METER_STATE_BYTES,
            Self::LeakyQueue => leaky::QUEUE_STATE_BYTES,
            Self::FixedWindow | Self::FixedWindowOffset => fixed::STATE_BYTES,
            Self::FixedWindowFirst => fixed::FIRST_STATE_BYTES,
            Self::SlidingLog => sliding::COUNT_BYTES,
            Self::SlidingWindow => sliding::COUNTER_STATE_BYTES,
        };
        let of_turn = match self {
            Self::SlidingLog => sliding::TURN_BYTES,
            Self::TokenBucket
            | Self::Gcra
            | Self::GcraNoBurst
            | Self::LeakyBucket
            | Self::LeakyQueue
            | Self::FixedWindow
            | Self::FixedWindowFirst
            | Self::FixedWindowOffset
            | Self::SlidingWindow => 0,
        };
        StateBytes {
            of_client: of_client as u64,
            of_turn: of_turn as u64,
        }
    }

    /// The most turns of one client that it lets into any one window, wherever the window
    /// begins. Not a bound with room to spare: some arrivals reach it. Delayed turns
    /// count when they are served.
    #[expect(clippy::match_same_arms, reason = "each for its own reason")]
    pub fn guarantee(self) -> Guarantee {
        let (bursts, less) = match self {
            // The bucket, and what comes in one window but for its last nanosecond.
            Self::TokenBucket | Self::Gcra | Self::LeakyBucket => (2, 1),
            // One interval lies between any two.
            Self::GcraNoBurst | Self::LeakyQueue => (1, 0),
            // The end of one fixed window and the beginning of the next.
            Self::FixedWindow | Self::FixedWindowOffset => (2, 0),
            // The same, but the turn that began the first window is too old.
            Self::FixedWindowFirst => (2, 1),
            Self::SlidingLog => (1, 0),
            // All at the end of one window, after nothing; and in the next one more
            // whenever one interval of them has gone from the estimate.
            Self::SlidingWindow => (2, 0),
        };
        Guarantee { bursts, less }
    }

    /// The algorithm under this limit, with no clients yet.
    pub fn start(self, limit: &Limit) -> Box<dyn Limiter> {
        match self {
            Self::TokenBucket => Box::new(token_bucket::TokenBucket::new(limit)),
            Self::Gcra => Box::new(gcra::Gcra::new(limit)),
            Self::GcraNoBurst => Box::new(gcra::Gcra::without_burst(limit)),
            Self::LeakyBucket => Box::new(leaky::Meter::new(limit)),
            Self::LeakyQueue => Box::new(leaky::Queue::new(limit)),
            Self::FixedWindow => Box::new(fixed::FixedWindow::on_the_clock(limit)),
            Self::FixedWindowFirst => Box::new(fixed::FromFirst::new(limit)),
            Self::FixedWindowOffset => Box::new(fixed::FixedWindow::with_offsets(limit)),
            Self::SlidingLog => Box::new(sliding::Log::new(limit)),
            Self::SlidingWindow => Box::new(sliding::Counter::new(limit)),
        }
    }
}

/// The most that an algorithm lets into any one window: `2 × burst − 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarantee {
    bursts: u64,
    less: u64,
}

impl Guarantee {
    /// In turns, under this limit.
    pub fn turns(self, limit: &Limit) -> u64 {
        self.bursts * burst(limit) - self.less
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bursts {
            1 => f.write_str("burst")?,
            bursts => write!(f, "{bursts} × burst")?,
        }
        match self.less {
            0 => Ok(()),
            less => write!(f, " − {less}"),
        }
    }
}

/// What an algorithm keeps of one client: `8 bytes`, or `4 + 16 × burst bytes` at most, where
/// it keeps each turn of the last window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateBytes {
    of_client: u64,
    of_turn: u64,
}

impl StateBytes {
    /// At most, under this limit.
    pub fn most(self, limit: &Limit) -> u64 {
        self.of_client + self.of_turn * burst(limit)
    }
}

impl fmt::Display for StateBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of_turn {
            0 => write!(f, "{} bytes", self.of_client),
            of_turn => write!(f, "{} + {of_turn} × burst bytes", self.of_client),
        }
    }
}

/// The state of each client, by its number.
#[derive(Debug)]
struct Clients<S>(Vec<S>);

impl<S: Copy + Default> Clients<S> {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn get(&self, client: u32) -> S {
        self.0.get(client as usize).copied().unwrap_or_default()
    }

    fn get_mut(&mut self, client: u32) -> &mut S {
        let at = client as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, S::default());
        }
        &mut self.0[at]
    }
}

/// Turns that fit into a window, and into a bucket.
fn burst(limit: &Limit) -> u64 {
    u64::from(limit.burst().tickets())
}

/// A stretch of time in intervals of one turn, for drawing.
#[expect(
    clippy::cast_precision_loss,
    reason = "for drawing: a billionth more or less cannot be seen"
)]
fn in_turns(stretch: Nanos, interval: Nanos) -> f64 {
    stretch as f64 / interval as f64
}

#[cfg(test)]
mod tests;
