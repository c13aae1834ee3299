//! Who gets a lane: each client while they are few, else the noisiest, and one lane for the
//! rest (of dots) or for everybody (of bars).

use std::collections::BTreeMap;

use super::{Asked, bins};
use crate::logic::bucket::Nanos;

/// Most lanes of a row: more would not fit a screen ten times over.
pub(super) const LANES_MAX: usize = 4;
/// More arrivals are drawn as bars.
pub(super) const DOTS_MAX: usize = 240;
/// More dots on top of each other cannot be counted by eye, and are drawn as bars.
const STACK_MAX: usize = 24;
/// Arrivals closer than this share of the time drawn lie on top of each other.
const STACK_SHARE: u64 = 80;
/// A margin of this part of the time, so that no mark is cut.
const MARGIN: u64 = 30;

/// Whose arrivals a lane shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// All clients together.
    Everybody,
    /// All but these.
    AllBut(Vec<u32>),
    /// One client.
    Client(u32),
}

impl Whose {
    pub(super) fn holds(&self, client: u32) -> bool {
        match self {
            Self::Everybody => true,
            Self::AllBut(others) => !others.contains(&client),
            Self::Client(one) => *one == client,
        }
    }
}

/// The lanes for these arrivals, as dots.
pub(super) fn of_dots(asked: &[Asked]) -> Vec<Whose> {
    let mut clients = noisiest(asked);
    if clients.len() <= LANES_MAX {
        // In order of appearance, which is the order of numbers.
        clients.sort_unstable();
        return clients.into_iter().map(Whose::Client).collect();
    }
    clients.truncate(LANES_MAX - 1);
    let mut lanes: Vec<Whose> = clients.iter().copied().map(Whose::Client).collect();
    lanes.push(Whose::AllBut(clients));
    lanes
}

/// The lanes for these arrivals, as bars.
pub(super) fn of_bars(asked: &[Asked]) -> Vec<Whose> {
    bars_for(noisiest(asked))
}

/// The lanes of bars when these are the noisiest clients, the first first.
pub(super) fn bars_for(mut noisiest: Vec<u32>) -> Vec<Whose> {
    if noisiest.len() == 1 {
        return noisiest.into_iter().map(Whose::Client).collect();
    }
    noisiest.truncate(LANES_MAX - 1);
    let mut lanes = vec![Whose::Everybody];
    lanes.extend(noisiest.into_iter().map(Whose::Client));
    lanes
}

/// Clients by how often they asked, then by number.
fn noisiest(asked: &[Asked]) -> Vec<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for one in asked {
        *counts.entry(one.client).or_default() += 1;
    }
    let mut clients: Vec<(u32, u64)> = counts.into_iter().collect();
    clients.sort_by_key(|&(client, count)| (std::cmp::Reverse(count), client));
    clients.into_iter().map(|(client, _)| client).collect()
}

/// Can each arrival be a dot of its own?
pub(super) fn fit_as_dots(asked: &[Asked], (from, to): (Nanos, Nanos)) -> bool {
    if asked.len() > DOTS_MAX {
        return false;
    }
    let near = (to - from) / STACK_SHARE;
    let is_low = |lane: &Whose| {
        let own: Vec<Nanos> = asked
            .iter()
            .filter(|one| lane.holds(one.client))
            .map(|one| one.at)
            .collect();
        own.windows(STACK_MAX + 1)
            .all(|crowd| crowd[STACK_MAX] - crowd[0] > near)
    };
    of_dots(asked).iter().all(is_low)
}

/// The time axis: all arrivals and servings, the beginning where it is near, and how the
/// algorithms come to rest.
pub(super) fn view(
    first: Nanos,
    last: Nanos,
    last_served: Nanos,
    window: Nanos,
    from_start: bool,
) -> (Nanos, Nanos) {
    let span = last - first;
    let rest = if span < window { window } else { 0 };
    let to = last_served.max(last.saturating_add(rest));
    let from = if from_start && first <= window.max(span) {
        0
    } else {
        first.saturating_sub((to - first) / MARGIN)
    };
    let to = to.saturating_add((to - from) / MARGIN);
    // At least a moment long, even at the end of all time.
    let to = to.max(from.saturating_add(1));
    (from.min(to - 1), to)
}

/// The moments around bars that would lie on top of each other in a view of how the
/// algorithms come to rest, although they are apart; none where they would not.
pub(super) fn close_view(
    first: Nanos,
    last: Nanos,
    (from, to): (Nanos, Nanos),
) -> Option<(Nanos, Nanos)> {
    let span = last - first;
    let (begin, end) = bars_view(first, last);
    // Room for what begins with the last of them.
    let end = end.saturating_add(span / 3);
    (span > 0 && span < (to - from) / STACK_SHARE).then_some((begin, end))
}

/// The moments of all bars, and nothing of how the algorithms come to rest.
pub(super) fn bars_view(first: Nanos, last: Nanos) -> (Nanos, Nanos) {
    let width = bins::width(first, last);
    let from = first - first % width;
    let to = (last - last % width).saturating_add(width);
    let margin = (to - from) / MARGIN;
    (from.saturating_sub(margin), to.saturating_add(margin))
}
