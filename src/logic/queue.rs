//! The queue in front of the engine: who waits, in which order, and how many.
//!
//! Fair by default: round robin over clients, one turn each, in order of arrival within
//! one, new clients first (RFC 8290, 4.2); a full queue makes room at the cost of whoever
//! holds clearly the most. Or first in, first out. Knows nothing of turns but whose they
//! are and that they wait; never awaits, never locks.

use std::collections::{HashMap, VecDeque};

use super::address::Client;

/// A newcomer pushes out a turn of a client that has at least so many more waiting.
const PUSH_OUT_LEAD: usize = 3;
/// Clients kept in the rotation with no turn waiting, besides as many as there are places.
/// Each is there so that it does not count as new at once; beyond this the oldest do.
const EMPTY_LINES_MAX: usize = 1024;

/// Names one place, never twice in the life of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceId {
    client: Client,
    number: u64,
}

/// Every place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Which turn is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Round robin over clients.
    Fair,
    /// First in, first out.
    Fifo,
}

/// At most `places_max` turns: those that wait, and those that are in an engine.
#[derive(Debug)]
pub struct Queue<T> {
    places_max: usize,
    order: Order,
    waiting: usize,
    in_engine: usize,
    /// The most places taken at once since somebody asked.
    peak: usize,
    next_number: u64,
    /// Who has turns waiting, or had one served lately.
    lines: HashMap<Client, Line<T>>,
    /// Clients that were in no rotation when they came. Every client of `lines` stands
    /// once in `newcomers` or in `rotation`.
    newcomers: VecDeque<Client>,
    /// Clients that were served, longest ago first.
    rotation: VecDeque<Client>,
}

/// One client's waiting turns, in order of arrival.
type Line<T> = VecDeque<(u64, T)>;

impl<T> Queue<T> {
    /// An empty queue of `places_max` places.
    pub fn new(places_max: usize, order: Order) -> Self {
        Self {
            places_max,
            order,
            waiting: 0,
            in_engine: 0,
            peak: 0,
            next_number: 0,
            lines: HashMap::new(),
            newcomers: VecDeque::new(),
            rotation: VecDeque::new(),
        }
    }

    /// Takes a place, if need be the one of a turn that is pushed out: the newest waiting
    /// turn of the client with the most, if it has at least 3 more than this one. That
    /// turn is handed back, to be refused.
    ///
    /// # Errors
    /// [`Full`] when there is no place and nobody to push out; nothing changed.
    pub fn push(&mut self, client: Client, turn: T) -> Result<(PlaceId, Option<T>), Full> {
        let client = match self.order {
            Order::Fair => client,
            // Everybody in one line is first in, first out; a line never pushes itself out.
            Order::Fifo => Client::UNIX,
        };
        let pushed_out = if self.taken() < self.places_max {
            None
        } else {
            Some(self.push_out_for(client)?)
        };
        let number = self.next_number;
        self.next_number += 1;
        self.waiting += 1;
        self.peak = self.peak.max(self.taken());
        self.lines
            .entry(client)
            .or_insert_with(|| {
                self.newcomers.push_back(client);
                Line::new()
            })
            .push_back((number, turn));
        self.bound_empty_lines();
        Ok((PlaceId { client, number }, pushed_out))
    }

    /// The next turn for an engine. It keeps its place until [`Queue::finished`].
    pub fn pop(&mut self) -> Option<(PlaceId, T)> {
        loop {
            let client = if let Some(newcomer) = self.newcomers.pop_front() {
                newcomer
            } else {
                let client = self.rotation.pop_front()?;
                if self.is_empty_line(client) {
                    self.lines.remove(&client);
                    continue;
                }
                client
            };
            // Also a newcomer that left before it was served: coming back at once must not make it new again.
            self.rotation.push_back(client);
            self.bound_empty_lines();
            let first = self.lines.get_mut(&client).and_then(VecDeque::pop_front);
            if let Some((number, turn)) = first {
                self.waiting -= 1;
                self.in_engine += 1;
                return Some((PlaceId { client, number }, turn));
            }
        }
    }

    /// A turn that was popped never reached an engine: it waits again in the place it had, before all others.
    pub fn put_back(&mut self, id: PlaceId, turn: T) {
        self.finished();
        self.waiting += 1;
        let PlaceId { client, number } = id;
        self.lines
            .entry(client)
            .or_default()
            .push_front((number, turn));
        let stands_at = |queue: &VecDeque<Client>| queue.iter().rposition(|c| *c == client);
        if let Some(at) = stands_at(&self.newcomers) {
            self.newcomers.remove(at);
        } else if let Some(at) = stands_at(&self.rotation) {
            self.rotation.remove(at);
        }
        self.newcomers.push_front(client);
    }

    /// A turn in an engine has ended, one way or another: its place is free.
    pub fn finished(&mut self) {
        self.in_engine = self.in_engine.saturating_sub(1);
    }

    /// Takes a waiting turn out of the queue. None if it is not waiting any more.
    pub fn remove(&mut self, id: PlaceId) -> Option<T> {
        let line = self.lines.get_mut(&id.client)?;
        let at = line.binary_search_by_key(&id.number, |(n, _)| *n).ok()?;
        self.waiting -= 1;
        line.remove(at).map(|(_, turn)| turn)
    }

    /// Places taken, those in engines included.
    pub fn taken(&self) -> usize {
        self.waiting + self.in_engine
    }

    /// The most places that were taken at once since this was last asked.
    pub fn take_peak(&mut self) -> usize {
        let now = self.taken();
        std::mem::replace(&mut self.peak, now)
    }

    /// Turns that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    fn push_out_for(&mut self, newcomer: Client) -> Result<T, Full> {
        let own = self.lines.get(&newcomer).map_or(0, VecDeque::len);
        let longest = self
            .lines
            .values_mut()
            .max_by_key(|line| (line.len(), line.back().map(|(number, _)| *number)))
            .filter(|line| line.len() >= own + PUSH_OUT_LEAD);
        let (_, turn) = longest.and_then(VecDeque::pop_back).ok_or(Full)?;
        self.waiting -= 1;
        Ok(turn)
    }

    fn is_empty_line(&self, client: Client) -> bool {
        self.lines.get(&client).is_none_or(VecDeque::is_empty)
    }

    /// While newcomers never end the rotation is not walked, and while a turn takes long
    /// nothing is: clients that left would stay in both.
    fn bound_empty_lines(&mut self) {
        if self.lines.len() <= self.places_max + EMPTY_LINES_MAX {
            return;
        }
        let oldest =
            |round: &VecDeque<Client>| round.iter().position(|client| self.is_empty_line(*client));
        let client = match (oldest(&self.rotation), oldest(&self.newcomers)) {
            (Some(at), _) => self.rotation.remove(at),
            (None, Some(at)) => self.newcomers.remove(at),
            (None, None) => None,
        };
        if let Some(client) = client {
            self.lines.remove(&client);
        }
    }
}

#[cfg(test)]
mod tests;
