//! What changes when the limit does: the marks, the curve, the windows, the bracket and the
//! numbers. `page/draw.js` does the same in a page, and a test holds the two
//! together to the letter: whoever changes one changes the other.

use std::fmt::Write as _;

use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::Verdict;

use super::axis::length;
use super::curve;
use super::layout::{Frame, LABEL_LETTER_WIDTH, Layout, PITCH, RADIUS, pile};
use super::markup::{Markup, Px};
use super::state::State;
use super::story::{Numbers, Worst};
use super::words;
use super::{Bar, Dot, Drawn, Marks};

/// Edges closer than this would be a grey area.
pub(super) const EDGES_APART_MIN: f64 = 4.0;
/// A letter of the bracket's words, about.
pub(super) const LETTER_WIDTH: f64 = 6.3;
/// What is counted is seen, however little it is.
pub(super) const BAR_HEIGHT_MIN: f64 = 1.5;
/// A bracket is never narrower, so that it can be seen.
pub(super) const BRACKET_WIDTH_MIN: f64 = 4.0;

/// The contents of one lane.
pub(super) fn lane(
    markup: &mut Markup,
    layout: &Layout,
    frame: &Frame,
    limit: &Limit,
    numbers: &Numbers,
    drawn: &Drawn,
) {
    if let Some(state) = &drawn.state {
        curve(markup, layout, frame, state);
        look_back(markup, layout, frame, limit, state);
        windows(markup, layout, frame, limit, state);
    }
    match &drawn.marks {
        Marks::Dots(dots) => self::dots(markup, layout, frame, dots),
        Marks::Bars(bars) => self::bars(markup, layout, frame, bars),
    }
    if let Some(worst) = &drawn.worst {
        bracket(markup, layout, frame, limit, numbers, worst);
    }
}

/// The lines beside a row: how many were let in, and how many not.
pub(super) fn numbers(markup: &mut Markup, layout: &Layout, numbers: &Numbers) {
    let x = Px(layout.margin);
    markup.open("text", &[("class", &"numbers"), ("x", &x), ("y", &33)]);
    markup.words(
        "tspan",
        &[("class", &"ink-in")],
        &words::count(numbers.let_in),
    );
    markup.words("tspan", &[], " let in, ");
    markup.words(
        "tspan",
        &[("class", &"ink-no")],
        &words::count(numbers.refused),
    );
    markup.words("tspan", &[], " refused");
    if numbers.later > 0 {
        let wait = format!(", up to {} late", length(numbers.longest_wait));
        markup.words("tspan", &[("class", &"faint")], &wait);
    }
    markup.raw("</text>");
}

/// Straight pieces only: where it bends, and no more than four points a pixel.
fn curve(markup: &mut Markup, layout: &Layout, frame: &Frame, state: &State) {
    let height = frame.curve_bottom - frame.curve_top;
    let points: Vec<(f64, f64)> = state
        .curve
        .iter()
        .map(|&(at, level)| {
            let y = frame.curve_bottom - level / state.full * height;
            (layout.x(at), y)
        })
        .collect();
    let points = curve::simplified(&points);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return;
    };
    let mut line = String::new();
    for (n, (x, y)) in points.iter().enumerate() {
        let step = if n == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{step}{} {}", Px(*x), Px(*y));
    }
    let base = Px(frame.curve_bottom);
    let area = format!("{line}L{} {base}L{} {base}Z", Px(last.0), Px(first.0));
    markup.empty("path", &[("class", &"area"), ("d", &area)]);
    let top = Px(frame.curve_top);
    let full = format!("M{} {top}H{}", Px(layout.left), Px(layout.right));
    markup.empty("path", &[("class", &"full"), ("d", &full)]);
    markup.empty("path", &[("class", &"curve"), ("d", &line)]);
    markup.words(
        "text",
        &[
            ("class", &"scale"),
            ("x", &Px(layout.right + 5.0)),
            ("y", &Px(frame.curve_top + 4.0)),
        ],
        &words::thousands(&Px(state.full).to_string()),
    );
}

/// How far back it looks, as an arrow.
fn look_back(markup: &mut Markup, layout: &Layout, frame: &Frame, limit: &Limit, state: &State) {
    let Some(at) = state.looks_back_at else {
        return;
    };
    let window = limit.window_nanos();
    let from = at.saturating_sub(window);
    let (begin, end) = (layout.x(from), layout.x(at));
    let (top, bottom) = (Px(frame.dots_top), Px(frame.labels + 4.0));
    let edge = format!("M{} {top}V{bottom}", Px(end));
    markup.empty("path", &[("class", &"back"), ("d", &edge)]);
    if at >= window && layout.holds(from) {
        let head = format!("M{} {}l-5 3l5 3", Px(begin + 5.0), Px(frame.labels - 3.0));
        markup.empty("path", &[("class", &"back"), ("d", &head)]);
    }
    let back = length(window);
    let words = [format!("looks back {back}, as from every moment"), back];
    span(markup, frame, (begin, end), &words);
}

/// The edges of windows, and what was let in between them.
fn windows(markup: &mut Markup, layout: &Layout, frame: &Frame, limit: &Limit, state: &State) {
    let apart = state.windows.windows(2);
    let apart = apart.map(|pair| layout.x(pair[1].from) - layout.x(pair[0].from));
    if apart.fold(f64::INFINITY, f64::min) < EDGES_APART_MIN {
        return;
    }
    let burst = words::count(u64::from(limit.burst().tickets()));
    for (n, window) in state.windows.iter().enumerate() {
        edge(markup, layout, frame, window.from);
        let next = state.windows.get(n + 1);
        if next.is_none_or(|next| next.from != window.to) {
            edge(markup, layout, frame, window.to);
        }
        let count = words::count(window.let_in);
        let words = if state.counts_from_zero {
            let count = format!("{count} of {burst}");
            [format!("counts from 0: {count}"), count]
        } else {
            [format!("{count} let in"), count]
        };
        let ends = (layout.x(window.from), layout.x(window.to));
        span(markup, frame, ends, &words);
    }
}

fn edge(markup: &mut Markup, layout: &Layout, frame: &Frame, at: Nanos) {
    let x = layout.x(at);
    if layout.holds(at) && x > layout.left {
        let (top, bottom) = (Px(frame.dots_top - 2.0), Px(frame.labels + 4.0));
        let edge = format!("M{} {top}V{bottom}", Px(x));
        markup.empty("path", &[("class", &"edge"), ("d", &edge)]);
    }
}

/// A line with the first of these words that has room in its middle.
fn span(markup: &mut Markup, frame: &Frame, (begin, end): (f64, f64), words: &[String]) {
    let room = end - begin - 8.0;
    let fits = |words: &&String| words::letters(words) * LABEL_LETTER_WIDTH + 6.0 <= room;
    let Some(words) = words.iter().find(fits) else {
        return;
    };
    let middle = f64::midpoint(begin, end);
    let half = words::letters(words) * LABEL_LETTER_WIDTH / 2.0 + 3.0;
    let line = format!(
        "M{} {y}H{}M{} {y}H{}",
        Px(begin + 2.0),
        Px(middle - half),
        Px(middle + half),
        Px(end - 2.0),
        y = Px(frame.labels)
    );
    markup.empty("path", &[("class", &"span"), ("d", &line)]);
    let (x, y) = (Px(middle), Px(frame.labels + 4.0));
    markup.words("text", &[("class", &"label"), ("x", &x), ("y", &y)], words);
}

/// Each arrival in its place: filled if let in, hollow if refused; one that waits is a
/// point with a line to where it is served.
fn dots(markup: &mut Markup, layout: &Layout, frame: &Frame, dots: &[Dot]) {
    let moments: Vec<f64> = dots.iter().map(|dot| layout.x(dot.at)).collect();
    let heights = heights(frame, &moments);
    let placed = || {
        let places = moments.iter().zip(&heights);
        dots.iter().zip(places).map(|(dot, (x, y))| (dot, *x, *y))
    };
    for (dot, x, y) in placed() {
        if let Verdict::Delayed(until) = dot.verdict {
            let wait = format!("M{} {}H{}", Px(x), Px(y), Px(layout.x(until)));
            markup.empty("path", &[("class", &"wait"), ("d", &wait)]);
        }
    }
    for (dot, x, y) in placed() {
        if dot.verdict == Verdict::Refused {
            circle(markup, "no", x, y, RADIUS - 0.6);
        }
    }
    for (dot, x, y) in placed() {
        let (class, x) = match dot.verdict {
            Verdict::Refused => continue,
            Verdict::Admitted => ("in", x),
            Verdict::Delayed(until) if layout.holds(until) => ("in", layout.x(until)),
            // Served after the end of the picture.
            Verdict::Delayed(until) => ("in beyond", layout.x(until)),
        };
        circle(markup, class, x, y, RADIUS);
    }
}

/// The same arrivals before any verdict. Stands still.
pub(super) fn arrived(markup: &mut Markup, layout: &Layout, frame: &Frame, asked: &Marks) {
    match asked {
        Marks::Dots(dots) => {
            let moments: Vec<f64> = dots.iter().map(|dot| layout.x(dot.at)).collect();
            for (x, y) in moments.iter().zip(heights(frame, &moments)) {
                circle(markup, "ask", *x, y, RADIUS - 0.4);
            }
        }
        Marks::Bars(bars) => {
            let most = bars.iter().map(|bar| bar.asked()).max().unwrap_or(0);
            stacked(markup, layout, frame, bars, most, "bar-ask", |bar| {
                (0, bar.asked())
            });
            scale(markup, layout, frame, most);
        }
    }
}

/// How high each dot lies: one on top of the other, closer together when they are many.
fn heights(frame: &Frame, moments: &[f64]) -> Vec<f64> {
    let levels = pile(moments);
    let room = frame.dots_bottom - frame.dots_top - PITCH;
    let highest = levels.iter().copied().max().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a pile of a few hundred")]
    let pitch = if highest > 0 {
        PITCH.min(room / highest as f64)
    } else {
        PITCH
    };
    let bottom = frame.dots_bottom - PITCH / 2.0;
    #[expect(clippy::cast_precision_loss, reason = "a pile of a few hundred")]
    let heights = levels.iter().map(|level| bottom - *level as f64 * pitch);
    heights.collect()
}

fn circle(markup: &mut Markup, class: &str, x: f64, y: f64, radius: f64) {
    markup.empty(
        "circle",
        &[
            ("class", &class),
            ("cx", &Px(x)),
            ("cy", &Px(y)),
            ("r", &Px(radius)),
        ],
    );
}

/// Counts on top of each other: let in at once, let in later, refused.
fn bars(markup: &mut Markup, layout: &Layout, frame: &Frame, bars: &[Bar]) {
    let most = bars.iter().map(|bar| bar.asked()).max().unwrap_or(0);
    let parts: [(&str, Part); 3] = [
        ("bar-in", |bar| (0, bar.now)),
        ("bar-late", |bar| (bar.now, bar.later)),
        ("bar-no", |bar| (bar.now + bar.later, bar.refused)),
    ];
    for (class, part) in parts {
        stacked(markup, layout, frame, bars, most, class, part);
    }
    scale(markup, layout, frame, most);
}

/// What of a bar is below, and how much a part of it is.
type Part = fn(&Bar) -> (u64, u64);

/// One part of all bars.
fn stacked(
    markup: &mut Markup,
    layout: &Layout,
    frame: &Frame,
    bars: &[Bar],
    most: u64,
    class: &str,
    part: Part,
) {
    let height = frame.dots_bottom - frame.dots_top;
    let high = |count: u64| frame.dots_bottom - share(count, most) * height;
    let mut shape = String::new();
    for bar in bars {
        let (below, count) = part(bar);
        if count == 0 {
            continue;
        }
        let _ = write!(
            shape,
            "M{x} {bottom}V{top}H{end}V{bottom}Z",
            x = Px(layout.x(bar.from)),
            bottom = Px(high(below)),
            top = Px(high(below + count).min(high(below) - BAR_HEIGHT_MIN)),
            end = Px(layout.bar_end(bar.from)),
        );
    }
    markup.empty("path", &[("class", &class), ("d", &shape)]);
}

/// How much the highest bar is.
fn scale(markup: &mut Markup, layout: &Layout, frame: &Frame, most: u64) {
    let (x, y) = (Px(layout.right + 5.0), Px(frame.dots_top + 4.0));
    markup.words(
        "text",
        &[("class", &"scale"), ("x", &x), ("y", &y)],
        &words::count(most),
    );
}

#[expect(clippy::cast_precision_loss, reason = "for drawing")]
fn share(count: u64, of: u64) -> f64 {
    count as f64 / of as f64
}

/// Over the fullest window, and in alarm where it is fuller than the limit.
fn bracket(
    markup: &mut Markup,
    layout: &Layout,
    frame: &Frame,
    limit: &Limit,
    numbers: &Numbers,
    worst: &Worst,
) {
    let is_over = worst.count > u64::from(limit.burst().tickets());
    let over = if is_over { " over" } else { "" };
    let to: Nanos = worst.from.saturating_add(limit.window_nanos());
    let begin = layout.x(worst.from);
    let end = layout.x(to).max(begin + BRACKET_WIDTH_MIN);
    let (y, foot) = (Px(frame.bracket), Px(frame.bracket + 4.0));
    let mut shape = format!("M{} {foot}V{y}H{}", Px(begin), Px(end));
    if layout.holds(to) {
        let _ = write!(shape, "V{foot}");
    }
    let class = format!("worst{over}");
    markup.empty("path", &[("class", &class), ("d", &shape)]);
    let words = words::worst_window(worst, numbers, limit);
    let length = words::letters(&words) * LETTER_WIDTH;
    let x = begin.min(layout.right - length).max(frame.name_end);
    let class = format!("said{over}");
    markup.words(
        "text",
        &[
            ("class", &class),
            ("x", &Px(x)),
            ("y", &Px(frame.bracket - 4.0)),
        ],
        &words,
    );
}
