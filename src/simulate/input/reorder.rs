//! Arrivals put in order. A log is written when a request ends, so a slow one stands
//! behind faster ones that came later; what arrives here has its moment of arrival, and
//! goes out in order of it.
//!
//! Bounded twice: by a window of time and by a number of entries, whichever comes first.
//! What comes later than that is told to be late and left out, for the gateway would have
//! decided on it long ago.
//!
//! A calendar queue (Brown, CACM 31(10), 1988) that is sorted a slice at a time: the
//! window is a ring of slices, an entry is put into its slice, and a slice is sorted when
//! it goes out. That costs the same for any disorder.

use crate::logic::bucket::Nanos;

/// Slices of a window: so many that a slice of a busy log is sorted within a cache.
const SLICES: usize = 1024;
/// Entries held at most: 16 MiB, a window of 60 s at 17,000 requests a second.
const ENTRIES_MAX: usize = 1 << 20;
/// Largest slice whose room is kept for the next one.
const KEPT_ENTRIES_MAX: usize = 256;

/// One arrival on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When it arrived.
    pub at: Nanos,
    /// Who.
    pub client: u32,
    /// The moment is only known to the second.
    pub whole: bool,
}

/// Entries of one window.
#[derive(Debug)]
pub struct Reorder {
    slices: Box<[Vec<Entry>]>,
    slice_nanos: u64,
    /// Numbers of the oldest slice that is held and of the newest, counted from moment 0.
    oldest: u64,
    newest: u64,
    held: usize,
    held_max: usize,
    /// What went out last, or could have: nothing earlier may follow.
    floor: Nanos,
}

impl Reorder {
    /// Holds entries for `window` after their moment, or a little longer.
    pub fn new(window: Nanos) -> Self {
        Self::bounded(window, ENTRIES_MAX)
    }

    fn bounded(window: Nanos, held_max: usize) -> Self {
        Self {
            slices: vec![Vec::new(); SLICES].into(),
            // One slice is always filling: the others make the window.
            slice_nanos: window.div_ceil(SLICES as u64 - 1).max(1),
            oldest: 0,
            newest: 0,
            held: 0,
            held_max,
            floor: 0,
        }
    }

    /// Whether an entry of this moment comes too late: later ones went out already.
    pub fn is_late(&self, at: Nanos) -> bool {
        at < self.floor
    }

    /// Takes an entry that is not late, and gives out what has waited long enough.
    pub fn push(&mut self, entry: Entry, out: &mut impl FnMut(Entry)) {
        debug_assert!(!self.is_late(entry.at), "it would go out of order");
        let slice = entry.at / self.slice_nanos;
        if slice > self.newest {
            self.advance(slice, out);
        }
        // Not late, so not before the oldest slice.
        self.slices[place(slice)].push(entry);
        self.held += 1;
        while self.held > self.held_max {
            self.give_oldest(out);
            if self.oldest < self.newest {
                self.oldest += 1;
                self.floor = self.floor.max(self.oldest * self.slice_nanos);
            }
        }
    }

    /// Gives out all that is held.
    pub fn finish(&mut self, out: &mut impl FnMut(Entry)) {
        while self.held > 0 {
            self.give_oldest(out);
            self.oldest = (self.oldest + 1).min(self.newest);
        }
    }

    /// Makes room for a new newest slice.
    fn advance(&mut self, newest: u64, out: &mut impl FnMut(Entry)) {
        let oldest = (newest + 1).saturating_sub(SLICES as u64);
        while self.oldest < oldest && self.held > 0 {
            self.give_oldest(out);
            self.oldest += 1;
        }
        self.newest = newest;
        if self.oldest < oldest {
            self.oldest = oldest;
        }
        self.floor = self.floor.max(self.oldest * self.slice_nanos);
    }

    fn give_oldest(&mut self, out: &mut impl FnMut(Entry)) {
        let slice = &mut self.slices[place(self.oldest)];
        // Stable: of two at one moment, the log's first goes first.
        slice.sort_by_key(|entry| entry.at);
        self.held -= slice.len();
        if let Some(last) = slice.last() {
            self.floor = self.floor.max(last.at);
        }
        for entry in slice.drain(..) {
            out(entry);
        }
        if slice.capacity() > KEPT_ENTRIES_MAX {
            *slice = Vec::new();
        }
    }
}

fn place(slice: u64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below the number of slices"
    )]
    let place = (slice % SLICES as u64) as usize;
    place
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What goes out for these moments, and how many were late.
    fn run(reorder: &mut Reorder, moments: &[Nanos]) -> (Vec<(Nanos, u32)>, usize) {
        let mut told = Vec::new();
        let mut late = 0;
        for (client, at) in (0..).zip(moments) {
            if reorder.is_late(*at) {
                late += 1;
                continue;
            }
            let entry = Entry {
                at: *at,
                client,
                whole: false,
            };
            reorder.push(entry, &mut |entry| told.push((entry.at, entry.client)));
        }
        reorder.finish(&mut |entry| told.push((entry.at, entry.client)));
        assert_eq!(reorder.held, 0);
        (told, late)
    }

    fn sorted(moments: &[Nanos]) -> Vec<(Nanos, u32)> {
        let mut told: Vec<_> = moments.iter().copied().zip(0..).collect();
        told.sort_unstable();
        told
    }

    #[test]
    fn what_is_out_of_order_within_the_window_is_put_in_order() {
        let window = 60_000_000_000;
        let moments = [100, 161, 101, 130, 300, 240, 300, 241];
        let moments = moments.map(|second| second * 1_000_000_000);
        let (told, late) = run(&mut Reorder::new(window), &moments);
        // 101 came 60 s late and is in; 240 and 241 are the last that 300 allows.
        assert_eq!((told, late), (sorted(&moments), 0));
    }

    #[test]
    fn what_comes_later_than_the_window_is_late() {
        let window = 60_000_000_000;
        let moments = [100, 161, 100, 1_000, 161, 161].map(|second| second * 1_000_000_000);
        let (told, late) = run(&mut Reorder::new(window), &moments);
        assert_eq!((told.len(), late), (3, 3));
    }

    #[test]
    fn more_entries_than_it_holds_shorten_the_window() {
        let mut reorder = Reorder::bounded(1_000_000, 10);
        let mut most = 0;
        let mut out = Vec::new();
        for at in 0..1_000 {
            for _ in 0..3 {
                let entry = Entry {
                    at: at * 1_000,
                    client: 0,
                    whole: false,
                };
                reorder.push(entry, &mut |entry| out.push(entry.at));
                most = most.max(reorder.held);
            }
        }
        assert_eq!(most, 10);
        assert!(reorder.is_late(990_000), "it went out");
        assert!(!reorder.is_late(999_000));
        reorder.finish(&mut |entry| out.push(entry.at));
        assert_eq!(out.len(), 3_000);
        assert!(out.is_sorted());
    }

    #[test]
    fn a_crowd_at_one_moment_is_not_late() {
        let mut reorder = Reorder::bounded(1_000_000, 10);
        let (told, late) = run(&mut reorder, &[77; 1_000]);
        assert_eq!((told, late), (sorted(&[77; 1_000]), 0));
        assert!(reorder.is_late(76) && !reorder.is_late(77));
    }

    proptest! {
        /// Nothing within the window is late, whatever order it comes in, and all of it
        /// goes out in order, the log's order among equals.
        #[test]
        fn a_window_of_any_disorder_is_sorted(
            start in prop_oneof![Just(0), 0..u64::MAX / 2],
            steps in prop::collection::vec((0u64..5_000, 0u64..=1_000), 0..300),
        ) {
            let mut newest = start;
            let mut moments = Vec::new();
            for (step, back) in steps {
                newest += step.saturating_sub(4_000) * 7;
                moments.push(newest.saturating_sub(back));
            }
            let (told, late) = run(&mut Reorder::new(1_000), &moments);
            prop_assert_eq!(late, 0);
            prop_assert_eq!(told, sorted(&moments));
        }

        /// Any moments at all: what is not late goes out, in order.
        #[test]
        fn it_never_goes_back(
            window in prop_oneof![Just(0), Just(u64::MAX), 0u64..1_000_000],
            held_max in 1usize..20,
            moments in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..10_000_000], 0..300),
        ) {
            let mut reorder = Reorder::bounded(window, held_max);
            let (told, late) = run(&mut reorder, &moments);
            prop_assert_eq!(told.len() + late, moments.len());
            prop_assert!(told.is_sorted_by_key(|(at, _)| *at));
        }
    }
}
