//! The life of the engine as a table: where it stands, what happened, what to do.
//!
//! Decides, and does nothing itself: `engine::supervisor` turns the world into
//! [`Event`]s and carries the [`Action`]s out. One engine serves; during a swap a
//! successor warms up beside it.
//!
//! ```text
//!                      ┌───────────── CannotStart ──────────────┐
//!                      ▼                                        │
//! the one that serves: Down ──StartDue──▶ Starting ──Started──▶ Probing ──Replied──▶ Idle ◀─▶ Busy
//!                      ▲                                        └──── Failed ────┬───┴─────────┘
//!                      └───────────────── Reaped ──────────────── Ending ◀───────┘
//!
//! the swap:            None ──SwapAsked──▶ Warming ──SuccessorReady──▶ Ready ──(between turns)──▶ Leaving ──OldGone──▶ None
//! ```
//!
//! Without a probe an engine is up once it runs, and `Probing` is passed over.

use std::time::Duration;

use super::backoff::Backoff;
use super::bucket::Nanos;

/// Where the engine that serves stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No process; the next start is due at this moment.
    Down {
        /// When to start.
        start_at: Nanos,
    },
    /// A start was asked for and its outcome is not known yet.
    Starting,
    /// It runs, and has not answered its probe yet.
    Probing,
    /// It is up and has no turn.
    Idle,
    /// It is up and has one turn.
    Busy,
    /// It is being killed and reaped; the next start is due at this moment.
    Ending {
        /// When to start.
        start_at: Nanos,
    },
}

/// Where the swap of a running engine for a fresh one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// There is none.
    None,
    /// The successor runs and is not ready.
    Warming,
    /// The successor is ready and waits for the end of a turn.
    Ready,
    /// Whoever lost, the old one or a successor that failed, is on its way out.
    Leaving,
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
    /// The engine answered its turn or its probe, in full and in step.
    Replied,
    /// It died or broke the protocol, or its time was up: it will not be used again.
    Failed,
    /// The same, before a byte of its turn went out.
    FailedUnsent,
    /// Nothing of it is left.
    Reaped,
    /// A fresh engine is wanted in its place.
    SwapAsked,
    /// The successor is ready.
    SuccessorReady,
    /// The successor could not be started, or failed before it served.
    SuccessorFailed,
    /// Whoever was leaving has left.
    OldGone,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a process.
    Start,
    /// Send it the probe.
    Probe,
    /// Hand the reply to whoever asked.
    Answer,
    /// Tell whoever asked that there will be no reply.
    FailTurn,
    /// Let the turn wait for the next engine: nothing of it reached this one.
    PutBack,
    /// Kill the process group, and reap the process.
    Kill,
    /// Start the successor, and its probe or its time of proof.
    StartSuccessor,
    /// The successor serves from now on; let the old one leave.
    HandOver,
    /// The successor serves from now on; there is no old one any more.
    Promote,
    /// Kill the successor.
    DropSuccessor,
}

/// An event that cannot happen in this state: a fault of the gateway's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} cannot happen while {state:?} and the swap is {swap:?}")]
pub struct Illegal {
    state: State,
    swap: Swap,
    event: Event,
}

/// One engine's life, and its successor's.
#[derive(Debug)]
pub struct Lifecycle {
    has_probe: bool,
    state: State,
    swap: Swap,
    /// A swap was asked for while one was under way.
    swap_again: bool,
    backoff: Backoff,
    started_at: Nanos,
}

impl Lifecycle {
    /// Down, and the first start is due at once.
    pub fn new(restart_delay_max: Duration, has_probe: bool) -> Self {
        Self {
            has_probe,
            state: State::Down { start_at: 0 },
            swap: Swap::None,
            swap_again: false,
            backoff: Backoff::new(restart_delay_max),
            started_at: 0,
        }
    }

    /// Where the engine that serves stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Where the swap stands.
    pub fn swap(&self) -> Swap {
        self.swap
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
        match event {
            Event::SwapAsked => Ok(self.swap_asked(now)),
            Event::SuccessorReady | Event::SuccessorFailed | Event::OldGone => {
                self.on_swap_event(event, now)
            }
            Event::StartDue
            | Event::Started
            | Event::CannotStart
            | Event::TurnTaken
            | Event::Replied
            | Event::Failed
            | Event::FailedUnsent
            | Event::Reaped => self.on_engine_event(event, now, jitter),
        }
    }

    fn on_engine_event(
        &mut self,
        event: Event,
        now: Nanos,
        jitter: f64,
    ) -> Result<&'static [Action], Illegal> {
        let (next, actions): (_, &[Action]) = match (self.state, event) {
            (State::Down { .. }, Event::StartDue) => (State::Starting, &[Action::Start]),
            (State::Starting, Event::Started) => {
                self.started_at = now;
                if self.has_probe {
                    (State::Probing, &[Action::Probe])
                } else {
                    (State::Idle, &[])
                }
            }
            (State::Starting, Event::CannotStart) => {
                self.started_at = now;
                let start_at = self.next_start(now, jitter);
                (State::Down { start_at }, &[])
            }
            (State::Probing, Event::Replied) => (State::Idle, &[]),
            (State::Idle, Event::TurnTaken) => (State::Busy, &[]),
            (State::Busy, Event::Replied) if self.swap == Swap::Ready => {
                self.swap = Swap::Leaving;
                self.started_at = now;
                (State::Idle, &[Action::Answer, Action::HandOver])
            }
            (State::Busy, Event::Replied) => (State::Idle, &[Action::Answer]),
            (State::Busy, Event::Failed) => {
                self.ending(now, jitter, &[Action::FailTurn, Action::Kill])
            }
            (State::Busy, Event::FailedUnsent) => {
                self.ending(now, jitter, &[Action::PutBack, Action::Kill])
            }
            (State::Idle | State::Probing, Event::Failed) => {
                self.ending(now, jitter, &[Action::Kill])
            }
            (State::Ending { .. }, Event::Reaped)
                if matches!(self.swap, Swap::Ready | Swap::Warming) =>
            {
                let is_ready = self.swap == Swap::Ready || !self.has_probe;
                self.started_at = now;
                let next = if is_ready {
                    State::Idle
                } else {
                    State::Probing
                };
                if self.swap_again {
                    self.swap_again = false;
                    self.swap = Swap::Warming;
                    (next, &[Action::Promote, Action::StartSuccessor])
                } else {
                    self.swap = Swap::None;
                    (next, &[Action::Promote])
                }
            }
            (State::Ending { start_at }, Event::Reaped) => (State::Down { start_at }, &[]),
            (
                State::Down { .. }
                | State::Starting
                | State::Probing
                | State::Idle
                | State::Busy
                | State::Ending { .. },
                _,
            ) => return Err(self.illegal(event)),
        };
        self.state = next;
        Ok(actions)
    }

    fn on_swap_event(&mut self, event: Event, now: Nanos) -> Result<&'static [Action], Illegal> {
        let (next, actions): (_, &[Action]) = match (self.swap, event) {
            (Swap::Warming, Event::SuccessorReady) => match self.state {
                State::Idle | State::Probing => {
                    self.state = State::Idle;
                    self.started_at = now;
                    (Swap::Leaving, &[Action::HandOver])
                }
                // Between two turns, or when nothing is left of the old one.
                State::Busy | State::Ending { .. } => (Swap::Ready, &[]),
                State::Down { .. } | State::Starting => return Err(self.illegal(event)),
            },
            (Swap::Warming | Swap::Ready, Event::SuccessorFailed) => {
                if let (State::Ending { start_at }, true) = (&mut self.state, self.swap_again) {
                    // Nobody is left to take over, and a start was asked for.
                    *start_at = now;
                    self.swap_again = false;
                }
                (Swap::Leaving, &[Action::DropSuccessor])
            }
            (Swap::Leaving, Event::OldGone) => match self.state {
                State::Idle | State::Probing | State::Busy if self.swap_again => {
                    self.swap_again = false;
                    (Swap::Warming, &[Action::StartSuccessor])
                }
                // Whatever starts next is fresh.
                State::Down { .. }
                | State::Starting
                | State::Probing
                | State::Idle
                | State::Busy
                | State::Ending { .. } => {
                    self.swap_again = false;
                    (Swap::None, &[])
                }
            },
            (Swap::None | Swap::Warming | Swap::Ready | Swap::Leaving, _) => {
                return Err(self.illegal(event));
            }
        };
        self.swap = next;
        Ok(actions)
    }

    /// Never illegal: a signal comes when it wants.
    fn swap_asked(&mut self, now: Nanos) -> &'static [Action] {
        match (self.state, self.swap) {
            (State::Down { .. }, _) => {
                self.state = State::Starting;
                &[Action::Start]
            }
            // Nobody is there to take over: what starts next is fresh, and starts now.
            (State::Ending { .. }, Swap::None | Swap::Leaving) => {
                self.state = State::Ending { start_at: now };
                &[]
            }
            (State::Starting, Swap::None) => &[],
            (State::Probing | State::Idle | State::Busy, Swap::None) => {
                self.swap = Swap::Warming;
                &[Action::StartSuccessor]
            }
            (State::Ending { .. }, Swap::Warming | Swap::Ready)
            | (
                State::Starting | State::Probing | State::Idle | State::Busy,
                Swap::Warming | Swap::Ready | Swap::Leaving,
            ) => {
                self.swap_again = true;
                &[]
            }
        }
    }

    fn ending(
        &mut self,
        now: Nanos,
        jitter: f64,
        actions: &'static [Action],
    ) -> (State, &'static [Action]) {
        let start_at = self.next_start(now, jitter);
        (State::Ending { start_at }, actions)
    }

    fn next_start(&mut self, now: Nanos, jitter: f64) -> Nanos {
        let ran = Duration::from_nanos(now.saturating_sub(self.started_at));
        let delay = self.backoff.died(now, ran, jitter);
        now.saturating_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX))
    }

    fn illegal(&self, event: Event) -> Illegal {
        Illegal {
            state: self.state,
            swap: self.swap,
            event,
        }
    }
}

#[cfg(test)]
mod tests;
