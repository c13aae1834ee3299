//! What people and programs call each algorithm, how it works in one sentence, and where it
//! comes from. Words only: nothing here decides.

use super::Algorithm;

/// What is fixed about an algorithm, whatever the limit.
pub(super) struct Facts {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) level: &'static str,
    pub(super) source: &'static str,
}

pub(super) fn of(algorithm: Algorithm) -> Facts {
    match algorithm {
        Algorithm::TokenBucket => Facts {
            name: "token-bucket",
            title: "Token bucket",
            about: "Each turn takes a ticket from a bucket that starts full and fills again \
                at a steady rate; no ticket, no turn.",
            level: "tickets left",
            source: "RFC 2215 (TOKEN_BUCKET_TSPEC); Stripe; this gateway",
        },
        Algorithm::Gcra => Facts {
            name: "gcra",
            title: "GCRA",
            about: "Each turn moves the client's schedule on by one interval; a turn is refused \
                when the schedule is too far ahead of the clock.",
            level: "turns ahead of schedule",
            source: "ITU-T I.371 (virtual scheduling algorithm)",
        },
        Algorithm::GcraNoBurst => Facts {
            name: "gcra-no-burst",
            title: "GCRA without burst",
            about: "A turn is refused unless one full interval has passed since the last one \
                that was let in.",
            level: "turns ahead of schedule",
            source: "ITU-T I.371, with no tolerance; nginx's limit_req without burst",
        },
        Algorithm::LeakyBucket => Facts {
            name: "leaky-bucket",
            title: "Leaky bucket (meter)",
            about: "Each turn pours one measure into a bucket that leaks at a steady rate; \
                a turn that would make it spill over is refused.",
            level: "measures in the bucket",
            source: "Turner, New directions in communications (1986); ITU-T I.371 \
                (continuous-state leaky bucket)",
        },
        Algorithm::LeakyQueue => Facts {
            name: "leaky-queue",
            title: "Leaky bucket (queue)",
            about: "Turns wait in a queue and leave it one by one at a steady rate; a turn that \
                finds the queue full is refused.",
            level: "turns waiting",
            source: "Tanenbaum, Computer Networks (traffic shaping); nginx's limit_req with \
                burst delays much alike",
        },
        Algorithm::FixedWindow => Facts {
            name: "fixed-window",
            title: "Fixed window",
            about: "The clock cuts time into windows, and each lets in so many turns; the count \
                starts again at every edge, whatever happened just before.",
            level: "let in since the edge",
            source: "Redis, INCR, \"Pattern: Rate limiter 1\"",
        },
        Algorithm::FixedWindowFirst => Facts {
            name: "fixed-window-first",
            title: "Fixed window from the first turn",
            about: "A client's first turn opens a window that lets in so many; its first turn \
                after that window opens the next.",
            level: "let in since the window opened",
            source: "Redis, INCR, \"Pattern: Rate limiter 2\"",
        },
        Algorithm::FixedWindowOffset => Facts {
            name: "fixed-window-offset",
            title: "Fixed window (own edges)",
            about: "As the fixed window, but with edges at other moments for each client, so \
                that not everybody's window ends at once.",
            level: "let in since the edge",
            source: "Convex's rate limiter (fixed window with a random start)",
        },
        Algorithm::SlidingLog => Facts {
            name: "sliding-log",
            title: "Sliding window (log)",
            about: "Every turn let in is remembered for one window, and a turn is refused while \
                too many are remembered.",
            level: "let in during the last window",
            source: "Redis, sorted sets of moments (ZADD, ZREMRANGEBYSCORE, ZCARD)",
        },
        Algorithm::SlidingWindow => Facts {
            name: "sliding-window",
            title: "Sliding window (counter)",
            about: "The turns of the last window are estimated: all since the edge, and of the \
                window before as large a share as is not yet one window old.",
            level: "estimate for the last window",
            source: "Cloudflare, How we built rate limiting capable of scaling to millions of \
                domains (2017)",
        },
    }
}
