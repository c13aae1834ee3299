//! All arrivals as one short line for each algorithm: time in equal steps, and in each
//! what became of whoever came. Bounded whatever the log: the steps double as it goes on.

use std::ops::BitOrAssign;

use super::run::Lanes;
use crate::logic::bucket::Nanos;

/// Fine steps; half of them at least are in use once the first doubling is done, so that
/// a glyph is off by a thirtieth of its width at most.
const STEPS_MAX: usize = 4096;
/// Glyphs on a line: with the longest name before them a terminal of 80 columns.
const GLYPHS: usize = 58;

/// By which algorithms somebody was served on arrival, served later, or refused in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Step {
    served: Lanes,
    delayed: Lanes,
    refused: Lanes,
}

impl BitOrAssign for Step {
    fn bitor_assign(&mut self, other: Self) {
        self.served = self.served.or(other.served);
        self.delayed = self.delayed.or(other.delayed);
        self.refused = self.refused.or(other.refused);
    }
}

/// What became of whoever came, step by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    first: Nanos,
    last: Nanos,
    /// How long a step is, as a power of two.
    shift: u32,
    steps: Vec<Step>,
}

impl Strip {
    /// One more arrival, and what became of it. Moments never go back.
    pub(super) fn add(&mut self, at: Nanos, served: Lanes, delayed: Lanes, refused: Lanes) {
        if self.steps.is_empty() {
            self.first = at;
        }
        self.last = at;
        while (at - self.first) >> self.shift >= STEPS_MAX as u64 {
            self.double();
        }
        let step = Step {
            served,
            delayed,
            refused,
        };
        let place = self.place(at);
        if place >= self.steps.len() {
            self.steps.resize(place + 1, Step::default());
        }
        self.steps[place] |= step;
    }

    fn place(&self, at: Nanos) -> usize {
        usize::try_from((at - self.first) >> self.shift).unwrap_or(STEPS_MAX)
    }

    fn double(&mut self) {
        for n in 0..self.steps.len().div_ceil(2) {
            let mut both = self.steps[2 * n];
            if let Some(second) = self.steps.get(2 * n + 1) {
                both |= *second;
            }
            self.steps[n] = both;
        }
        self.steps.truncate(self.steps.len().div_ceil(2));
        self.shift += 1;
    }

    /// From the first arrival to the last.
    pub fn span(&self) -> Nanos {
        self.last - self.first
    }

    /// When the first came.
    pub fn first(&self) -> Nanos {
        self.first
    }

    /// The line of the nth algorithm.
    pub fn line(&self, n: u8) -> String {
        let columns = self.steps.len().clamp(1, GLYPHS);
        let mut line = vec![Step::default(); columns];
        for (place, step) in self.steps.iter().enumerate() {
            line[place * columns / self.steps.len()] |= *step;
        }
        let glyph = |step: &Step| match [step.served, step.delayed, step.refused]
            .map(|lanes| lanes.has(n))
        {
            [false, false, false] => '·',
            [true, false, false] => '●',
            [_, true, false] => '◔',
            [false, false, true] => '○',
            [_, _, true] => '◐',
        };
        line.iter().map(glyph).collect()
    }
}

/// What the glyphs mean.
pub const LEGEND: &str =
    "● let in  ◐ some let in  ○ all refused  ◔ some let in later  · nobody came";

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Lanes = Lanes::NONE;

    fn served(strip: &mut Strip, at: Nanos) {
        strip.add(at, Lanes::only(0), NONE, NONE);
    }

    fn refused(strip: &mut Strip, at: Nanos) {
        strip.add(at, NONE, NONE, Lanes::only(0));
    }

    #[test]
    fn each_step_tells_what_became_of_whoever_came() {
        let mut strip = Strip::default();
        served(&mut strip, 7);
        refused(&mut strip, 9);
        refused(&mut strip, 10);
        served(&mut strip, 10);
        strip.add(11, NONE, Lanes::only(0), NONE);
        assert_eq!(strip.line(0), "●·○◐◔");
        assert_eq!((strip.first(), strip.span()), (7, 4));
    }

    #[test]
    fn a_long_log_is_a_short_line_with_its_ends_in_it() {
        let mut strip = Strip::default();
        let last = 10 * 365 * 86_400 * 1_000_000_000;
        refused(&mut strip, 0);
        for n in 1..100_000 {
            served(&mut strip, last / 100_000 * n);
        }
        refused(&mut strip, last);
        let line = strip.line(0);
        assert_eq!(line.chars().count(), GLYPHS);
        assert!(line.starts_with('◐') && line.ends_with('◐'), "{line}");
        assert!(
            line[3..line.len() - 3].chars().all(|glyph| glyph == '●'),
            "{line}"
        );
        assert!(strip.steps.len() <= STEPS_MAX);
    }

    #[test]
    fn moments_at_either_end_of_time_have_a_place() {
        let mut strip = Strip::default();
        served(&mut strip, 0);
        refused(&mut strip, Nanos::MAX);
        let line = strip.line(0);
        assert!(line.starts_with('●') && line.ends_with('○'), "{line}");
    }
}
