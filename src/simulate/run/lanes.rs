//! Sets of algorithms by their place in a run, and counts of such sets. Every turn moves a
//! count for each algorithm several times over, so these are added up four at a time.

use super::LANES;

/// Bits that are looked up together, and the counts that they move.
const BITS: usize = 4;
/// So many times four counts.
const ROWS: usize = LANES.div_ceil(BITS);

/// Four bits as four numbers.
const SPREAD: [[u32; BITS]; 1 << BITS] = {
    let mut spread = [[0; BITS]; 1 << BITS];
    let mut bits = 0;
    while bits < spread.len() {
        let mut bit = 0;
        while bit < BITS {
            if bits >> bit & 1 == 1 {
                spread[bits][bit] = 1;
            }
            bit += 1;
        }
        bits += 1;
    }
    spread
};

/// Some of a run's algorithms: bit n is algorithm n's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::simulate) struct Lanes(u16);

const _: () = assert!(LANES <= u16::BITS as usize, "a bit for each algorithm");

impl Lanes {
    pub(in crate::simulate) const NONE: Self = Self(0);

    pub(in crate::simulate) fn only(lane: u8) -> Self {
        Self(1 << lane)
    }

    pub(super) fn add(&mut self, lane: u8) {
        self.0 |= 1 << lane;
    }

    pub(in crate::simulate) fn has(self, lane: u8) -> bool {
        self.0 >> lane & 1 == 1
    }

    /// Those of either.
    pub(in crate::simulate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of neither, of so many in all.
    pub(super) fn neither(self, other: Self, lanes: usize) -> Self {
        Self(!(self.0 | other.0) & ((1 << lanes) - 1))
    }

    /// One for each lane that is in the set, and none for the others.
    fn rows(self) -> [[u32; BITS]; ROWS] {
        std::array::from_fn(|row| SPREAD[usize::from(self.0) >> (row * BITS) & (SPREAD.len() - 1)])
    }
}

/// A count for each algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts([[u32; BITS]; ROWS]);

impl Counts {
    /// One more for each of these.
    pub(super) fn add(&mut self, lanes: Lanes) {
        for (row, ones) in self.0.iter_mut().zip(lanes.rows()) {
            for (count, one) in row.iter_mut().zip(ones) {
                *count += one;
            }
        }
    }

    /// One less for each of these, which were added before.
    pub(super) fn take_off(&mut self, lanes: Lanes) {
        for (row, ones) in self.0.iter_mut().zip(lanes.rows()) {
            for (count, one) in row.iter_mut().zip(ones) {
                *count -= one;
            }
        }
    }

    /// Where the other count is higher, that one.
    pub(super) fn raise_to(&mut self, other: &Self) {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            for (count, other) in row.iter_mut().zip(others) {
                *count = (*count).max(*other);
            }
        }
    }

    /// Is any count higher than the other?
    pub(super) fn exceeds(&self, other: &Self) -> bool {
        let mut higher = 0;
        for (row, others) in self.0.iter().zip(&other.0) {
            for (count, other) in row.iter().zip(others) {
                higher |= u32::from(count > other);
            }
        }
        higher > 0
    }

    pub(super) fn of(&self, lane: usize) -> u64 {
        self.0[lane / BITS][lane % BITS].into()
    }
}
