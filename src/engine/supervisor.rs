//! The one owner of the engine's process and pipes: turns what happens into the
//! lifecycle's events and carries its actions out. Decides nothing itself, and never
//! gives a line to an engine that is out of step, nor one line twice.

use std::future::Future;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{error, info, warn};

use super::pipe::{self, Broken, Fault};
use super::process::Process;
use super::{Ended, Engine, Outcome, Shared, Status, Waiting};
use crate::clock::{self, Clock};
use crate::logic::frame::Lines;
use crate::logic::lifecycle::{Action, Event, Illegal, Lifecycle, State};
use crate::logic::queue::PlaceId;

/// How long an engine may take to leave after its stdin was closed, and again after TERM.
const LEAVE: Duration = Duration::from_secs(2);
/// The share of the newest turn in the moving average of turn times: one in this.
const AVERAGE_OVER: u64 = 8;

/// What a supervisor holds its engine to.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// From the line that goes out to the reply that is whole.
    pub reply_timeout: Duration,
    /// Longest reply line.
    pub reply_bytes_max: usize,
    /// Ceiling of the pause before a restart.
    pub restart_delay_max: Duration,
}

/// Runs one engine. `S` starts one process.
pub struct Supervisor<S> {
    start: S,
    shared: Arc<Shared>,
    clock: Clock,
    terms: Terms,
    lifecycle: Lifecycle,
    process: Option<Box<dyn Process>>,
    lines: Lines,
    turn: Option<InEngine>,
    reply: Option<Bytes>,
    fault: Option<Fault>,
    turns_served: u64,
}

/// The turn that the engine has.
struct InEngine {
    place: PlaceId,
    waiting: Waiting,
    sent_at: Instant,
}

impl<S: FnMut() -> io::Result<Box<dyn Process>>> Supervisor<S> {
    /// A supervisor for `engine`; nothing is started yet.
    pub fn new(engine: &Engine, terms: Terms, clock: Clock, start: S) -> Self {
        Self {
            start,
            shared: Arc::clone(&engine.shared),
            clock,
            terms,
            lifecycle: Lifecycle::new(terms.restart_delay_max),
            process: None,
            lines: Lines::new(terms.reply_bytes_max),
            turn: None,
            reply: None,
            fault: None,
            turns_served: 0,
        }
    }

    /// Keeps the engine running until `closing`, then lets it leave: stdin closed, TERM, KILL.
    ///
    /// # Errors
    /// [`Illegal`], a fault of the gateway's own.
    pub async fn run(mut self, closing: impl Future<Output = ()>) -> Result<(), Illegal> {
        let mut closing = pin!(closing);
        loop {
            let event = tokio::select! {
                biased;
                () = &mut closing => break,
                event = self.next_event() => event,
            };
            let now = self.clock.nanos();
            for action in self.lifecycle.on(event, now, fastrand::f64())? {
                self.carry_out(*action);
            }
            self.tell_status();
        }
        self.close().await;
        Ok(())
    }

    async fn next_event(&mut self) -> Event {
        match self.lifecycle.state() {
            State::Down { start_at } => {
                tokio::time::sleep_until(self.clock.instant(start_at)).await;
                Event::StartDue
            }
            State::Starting if self.process.is_some() => Event::Started,
            State::Starting => Event::CannotStart,
            State::Idle => self.idle().await,
            State::Busy => self.busy().await,
            State::Ending { .. } => self.ending().await,
        }
    }

    async fn idle(&mut self) -> Event {
        let Some(process) = self.process.as_deref_mut() else {
            return Event::Failed;
        };
        let fault = tokio::select! {
            biased;
            fault = pipe::watch_idle(process) => fault,
            (place, waiting) = next_turn(&self.shared) => {
                let sent_at = clock::now();
                self.turn = Some(InEngine { place, waiting, sent_at });
                return Event::TurnTaken;
            }
        };
        self.fault = Some(fault);
        Event::Failed
    }

    async fn busy(&mut self) -> Event {
        let (Some(process), Some(turn)) = (self.process.as_deref_mut(), &self.turn) else {
            return Event::Failed;
        };
        let deadline = turn.sent_at + self.terms.reply_timeout;
        let exchange = pipe::exchange(process, &mut self.lines, &turn.waiting.line);
        match timeout_at(deadline, exchange).await {
            Ok(Ok(reply)) => {
                self.reply = Some(reply);
                Event::Replied
            }
            Ok(Err(Broken { fault, unsent })) => {
                self.fault = Some(fault);
                if unsent {
                    Event::FailedUnsent
                } else {
                    Event::Failed
                }
            }
            Err(_) => {
                self.fault = Some(Fault::TimedOut);
                Event::Failed
            }
        }
    }

    async fn ending(&mut self) -> Event {
        if let Some(process) = self.process.as_deref_mut() {
            pipe::exited(process).await;
            let status = process.reap();
            self.log_death(status);
        }
        self.process = None;
        Event::Reaped
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Start => self.start_process(),
            // The turn is there already; `busy` writes it, and reads while it writes.
            Action::Send => {}
            Action::Answer => self.answer(),
            Action::FailTurn => self.fail_turn(),
            Action::PutBack => self.put_back(),
            Action::Kill => {
                if let Some(process) = &self.process {
                    process.signal_group(Signal::KILL);
                }
            }
        }
    }

    fn start_process(&mut self) {
        self.lines = Lines::new(self.terms.reply_bytes_max);
        self.turns_served = 0;
        match (self.start)() {
            Ok(process) => self.process = Some(process),
            Err(error) => error!(%error, "the engine cannot be started"),
        }
    }

    fn answer(&mut self) {
        if let Some(reply) = self.reply.take() {
            self.turns_served += 1;
            let took = self.end_turn(Outcome::Replied(reply));
            let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let before = self.shared.turn_nanos.load(Ordering::Relaxed);
            let average = match before {
                0 => took,
                _ => before - before / AVERAGE_OVER + took / AVERAGE_OVER,
            };
            self.shared.turn_nanos.store(average, Ordering::Relaxed);
        }
    }

    fn fail_turn(&mut self) {
        let timed_out = self.fault == Some(Fault::TimedOut);
        self.end_turn(if timed_out {
            Outcome::TimedOut
        } else {
            Outcome::Failed
        });
    }

    /// Back to where it stood, unless nobody waits for it any more: its client has left, or its time is over.
    fn put_back(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        if turn.waiting.reply.is_closed() || clock::now() >= turn.waiting.wait_until {
            self.shared.queue().finished();
            turn.waiting.end_unseen(Outcome::Shed);
        } else {
            self.shared.queue().put_back(turn.place, turn.waiting);
        }
    }

    /// Frees the place first, so that whoever hears the outcome finds it free.
    fn end_turn(&mut self, outcome: Outcome) -> Duration {
        let Some(InEngine {
            waiting, sent_at, ..
        }) = self.turn.take()
        else {
            return Duration::ZERO;
        };
        self.shared.queue().finished();
        let took = clock::now() - sent_at;
        // A client that hung up in mid-turn has dropped the other end; the reply ends here.
        let _ = waiting.reply.send(Ended {
            outcome,
            waited: sent_at - waiting.entered_at,
            in_engine: Some(took),
        });
        took
    }

    fn tell_status(&self) {
        let status = match self.lifecycle.state() {
            State::Idle | State::Busy => Status::Up,
            State::Down { start_at } | State::Ending { start_at } => Status::Down { start_at },
            State::Starting => return,
        };
        self.shared.status.send_if_modified(|told| {
            let changed = *told != status;
            if changed && status == Status::Up {
                info!("the engine is up");
            }
            *told = status;
            changed
        });
    }

    fn log_death(&mut self, status: io::Result<ExitStatus>) {
        let ran_ms = self.lifecycle.ran(self.clock.nanos()).as_millis();
        let turns = self.turns_served;
        // The exit wins over the broken pipe that it caused; a KILL is our own.
        let exited = |status: &ExitStatus| status.signal() != Some(Signal::KILL.as_raw());
        let cause = match (self.fault.take(), &status) {
            (Some(Fault::StdoutClosed | Fault::StdinClosed), Ok(status)) if exited(status) => {
                Fault::Exited.to_string()
            }
            (Some(fault), _) => fault.to_string(),
            (None, _) => "unknown".to_owned(),
        };
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        warn!(cause, status, ran_ms, turns, "the engine is dead");
    }

    /// Closes stdin, then TERM, then KILL. Bounded, up to what the kernel needs for a KILL.
    async fn close(mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        let process = process.as_mut();
        let _ = process.shutdown().await;
        if timeout(LEAVE, pipe::exited(process)).await.is_err() {
            process.signal_group(Signal::TERM);
            let _ = timeout(LEAVE, pipe::exited(process)).await;
        }
        process.signal_group(Signal::KILL);
        pipe::exited(process).await;
        match process.reap() {
            Ok(status) => info!(%status, "the engine is closed"),
            Err(error) => error!(%error, "the engine is closed"),
        }
    }
}

async fn next_turn(shared: &Shared) -> (PlaceId, Waiting) {
    loop {
        if let Some(next) = shared.queue().pop() {
            return next;
        }
        shared.arrived.notified().await;
    }
}
