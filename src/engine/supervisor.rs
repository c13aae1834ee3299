//! The one owner of the engine's processes: turns what happens into the lifecycle's
//! events and carries its actions out. Decides nothing itself, and never gives a line to
//! an engine that is out of step, nor one line twice.

use std::future::{Future, pending};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::pipe::Fault;
use super::process::Process;
use super::record::{Death, Stand};
use super::unit::Unit;
use super::{Engine, Shared, Status};
use crate::clock::{self, Clock};
use crate::logic::lifecycle::{Action, Event, Illegal, Lifecycle, State, Swap};
use crate::settings::LogClient;

/// What must come to its end by itself and has not for so long is stuck. Long, because
/// a system that is short of memory takes its time to end a large process.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// What a supervisor holds its engine to.
#[derive(Clone, Debug)]
pub struct Terms {
    /// From the line that goes out to the reply that is whole.
    pub reply_timeout: Duration,
    /// Longest reply line.
    pub reply_bytes_max: usize,
    /// Ceiling of the pause before a restart.
    pub restart_delay_max: Duration,
    /// A line, its line end included, that a fresh engine must answer before it is up.
    pub ready_probe: Option<Bytes>,
    /// How much of a client's address stands in a death record.
    pub log_client: LogClient,
}

/// Why a supervisor ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// A fault of the gateway's own.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// The very first engine turned out to be no program.
    #[error("the engine cannot be run: {why}")]
    NeverRan {
        /// The system's reason, with the path.
        why: String,
        /// The gateway's exit code, 126 or 127.
        code: u8,
    },
}

/// Runs one engine. `S` starts one process.
pub struct Supervisor<S> {
    start: S,
    shared: Arc<Shared>,
    clock: Clock,
    terms: Terms,
    lifecycle: Lifecycle,
    /// The one that serves; none while it is down.
    serving: Option<Unit>,
    /// The one that is to follow it.
    successor: Option<Unit>,
    /// No engine has ended yet.
    is_first: bool,
    /// Ends when whoever lost a swap has left.
    leaving: Option<JoinHandle<()>>,
    /// When something last happened.
    moved_at: Instant,
}

impl<S: FnMut() -> io::Result<Box<dyn Process>>> Supervisor<S> {
    /// A supervisor for `engine`; nothing is started yet.
    pub fn new(engine: &Engine, terms: Terms, clock: Clock, start: S) -> Self {
        Self {
            start,
            shared: Arc::clone(&engine.shared),
            clock,
            lifecycle: Lifecycle::new(terms.restart_delay_max, terms.ready_probe.is_some()),
            terms,
            serving: None,
            successor: None,
            is_first: true,
            leaving: None,
            moved_at: clock::now(),
        }
    }

    /// Keeps the engine running until `closing`, then lets it leave: stdin closed, TERM, KILL.
    ///
    /// # Errors
    /// [`Ended`]
    pub async fn run(mut self, closing: impl Future<Output = ()>) -> Result<(), Ended> {
        let mut closing = pin!(closing);
        loop {
            // Each of these can be dropped and asked again: what they have done so far is kept in the units.
            let event = tokio::select! {
                biased;
                () = &mut closing => break,
                event = engine_event(
                    self.lifecycle.state(),
                    self.serving.as_mut(),
                    &self.shared,
                    &self.terms,
                    self.clock,
                ) => event,
                event = successor_event(self.lifecycle.swap(), self.successor.as_mut()) => event,
                () = left(self.leaving.as_mut()) => {
                    self.leaving = None;
                    Event::OldGone
                }
                () = self.shared.swap_asked.notified() => Event::SwapAsked,
                // Last: what could happen has been looked for.
                () = self.shared.beat_asked.notified() => {
                    self.answer_beat();
                    continue;
                }
            };
            self.moved_at = clock::now();
            if let (Event::Reaped, Some(unit), true) = (event, &self.serving, self.is_first)
                && let Some((why, code)) = unit.never_ran()
            {
                return Err(Ended::NeverRan { why, code });
            }
            if event == Event::Reaped {
                self.is_first = false;
                // Its id may belong to others by now: nothing may be sent to it any more.
                self.serving = None;
            }
            let now = self.clock.nanos();
            for action in self.lifecycle.on(event, now, fastrand::f64())? {
                self.carry_out(*action);
            }
            self.tell_status();
        }
        self.close().await;
        Ok(())
    }

    fn answer_beat(&self) {
        let due = match self.lifecycle.state() {
            // For ever, if nobody asks for a turn.
            State::Idle => None,
            State::Down { start_at } => Some(self.clock.instant(start_at)),
            State::Starting | State::Ending { .. } => Some(self.moved_at),
            State::Probing | State::Busy => Some(self.moved_at + self.terms.reply_timeout),
        };
        if due.is_none_or(|due| clock::now() < due + STUCK_AFTER) {
            self.shared.beats.send_modify(|beats| *beats += 1);
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Start => self.serving = self.start_unit(),
            Action::Probe => {
                if let (Some(unit), Some(line)) = (&mut self.serving, &self.terms.ready_probe) {
                    unit.probe(line.clone());
                }
            }
            Action::Answer => self.with_serving(Unit::answer),
            Action::FailTurn => self.with_serving(Unit::fail_turn),
            Action::PutBack => self.with_serving(Unit::put_back),
            Action::Kill => self.with_serving(|unit, _| unit.kill()),
            Action::StartSuccessor => {
                info!("starting a fresh engine to take over");
                self.successor = self.start_unit();
                if let (Some(unit), Some(line)) = (&mut self.successor, &self.terms.ready_probe) {
                    unit.probe(line.clone());
                }
            }
            Action::HandOver => {
                info!("the fresh engine takes over");
                let old = std::mem::replace(&mut self.serving, self.successor.take());
                self.leaving = old.map(|old| tokio::spawn(old.leave()));
            }
            Action::Promote => {
                info!("the fresh engine takes over");
                self.serving = self.successor.take();
            }
            Action::DropSuccessor => {
                warn!("the fresh engine failed");
                let (terms, shared) = (self.terms.clone(), Arc::clone(&self.shared));
                let gone = self.successor.take();
                self.leaving = Some(tokio::spawn(async move {
                    if let Some(mut unit) = gone {
                        unit.kill();
                        unit.die(&terms, &shared).await;
                    }
                }));
            }
        }
    }

    fn with_serving(&mut self, act: impl FnOnce(&mut Unit, &Shared)) {
        if let Some(unit) = &mut self.serving {
            act(unit, &self.shared);
        }
    }

    fn start_unit(&mut self) -> Option<Unit> {
        (self.start)()
            .map(|process| Unit::new(process, &self.terms))
            .inspect_err(|error| {
                error!(%error, "the engine cannot be started");
                self.shared.metrics.death(Fault::NotRun);
                self.shared.record().died(Death {
                    at: clock::now(),
                    cause: Fault::NotRun,
                    status: error.to_string(),
                    ran: Duration::ZERO,
                    turns: 0,
                });
            })
            .ok()
    }

    fn tell_status(&self) {
        let status = match self.lifecycle.state() {
            State::Idle | State::Busy => Status::Up,
            State::Starting | State::Probing => Status::Starting,
            State::Down { start_at } | State::Ending { start_at } => Status::Down { start_at },
        };
        self.shared.status.send_if_modified(|told| {
            let changed = *told != status;
            if changed && status == Status::Up {
                info!("the engine is up");
            }
            *told = status;
            changed
        });
        self.tell_record(status.into());
    }

    /// How many engines stand how, and what is known of the one that serves.
    fn tell_record(&self, serving: Stand) {
        // One that is dying has no name any more.
        let unit = self.serving.as_ref().filter(|_| serving != Stand::Down);
        let (pid, turns) = unit.map_or((None, 0), Unit::told);
        self.shared.record().stands(serving, pid, turns);
        let beside = match self.lifecycle.swap() {
            Swap::None => None,
            Swap::Warming | Swap::Ready => Some(Stand::Starting),
            Swap::Leaving => Some(Stand::Leaving),
        };
        for stand in Stand::ALL {
            let engines = u32::from(serving == stand) + u32::from(beside == Some(stand));
            self.shared.metrics.engines(stand, engines);
        }
    }

    /// Bounded, up to what the kernel needs for a KILL.
    async fn close(self) {
        if let Some(mut successor) = self.successor {
            successor.kill();
            successor.die(&self.terms, &self.shared).await;
        }
        match (self.serving, self.lifecycle.state()) {
            // Dying already: its death is still to be told.
            (Some(mut dying), State::Ending { .. }) => dying.die(&self.terms, &self.shared).await,
            (Some(serving), _) => serving.leave().await,
            (None, _) => {}
        }
        if let Some(leaving) = self.leaving {
            left(Some(&mut { leaving })).await;
        }
    }
}

/// What happens next to the one that serves. Cancel-safe.
async fn engine_event(
    state: State,
    unit: Option<&mut Unit>,
    shared: &Shared,
    terms: &Terms,
    clock: Clock,
) -> Event {
    match (state, unit) {
        (State::Down { start_at }, _) => {
            tokio::time::sleep_until(clock.instant(start_at)).await;
            Event::StartDue
        }
        (State::Starting, Some(_)) => Event::Started,
        (State::Starting, None) => Event::CannotStart,
        (State::Idle, Some(unit)) => unit.idle(shared).await,
        (State::Probing | State::Busy, Some(unit)) => unit.work().await,
        (State::Ending { .. }, Some(unit)) => {
            unit.die(terms, shared).await;
            Event::Reaped
        }
        // A unit is there in each of these by construction; without one, it is gone.
        (State::Probing | State::Idle | State::Busy, None) => Event::Failed,
        (State::Ending { .. }, None) => Event::Reaped,
    }
}

/// What happens next to the one that is to follow. Cancel-safe.
async fn successor_event(swap: Swap, unit: Option<&mut Unit>) -> Event {
    match (swap, unit) {
        (Swap::None | Swap::Leaving, _) => pending().await,
        (Swap::Warming | Swap::Ready, None) => Event::SuccessorFailed,
        (Swap::Warming, Some(unit)) => unit.warm_up().await,
        (Swap::Ready, Some(unit)) => unit.stand_by().await,
    }
}

/// Ready when whoever was leaving has left; never, if nobody was. Cancel-safe.
async fn left(leaving: Option<&mut JoinHandle<()>>) {
    match leaving {
        // It cannot fail but by a panic, and then it is gone as well.
        Some(leaving) => drop(leaving.await),
        None => pending().await,
    }
}
