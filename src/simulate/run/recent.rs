//! The turns served a short while ago, and so the most that any stretch of time held: of one
//! client within one window, and of all within one second. One ring for all algorithms,
//! since most turns are let in by most of them. Holds no turn longer than that. Beside it,
//! since every turn touches both, how many turns each client asked for.

use std::collections::VecDeque;

use super::lanes::{Counts, Lanes};
use super::{LANES, Nanos, SECOND, at_number};

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
    /// By their numbers.
    clients: Vec<Client>,
    worst_window: Counts,
    /// Whose that was, and the first moment of it.
    fullest: [Option<(u32, Nanos)>; LANES],
    /// Of all together, likewise within the last second.
    in_second: Counts,
    worst_second: Counts,
}

/// One client, in one line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Client {
    /// What was served within the last window.
    in_window: Counts,
    asked: u64,
}

/// One turn, and by which algorithms it was served at that moment.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: Nanos,
    client: u32,
    by: Lanes,
}

impl Recent {
    pub(super) fn new(window: Nanos) -> Self {
        Self {
            turns: VecDeque::new(),
            out_of_window: 0,
            out_of_second: 0,
            window,
            clients: Vec::new(),
            worst_window: Counts::default(),
            fullest: [None; LANES],
            in_second: Counts::default(),
            worst_second: Counts::default(),
        }
    }

    /// A turn that this client asked for.
    pub(super) fn asked(&mut self, client: u32) {
        at_number(&mut self.clients, client).asked += 1;
    }

    /// How many turns each client asked for, by its number; none where nobody has it.
    pub(super) fn asked_by_each(&self) -> impl ExactSizeIterator<Item = u64> {
        self.clients.iter().map(|client| client.asked)
    }

    /// A turn that these algorithms served now. Moments never go back.
    pub(super) fn served(&mut self, at: Nanos, client: u32, by: Lanes) {
        if by == Lanes::NONE {
            return;
        }
        self.forget(at);
        self.turns.push_back(Turn { at, client, by });
        let in_window = &mut at_number(&mut self.clients, client).in_window;
        in_window.add(by);
        if in_window.exceeds(&self.worst_window) {
            // What is exactly one window old is out: it begins right after that.
            let from = at.saturating_add(1).saturating_sub(self.window);
            for (lane, fullest) in self.fullest.iter_mut().enumerate() {
                if in_window.of(lane) > self.worst_window.of(lane) {
                    *fullest = Some((client, from));
                }
            }
            self.worst_window.raise_to(in_window);
        }
        self.in_second.add(by);
        self.worst_second.raise_to(&self.in_second);
    }

    /// Forgets what is one window and one second old: an event exactly so old has expired.
    fn forget(&mut self, now: Nanos) {
        while let Some(turn) = self.turns.get(self.out_of_window)
            && now.saturating_sub(turn.at) >= self.window
        {
            let client = &mut self.clients[turn.client as usize];
            client.in_window.take_off(turn.by);
            self.out_of_window += 1;
        }
        while let Some(turn) = self.turns.get(self.out_of_second)
            && now.saturating_sub(turn.at) >= SECOND
        {
            self.in_second.take_off(turn.by);
            self.out_of_second += 1;
        }
        let out = self.out_of_window.min(self.out_of_second);
        if out == 0 {
            return;
        }
        self.out_of_window -= out;
        self.out_of_second -= out;
        self.turns.drain(..out);
        let room = self.turns.capacity();
        if room > ROOM_MIN && self.turns.len() < room / 4 {
            self.turns.shrink_to(room / 2);
        }
    }

    pub(super) fn worst_window(&self, lane: usize) -> u64 {
        self.worst_window.of(lane)
    }

    pub(super) fn fullest(&self, lane: usize) -> Option<(u32, Nanos)> {
        self.fullest[lane]
    }

    pub(super) fn worst_second(&self, lane: usize) -> u64 {
        self.worst_second.of(lane)
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.turns.capacity()
    }
}
