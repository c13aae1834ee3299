//! The token bucket of one client, and the limit it stands under.
//!
//! The whole state of a bucket is one moment: when it will be full again. Nothing
//! ticks; a bucket is refilled by looking at it. This file never asks the time:
//! `now` is nanoseconds on a clock that only goes forward, and comes in as an argument.
//!
//! Source: `tokens = min(burst, tokens + elapsed × rate)`, in the form of the generic
//! cell rate algorithm (ITU-T I.371), with integers, so that nothing drifts.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

/// Nanoseconds since the gateway's start, on the monotonic clock. Reaches 584 years.
pub type Nanos = u64;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Slowest rate, in tickets per second.
const RATE_MIN: f64 = 1e-6;
/// Fastest rate, in tickets per second.
const RATE_MAX: f64 = 1e6;
/// Deepest bucket, in tickets.
const BURST_MAX: u32 = 1_000_000;
/// The longest that an empty bucket may take to fill; beyond it a limit is a ban, and most likely a slip.
const FILL_MAX: Duration = Duration::from_hours(10 * 365 * 24);

/// How fast tickets come, as the operator wrote it.
///
/// ```text
/// 2   0.5   30/min   5000/h   10/10s   200/d
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Tickets that come in `time`, both as written.
    count: f64,
    time: Duration,
    interval: NonZeroU64,
    given: String,
}

impl Rate {
    /// Time in which one ticket comes, rounded up: rounding may cost a client a nanosecond, never the engine a turn.
    pub fn interval_nanos(&self) -> u64 {
        self.interval.get()
    }

    /// Time in which so many tickets come, to the nearest nanosecond.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a limit fills within ten years; from 104 days on, it may be 64 ns off"
    )]
    fn nanos_of(&self, tickets: u32) -> u64 {
        (self.time.as_nanos() as f64 * f64::from(tickets) / self.count).round() as u64
    }

    /// As the operator wrote it, fit to be given again.
    pub fn given(&self) -> &str {
        &self.given
    }
}

/// As a person reads it: `2 turns/sec`, or what was written when it names its own unit.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.given.contains('/') {
            f.write_str(&self.given)
        } else {
            write!(f, "{} turns/sec", self.given)
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        const TAKES: &str = "takes tickets per second such as 2 or 0.5, or 30/min, 5000/h, 10/10s, 200/d; \
             from 0.000001 to 1000000 a second";
        let given = given.trim();
        let (count, time) = match given.split_once('/') {
            None => (given, Some(Duration::from_secs(1))),
            Some((count, time)) => (count, parse_time(time)),
        };
        let count = parse_decimal(count).ok_or(TAKES)?;
        let time = time.ok_or(TAKES)?;
        let per_second = count / time.as_secs_f64();
        if !(RATE_MIN..=RATE_MAX).contains(&per_second) {
            return Err(TAKES.to_owned());
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "between 1e3 and 1e15 by the check above: whole in an f64 and in a u64"
        )]
        let interval = (time.as_nanos() as f64 / count).ceil() as u64;
        let interval = NonZeroU64::new(interval).ok_or(TAKES)?;
        Ok(Self {
            count,
            time,
            interval,
            given: given.to_owned(),
        })
    }
}

/// `min`, `10s`, `d`: a count (1 when absent) and a unit.
fn parse_time(time: &str) -> Option<Duration> {
    let digits = time
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(time.len());
    let (count, unit) = time.split_at(digits);
    let count: u64 = if count.is_empty() {
        1
    } else {
        count.parse().ok().filter(|n| (1..=1_000_000).contains(n))?
    };
    let seconds = match unit {
        "s" | "sec" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(count * seconds))
}

/// A plain positive decimal: `1e-9`, `NaN`, `inf`, `+1` and `-1` are none.
fn parse_decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = text.parse().ok()?;
    (plain && number.is_finite() && number > 0.0).then_some(number)
}

/// Depth of a bucket, in whole tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Burst(u32);

impl Burst {
    /// Whole tickets.
    pub fn tickets(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Burst {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        given
            .trim()
            .parse()
            .ok()
            .filter(|n| (1..=BURST_MAX).contains(n))
            .map(Self)
            .ok_or_else(|| format!("takes a whole number from 1 to {BURST_MAX}"))
    }
}

/// Tickets that one turn costs; fractions allowed.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Cost(f64);

impl Cost {
    /// What a turn costs when nothing else was said.
    pub const ONE: Self = Self(1.0);

    /// Can a full bucket of this depth pay it?
    pub fn fits(self, burst: Burst) -> bool {
        self.0 <= f64::from(burst.0)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Cost {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        parse_decimal(given.trim())
            .filter(|n| *n <= f64::from(BURST_MAX))
            .map(Self)
            .ok_or_else(|| {
                format!("takes a number of tickets above 0, at most {BURST_MAX}, such as 1 or 0.5")
            })
    }
}

/// A rate and a depth that go together.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    rate: Rate,
    burst: Burst,
    window: u64,
}

impl Limit {
    /// # Errors
    /// When an empty bucket would take more than ten years to fill.
    pub fn new(rate: Rate, burst: Burst) -> Result<Self, String> {
        let fill = u128::from(rate.interval_nanos()) * u128::from(burst.0);
        if fill > FILL_MAX.as_nanos() {
            return Err(format!(
                "an empty bucket of {burst} at {rate} would take more than 10 years to fill"
            ));
        }
        let window = rate.nanos_of(burst.0);
        Ok(Self {
            rate,
            burst,
            window,
        })
    }

    /// The rate, for sentences.
    pub fn rate(&self) -> &Rate {
        &self.rate
    }

    /// The depth, in tickets.
    pub fn burst(&self) -> Burst {
        self.burst
    }

    /// Time in which an empty bucket fills, with the rounding of each ticket's interval.
    pub fn fill_nanos(&self) -> u64 {
        self.rate.interval_nanos() * u64::from(self.burst.0)
    }

    /// `burst ÷ rate`, to the nearest nanosecond: `3` a second is 3 in one second, and a
    /// window of that keeps to the clock's edges for as long as it runs.
    pub fn window_nanos(&self) -> u64 {
        self.window
    }

    /// The same in whole seconds, rounded up: `w` of `RateLimit-Policy`.
    pub fn window_seconds(&self) -> u64 {
        self.window.div_ceil(NANOS_PER_SECOND)
    }

    /// A cost as time to refill it, rounded up, and never more than a full bucket holds.
    fn price_nanos(&self, cost: Cost) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "positive and clamped; a fraction of a nanosecond does not matter"
        )]
        let price = (cost.0 * self.rate.interval_nanos() as f64).ceil() as u64;
        price.clamp(1, self.fill_nanos())
    }
}

/// What a bucket said to one turn, and how it stands after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Time until the ticket is there, exactly; none when it was there and is taken.
    pub wait: Option<Duration>,
    /// Whole tickets left.
    pub left: u64,
    /// Time until one whole ticket more; none when the bucket is full.
    pub next: Option<Duration>,
}

/// One client's tickets. The default is [`Bucket::FULL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    full_at: Nanos,
}

impl Bucket {
    /// A new client starts full.
    pub const FULL: Self = Self { full_at: 0 };

    /// A bucket that is full carries no memory: forgetting it changes nothing.
    pub fn is_full(self, now: Nanos) -> bool {
        self.full_at <= now
    }

    /// Time until the bucket is full: what its missing tickets take to come.
    pub fn missing_nanos(self, now: Nanos, limit: &Limit) -> Nanos {
        self.full_at.saturating_sub(now).min(limit.fill_nanos())
    }

    /// Takes `cost` tickets if they are there, and nothing if they are not.
    ///
    /// Over any stretch of T seconds at most `burst + rate × T` tickets are taken, given that `now` never goes back.
    pub fn take(&mut self, now: Nanos, limit: &Limit, cost: Cost) -> Decision {
        let full = limit.fill_nanos();
        let price = limit.price_nanos(cost);
        let missing = self.missing_nanos(now, limit);
        let wait = (missing + price).checked_sub(full).filter(|w| *w > 0);
        let missing = if wait.is_none() {
            self.full_at = now + missing + price;
            missing + price
        } else {
            missing
        };
        let interval = limit.rate.interval_nanos();
        Decision {
            wait: wait.map(Duration::from_nanos),
            left: (full - missing) / interval,
            next: missing
                .checked_sub(1)
                .map(|m| Duration::from_nanos(m % interval + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Nanos = NANOS_PER_SECOND;

    fn limit(rate: &str, burst: &str) -> Limit {
        Limit::new(rate.parse().unwrap(), burst.parse().unwrap()).unwrap()
    }

    fn admits(bucket: &mut Bucket, now: Nanos, limit: &Limit) -> bool {
        bucket.take(now, limit, Cost::ONE).wait.is_none()
    }

    #[test]
    fn rates_are_read_as_written() {
        for (given, interval, said) in [
            ("2", 500_000_000, "2 turns/sec"),
            ("0.5", 2 * SECOND, "0.5 turns/sec"),
            ("3", 333_333_334, "3 turns/sec"),
            ("30/min", 2 * SECOND, "30/min"),
            ("5000/h", 720_000_000, "5000/h"),
            ("10/10s", SECOND, "10/10s"),
            ("200/d", 432 * SECOND, "200/d"),
            ("1/d", 86_400 * SECOND, "1/d"),
            ("1000000", 1_000, "1000000 turns/sec"),
            ("0.000001", 1_000_000 * SECOND, "0.000001 turns/sec"),
        ] {
            let rate: Rate = given.parse().unwrap();
            assert_eq!(rate.interval_nanos(), interval, "{given}");
            assert_eq!(rate.to_string(), said);
        }
    }

    #[test]
    fn windows_are_as_written_where_intervals_are_rounded() {
        for (rate, burst, window, seconds) in [
            ("2", "2", SECOND, 1),
            ("3", "3", SECOND, 1),
            ("3", "1", 333_333_333, 1),
            ("0.3", "3", 10 * SECOND, 10),
            ("7/min", "7", 60 * SECOND, 60),
            ("7/min", "8", 68_571_428_571, 69),
            ("4999/h", "4999", 3_600 * SECOND, 3_600),
            ("999983", "999983", SECOND, 1),
            ("365/365d", "3650", 3_650 * 86_400 * SECOND, 3_650 * 86_400),
        ] {
            let limit = limit(rate, burst);
            let found = (limit.window_nanos(), limit.window_seconds());
            assert_eq!(found, (window, seconds), "{burst} at {rate}");
        }
    }

    #[test]
    fn bad_rates_bursts_and_costs_are_refused() {
        for bad in [
            "",
            "0",
            "-1",
            "+1",
            "NaN",
            "inf",
            "1e-9",
            "1e18",
            "1e3",
            "1000001",
            "0.0000001",
            "1/",
            "/s",
            "1/0s",
            "1/fortnight",
            "1/10",
            "1 000",
            "１",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad:?} passed as a rate");
        }
        for bad in ["", "0", "-1", "1.5", "1000001", "18446744073709551616"] {
            assert!(bad.parse::<Burst>().is_err(), "{bad:?} passed as a burst");
        }
        for bad in ["", "0", "-1", "NaN", "1e3", "1000001"] {
            assert!(bad.parse::<Cost>().is_err(), "{bad:?} passed as a cost");
        }
    }

    #[test]
    fn a_bucket_that_fills_in_ten_years_passes_and_a_longer_one_does_not() {
        let days = 10 * 365;
        let rate = || "1/d".parse().unwrap();
        assert!(Limit::new(rate(), Burst(days)).is_ok());
        assert!(Limit::new(rate(), Burst(days + 1)).is_err());
    }

    #[test]
    fn two_at_once_then_one_each_half_second() {
        let limit = limit("2", "2");
        let mut bucket = Bucket::FULL;
        let now = 77 * SECOND;
        assert!(admits(&mut bucket, now, &limit));
        assert!(admits(&mut bucket, now, &limit));
        let refused = bucket.take(now, &limit, Cost::ONE);
        assert_eq!(refused.wait, Some(Duration::from_millis(500)));
        assert_eq!((refused.left, refused.next), (0, refused.wait));
        assert!(!admits(&mut bucket, now + SECOND / 2 - 1, &limit));
        assert!(admits(&mut bucket, now + SECOND / 2, &limit));
    }

    #[test]
    fn the_meter_counts_whole_tickets_and_the_time_to_one_more() {
        let limit = limit("2", "3");
        let mut bucket = Bucket::FULL;
        let first = bucket.take(0, &limit, Cost::ONE);
        assert_eq!(
            (first.left, first.next),
            (2, Some(Duration::from_millis(500)))
        );
        let half = bucket.take(SECOND / 4, &limit, "0.5".parse().unwrap());
        assert_eq!(
            (half.left, half.next),
            (2, Some(Duration::from_millis(500)))
        );
        assert_eq!(limit.window_seconds(), 2);
    }

    #[test]
    fn a_cost_as_large_as_the_burst_is_payable_at_every_limit() {
        for (rate, burst) in [
            ("1/d", "3650"),
            ("0.0000011", "345"),
            ("3", "1000000"),
            ("7/13s", "999"),
        ] {
            let limit = limit(rate, burst);
            let cost: Cost = burst.parse().unwrap();
            assert!(cost.fits(limit.burst()));
            assert_eq!(
                { Bucket::FULL }.take(5, &limit, cost).wait,
                None,
                "{rate}:{burst}"
            );
        }
    }

    fn any_limit() -> impl Strategy<Value = Limit> {
        let rate = prop_oneof![
            (1u32..2_000).prop_map(|n| n.to_string()),
            (1u32..2_000).prop_map(|n| format!("0.{n:04}")),
            (1u32..500, 1u32..90).prop_map(|(n, s)| format!("{n}/{s}s")),
        ];
        (rate, 1u32..50)
            .prop_map(|(rate, burst)| Limit::new(rate.parse().unwrap(), Burst(burst)).unwrap())
    }

    proptest! {
        /// Never more than burst + rate × T in any stretch, in whole-number arithmetic.
        #[test]
        fn no_stretch_admits_more_than_burst_and_rate_allow(
            limit in any_limit(),
            steps in prop::collection::vec(0u64..3_000_000_000, 1..300),
        ) {
            let mut bucket = Bucket::FULL;
            let mut now = 0;
            let mut admitted = Vec::new();
            for step in steps {
                now += step;
                if admits(&mut bucket, now, &limit) {
                    admitted.push(now);
                }
            }
            for (i, from) in admitted.iter().enumerate() {
                for (j, to) in admitted.iter().enumerate().skip(i) {
                    let allowed = u64::from(limit.burst().tickets())
                        + (to - from) / limit.rate().interval_nanos();
                    prop_assert!((j - i + 1) as u64 <= allowed);
                }
            }
        }

        /// The promised wait admits, and nothing shorter does.
        #[test]
        fn the_promised_wait_is_exact(
            limit in any_limit(),
            cost in (1u32..40).prop_map(|tenths| Cost(f64::from(tenths) / 10.0)),
            start in 0u64..1_000_000_000_000,
        ) {
            prop_assume!(cost.fits(limit.burst()));
            let mut bucket = Bucket::FULL;
            let mut taken = 0;
            let wait = loop {
                match bucket.take(start, &limit, cost).wait {
                    None => taken += 1,
                    Some(wait) => break u64::try_from(wait.as_nanos()).unwrap(),
                }
                prop_assert!(taken <= 1_000, "a bucket without a bottom");
            };
            let mut early = bucket;
            prop_assert!(early.take(start + wait - 1, &limit, cost).wait.is_some());
            prop_assert_eq!(early, bucket, "a refusal takes nothing");
            prop_assert!(bucket.take(start + wait, &limit, cost).wait.is_none());
        }

        /// A full bucket says what a new one says, for ever.
        #[test]
        fn forgetting_a_full_bucket_changes_nothing(
            limit in any_limit(),
            before in prop::collection::vec(0u64..2_000_000_000, 0..20),
            after in prop::collection::vec(0u64..2_000_000_000, 1..20),
        ) {
            let mut kept = Bucket::FULL;
            let mut now = 0;
            for step in before {
                now += step;
                kept.take(now, &limit, Cost::ONE);
            }
            now += limit.fill_nanos();
            prop_assert!(kept.is_full(now));
            let mut fresh = Bucket::FULL;
            for step in after {
                now += step;
                prop_assert_eq!(
                    kept.take(now, &limit, Cost::ONE),
                    fresh.take(now, &limit, Cost::ONE)
                );
            }
        }
    }
}
