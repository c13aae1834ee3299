//! The turns served a short while ago, and so the most that any stretch of time held: of one
//! client within one window, and of all within one second. One ring for all algorithms,
//! since most turns are let in by most of them.

use std::collections::VecDeque;

use super::{LANES, Nanos, SECOND};

/// Room for so many turns is never given back.
const ROOM_MIN: usize = 4096;

/// Turns of the last window and of the last second, whichever is longer.
pub(super) struct Recent {
    turns: VecDeque<Turn>,
    /// How many of the oldest are out of the last window.
    out_of_window: usize,
    /// How many of the oldest are out of the last second.
    out_of_second: usize,
    window: Nanos,
    /// Of each client, by its number: what each algorithm served within the last window.
    in_window: Vec<[u32; LANES]>,
    worst_window: [u32; LANES],
    /// Of all together, likewise within the last second.
    in_second: [u64; LANES],
    worst_second: [u64; LANES],
}

/// One turn, and which algorithms served it at that moment: bit n is algorithm n's.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: Nanos,
    client: u32,
    by: u16,
}

const _: () = assert!(LANES <= u16::BITS as usize, "a bit for each algorithm");

impl Turn {
    fn is_by(self, lane: usize) -> bool {
        self.by >> lane & 1 == 1
    }
}

impl Recent {
    pub(super) fn new(window: Nanos) -> Self {
        Self {
            turns: VecDeque::new(),
            out_of_window: 0,
            out_of_second: 0,
            window,
            in_window: Vec::new(),
            worst_window: [0; LANES],
            in_second: [0; LANES],
            worst_second: [0; LANES],
        }
    }

    /// A turn that these algorithms served now. Moments never go back.
    pub(super) fn served(&mut self, at: Nanos, client: u32, by: u16) {
        if by == 0 {
            return;
        }
        self.forget(at);
        let turn = Turn { at, client, by };
        self.turns.push_back(turn);
        let number = client as usize;
        if number >= self.in_window.len() {
            self.in_window.resize(number + 1, [0; LANES]);
        }
        let in_window = &mut self.in_window[number];
        for (lane, count) in in_window.iter_mut().enumerate() {
            *count += u32::from(turn.is_by(lane));
            self.worst_window[lane] = self.worst_window[lane].max(*count);
        }
        for (lane, count) in self.in_second.iter_mut().enumerate() {
            *count += u64::from(turn.is_by(lane));
            self.worst_second[lane] = self.worst_second[lane].max(*count);
        }
    }

    /// Forgets what is one window and one second old: an event exactly so old has expired.
    fn forget(&mut self, now: Nanos) {
        while let Some(turn) = self.turns.get(self.out_of_window).copied()
            && now.saturating_sub(turn.at) >= self.window
        {
            self.out_of_window += 1;
            let in_window = &mut self.in_window[turn.client as usize];
            for (lane, count) in in_window.iter_mut().enumerate() {
                *count -= u32::from(turn.is_by(lane));
            }
        }
        while let Some(turn) = self.turns.get(self.out_of_second).copied()
            && now.saturating_sub(turn.at) >= SECOND
        {
            self.out_of_second += 1;
            for (lane, count) in self.in_second.iter_mut().enumerate() {
                *count -= u64::from(turn.is_by(lane));
            }
        }
        let out = self.out_of_window.min(self.out_of_second);
        self.out_of_window -= out;
        self.out_of_second -= out;
        self.turns.drain(..out);
        let room = self.turns.capacity();
        if room > ROOM_MIN && self.turns.len() < room / 4 {
            self.turns.shrink_to(room / 2);
        }
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.turns.capacity()
    }

    pub(super) fn worst_window(&self, lane: usize) -> u64 {
        self.worst_window[lane].into()
    }

    pub(super) fn worst_second(&self, lane: usize) -> u64 {
        self.worst_second[lane]
    }
}
