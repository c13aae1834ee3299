//! Whole seconds taken apart: where a log tells moments to the second, the lines of one
//! second are spread evenly over it, in their order. At the second's beginning, all of
//! them, they would be a burst that never was.

use super::reorder::Entry;
use super::time::NANOS_PER_SECOND;
use crate::logic::bucket::Nanos;

/// Lines of one second that are spread: 4 MiB of them. More count as of the second's end.
const LINES_MAX: usize = 1 << 20;

/// The lines of the second at hand. Takes entries in order and gives them out in order.
#[derive(Debug)]
pub struct Spread {
    second: Nanos,
    /// Lines that wait until the second is over.
    waiting: Vec<u32>,
    waiting_max: usize,
    /// All lines of this second so far were whole seconds, and can wait.
    open: bool,
    /// When the last one went out.
    last: Nanos,
}

impl Spread {
    /// Nothing waits.
    pub fn new() -> Self {
        Self::bounded(LINES_MAX)
    }

    fn bounded(waiting_max: usize) -> Self {
        Self {
            second: 0,
            waiting: Vec::new(),
            waiting_max,
            open: true,
            last: 0,
        }
    }

    /// Takes the next entry; gives out moments and clients.
    pub fn push(&mut self, entry: Entry, out: &mut impl FnMut(Nanos, u32)) {
        let second = entry.at - entry.at % NANOS_PER_SECOND;
        if second != self.second {
            self.finish(out);
            self.second = second;
            self.open = true;
        }
        if !entry.whole {
            // A finer log, in which a moment may be a whole second by chance.
            self.open = false;
            for client in std::mem::take(&mut self.waiting) {
                self.give(self.second, client, out);
            }
        }
        if !self.open {
            self.give(entry.at, entry.client, out);
            return;
        }
        self.waiting.push(entry.client);
        if self.waiting.len() == self.waiting_max {
            self.finish(out);
        }
    }

    /// Gives out what waits, spread over its second.
    pub fn finish(&mut self, out: &mut impl FnMut(Nanos, u32)) {
        let waiting = std::mem::take(&mut self.waiting);
        let lines = waiting.len() as u64;
        for (n, client) in (0..).zip(&waiting) {
            // Multiplied first: the fourth of six is at the half, and in the window that begins there.
            self.give(self.second + NANOS_PER_SECOND * n / lines, *client, out);
        }
        // The same room again.
        self.waiting = waiting;
        self.waiting.clear();
    }

    fn give(&mut self, at: Nanos, client: u32, out: &mut impl FnMut(Nanos, u32)) {
        self.last = self.last.max(at);
        out(self.last, client);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Nanos = NANOS_PER_SECOND;

    fn run(mut spread: Spread, entries: &[(Nanos, bool)]) -> Vec<Nanos> {
        let mut told = Vec::new();
        let mut clients = Vec::new();
        let mut out = |at, client| {
            told.push(at);
            clients.push(client);
        };
        for (client, (at, whole)) in (0..).zip(entries) {
            let (at, whole) = (*at, *whole);
            spread.push(Entry { at, client, whole }, &mut out);
        }
        spread.finish(&mut out);
        assert!(
            clients
                .iter()
                .copied()
                .eq(0..u32::try_from(entries.len()).unwrap())
        );
        told
    }

    #[test]
    fn the_lines_of_a_second_are_spread_over_it() {
        let entries = [7, 7, 7, 7, 8, 10, 10].map(|second| (second * SECOND, true));
        let told = run(Spread::new(), &entries);
        let expected = [7.0, 7.25, 7.5, 7.75, 8.0, 10.0, 10.5];
        let expected = expected.map(|at| std::time::Duration::from_secs_f64(at).as_nanos());
        assert!(told.into_iter().map(u128::from).eq(expected));
        let told = run(Spread::new(), &[(7 * SECOND, true); 6]);
        assert_eq!(
            told[3],
            7 * SECOND + SECOND / 2,
            "it begins the second half"
        );
    }

    #[test]
    fn finer_moments_stay_as_they_are() {
        let entries = [
            (7 * SECOND, true),
            (7 * SECOND, true),
            (7 * SECOND + 5, false),
            (8 * SECOND, false),
            (8 * SECOND, true),
            (9 * SECOND, true),
        ];
        let told = run(Spread::new(), &entries);
        assert!(told.into_iter().eq(entries.map(|(at, _)| at)));
    }

    #[test]
    fn more_than_can_wait_count_as_of_the_end() {
        let told = run(Spread::bounded(4), &[(SECOND, true); 6]);
        let quarters = [0, 1, 2, 3, 3, 3].map(|quarter| SECOND + quarter * SECOND / 4);
        assert_eq!(told, quarters);
    }

    proptest! {
        #[test]
        fn it_never_goes_back_and_never_leaves_the_second(
            waiting_max in 1usize..9,
            steps in prop::collection::vec((0u64..4, any::<bool>()), 0..100),
        ) {
            let mut at = 0;
            let mut entries = Vec::new();
            for (step, whole) in steps {
                at += step * SECOND / 4;
                entries.push((if whole { at - at % SECOND } else { at }, whole));
            }
            entries.sort_unstable();
            let told = run(Spread::bounded(waiting_max), &entries);
            prop_assert!(told.is_sorted());
            for ((at, _), told) in entries.iter().zip(&told) {
                prop_assert_eq!(at / SECOND, told / SECOND);
            }
        }
    }
}
