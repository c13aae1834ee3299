//! Arrivals counted in bars of equal width, without knowing beforehand how long it will take:
//! when they would be too many, neighbours are put together. Keeps a bounded number of counts,
//! whatever arrives. Bars begin at multiples of their width, so that one of a minute
//! is a minute of the clock.

use crate::logic::bucket::Nanos;
use crate::logic::limiter::Verdict;

use super::axis::{DAY, HOUR, MILLISECOND, MINUTE, SECOND};

/// Most bars of a lane: each is then at least two pixels wide on a desk.
pub(super) const BARS_MAX: usize = 300;

/// Widths that people have words for, each a multiple of the one before, so that bars can be
/// put together. The last is so wide that 300 of them are all the time there is.
pub(super) const WIDTHS: [Nanos; 24] = [
    MILLISECOND,
    2 * MILLISECOND,
    10 * MILLISECOND,
    20 * MILLISECOND,
    100 * MILLISECOND,
    200 * MILLISECOND,
    SECOND,
    2 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    10 * DAY,
    50 * DAY,
    200 * DAY,
    1_000 * DAY,
];

/// What became of the arrivals of one bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// The first moment of it.
    pub from: Nanos,
    /// Let in on arrival.
    pub now: u64,
    /// Let in later; counted where they arrived.
    pub later: u64,
    /// Refused.
    pub refused: u64,
}

impl Bar {
    /// All that arrived.
    pub fn asked(self) -> u64 {
        self.now + self.later + self.refused
    }

    pub(super) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Admitted => self.now += 1,
            Verdict::Delayed(_) => self.later += 1,
            Verdict::Refused => self.refused += 1,
        }
    }
}

/// The width at which the time from the first moment to the last makes few enough bars.
pub(super) fn width(first: Nanos, last: Nanos) -> Nanos {
    WIDTHS
        .into_iter()
        .find(|width| last / width - first / width < BARS_MAX as u64)
        .unwrap_or(WIDTHS[WIDTHS.len() - 1])
}

/// The first moment for which so wide bars would be too many; none if they never are.
pub(super) fn end(first: Nanos, width: Nanos) -> Option<Nanos> {
    beginning(width, first).checked_add(width.checked_mul(BARS_MAX as u64)?)
}

/// The bar of this width that an arrival belongs to begins then.
pub(super) fn beginning(width: Nanos, at: Nanos) -> Nanos {
    at - at % width
}

/// Counts an arrival into the bar that begins then. Bars are in order of time.
pub(super) fn count(bars: &mut Vec<Bar>, from: Nanos, verdict: Verdict) {
    if bars.last().is_none_or(|last| last.from < from) {
        bars.push(Bar {
            from,
            ..Bar::default()
        });
    }
    if let Some(last) = bars.last_mut() {
        last.count(verdict);
    }
}

/// What is known of a stretch of time of one width.
pub(super) trait Stretch {
    /// Its first moment.
    fn begins(&mut self) -> &mut Nanos;

    /// Takes the next one in, of the same stretch when they are wider.
    fn join(&mut self, later: &Self);
}

impl Stretch for Bar {
    fn begins(&mut self) -> &mut Nanos {
        &mut self.from
    }

    fn join(&mut self, later: &Self) {
        self.now += later.now;
        self.later += later.later;
        self.refused += later.refused;
    }
}

/// Puts neighbours together until they have this width.
pub(super) fn widen<S: Stretch>(stretches: &mut Vec<S>, width: Nanos) {
    for stretch in stretches.iter_mut() {
        let from = stretch.begins();
        *from = beginning(width, *from);
    }
    stretches.dedup_by(|later, earlier| {
        let is_same = later.begins() == earlier.begins();
        if is_same {
            earlier.join(later);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_a_multiple_of_the_one_before() {
        for pair in WIDTHS.windows(2) {
            assert!(pair[1] > pair[0] && pair[1] % pair[0] == 0, "{pair:?}");
        }
        assert!(width(0, Nanos::MAX) == 1_000 * DAY);
        assert!(Nanos::MAX / (1_000 * DAY) < BARS_MAX as u64);
    }

    #[test]
    fn a_width_holds_until_its_end() {
        for first in [0, 1, 999_999, 7 * DAY + 1, Nanos::MAX / 2] {
            for step in WIDTHS {
                let Some(end) = end(first, step) else {
                    assert_eq!(width(first, Nanos::MAX).max(step), step);
                    continue;
                };
                assert!(width(first, end - 1) <= step);
                assert!(width(first, end) > step);
            }
        }
    }

    #[test]
    fn bars_put_together_are_those_counted_at_once() {
        let moments = [0, 1, 999_999, 1_000_000, 5_500_000, 9_999_999, 10_000_000];
        let mut fine = Vec::new();
        let mut coarse = Vec::new();
        for (n, at) in moments.into_iter().enumerate() {
            let verdict = match n % 3 {
                0 => Verdict::Admitted,
                1 => Verdict::Delayed(at),
                _ => Verdict::Refused,
            };
            count(&mut fine, beginning(MILLISECOND, at), verdict);
            count(&mut coarse, beginning(10 * MILLISECOND, at), verdict);
        }
        assert_eq!(fine.len(), 5);
        widen(&mut fine, 10 * MILLISECOND);
        assert_eq!(fine, coarse);
        assert_eq!(fine[0].asked(), 6);
    }
}
