//! The smallest limits that ordinary clients would never have noticed, found in what
//! really came: for each of some rates the smallest burst, and what it would have stopped
//! of the noisiest. Knows the gateway's token bucket only, and reads its input twice.

use std::fmt;
use std::str::FromStr;

use super::input::{self, Input, InputError, Progress};
use crate::logic::bucket::{Burst, Limit, Nanos, Rate};
use crate::logic::limiter::{Algorithm, Limiter, Verdict};

/// Rates that are tried: what people would write, each about 1.5 to 2 times the last.
const RATES: [&str; 16] = [
    "1/min", "2/min", "3/min", "5/min", "10/min", "15/min", "20/min", "30/min", "1", "2", "3", "5",
    "10", "20", "50", "100",
];
/// One client in so many is among the noisiest, and at least one where there are two.
const ONE_NOISY_IN: usize = 100;
/// More than half of ordinary clients is no longer what the word means.
const SHARE_MAX: f64 = 0.5;
/// A bucket is known by what it does once it has been emptied and filled again, over and over: it
/// had to have the time to fill so often in what was seen.
pub const FILLS_MIN: u64 = 4;
/// The stretch by which limits that stop alike are told apart.
const MINUTE: f64 = 60e9;

/// A share of all, from 0 to a half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// 1 is all.
    pub fn of_one(self) -> f64 {
        self.0
    }

    /// Of so many, rounded down.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "at most half of a number of clients, which is below 2^32"
    )]
    fn of(self, all: usize) -> usize {
        (self.0 * all as f64) as usize
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.07 % is 0.0007, which times 100 is not quite 0.07.
        write!(f, "{} %", (self.0 * 1e8).round() / 1e6)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let trimmed = given.trim();
        let (number, unit) = match trimmed.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 0.01),
            None => (trimmed, 1.0),
        };
        let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let share = number.parse::<f64>().ok().filter(|_| is_plain);
        share
            .map(|number| number * unit)
            .filter(|share| *share <= SHARE_MAX)
            .map(Self)
            .ok_or_else(|| "takes a share from 0% to 50%, such as 0.1% or 0.001".to_owned())
    }
}

/// What is advised, and between what.
#[derive(Clone, Debug)]
pub struct Advice {
    /// How many of the ordinary clients may have been refused.
    pub share: Share,
    /// Clients that are not among the noisiest.
    pub ordinary: usize,
    /// Clients that asked for the most.
    pub noisiest: usize,
    /// Turns that those asked for.
    pub noisy_turns: u64,
    /// From the first turn to the last.
    pub span: Nanos,
    /// Limits that would do, from the slowest rate to the fastest that makes a difference.
    pub curve: Vec<Point>,
    /// The one that stops the most, in `curve`, of those that do not [need
    /// longer](Advice::is_beyond_the_seen); of those that stop alike the one that lets the least
    /// into a minute. Where each needs longer, the one that fills the soonest. None where no
    /// limit would do.
    pub best: Option<usize>,
}

impl Advice {
    /// Does a bucket of this limit take longer to fill than a quarter of what was seen lasted? Then
    /// it is not known what it does to clients that stay: their first burst was most of it.
    pub fn is_beyond_the_seen(&self, point: &Point) -> bool {
        point.limit.fill_nanos() > self.span / FILLS_MIN
    }
}

/// One limit that would do.
#[derive(Clone, Debug)]
pub struct Point {
    /// The smallest of this rate.
    pub limit: Limit,
    /// Ordinary clients that it would have refused once or more often.
    pub refused_ordinary: usize,
    /// Turns of the noisiest that it would have refused.
    pub stopped: u64,
}

impl Point {
    /// As typed after `kidoban`.
    pub fn flags(&self) -> String {
        let (rate, burst) = (self.limit.rate().given(), self.limit.burst());
        format!("--rate {rate} --burst {burst}")
    }

    /// What one client may ask for within a minute.
    #[expect(clippy::cast_precision_loss, reason = "to compare only")]
    fn in_a_minute(&self) -> f64 {
        let interval = self.limit.rate().interval_nanos();
        f64::from(self.limit.burst().tickets()) + MINUTE / interval as f64
    }
}

/// Of one client: how much it asked for, and what bucket would have done, for each rate.
#[derive(Clone, Copy, Default)]
struct Need {
    asked: u64,
    /// When the bucket would be full again, had it been deep enough.
    full_at: [Nanos; RATES.len()],
    /// How deep it had to be, in tickets.
    depth: [u64; RATES.len()],
}

impl Need {
    /// A bucket that never refuses stands as any that is deep enough.
    fn arrive(&mut self, now: Nanos, rates: &[Rate; RATES.len()]) {
        self.asked += 1;
        for ((full_at, depth), rate) in self.full_at.iter_mut().zip(&mut self.depth).zip(rates) {
            let interval = rate.interval_nanos();
            *full_at = (*full_at).max(now).saturating_add(interval);
            *depth = (*depth).max((*full_at - now).div_ceil(interval));
        }
    }
}

fn rates() -> [Rate; RATES.len()] {
    RATES.map(|rate| rate.parse().expect("a test reads each of them"))
}

/// Reads the input twice, and finds the limits.
///
/// # Errors
/// [`InputError`].
pub fn advise(
    input: &Input,
    limit: &Limit,
    share: Share,
    watch: &mut dyn FnMut(Progress),
) -> Result<Advice, InputError> {
    let rates = rates();
    let mut needs: Vec<Need> = Vec::new();
    let mut seen: Option<(Nanos, Nanos)> = None;
    input::read(input, limit, watch, &mut |arrival| {
        seen = Some((seen.map_or(arrival.at, |(first, _)| first), arrival.at));
        let client = arrival.client as usize;
        if client >= needs.len() {
            needs.resize_with(client + 1, Need::default);
        }
        needs[client].arrive(arrival.at, &rates);
    })?;

    let mut by_asked: Vec<usize> = (0..needs.len()).collect();
    by_asked.sort_by_key(|client| std::cmp::Reverse(needs[*client].asked));
    let noisiest = match by_asked.len() {
        0 | 1 => 0,
        clients => clients.div_ceil(ONE_NOISY_IN),
    };
    let (noisy, ordinary) = by_asked.split_at(noisiest);
    let mut curve = smallest(&needs, ordinary, &rates, share.of(ordinary.len()));
    count_stopped(input, limit, noisy, &mut curve, watch)?;
    let mut advice = Advice {
        share,
        ordinary: ordinary.len(),
        noisiest: noisy.len(),
        noisy_turns: noisy.iter().map(|client| needs[*client].asked).sum(),
        span: seen.map_or(0, |(first, last)| last - first),
        curve,
        best: None,
    };
    advice.best = best(&advice);
    Ok(advice)
}

fn best(advice: &Advice) -> Option<usize> {
    let seen = advice.curve.iter().enumerate();
    let seen = seen.filter(|(_, point)| !advice.is_beyond_the_seen(point));
    let best = seen.max_by(|(_, a), (_, b)| {
        let stopped = a.stopped.cmp(&b.stopped);
        stopped.then_with(|| b.in_a_minute().total_cmp(&a.in_a_minute()))
    });
    let soonest = || {
        let all = advice.curve.iter().enumerate();
        all.min_by_key(|(_, point)| point.limit.fill_nanos())
    };
    best.or_else(soonest).map(|(n, _)| n)
}

/// For each rate the smallest burst under which no more than `allowed` of these are refused.
fn smallest(
    needs: &[Need],
    ordinary: &[usize],
    rates: &[Rate; RATES.len()],
    allowed: usize,
) -> Vec<Point> {
    let mut curve: Vec<Point> = Vec::new();
    for (n, rate) in rates.iter().enumerate() {
        let mut depths: Vec<u64> = ordinary
            .iter()
            .map(|client| needs[*client].depth[n])
            .collect();
        depths.sort_unstable_by_key(|depth| std::cmp::Reverse(*depth));
        let depth = depths.get(allowed).copied().unwrap_or(1).max(1);
        let burst = depth.to_string().parse::<Burst>();
        let Some(limit) = burst
            .ok()
            .and_then(|burst| Limit::new(rate.clone(), burst).ok())
        else {
            continue;
        };
        // A faster rate that needs the same burst only lets more in.
        if curve
            .last()
            .is_some_and(|last| last.limit.burst() == limit.burst())
        {
            continue;
        }
        curve.push(Point {
            refused_ordinary: depths.iter().filter(|needed| **needed > depth).count(),
            limit,
            stopped: 0,
        });
    }
    curve
}

/// Runs the noisiest through each limit of the curve.
fn count_stopped(
    input: &Input,
    limit: &Limit,
    noisy: &[usize],
    curve: &mut [Point],
    watch: &mut dyn FnMut(Progress),
) -> Result<(), InputError> {
    let mut is_noisy = vec![false; noisy.iter().max().map_or(0, |most| most + 1)];
    for client in noisy {
        is_noisy[*client] = true;
    }
    let start = |point: &Point| Algorithm::TokenBucket.start(&point.limit);
    let mut buckets: Vec<Box<dyn Limiter>> = curve.iter().map(start).collect();
    input::read(input, limit, watch, &mut |arrival| {
        if is_noisy.get(arrival.client as usize) != Some(&true) {
            return;
        }
        for (bucket, point) in buckets.iter_mut().zip(&mut *curve) {
            if bucket.decide(arrival.client, arrival.at) == Verdict::Refused {
                point.stopped += 1;
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(pattern: &str, share: &str) -> Advice {
        let input = Input::Pattern(pattern.parse().unwrap());
        let limit = Limit::new("2".parse().unwrap(), "2".parse().unwrap()).unwrap();
        advise(&input, &limit, share.parse().unwrap(), &mut |_| {}).unwrap()
    }

    #[test]
    fn shares_are_read_as_written() {
        for (given, share) in [("0.1%", 0.001), ("0.001", 0.001), ("0", 0.0), ("50%", 0.5)] {
            let read: Share = given.parse().unwrap();
            assert!((read.0 - share).abs() < 1e-12, "{given}");
        }
        assert_eq!("0.1%".parse::<Share>().unwrap().to_string(), "0.1 %");
        for bad in ["", "%", "-1%", "51%", "1", "x", "NaN", "1e-3"] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
    }

    /// One client alone is ordinary, and none is noisy.
    #[test]
    fn each_point_is_the_smallest_that_refuses_nobody() {
        let pattern = "burst:4+every:700ms:30@3s+poisson:1:60s:7@40s";
        let advice = advice(pattern, "0");
        assert_eq!((advice.ordinary, advice.noisiest), (1, 0));
        assert!(advice.curve.len() > 3);
        let input = Input::Pattern(pattern.parse().unwrap());
        for point in &advice.curve {
            let refused = |burst: u32| {
                let burst: Burst = burst.to_string().parse().unwrap();
                let limit = Limit::new(point.limit.rate().clone(), burst).unwrap();
                let mut bucket = Algorithm::TokenBucket.start(&limit);
                let mut refused = 0;
                let read = input::read(&input, &limit, &mut |_| {}, &mut |arrival| {
                    let verdict = bucket.decide(arrival.client, arrival.at);
                    refused += u32::from(verdict == Verdict::Refused);
                });
                read.unwrap();
                refused
            };
            let burst = point.limit.burst().tickets();
            assert_eq!(refused(burst), 0, "{}", point.flags());
            assert!(burst == 1 || refused(burst - 1) > 0, "{}", point.flags());
        }
    }

    #[test]
    fn a_flood_is_told_from_those_beside_it() {
        let advice = advice("flood", "0.1%");
        assert_eq!((advice.ordinary, advice.noisiest), (4, 1));
        let best = &advice.curve[advice.best.unwrap()];
        assert_eq!(best.refused_ordinary, 0);
        assert!(best.stopped * 2 > advice.noisy_turns, "{advice:?}");
    }

    /// Ten minutes say nothing about a bucket that takes an hour to fill.
    #[test]
    fn what_was_not_seen_to_refill_is_not_advised() {
        let advice = advice("flood+players:30:10min", "0.1%");
        let (beyond, seen): (Vec<_>, Vec<_>) = advice
            .curve
            .iter()
            .partition(|point| advice.is_beyond_the_seen(point));
        assert!(!beyond.is_empty() && !seen.is_empty(), "{advice:?}");
        let best = &advice.curve[advice.best.unwrap()];
        assert!(best.limit.fill_nanos() * 4 <= advice.span);
        assert!(seen.iter().all(|point| point.stopped <= best.stopped));

        // Three a second for a minute: 61 at once and 2 a second would do, for a minute.
        let steady = self::advice("every:333333334ns:180", "0");
        let best = &steady.curve[steady.best.unwrap()];
        assert_eq!(best.flags(), "--rate 3 --burst 1");

        let advice = self::advice("burst:10", "0");
        // Nothing is better than a warning, and a line to begin with.
        let best = &advice.curve[advice.best.unwrap()];
        assert!(advice.is_beyond_the_seen(best));
        let fills = advice.curve.iter().map(|point| point.limit.fill_nanos());
        assert_eq!(Some(best.limit.fill_nanos()), fills.min());
    }

    #[test]
    fn a_share_may_be_refused() {
        let none = advice("players:40:10min", "0");
        let some = advice("players:40:10min", "20%");
        for (strict, lax) in none.curve.iter().zip(&some.curve) {
            assert!(lax.limit.burst() <= strict.limit.burst());
            assert!(lax.refused_ordinary <= 7);
        }
        assert!(some.curve.iter().any(|point| point.refused_ordinary > 0));
    }

    #[test]
    fn every_rate_is_one() {
        let rates = rates();
        assert!(rates.is_sorted_by(|a, b| a.interval_nanos() > b.interval_nanos()));
    }
}
