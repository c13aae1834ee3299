//! The queue in front of the engine: who waits, in which order, and how many.
//!
//! First in, first out. Knows nothing of turns but that they wait; never awaits,
//! never locks. Every change of the order happens behind `push`, `pop`, `remove`.

use std::collections::VecDeque;

/// Names one place, never twice in the life of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceId(u64);

/// Every place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// At most `places_max` turns: those that wait, and the one that is in the engine.
#[derive(Debug)]
pub struct Queue<T> {
    waiting: VecDeque<(PlaceId, T)>,
    in_engine: usize,
    places_max: usize,
    next_id: u64,
}

impl<T> Queue<T> {
    /// An empty queue of `places_max` places.
    pub fn new(places_max: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_engine: 0,
            places_max,
            next_id: 0,
        }
    }

    /// Takes the last place.
    ///
    /// # Errors
    /// [`Full`] when there is none; nothing changed.
    pub fn push(&mut self, turn: T) -> Result<PlaceId, Full> {
        if self.taken() >= self.places_max {
            return Err(Full);
        }
        let id = PlaceId(self.next_id);
        self.next_id += 1;
        self.waiting.push_back((id, turn));
        Ok(id)
    }

    /// The next turn for the engine. It keeps its place until [`Queue::finished`].
    pub fn pop(&mut self) -> Option<T> {
        let (_, turn) = self.waiting.pop_front()?;
        self.in_engine += 1;
        Some(turn)
    }

    /// The turn in the engine has ended, one way or another: its place is free.
    pub fn finished(&mut self) {
        self.in_engine = self.in_engine.saturating_sub(1);
    }

    /// Takes a waiting turn out of the queue. None if it is not waiting any more.
    pub fn remove(&mut self, id: PlaceId) -> Option<T> {
        let at = self.waiting.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.waiting.remove(at).map(|(_, turn)| turn)
    }

    /// Places taken, the one in the engine included.
    pub fn taken(&self) -> usize {
        self.waiting.len() + self.in_engine
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_turn_in_the_engine_keeps_its_place() {
        let mut queue = Queue::new(2);
        queue.push('a').unwrap();
        queue.push('b').unwrap();
        assert_eq!(queue.push('c'), Err(Full));
        assert_eq!(queue.pop(), Some('a'));
        assert_eq!(queue.push('c'), Err(Full));
        queue.finished();
        assert!(queue.push('c').is_ok());
        assert_eq!(queue.taken(), 2);
    }

    #[test]
    fn who_left_is_never_popped() {
        let mut queue = Queue::new(3);
        let a = queue.push('a').unwrap();
        let b = queue.push('b').unwrap();
        assert_eq!(queue.remove(a), Some('a'));
        assert_eq!(queue.remove(a), None);
        assert_eq!(queue.pop(), Some('b'));
        assert_eq!(queue.remove(b), None, "a turn in the engine is not waiting");
        assert_eq!(queue.pop(), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Pop,
        Finish,
        Remove(usize),
    }

    proptest! {
        /// The bound holds, no turn is lost or served twice, and the order is that of arrival.
        #[test]
        fn bound_and_order_hold(
            places in 1usize..6,
            steps in prop::collection::vec(
                prop_oneof![
                    Just(Step::Push), Just(Step::Pop), Just(Step::Finish),
                    (0usize..8).prop_map(Step::Remove),
                ],
                1..200,
            ),
        ) {
            let mut queue = Queue::new(places);
            let (mut arrived, mut left, mut engine) = (0u32, Vec::new(), 0usize);
            let mut waiting: Vec<(PlaceId, u32)> = Vec::new();
            for step in steps {
                match step {
                    Step::Push => {
                        if let Ok(id) = queue.push(arrived) {
                            waiting.push((id, arrived));
                            arrived += 1;
                        } else {
                            prop_assert_eq!(waiting.len() + engine, places);
                        }
                    }
                    Step::Pop => {
                        let expected = (!waiting.is_empty()).then(|| waiting.remove(0).1);
                        prop_assert_eq!(queue.pop(), expected);
                        if let Some(turn) = expected {
                            engine += 1;
                            left.push(turn);
                        }
                    }
                    Step::Finish if engine > 0 => {
                        queue.finished();
                        engine -= 1;
                    }
                    Step::Remove(n) if n < waiting.len() => {
                        let (id, turn) = waiting.remove(n);
                        prop_assert_eq!(queue.remove(id), Some(turn));
                    }
                    Step::Finish | Step::Remove(_) => {}
                }
                prop_assert_eq!(queue.taken(), waiting.len() + engine);
                prop_assert!(queue.taken() <= places);
            }
            prop_assert!(left.is_sorted());
        }
    }
}
