//! The rate-limit algorithms side by side: the gateway's own token bucket and what others
//! use in its place, all under one [`Limit`] and one trait. In whole nanoseconds, so that
//! the same arrivals get the same verdicts on every machine. Never asks the time, never
//! knows who a client is, and decides nothing in the gateway: that is
//! [`bucket`](super::bucket) alone.
//!
//! A limit is a rate and a burst. The *window* is the time in which an empty bucket fills,
//! `burst ÷ rate` ([`Limit::fill_nanos`]), and the window algorithms let `burst` turns into
//! each, so that all guard the same long-run rate. Everywhere an event exactly one window
//! old has expired: a window holds its first moment and not its last.

use super::bucket::{Limit, Nanos};

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

/// What is fixed about an algorithm, whatever the limit.
struct Facts {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    level: &'static str,
    source: &'static str,
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
        self.facts().name
    }

    /// For people, such as `Token bucket`.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// How it works, in one sentence for somebody who has never heard of it.
    pub fn about(self) -> &'static str {
        self.facts().about
    }

    /// What [`Look::level`] counts.
    pub fn level(self) -> &'static str {
        self.facts().level
    }

    /// Where it is described, or who is known to use it.
    pub fn source(self) -> &'static str {
        self.facts().source
    }

    /// The bytes that one client's state takes here, for the sliding log at most.
    pub fn bytes_per_client(self, limit: &Limit) -> u64 {
        let bytes = match self {
            Self::TokenBucket => token_bucket::STATE_BYTES,
            Self::Gcra | Self::GcraNoBurst => gcra::STATE_BYTES,
            Self::LeakyBucket => leaky::METER_STATE_BYTES,
            Self::LeakyQueue => leaky::QUEUE_STATE_BYTES,
            Self::FixedWindow | Self::FixedWindowOffset => fixed::STATE_BYTES,
            Self::FixedWindowFirst => fixed::FIRST_STATE_BYTES,
            Self::SlidingLog => {
                return sliding::COUNT_BYTES as u64 + burst(limit) * sliding::TURN_BYTES as u64;
            }
            Self::SlidingWindow => sliding::COUNTER_STATE_BYTES,
        };
        bytes as u64
    }

    /// The most turns of one client that it lets into any one window, wherever the window
    /// begins. Not a bound with room to spare: some arrivals reach it. Delayed turns
    /// count when they are served.
    pub fn guarantee(self, limit: &Limit) -> u64 {
        let burst = burst(limit);
        match self {
            // The bucket, and what comes in one window but for its last nanosecond.
            Self::TokenBucket | Self::Gcra | Self::LeakyBucket => 2 * burst - 1,
            // One interval lies between any two.
            Self::GcraNoBurst | Self::LeakyQueue => burst,
            // The end of one fixed window and the beginning of the next.
            Self::FixedWindow | Self::FixedWindowOffset => 2 * burst,
            // The same, but the turn that began the first window is too old.
            Self::FixedWindowFirst => 2 * burst - 1,
            Self::SlidingLog => burst,
            // All at the end of one window, after nothing; and in the next one more
            // whenever one interval of them has gone from the estimate.
            Self::SlidingWindow => 2 * burst,
        }
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

    #[expect(clippy::too_many_lines, reason = "a table")]
    fn facts(self) -> Facts {
        match self {
            Self::TokenBucket => Facts {
                name: "token-bucket",
                title: "Token bucket",
                about: "Each turn takes a ticket from a bucket that starts full and fills again at a steady rate; no ticket, no turn.",
                level: "tickets left",
                source: "RFC 2215, section 3.7 (token bucket TSpec); Stripe; this gateway",
            },
            Self::Gcra => Facts {
                name: "gcra",
                title: "GCRA",
                about: "Each turn moves the client's schedule on by one interval; a turn is refused when the schedule is too far ahead of the clock.",
                level: "turns ahead of schedule",
                source: "ITU-T I.371, Annex A (virtual scheduling)",
            },
            Self::GcraNoBurst => Facts {
                name: "gcra-no-burst",
                title: "GCRA without burst",
                about: "A turn is refused unless one full interval has passed since the last one let in.",
                level: "turns ahead of schedule",
                source: "ITU-T I.371, Annex A, with no tolerance; nginx's limit_req without burst",
            },
            Self::LeakyBucket => Facts {
                name: "leaky-bucket",
                title: "Leaky bucket (meter)",
                about: "Each turn pours one measure into a bucket that leaks at a steady rate; a turn that would spill over is refused.",
                level: "measures in the bucket",
                source: "Turner, New directions in communications (1986); ITU-T I.371, Annex A (continuous-state leaky bucket)",
            },
            Self::LeakyQueue => Facts {
                name: "leaky-queue",
                title: "Leaky bucket (queue)",
                about: "Turns wait in a queue and leave it one by one at a steady rate; a turn that finds the queue full is refused.",
                level: "turns waiting",
                source: "Tanenbaum, Computer Networks (traffic shaping); nginx's limit_req with burst delays alike",
            },
            Self::FixedWindow => Facts {
                name: "fixed-window",
                title: "Fixed window",
                about: "Time is cut into windows by the clock, and each lets in so many turns; the count starts again at every edge, whatever happened just before.",
                level: "let in since the edge",
                source: "Redis, INCR, \"Pattern: Rate limiter 1\"",
            },
            Self::FixedWindowFirst => Facts {
                name: "fixed-window-first",
                title: "Fixed window from the first turn",
                about: "A client's first turn opens a window that lets in so many; its first turn after that opens the next.",
                level: "let in since the window opened",
                source: "Redis, INCR, \"Pattern: Rate limiter 2\"",
            },
            Self::FixedWindowOffset => Facts {
                name: "fixed-window-offset",
                title: "Fixed window, own edges",
                about: "As the fixed window, but each client's windows are shifted by a moment of its own, so that not everybody's end at once.",
                level: "let in since the edge",
                source: "Convex's rate limiter (fixed window with a random start)",
            },
            Self::SlidingLog => Facts {
                name: "sliding-log",
                title: "Sliding window (log)",
                about: "Every turn let in is remembered for one window, and a turn is refused while so many are remembered.",
                level: "let in during the last window",
                source: "Redis, sorted sets of moments (ZADD, ZREMRANGEBYSCORE, ZCARD)",
            },
            Self::SlidingWindow => Facts {
                name: "sliding-window",
                title: "Sliding window (counter)",
                about: "The last window's turns are estimated: this fixed window's count, and the share of the one before that is not yet one window old.",
                level: "estimate for the last window",
                source: "Cloudflare, How we built rate limiting capable of scaling to millions of domains (2017)",
            },
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
