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
/// Bars are this high: of the first lane, and of the others.
const BARS_HEIGHT: f64 = 58.0;
const BARS_HEIGHT_OTHER: f64 = 38.0;
/// A bar is never narrower, so that it can be seen.
const BAR_WIDTH_MIN: f64 = 1.0;
const NAME_HEIGHT: f64 = 15.0;
const BRACKET_HEIGHT: f64 = 22.0;
const CURVE_GAP: f64 = 5.0;
const CURVE_HEIGHT: f64 = 26.0;
const LABELS_HEIGHT: f64 = 15.0;
const LANE_GAP: f64 = 6.0;

/// One of the two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
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
    from: Nanos,
    to: Nanos,
    bar_nanos: Nanos,
    /// The lanes of every row.
    pub(in crate::simulate::output) frames: Vec<Frame>,
}

/// Where the parts of a lane are, down from the lane's own beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::simulate::output) struct Frame {
    /// Where the lane begins in its row.
    pub(in crate::simulate::output) top: f64,
    /// The baseline of the lane's name; none when there is but one lane.
    pub(super) name: Option<f64>,
    /// The bracket's line.
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
            Size::Wide => (900.0, 18.0, 262.0, 858.0, 37, 120),
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
        let has_names = figure.lanes.len() > 1;
        let mut top = 0.0;
        for (n, lane) in figure.lanes.iter().enumerate() {
            let has_state = figure
                .rows
                .iter()
                .any(|row| row.drawn.get(n).is_some_and(|drawn| drawn.state.is_some()));
            let frame = layout.frame(top, lane, n == 0, has_names, has_state);
            top += frame.bottom + LANE_GAP;
            layout.frames.push(frame);
        }
        layout
    }

    fn frame(
        &self,
        top: f64,
        lane: &Lane,
        is_first: bool,
        has_name: bool,
        has_state: bool,
    ) -> Frame {
        let name_height = if has_name { NAME_HEIGHT } else { 0.0 };
        let marks_height = match &lane.asked {
            Marks::Dots(dots) => {
                let moments: Vec<f64> = dots.iter().map(|dot| self.x(dot.at)).collect();
                let levels = pile(&moments).into_iter().max().unwrap_or(0) + 1;
                #[expect(clippy::cast_precision_loss, reason = "a pile of a few dozen")]
                let height = levels as f64 * PITCH;
                height
            }
            Marks::Bars(_) if is_first => BARS_HEIGHT,
            Marks::Bars(_) => BARS_HEIGHT_OTHER,
        };
        let dots_top = name_height + BRACKET_HEIGHT;
        let dots_bottom = dots_top + marks_height;
        let (curve_top, curve_bottom) = if has_state {
            let curve_top = dots_bottom + CURVE_GAP;
            (curve_top, curve_top + CURVE_HEIGHT)
        } else {
            (dots_bottom, dots_bottom)
        };
        let labels_height = if has_state { LABELS_HEIGHT } else { 0.0 };
        Frame {
            top,
            name: has_name.then_some(11.0),
            bracket: name_height + BRACKET_HEIGHT - 6.0,
            dots_top,
            dots_bottom,
            curve_top,
            curve_bottom,
            labels: curve_bottom + 7.0,
            bottom: curve_bottom + labels_height,
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
        let gap = if end - begin > 4.0 { 1.0 } else { 0.0 };
        (end - gap).max(begin + BAR_WIDTH_MIN)
    }

    pub(super) fn holds(&self, at: Nanos) -> bool {
        (self.from..=self.to).contains(&at)
    }

    /// How high the lanes of a row are together.
    pub(super) fn lanes_height(&self) -> f64 {
        self.frames.last().map_or(0.0, |last| last.top + last.bottom)
    }

    pub(super) fn caption(&self, algorithm: Algorithm) -> Vec<String> {
        words::wrapped(algorithm.about(), self.caption_chars)
    }
}

/// On which level each dot lies, so that none lies on another: the lowest that is free where
/// it is. `moments` are in pixels, in order.
pub(super) fn pile(moments: &[f64]) -> Vec<usize> {
    let mut taken: Vec<f64> = Vec::new();
    let mut levels = Vec::with_capacity(moments.len());
    for &x in moments {
        let free = taken.iter().position(|last| x - last >= PITCH - 0.5);
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
