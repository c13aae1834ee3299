//! The last minutes in steps: how much of each kind happened in each. Fed with totals
//! that only grow, so that nobody who counts has to know of it. Bounded; time comes in
//! as an argument.

use std::collections::VecDeque;

use super::bucket::Nanos;

/// One step.
pub const STEP: Nanos = 5_000_000_000;
/// Steps kept: ten minutes, the one that is still filling included.
pub const STEPS_MAX: usize = 120;

/// What happened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<const N: usize> {
    /// Of each kind.
    pub counts: [u64; N],
    /// The highest of a level that was told.
    pub peak: u64,
}

/// Steps of `N` kinds, the last of which is still filling.
#[derive(Debug)]
pub struct History<const N: usize> {
    steps: VecDeque<Step<N>>,
    /// When the last step began.
    filling_since: Nanos,
    /// The totals when they were last told.
    totals: [u64; N],
}

impl<const N: usize> History<N> {
    const EMPTY: Step<N> = Step {
        counts: [0; N],
        peak: 0,
    };

    /// Nothing happened before `now`.
    pub fn new(now: Nanos) -> Self {
        Self {
            steps: VecDeque::from([Self::EMPTY]),
            filling_since: now,
            totals: [0; N],
        }
    }

    /// The totals at `now`, and the highest level since they were last told. What is new
    /// happened in the step that was filling; so tell them whenever a step ends.
    pub fn tell(&mut self, now: Nanos, totals: [u64; N], peak: u64) {
        if let Some(filling) = self.steps.back_mut() {
            for ((count, total), before) in filling.counts.iter_mut().zip(totals).zip(self.totals) {
                *count += total.saturating_sub(before);
            }
            filling.peak = filling.peak.max(peak);
        }
        self.totals = totals;
        let ended = now.saturating_sub(self.filling_since) / STEP;
        self.filling_since += ended * STEP;
        // After a long sleep nothing of what was is left.
        let empty = usize::try_from(ended).unwrap_or(STEPS_MAX).min(STEPS_MAX);
        for _ in 0..empty {
            self.steps.push_back(Self::EMPTY);
        }
        let too_many = self.steps.len().saturating_sub(STEPS_MAX);
        self.steps.drain(..too_many);
    }

    /// When the step that is filling ends.
    pub fn ends_at(&self) -> Nanos {
        self.filling_since + STEP
    }

    /// Oldest first; the last is still filling. Never none.
    pub fn steps(&self) -> impl Iterator<Item = &Step<N>> {
        self.steps.iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(history: &History<1>) -> Vec<u64> {
        history.steps().map(|step| step.counts[0]).collect()
    }

    #[test]
    fn what_is_new_belongs_to_the_step_that_was_filling() {
        let mut history = History::<1>::new(7);
        assert_eq!(counts(&history), [0]);
        history.tell(7 + STEP - 1, [3], 2);
        assert_eq!(counts(&history), [3]);
        history.tell(7 + STEP, [4], 1);
        assert_eq!(counts(&history), [4, 0]);
        history.tell(7 + STEP + 1, [9], 5);
        assert_eq!(counts(&history), [4, 5]);
        let peaks: Vec<_> = history.steps().map(|step| step.peak).collect();
        assert_eq!(peaks, [2, 5]);
        assert_eq!(history.ends_at(), 7 + 2 * STEP);
    }

    #[test]
    fn a_long_silence_empties_it() {
        let mut history = History::<1>::new(0);
        history.tell(1, [5], 9);
        history.tell(u64::MAX / 2, [5], 0);
        assert_eq!(counts(&history), [0; STEPS_MAX]);
    }

    proptest! {
        /// As long as no step is dropped, nothing is lost and nothing counted twice.
        #[test]
        fn steps_add_up_to_the_totals(
            told in prop::collection::vec((0..STEP, 0u64..50, 0u64..50), 1..100),
        ) {
            let mut history = History::<2>::new(0);
            let (mut now, mut totals) = (0, [0, 0]);
            for (later, a, b) in told {
                now += later;
                totals = [totals[0] + a, totals[1] + b];
                history.tell(now, totals, a);
            }
            let sum = |n: usize| history.steps().map(|step| step.counts[n]).sum::<u64>();
            prop_assert_eq!([sum(0), sum(1)], totals);
            prop_assert_eq!(history.steps().count() as u64, now / STEP + 1);
        }

        /// However time goes, there are never more steps than that, and the last one has not ended.
        #[test]
        fn it_stays_bounded(told in prop::collection::vec(0..STEP * 300, 1..50)) {
            let mut history = History::<1>::new(0);
            let mut now = 0;
            for (n, later) in told.into_iter().enumerate() {
                now += later;
                history.tell(now, [n as u64], 0);
                prop_assert!(history.steps().count() <= STEPS_MAX);
                prop_assert!(now < history.ends_at() && history.ends_at() <= now + STEP);
            }
        }
    }
}
