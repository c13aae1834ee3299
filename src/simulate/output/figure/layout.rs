//! Where everything is: widths, heights and the time axis in pixels. Two sizes, a desk's and a
//! phone's; which words and marks there are is decided elsewhere.

use crate::logic::bucket::Nanos;
use crate::logic::limiter::Algorithm;

use super::words;
use super::{Figure, Lane, Marks};

/// Half a dot.
pub(super) const RADIUS: f64 = 3.1;
/// From the middle of a dot to that of the next on top of it.
pub(super) const PITCH: f64 = 7.2;
/// Dots this far apart lie side by side.
pub(super) const APART: f64 = PITCH - 0.5;
/// Bars are this high: of the first lane, and of the others.
const BARS_HEIGHT: f64 = 58.0;
const BARS_HEIGHT_OTHER: f64 = 38.0;
/// A bar is never narrower, so that it can be seen.
pub(super) const BAR_WIDTH_MIN: f64 = 1.0;
/// Bars wider than this stand apart.
pub(super) const BAR_GAP_FROM: f64 = 4.0;
const BRACKET_HEIGHT: f64 = 22.0;
/// Room for what the level is called, in the first lane, and less in the others.
const CURVE_GAP: f64 = 17.0;
const CURVE_GAP_OTHER: f64 = 5.0;
const CURVE_HEIGHT: f64 = 26.0;
const LABELS_HEIGHT: f64 = 15.0;
const LANE_GAP: f64 = 5.0;
/// A letter of the words on a line, about.
pub(super) const LABEL_LETTER_WIDTH: f64 = 5.6;
/// A letter of a lane's name, about.
const NAME_LETTER_WIDTH: f64 = 6.8;

/// One of the two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::simulate::output) enum Size {
    /// 900 pixels: words beside the plots.
    Wide,
    /// 400 pixels: words above the plots.
    Narrow,
}

/// The size and the time axis of a picture.
#[derive(Clone, Debug)]
pub(in crate::simulate::output) struct Layout {
    pub(super) size: Size,
    pub(in crate::simulate::output) width: f64,
    /// Where words begin.
    pub(super) margin: f64,
    /// Where the time axis begins, and where it ends.
    pub(in crate::simulate::output) left: f64,
    pub(in crate::simulate::output) right: f64,
    /// Characters of a caption's line.
    pub(super) caption_chars: usize,
    /// Characters of a line across the picture.
    pub(super) line_chars: usize,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    bar_nanos: Nanos,
    /// The lanes of every row.
    pub(in crate::simulate::output) frames: Vec<Frame>,
}

/// Where the parts of a lane are, down from the lane's own beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::simulate::output) struct Frame {
    /// Where the lane begins in its row.
    pub(in crate::simulate::output) top: f64,
    /// Is it the first with a curve, where the level is named?
    pub(super) names_level: bool,
    /// Where the lane's name ends; where the axis begins, if there is but one lane.
    pub(in crate::simulate::output) name_end: f64,
    /// The bracket's line; names and words are a little above it.
    pub(in crate::simulate::output) bracket: f64,
    pub(in crate::simulate::output) dots_top: f64,
    pub(in crate::simulate::output) dots_bottom: f64,
    pub(in crate::simulate::output) curve_top: f64,
    pub(in crate::simulate::output) curve_bottom: f64,
    /// The line on which windows are.
    pub(in crate::simulate::output) labels: f64,
    pub(in crate::simulate::output) bottom: f64,
}

impl Layout {
    pub(in crate::simulate::output) fn new(figure: &Figure, size: Size) -> Self {
        let (width, margin, left, right, caption_chars, line_chars) = match size {
            Size::Wide => (900.0, 18.0, 274.0, 858.0, 38, 120),
            Size::Narrow => (400.0, 12.0, 12.0, 366.0, 58, 54),
        };
        let mut layout = Self {
            size,
            width,
            margin,
            left,
            right,
            caption_chars,
            line_chars,
            from: figure.from,
            to: figure.to,
            bar_nanos: figure.bar_nanos.unwrap_or(0),
            frames: Vec::new(),
        };
        let mut top = 0.0;
        for (n, lane) in figure.lanes.iter().enumerate() {
            let mut rows = figure.rows.iter().filter_map(|row| row.drawn.get(n));
            let has_state = rows.any(|drawn| drawn.state.is_some());
            let frame = layout.frame(figure, top, lane, has_state);
            top += frame.bottom + LANE_GAP;
            layout.frames.push(frame);
        }
        layout
    }

    fn frame(&self, figure: &Figure, top: f64, lane: &Lane, has_state: bool) -> Frame {
        let marks_height = match &lane.asked {
            Marks::Dots(dots) => {
                let moments: Vec<f64> = dots.iter().map(|dot| self.x(dot.at)).collect();
                let levels = pile(&moments).into_iter().max().unwrap_or(0) + 1;
                #[expect(clippy::cast_precision_loss, reason = "a pile of a few dozen")]
                let height = levels as f64 * PITCH;
                height
            }
            Marks::Bars(_) if self.frames.is_empty() => BARS_HEIGHT,
            Marks::Bars(_) => BARS_HEIGHT_OTHER,
        };
        let name_end = if figure.lanes.len() > 1 {
            self.left + words::letters(&lane.name) * NAME_LETTER_WIDTH + 8.0
        } else {
            self.left
        };
        let names_level = has_state && !self.frames.iter().any(|frame| frame.names_level);
        let dots_bottom = BRACKET_HEIGHT + marks_height;
        let (curve_top, curve_bottom, bottom) = if has_state {
            let gap = if names_level {
                CURVE_GAP
            } else {
                CURVE_GAP_OTHER
            };
            let curve_bottom = dots_bottom + gap + CURVE_HEIGHT;
            (
                dots_bottom + gap,
                curve_bottom,
                curve_bottom + LABELS_HEIGHT,
            )
        } else {
            (dots_bottom, dots_bottom, dots_bottom)
        };
        Frame {
            top,
            names_level,
            name_end,
            bracket: BRACKET_HEIGHT - 6.0,
            dots_top: BRACKET_HEIGHT,
            dots_bottom,
            curve_top,
            curve_bottom,
            labels: curve_bottom + 7.0,
            bottom,
        }
    }

    /// A moment on the axis; what is outside is at its end.
    #[expect(
        clippy::cast_precision_loss,
        reason = "for drawing: a billionth of the axis cannot be seen"
    )]
    pub(super) fn x(&self, at: Nanos) -> f64 {
        let at = at.clamp(self.from, self.to);
        let share = (at - self.from) as f64 / (self.to - self.from) as f64;
        self.left + share * (self.right - self.left)
    }

    /// Where the bar that begins then ends: a little before the next, if there is room.
    pub(super) fn bar_end(&self, from: Nanos) -> f64 {
        let (begin, end) = (self.x(from), self.x(from.saturating_add(self.bar_nanos)));
        let gap = if end - begin > BAR_GAP_FROM { 1.0 } else { 0.0 };
        (end - gap).max(begin + BAR_WIDTH_MIN)
    }

    pub(super) fn holds(&self, at: Nanos) -> bool {
        (self.from..=self.to).contains(&at)
    }

    /// How high the lanes of a row are together.
    pub(super) fn lanes_height(&self) -> f64 {
        self.frames
            .last()
            .map_or(0.0, |last| last.top + last.bottom)
    }

    pub(super) fn caption(&self, algorithm: Algorithm) -> Vec<String> {
        let mut lines = words::wrapped(algorithm.about(), self.caption_chars);
        lines.push(words::guarantee(algorithm));
        lines
    }
}

/// On which level each dot lies, so that none lies on another: the lowest that is free where
/// it is. `moments` are in pixels, in order.
pub(super) fn pile(moments: &[f64]) -> Vec<usize> {
    let mut taken: Vec<f64> = Vec::new();
    let mut levels = Vec::with_capacity(moments.len());
    for &x in moments {
        let free = taken.iter().position(|last| x - last >= APART);
        let level = free.unwrap_or(taken.len());
        if level == taken.len() {
            taken.push(x);
        } else {
            taken[level] = x;
        }
        levels.push(level);
    }
    levels
}
