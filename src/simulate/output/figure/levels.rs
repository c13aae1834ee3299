//! How one of the noisiest clients stood over a time from which not every arrival is kept: of
//! each bar the level it began with, the extremes and the last. Bounded as the bars are.
//! Takes what the algorithms' own look says, and works nothing out.

use std::collections::BTreeMap;

use crate::logic::bucket::Nanos;
use crate::logic::limiter::{Algorithm, Look};

use super::bins::{self, Stretch};
use super::state::{State, WINDOWS_MAX, counts_from_zero, edges, windows};

/// One client under one algorithm.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    algorithm: Algorithm,
    /// In order of time.
    bars: Vec<Level>,
    full: f64,
    /// What was let in while each counted.
    windows: BTreeMap<(Nanos, Nanos), u64>,
}

/// The level during one bar.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    from: Nanos,
    first: f64,
    least: f64,
    most: f64,
    last: f64,
}

impl Stretch for Level {
    fn begins(&mut self) -> &mut Nanos {
        &mut self.from
    }

    fn join(&mut self, later: &Self) {
        self.least = self.least.min(later.least);
        self.most = self.most.max(later.most);
        self.last = later.last;
    }
}

impl Level {
    /// The four, as points of a curve; one, where nothing changed.
    fn points(self, width: Nanos) -> Vec<(Nanos, f64)> {
        let at = |part: Nanos| self.from.saturating_add(width / 4 * part);
        if (self.most - self.least).abs() < f64::EPSILON {
            return vec![(self.from, self.first)];
        }
        let is_falling = self.most - self.first < self.first - self.least;
        let (second, third) = if is_falling {
            (self.most, self.least)
        } else {
            (self.least, self.most)
        };
        let four = [self.first, second, third, self.last];
        (0..).map(at).zip(four).collect()
    }
}

impl Levels {
    /// Nothing was seen.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            bars: Vec::new(),
            full: 1.0,
            windows: BTreeMap::new(),
        }
    }

    /// How it stands at this moment, in a bar of this width. Moments never go back.
    pub(super) fn see(&mut self, width: Nanos, at: Nanos, look: Look) {
        let seen = Level {
            from: bins::beginning(width, at),
            first: look.level,
            least: look.level,
            most: look.level,
            last: look.level,
        };
        match self.bars.last_mut() {
            Some(last) if last.from == seen.from => last.join(&seen),
            Some(_) | None => self.bars.push(seen),
        }
        self.full = self.full.max(look.full);
        self.count(look, 0);
    }

    /// So many were let in, and then it stood like this. One window more than can be drawn is
    /// kept, to know that they are too many.
    pub(super) fn count(&mut self, look: Look, let_in: u64) {
        let Some(edges) = edges(self.algorithm, look) else {
            return;
        };
        if self.windows.len() <= WINDOWS_MAX || self.windows.contains_key(&edges) {
            *self.windows.entry(edges).or_default() += let_in;
        }
    }

    /// Puts bars together until they have this width.
    pub(super) fn widen(&mut self, width: Nanos) {
        bins::widen(&mut self.bars, width);
    }

    /// All of it, in bars of this width, up to the end of the picture.
    pub(super) fn state(&self, width: Nanos, to: Nanos) -> State {
        let curve = self.bars.iter().flat_map(|bar| bar.points(width));
        let end = self.bars.last().map(|bar| (to, bar.last));
        State {
            curve: curve.chain(end).collect(),
            full: self.full,
            windows: windows(&self.windows),
            counts_from_zero: counts_from_zero(self.algorithm),
            looks_back_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(level: f64) -> Look {
        Look {
            level,
            full: 9.0,
            window: None,
        }
    }

    #[test]
    fn wider_bars_keep_the_extremes_in_their_order() {
        let mut levels = Levels::new(Algorithm::TokenBucket);
        for (at, seen) in [(0, 9.0), (1, 9.0), (4, 8.0), (5, 1.0), (9, 2.0), (40, 9.0)] {
            levels.see(1, at, level(seen));
        }
        levels.widen(20);
        let expected = vec![
            (0, 9.0),
            (5, 9.0),
            (10, 1.0),
            (15, 2.0),
            (40, 9.0),
            (60, 9.0),
        ];
        let state = levels.state(20, 60);
        assert_eq!(state.curve, expected);
        assert!((state.full - 9.0).abs() < f64::EPSILON);
    }

    #[test]
    fn windows_are_counted_until_they_are_too_many() {
        let mut levels = Levels::new(Algorithm::FixedWindow);
        for n in 0..WINDOWS_MAX as u64 {
            let look = Look {
                window: Some((n * 10, n * 10 + 10)),
                ..level(1.0)
            };
            levels.see(1, n * 10, look);
            levels.count(look, 1);
            levels.count(look, 1);
        }
        let counted = levels.state(1, 0).windows;
        assert_eq!(counted.len(), WINDOWS_MAX);
        assert!(counted.iter().all(|window| window.let_in == 2));
        for n in 0..1_000 {
            let window = Some((10_000 + n, 10_001 + n));
            levels.count(
                Look {
                    window,
                    ..level(1.0)
                },
                1,
            );
        }
        assert_eq!(levels.windows.len(), WINDOWS_MAX + 1);
        assert!(levels.state(1, 0).windows.is_empty());
    }
}
