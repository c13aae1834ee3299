//! The drawing: one SVG that stands by itself, light or dark as its reader likes, with words
//! for those who do not see it. Asks for nothing from anywhere.

use super::axis;
use super::layout::{Frame, Layout, RADIUS, Size};
use super::live;
use super::markup::{Markup, Px};
use super::words;
use super::{Figure, Lane, Marks, Row};
use crate::logic::printable::printable;

/// Colours and letters, for the drawing and for the page alike.
pub(in crate::simulate::output) const STYLE: &str = include_str!("style.css");

const BRACKET_SAVED: f64 = 12.0;
const ROW_GAP: f64 = 20.0;
/// The baselines of a caption's lines.
const CAPTION_TOP: f64 = 51.0;
const CAPTION_LINE: f64 = 14.5;

/// The drawing as a file.
pub fn document(figure: &Figure) -> String {
    let layout = Layout::new(figure, Size::Wide);
    let mut markup = Markup::default();
    let mut body = Markup::default();
    let head = head(&mut body, &layout, figure);
    let height = body_of(&mut body, &layout, figure, head) + 14.0;
    open(&mut markup, &layout, height, "kidoban", figure);
    markup.raw("<style>\n");
    markup.raw(STYLE);
    markup.raw("</style>\n");
    pattern(&mut markup, "kidoban");
    markup.empty(
        "rect",
        &[
            ("class", &"paper"),
            ("width", &layout.width),
            ("height", &Px(height)),
        ],
    );
    markup.raw(&body.finish());
    markup.raw("</svg>\n");
    markup.finish()
}

/// The drawing as a part of a page, which says the heading itself.
pub(in crate::simulate::output) fn part(figure: &Figure, size: Size) -> String {
    let layout = &Layout::new(figure, size);
    let id = match size {
        Size::Wide => "wide",
        Size::Narrow => "narrow",
    };
    let mut body = Markup::default();
    let top = legend(&mut body, layout, figure, 12.0);
    let height = body_of(&mut body, layout, figure, top) + 6.0;
    let mut markup = Markup::default();
    open(&mut markup, layout, height, id, figure);
    pattern(&mut markup, id);
    markup.raw(&body.finish());
    markup.raw("</svg>\n");
    markup.finish()
}

fn open(markup: &mut Markup, layout: &Layout, height: f64, id: &str, figure: &Figure) {
    let (title, description) = (format!("{id}-title"), format!("{id}-desc"));
    markup.open(
        "svg",
        &[
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("class", &"figure"),
            ("id", &id),
            ("viewBox", &format!("0 0 {} {}", layout.width, Px(height))),
            ("role", &"group"),
            ("aria-labelledby", &title),
            ("aria-describedby", &description),
        ],
    );
    markup.words("title", &[("id", &title)], &words::heading(figure));
    let text = format!(
        "One row for each algorithm on one time axis, every one under the limit {}. {}",
        words::limit(&figure.limit),
        words::summary(figure)
    );
    markup.words("desc", &[("id", &description)], &text);
    markup.raw("\n");
}

/// Refused, where there are no dots: hatched, so that it is told without colour too.
fn pattern(markup: &mut Markup, id: &str) {
    let hatch = format!("{id}-hatch");
    markup.raw("<defs>");
    markup.open(
        "pattern",
        &[
            ("id", &hatch),
            ("width", &4),
            ("height", &4),
            ("patternUnits", &"userSpaceOnUse"),
        ],
    );
    markup.empty(
        "path",
        &[("class", &"hatch"), ("d", &"M-1 1L1 -1M0 4L4 0M3 5L5 3")],
    );
    markup.close("pattern");
    markup.raw("</defs>\n");
}

/// What is said above the rows of a file; where it ends.
fn head(markup: &mut Markup, layout: &Layout, figure: &Figure) -> f64 {
    let x = Px(layout.margin);
    let mut y = 34.0;
    let line = |markup: &mut Markup, class: &str, y: f64, text: &str| {
        markup.words("text", &[("class", &class), ("x", &x), ("y", &Px(y))], text);
    };
    line(markup, "heading", y, &words::heading(figure));
    let limit = format!(
        "The limit: {}, given as {}. {}.",
        words::limit(&figure.limit),
        words::options(&figure.limit),
        words::counted(figure.clients, "client")
    );
    let summary = words::summary(figure);
    y += 8.0;
    for text in [limit, summary] {
        for text in words::wrapped(&text, layout.line_chars) {
            y += 18.0;
            line(markup, "lead", y, &text);
        }
    }
    y += 3.0;
    let command = printable(&figure.command);
    for text in words::wrapped(&command, layout.line_chars - 5) {
        y += 16.0;
        line(markup, "mono", y, &text);
    }
    legend(markup, layout, figure, y + 24.0)
}

/// What the marks mean; where it ends.
fn legend(markup: &mut Markup, layout: &Layout, figure: &Figure, top: f64) -> f64 {
    /// A letter of the legend, about.
    const LETTER: f64 = 6.2;
    const SAMPLE: f64 = 28.0;
    const LINE: f64 = 18.0;
    let dots = figure.bar_nanos.is_none();
    let circle = |class: &str, x: f64| {
        format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"-4\" r=\"{RADIUS}\"/>")
    };
    let path = |class: &str, d: &str| format!("<path class=\"{class}\" d=\"{d}\"/>");
    let bar = "M6 0V-9H22V0Z";
    let marks = if dots {
        [
            (circle("in", 14.0), "let in".to_owned()),
            (circle("no", 14.0), "refused".to_owned()),
            (
                path("wait", "M2 -4H20") + &circle("in", 20.0),
                "let in after a wait".to_owned(),
            ),
        ]
    } else {
        [
            (path("bar-in", bar), "let in".to_owned()),
            (path("bar-no", bar), "refused".to_owned()),
            (path("bar-late", bar), "let in after a wait".to_owned()),
        ]
    };
    let bracket = path("worst", "M4 -1V-6H24V-1");
    let mut others = vec![(bracket, "the fullest window of one client".to_owned())];
    let mut drawn = figure.rows.iter().flat_map(|row| &row.drawn);
    if drawn.any(|drawn| drawn.state.is_some()) {
        let curve = path("area", "M4 2V-4L24 -9V2Z") + &path("curve", "M4 -4L24 -9");
        others.push((curve, "the client's state".to_owned()));
        others.push((path("edge", "M14 2V-11"), "a window's edge".to_owned()));
    }
    let (mut x, mut y) = (layout.margin, top);
    for (sample, text) in marks.into_iter().chain(others) {
        let letters: f64 = text.chars().map(|_| LETTER).sum();
        let width = SAMPLE + letters + 10.0;
        if x + width > layout.width && x > layout.margin {
            x = layout.margin;
            y += LINE;
        }
        let place = format!("translate({} {})", Px(x), Px(y));
        markup.open("g", &[("transform", &place)]);
        markup.raw(&sample);
        markup.words(
            "text",
            &[("class", &"legend"), ("x", &SAMPLE), ("y", &0)],
            &text,
        );
        markup.close("g");
        x += width;
    }
    y + 12.0
}

/// The arrivals, the rows and the axis around them; where they end.
fn body_of(markup: &mut Markup, layout: &Layout, figure: &Figure, top: f64) -> f64 {
    let axis_top = top + 16.0;
    let mut rows = Markup::default();
    let mut y = arrivals(&mut rows, layout, figure, axis_top + 6.0);
    for (n, row) in figure.rows.iter().enumerate() {
        y = self::row(&mut rows, layout, figure, n, row, y);
    }
    let bottom = y + 2.0;
    axis(markup, layout, figure, axis_top, bottom);
    markup.raw(&rows.finish());
    bottom + 16.0
}

/// Ticks above and below, and a faint line through all rows for each.
fn axis(markup: &mut Markup, layout: &Layout, figure: &Figure, top: f64, bottom: f64) {
    let most = match layout.size {
        Size::Wide => 11,
        Size::Narrow => 6,
    };
    let ticks = axis::named_ticks(layout, figure.moments, most);
    markup.open("g", &[("class", &"axis"), ("aria-hidden", &"true")]);
    for (x, text) in ticks {
        let x = Px(x);
        let line = format!("M{x} {}V{}", Px(top), Px(bottom));
        markup.empty("path", &[("class", &"tick"), ("d", &line)]);
        for y in [top - 5.0, bottom + 13.0] {
            markup.words("text", &[("x", &x), ("y", &Px(y))], &text);
        }
    }
    markup.close("g");
}

/// What every row is made of, before any verdict.
fn arrivals(markup: &mut Markup, layout: &Layout, figure: &Figure, top: f64) -> f64 {
    let requests = words::counted(figure.asked, "request");
    let named = |at| axis::full_moment(at, figure.moments);
    let (first, last) = (named(figure.first), named(figure.last));
    let when = match figure.asked {
        0 => "none".to_owned(),
        1 => format!("at {first}"),
        _ if figure.first == figure.last => format!("all at {first}"),
        _ => format!("from {first} to {last}"),
    };
    let mut captions = vec![when];
    if let Some(width) = figure.bar_nanos {
        captions.push(format!("each bar is {}", axis::length(width)));
    }
    let place = format!("translate(0 {})", Px(top));
    markup.open(
        "g",
        &[
            ("class", &"arrivals"),
            ("transform", &place),
            ("role", &"img"),
        ],
    );
    let title = format!("What arrives: {requests}, {}.", captions.join(", "));
    markup.words("title", &[], &title);
    let margin = Px(layout.margin);
    let heading = [
        ("class", &"title" as &dyn std::fmt::Display),
        ("x", &margin),
        ("y", &14),
    ];
    markup.words("text", &heading, "What arrives");
    let numbers = [
        ("class", &"numbers" as &dyn std::fmt::Display),
        ("x", &margin),
        ("y", &33),
    ];
    markup.words("text", &numbers, &requests);
    let lines = captions
        .iter()
        .flat_map(|caption| words::wrapped(caption, layout.caption_chars))
        .collect::<Vec<_>>();
    let words_bottom = caption(markup, layout, &lines);
    // No bracket stands over what merely arrives, and no curve under it; names may.
    let saved = if figure.lanes.len() > 1 {
        0.0
    } else {
        BRACKET_SAVED
    };
    let mut lane_top = lanes_top(layout, words_bottom) - saved;
    for (lane, frame) in figure.lanes.iter().zip(&layout.frames) {
        let place = format!("translate(0 {})", Px(lane_top));
        markup.open("g", &[("class", &"lane"), ("transform", &place)]);
        lane_name(markup, layout, frame, lane);
        markup.open("g", &[("class", &"live")]);
        live::arrived(markup, layout, frame, &lane.asked);
        markup.raw("</g>");
        markup.close("g");
        lane_top += frame.dots_bottom;
    }
    markup.close("g");
    top + words_bottom.max(lane_top) + ROW_GAP
}

/// Where the lanes of a row begin.
fn lanes_top(layout: &Layout, words_bottom: f64) -> f64 {
    match layout.size {
        Size::Wide => 0.0,
        // Words of a bracket stand at its beginning.
        Size::Narrow => words_bottom + 7.0,
    }
}

/// The lines of a caption; where they end.
fn caption(markup: &mut Markup, layout: &Layout, lines: &[String]) -> f64 {
    let mut y = CAPTION_TOP;
    let x = Px(layout.margin);
    for line in lines {
        markup.words(
            "text",
            &[("class", &"caption"), ("x", &x), ("y", &Px(y))],
            line,
        );
        y += CAPTION_LINE;
    }
    y - CAPTION_LINE + 4.0
}

fn lane_name(markup: &mut Markup, layout: &Layout, frame: &Frame, lane: &Lane) {
    if frame.name_end > layout.left {
        let (x, y) = (Px(layout.left), Px(frame.bracket - 4.0));
        markup.words(
            "text",
            &[("class", &"name"), ("x", &x), ("y", &y)],
            &lane.name,
        );
    }
}

/// One algorithm; where it ends.
fn row(
    markup: &mut Markup,
    layout: &Layout,
    figure: &Figure,
    n: usize,
    row: &Row,
    top: f64,
) -> f64 {
    let algorithm = row.algorithm;
    let place = format!("translate(0 {})", Px(top));
    let rule = format!(
        "M{} {y}H{}",
        Px(layout.margin),
        Px(layout.width - layout.margin),
        y = Px(top - 10.0)
    );
    markup.empty("path", &[("class", &"rule"), ("d", &rule)]);
    markup.open(
        "g",
        &[
            ("class", &"row"),
            ("data-row", &n),
            ("transform", &place),
            ("role", &"img"),
        ],
    );
    let title = algorithm.title();
    markup.words(
        "title",
        &[],
        &words::row(title, &row.numbers, &figure.limit),
    );
    let x = Px(layout.margin);
    markup.words("text", &[("class", &"title"), ("x", &x), ("y", &14)], title);
    markup.open("g", &[("class", &"counts")]);
    live::numbers(markup, layout, &row.numbers);
    markup.raw("</g>");
    let words_bottom = caption(markup, layout, &layout.caption(algorithm));
    let shift = lanes_top(layout, words_bottom);
    for (m, ((lane, frame), drawn)) in figure
        .lanes
        .iter()
        .zip(&layout.frames)
        .zip(&row.drawn)
        .enumerate()
    {
        let place = format!("translate(0 {})", Px(shift + frame.top));
        markup.open(
            "g",
            &[("class", &"lane"), ("data-lane", &m), ("transform", &place)],
        );
        lane_name(markup, layout, frame, lane);
        markup.open("g", &[("class", &"live")]);
        live::lane(markup, layout, frame, &figure.limit, &row.numbers, drawn);
        markup.raw("</g>");
        if frame.names_level {
            let (x, y) = (Px(layout.left), Px(frame.curve_top - 4.5));
            markup.words(
                "text",
                &[("class", &"level"), ("x", &x), ("y", &y)],
                algorithm.level(),
            );
        }
        if let Marks::Dots(_) = drawn.marks {
            let base = format!(
                "M{} {y}H{}",
                Px(layout.left),
                Px(layout.right),
                y = Px(frame.dots_bottom + 1.0)
            );
            markup.empty("path", &[("class", &"base"), ("d", &base)]);
        }
        markup.close("g");
    }
    markup.close("g");
    top + words_bottom.max(shift + layout.lanes_height()) + ROW_GAP
}
