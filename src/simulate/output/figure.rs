//! The picture of a run: what arrived, drawn once for each algorithm on one time axis. Here is
//! what is in it; `layout` says where, [`svg`] writes it down. Few arrivals are dots, many
//! are bars; the noisiest clients get lanes of their own. Nothing here counts by a rule of its
//! own: verdicts and states are those of [`limiter`](crate::logic::limiter).

use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::{Algorithm, Verdict};
use crate::simulate::run::Outcome;

pub mod axis;
mod bins;
mod curve;
pub(super) mod data;
mod lanes;
mod layout;
mod levels;
mod live;
mod markup;
mod sketch;
mod state;
mod story;
pub mod svg;
pub(super) mod words;

pub use crate::simulate::input::Moments;
pub use bins::Bar;
pub(super) use sketch::RERUN_MAX;
pub use sketch::Sketch;
pub use state::{State, Window};
pub use story::{Numbers, Worst};

pub(super) use layout::Size;
pub(super) use markup::escape;

use lanes::Whose;

/// How many algorithms there are.
pub const ALGORITHMS: usize = Algorithm::ALL.len();

/// What the picture says about the run beside what it counted itself.
pub struct About<'a> {
    /// The command line, as it was typed.
    pub command: &'a str,
    /// What moments count from.
    pub moments: Moments,
    /// What a client is called.
    pub name: &'a dyn Fn(u32) -> String,
    /// What the run measured: fullest windows are taken from it where there are more arrivals
    /// than are kept here. May be empty; then they are not told.
    pub outcomes: &'a [Outcome],
}

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When.
    pub at: Nanos,
    /// Who.
    pub client: u32,
}

/// The contents of one picture.
#[derive(Clone, Debug)]
pub struct Figure {
    pub(super) command: String,
    pub(super) limit: Limit,
    pub(super) moments: Moments,
    /// All arrivals, drawn one by one or not.
    pub(super) asked: u64,
    pub(super) clients: u64,
    /// The first arrival and the last.
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    /// The time axis: its first moment, and its last.
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    /// Every arrival in order, unless they are too many to be run again by a page.
    pub(super) kept: Option<Vec<Asked>>,
    pub(super) lanes: Vec<Lane>,
    /// The width of a bar, where there are bars and no dots.
    pub(super) bar_nanos: Option<Nanos>,
    /// One for each algorithm, in order.
    pub(super) rows: Vec<Row>,
}

/// A strip of each row: one client, or several together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) whose: Whose,
    /// The same arrivals before any verdict.
    pub(super) asked: Marks,
}

/// What one algorithm made of the arrivals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) algorithm: Algorithm,
    pub(super) numbers: Numbers,
    /// As many as the figure has lanes.
    pub(super) drawn: Vec<Drawn>,
}

/// One lane of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    pub(super) marks: Marks,
    /// The client's state over time; none where a lane is several clients'.
    pub(super) state: Option<State>,
    /// The fullest window, in the lane where it is to be seen.
    pub(super) worst: Option<Worst>,
}

/// Arrivals, as they are drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Marks {
    /// Each for itself, in order of time.
    Dots(Vec<Dot>),
    /// Counted, in order of time.
    Bars(Vec<Bar>),
}

/// One arrival and its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dot {
    pub(super) at: Nanos,
    pub(super) verdict: Verdict,
}

impl Figure {
    /// Runs every algorithm over arrivals that are at hand, and draws them. `asked` is in
    /// order of time. Where they come one by one there is [`Sketch`].
    pub fn draw(asked: &[Asked], limit: &Limit, about: &About) -> Self {
        let mut sketch = Sketch::new(limit);
        for one in asked {
            sketch.add(one.at, one.client);
        }
        sketch.finish(about)
    }
}

#[cfg(test)]
mod tests;
