//! How long turns took lately, told as percentiles. Exact over the last so many turns,
//! and of those before nothing is kept.

use std::collections::VecDeque;
use std::time::Duration;

/// Turns remembered: enough for a 99th percentile of ten turns above it.
pub const TURNS_MAX: usize = 1024;

/// How long one turn took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// It waited for the engine.
    pub waiting: Duration,
    /// It was in the engine.
    pub in_engine: Duration,
    /// From its first byte to its answer.
    pub whole: Duration,
}

/// Half, nine tenths and all but a hundredth of the turns took no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// The last turns.
#[derive(Debug)]
pub struct Times {
    turns: VecDeque<Took>,
}

impl Default for Times {
    /// None yet. All the memory it will ever take is taken here.
    fn default() -> Self {
        Self {
            turns: VecDeque::with_capacity(TURNS_MAX),
        }
    }
}

impl Times {
    /// One more; the oldest is forgotten for it if need be.
    pub fn add(&mut self, took: Took) {
        if self.turns.len() == TURNS_MAX {
            self.turns.pop_front();
        }
        self.turns.push_back(took);
    }

    /// How many there are.
    pub fn turns(&self) -> usize {
        self.turns.len()
    }

    /// The spread of one of a turn's times; none without a turn.
    pub fn spread(&self, of: impl Fn(&Took) -> Duration) -> Option<Spread> {
        let mut times: Vec<_> = self.turns.iter().map(of).collect();
        times.sort_unstable();
        Some(Spread {
            p50: percentile(&times, 50)?,
            p90: percentile(&times, 90)?,
            p99: percentile(&times, 99)?,
        })
    }
}

/// By nearest rank: the least of the sorted times that at least so many per cent of them do not exceed.
fn percentile(sorted: &[Duration], per_cent: usize) -> Option<Duration> {
    let rank = (sorted.len() * per_cent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn took(ms: u64) -> Took {
        Took {
            waiting: Duration::from_millis(ms),
            in_engine: Duration::from_millis(2 * ms),
            whole: Duration::from_millis(3 * ms),
        }
    }

    #[test]
    fn nothing_is_said_of_no_turns() {
        assert_eq!(Times::default().spread(|took| took.whole), None);
    }

    #[test]
    fn a_hundred_turns() {
        let mut times = Times::default();
        for ms in (1..=100).rev() {
            times.add(took(ms));
        }
        let spread = times.spread(|took| took.in_engine).unwrap();
        let ms = Duration::from_millis;
        assert_eq!(
            [spread.p50, spread.p90, spread.p99],
            [ms(100), ms(180), ms(198)]
        );
    }

    #[test]
    fn only_the_last_turns_count() {
        let mut times = Times::default();
        times.add(took(1_000_000));
        for _ in 0..TURNS_MAX {
            times.add(took(1));
        }
        assert_eq!(times.turns(), TURNS_MAX);
        let spread = times.spread(|took| took.waiting).unwrap();
        assert_eq!(spread.p99, Duration::from_millis(1));
    }

    proptest! {
        /// Enough turns took no longer, and of those that took less there are too few.
        #[test]
        fn a_percentile_is_what_its_name_says(all in prop::collection::vec(0u64..1_000, 1..300)) {
            let mut times = Times::default();
            for ms in &all {
                times.add(took(*ms));
            }
            let spread = times.spread(|took| took.waiting).unwrap();
            for (per_cent, value) in [(50, spread.p50), (90, spread.p90), (99, spread.p99)] {
                let value = u64::try_from(value.as_millis()).unwrap();
                let not_above = all.iter().filter(|ms| **ms <= value).count();
                let below = all.iter().filter(|ms| **ms < value).count();
                prop_assert!(not_above * 100 >= per_cent * all.len());
                prop_assert!(below * 100 < per_cent * all.len());
            }
        }
    }
}
