//! The life of the engine as a table: where it stands, what happened, what to do.
//!
//! Decides, and does nothing itself: `engine::supervisor` turns the world into
//! [`Event`]s and carries the [`Action`]s out. One engine, no spares.
//!
//! ```text
//! Down ──StartDue──▶ Starting ──Started──▶ Idle ◀──Replied── Busy
//!  ▲                    │                   │ └──TurnTaken───▶ │
//!  │                CannotStart             └───── Failed ─────┤
//!  └────────────────────┴────Reaped──── Ending ◀───────────────┘
//! ```

use std::time::Duration;

use super::backoff::Backoff;
use super::bucket::Nanos;

/// Where the engine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No process; the next start is due at this moment.
    Down {
        /// When to start.
        start_at: Nanos,
    },
    /// A start was asked for and its outcome is not known yet.
    Starting,
    /// It runs and has no turn.
    Idle,
    /// It runs and has one turn.
    Busy,
    /// It is being killed and reaped; the next start is due at this moment.
    Ending {
        /// When to start.
        start_at: Nanos,
    },
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The moment of the next start has come.
    StartDue,
    /// A process runs.
    Started,
    /// No process could be made.
    CannotStart,
    /// The queue gave a turn.
    TurnTaken,
    /// The engine answered its turn, in full and in step.
    Replied,
    /// It died or broke the protocol, or its time was up: it will not be used again.
    Failed,
    /// Nothing of it is left.
    Reaped,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a process.
    Start,
    /// Hand the turn to the engine.
    Send,
    /// Hand the reply to whoever asked.
    Answer,
    /// Tell whoever asked that there will be no reply.
    FailTurn,
    /// Kill the process group, and reap the process.
    Kill,
}

/// An event that cannot happen in this state: a fault of the gateway's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} cannot happen while {state:?}")]
pub struct Illegal {
    state: State,
    event: Event,
}

/// One engine's life.
#[derive(Debug)]
pub struct Lifecycle {
    state: State,
    backoff: Backoff,
    started_at: Nanos,
}

impl Lifecycle {
    /// Down, and the first start is due at once.
    pub fn new(restart_delay_max: Duration) -> Self {
        Self {
            state: State::Down { start_at: 0 },
            backoff: Backoff::new(restart_delay_max),
            started_at: 0,
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// How long the present engine has run at `now`.
    pub fn ran(&self, now: Nanos) -> Duration {
        Duration::from_nanos(now.saturating_sub(self.started_at))
    }

    /// Moves on, and says what to do, in order. `jitter` is a fresh random number in 0 to 1.
    ///
    /// # Errors
    /// [`Illegal`] when the event does not fit the state; nothing changed.
    pub fn on(
        &mut self,
        event: Event,
        now: Nanos,
        jitter: f64,
    ) -> Result<&'static [Action], Illegal> {
        let state = self.state;
        let (next, actions): (_, &[Action]) = match (state, event) {
            (State::Down { .. }, Event::StartDue) => (State::Starting, &[Action::Start]),
            (State::Starting, Event::Started) => {
                self.started_at = now;
                (State::Idle, &[])
            }
            (State::Starting, Event::CannotStart) => {
                self.started_at = now;
                let start_at = self.next_start(now, jitter);
                (State::Down { start_at }, &[])
            }
            (State::Idle, Event::TurnTaken) => (State::Busy, &[Action::Send]),
            (State::Busy, Event::Replied) => (State::Idle, &[Action::Answer]),
            (State::Idle, Event::Failed) => {
                let start_at = self.next_start(now, jitter);
                (State::Ending { start_at }, &[Action::Kill])
            }
            (State::Busy, Event::Failed) => {
                let start_at = self.next_start(now, jitter);
                let actions = &[Action::FailTurn, Action::Kill];
                (State::Ending { start_at }, actions)
            }
            (State::Ending { start_at }, Event::Reaped) => (State::Down { start_at }, &[]),
            (
                State::Down { .. }
                | State::Starting
                | State::Idle
                | State::Busy
                | State::Ending { .. },
                _,
            ) => return Err(Illegal { state, event }),
        };
        self.state = next;
        Ok(actions)
    }

    fn next_start(&mut self, now: Nanos, jitter: f64) -> Nanos {
        let delay = self.backoff.died(now, self.ran(now), jitter);
        now.saturating_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event; 7] = [
        Event::StartDue,
        Event::Started,
        Event::CannotStart,
        Event::TurnTaken,
        Event::Replied,
        Event::Failed,
        Event::Reaped,
    ];

    /// A way into each state, and what each legal event there leads to.
    #[test]
    fn the_table() {
        use {Action as A, Event as E};
        const DOWN: State = State::Down { start_at: 0 };
        const ENDING: State = State::Ending { start_at: 0 };
        type Row = (
            &'static [Event],
            &'static [(Event, State, &'static [Action])],
        );
        let table: [Row; 5] = [
            (&[], &[(E::StartDue, State::Starting, &[A::Start])]),
            (
                &[E::StartDue],
                &[(E::Started, State::Idle, &[]), (E::CannotStart, DOWN, &[])],
            ),
            (
                &[E::StartDue, E::Started],
                &[
                    (E::TurnTaken, State::Busy, &[A::Send]),
                    (E::Failed, ENDING, &[A::Kill]),
                ],
            ),
            (
                &[E::StartDue, E::Started, E::TurnTaken],
                &[
                    (E::Replied, State::Idle, &[A::Answer]),
                    (E::Failed, ENDING, &[A::FailTurn, A::Kill]),
                ],
            ),
            (
                &[E::StartDue, E::Started, E::Failed],
                &[(E::Reaped, DOWN, &[])],
            ),
        ];
        let mut seen = 0;
        for (way, legal) in table {
            for event in EVENTS {
                let mut life = Lifecycle::new(Duration::from_secs(10));
                for step in way {
                    life.on(*step, 0, 0.5).unwrap();
                }
                let before = life.state();
                let row = legal.iter().find(|(legal, ..)| *legal == event);
                if let Some((_, state, actions)) = row {
                    let told = life.on(event, 0, 0.5).unwrap();
                    assert_eq!(told, *actions, "{way:?} {event:?}");
                    assert_eq!(life.state(), *state, "{way:?} {event:?}");
                    seen += 1;
                } else {
                    assert!(life.on(event, 0, 0.5).is_err(), "{way:?} {event:?}");
                    assert_eq!(life.state(), before, "an illegal event changes nothing");
                }
            }
        }
        assert_eq!(seen, 8);
    }

    #[test]
    fn an_engine_that_cannot_start_waits_longer_and_longer() {
        let mut life = Lifecycle::new(Duration::from_secs(10));
        let mut now = 1;
        let mut waits = Vec::new();
        for _ in 0..8 {
            life.on(Event::StartDue, now, 0.5).unwrap();
            life.on(Event::CannotStart, now, 0.5).unwrap();
            let State::Down { start_at } = life.state() else {
                panic!("{:?}", life.state());
            };
            waits.push((start_at - now) / 1_000_000);
            now = start_at;
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 100, 200, 400]);
    }
}
