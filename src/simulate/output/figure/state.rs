//! How a client's state goes up and down over time, seen through the algorithm's own
//! [`look`](crate::logic::limiter::Limiter::look): a curve, the windows it counts in, and how
//! far it looks back. Bounded: so many samples, so many windows, however long the time.

use std::collections::BTreeMap;

use crate::logic::bucket::{Limit, Nanos};
use crate::logic::limiter::{Algorithm, Look, Verdict};

use super::Asked;

/// Evenly spread samples of a curve: closer than two pixels on a desk.
pub(super) const SAMPLES: u64 = 400;
/// More windows than this could not be told apart, and are not drawn.
pub(super) const WINDOWS_MAX: usize = 60;

/// A client's state over the time of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Moments and levels. Two at one moment: before and after.
    pub curve: Vec<(Nanos, f64)>,
    /// What the level goes up to.
    pub full: f64,
    /// The windows that count, in order; none where there are none, or too many.
    pub windows: Vec<Window>,
    /// Does each window begin with nothing? The sliding window counter remembers the one before.
    pub counts_from_zero: bool,
    /// Where the algorithm looks back one window from each moment: a moment to show that at.
    /// A refusal, if there is one with all of its window on the axis.
    pub looks_back_at: Option<Nanos>,
}

/// A window in which turns are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first moment.
    pub from: Nanos,
    /// The first moment after it.
    pub to: Nanos,
    /// Turns that were let in while it counted.
    pub let_in: u64,
}

/// What was seen of a client.
struct Seen {
    looks: Vec<(Nanos, Look)>,
    /// Where each turn let in was counted, and where no turn was.
    windows: BTreeMap<(Nanos, Nanos), u64>,
    served: Vec<Nanos>,
    first_refused: Option<Nanos>,
    /// The first with all of its window on the axis.
    first_refused_in_view: Option<Nanos>,
}

/// Follows one client. `asked` is its own arrivals.
pub(super) fn follow(
    algorithm: Algorithm,
    limit: &Limit,
    asked: &[Asked],
    client: u32,
    (from, to): (Nanos, Nanos),
) -> State {
    let window = limit.window_nanos();
    let span = u128::from(to - from);
    let mut moments: Vec<Nanos> = (0..=SAMPLES)
        .map(|n| {
            let share = span * u128::from(n) / u128::from(SAMPLES);
            from + u64::try_from(share).expect("a share of a u64 is one")
        })
        .collect();
    // Where a turn has just grown too old to be remembered, the level steps down.
    let expiries = asked.iter().map(|one| one.at.saturating_add(window));
    moments.extend(expiries.flat_map(just_before_and_at));
    let first = sweep(algorithm, limit, asked, client, &mut moments, (from, to));
    // Once more, now that it is known where else it steps.
    let edges = first.windows.keys().flat_map(|edges| [edges.0, edges.1]);
    let steps = edges.chain(first.served);
    moments.extend(steps.flat_map(just_before_and_at));
    let seen = sweep(algorithm, limit, asked, client, &mut moments, (from, to));

    let full = seen.looks.iter().map(|(_, look)| look.full);
    let refused = seen.first_refused_in_view.or(seen.first_refused);
    let looks_back_at = match algorithm {
        Algorithm::SlidingLog => refused.or(asked.last().map(|one| one.at)),
        Algorithm::TokenBucket
        | Algorithm::Gcra
        | Algorithm::GcraNoBurst
        | Algorithm::LeakyBucket
        | Algorithm::LeakyQueue
        | Algorithm::FixedWindow
        | Algorithm::FixedWindowFirst
        | Algorithm::FixedWindowOffset
        | Algorithm::SlidingWindow => None,
    };
    State {
        full: full.fold(1.0, f64::max),
        curve: seen
            .looks
            .into_iter()
            .map(|(at, look)| (at, look.level))
            .collect(),
        windows: windows(&seen.windows),
        counts_from_zero: counts_from_zero(algorithm),
        looks_back_at,
    }
}

/// A step as two samples.
fn just_before_and_at(moment: Nanos) -> [Nanos; 2] {
    [moment.saturating_sub(1), moment]
}

/// The edges to be drawn of the window that counts. The sliding log's moves with every moment:
/// it has none.
pub(super) fn edges(algorithm: Algorithm, look: Look) -> Option<(Nanos, Nanos)> {
    look.window.filter(|_| algorithm != Algorithm::SlidingLog)
}

/// Does each of its windows begin with nothing?
pub(super) fn counts_from_zero(algorithm: Algorithm) -> bool {
    algorithm != Algorithm::SlidingWindow
}

pub(super) fn windows(seen: &BTreeMap<(Nanos, Nanos), u64>) -> Vec<Window> {
    if seen.len() > WINDOWS_MAX {
        return Vec::new();
    }
    let window = |(&(from, to), &let_in)| Window { from, to, let_in };
    seen.iter().map(window).collect()
}

/// Goes through the client's time once, arrivals and moments in order.
fn sweep(
    algorithm: Algorithm,
    limit: &Limit,
    asked: &[Asked],
    client: u32,
    moments: &mut Vec<Nanos>,
    (from, to): (Nanos, Nanos),
) -> Seen {
    moments.retain(|at| (from..=to).contains(at));
    moments.sort_unstable();
    moments.dedup();
    let window = limit.window_nanos();
    let mut limiter = algorithm.start(limit);
    let mut seen = Seen {
        looks: Vec::new(),
        windows: BTreeMap::new(),
        served: Vec::new(),
        first_refused: None,
        first_refused_in_view: None,
    };
    let mut arrivals = asked.iter().map(|one| one.at).peekable();
    let ends = [None];
    for moment in moments.iter().copied().map(Some).chain(ends) {
        while let Some(at) = arrivals.next_if(|at| moment.is_none_or(|moment| *at <= moment)) {
            let before = limiter.look(client, at);
            let verdict = limiter.decide(client, at);
            let after = limiter.look(client, at);
            seen.looks.extend([(at, before), (at, after)]);
            let served = match verdict {
                Verdict::Admitted => at,
                Verdict::Delayed(until) => until,
                Verdict::Refused => {
                    seen.first_refused.get_or_insert(at);
                    if at.checked_sub(window).is_some_and(|begin| begin >= from) {
                        seen.first_refused_in_view.get_or_insert(at);
                    }
                    continue;
                }
            };
            seen.served.push(served);
            if let Some(edges) = edges(algorithm, after) {
                *seen.windows.entry(edges).or_default() += 1;
            }
        }
        if let Some(moment) = moment {
            let look = limiter.look(client, moment);
            seen.looks.push((moment, look));
            if let Some(edges) = edges(algorithm, look) {
                seen.windows.entry(edges).or_default();
            }
        }
    }
    seen
}
