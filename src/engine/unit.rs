//! One engine process with all that is known of it: what it is doing, since when, what
//! it did wrong, how it ended. Does what the supervisor says; decides nothing.

use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{info, warn};

use super::launcher;
use super::pipe::{self, Exchange, Fault};
use super::process::Process;
use super::record::Death;
use super::supervisor::Terms;
use super::{Ended, Outcome, Shared, Waiting};
use crate::clock;
use crate::logic::frame::Lines;
use crate::logic::lifecycle::Event;
use crate::logic::printable::printable;
use crate::logic::queue::PlaceId;

/// How long an engine may take to leave after its stdin was closed, and again after TERM.
const LEAVE: Duration = Duration::from_secs(2);
/// How long its last words on stderr may take to be read, when a process outside its
/// group holds that pipe open.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Who exits closes its ends first: how long after them its exit may be seen. Longer than the kernel
/// needs on a busy machine, and shorter than anybody notices who waits for a 502.
const EXITING: Duration = Duration::from_millis(100);
/// A successor without a probe is ready when it has lived so long.
const PROOF: Duration = Duration::from_secs(1);

/// One engine process.
pub(super) struct Unit {
    process: Box<dyn Process>,
    lines: Lines,
    /// The line it has now: a turn's, or the probe.
    exchange: Option<Exchange>,
    turn: Option<InEngine>,
    reply: Option<Bytes>,
    fault: Option<Fault>,
    never_ran: Option<(String, u8)>,
    /// It has exited: how long its last words are waited for.
    last_words_until: Option<Instant>,
    /// The turn that failed with it.
    victim: Option<Waiting>,
    /// It has not replied to any line yet, the probe included.
    is_fresh: bool,
    started_at: Instant,
    sent_at: Instant,
    turns_served: u64,
    reply_timeout: Duration,
}

/// The turn that the engine has.
struct InEngine {
    place: PlaceId,
    waiting: Waiting,
}

impl Unit {
    pub(super) fn new(process: Box<dyn Process>, terms: &Terms) -> Self {
        let now = clock::now();
        Self {
            process,
            lines: Lines::new(terms.reply_bytes_max),
            exchange: None,
            turn: None,
            reply: None,
            fault: None,
            never_ran: None,
            last_words_until: None,
            victim: None,
            is_fresh: true,
            started_at: now,
            sent_at: now,
            turns_served: 0,
            reply_timeout: terms.reply_timeout,
        }
    }

    /// Gives it the probe; [`Unit::work`] sends it.
    pub(super) fn probe(&mut self, line: Bytes) {
        self.send(line);
    }

    /// Without a turn: takes the next one, or fails. Cancel-safe.
    pub(super) async fn idle(&mut self, shared: &Shared) -> Event {
        let fault = tokio::select! {
            biased;
            fault = pipe::watch_idle(self.process.as_mut()) => fault,
            (place, waiting) = next_turn(shared) => {
                self.send(waiting.line.clone());
                self.turn = Some(InEngine { place, waiting });
                return Event::TurnTaken;
            }
        };
        self.note(fault).await;
        Event::Failed
    }

    /// With a line: brings it through. Cancel-safe.
    pub(super) async fn work(&mut self) -> Event {
        let Some(exchange) = &mut self.exchange else {
            return Event::Failed;
        };
        let deadline = self.sent_at + self.reply_timeout;
        let run = exchange.run(self.process.as_mut(), &mut self.lines, deadline);
        let broken = match run.await {
            Ok(reply) => {
                self.exchange = None;
                self.is_fresh = false;
                // What a probe is answered with is nobody's business.
                self.reply = self.turn.is_some().then_some(reply);
                return Event::Replied;
            }
            Err(broken) => broken,
        };
        self.note(broken.fault).await;
        if broken.unsent && self.turn.is_some() {
            Event::FailedUnsent
        } else {
            Event::Failed
        }
    }

    /// As a successor: until it is ready, or fails. Cancel-safe.
    pub(super) async fn warm_up(&mut self) -> Event {
        if self.exchange.is_some() {
            let is_ready = self.work().await == Event::Replied;
            return if is_ready {
                Event::SuccessorReady
            } else {
                Event::SuccessorFailed
            };
        }
        let proven_at = self.started_at + PROOF;
        match timeout_at(proven_at, pipe::watch_idle(self.process.as_mut())).await {
            Ok(fault) => {
                self.note(fault).await;
                Event::SuccessorFailed
            }
            Err(_) => Event::SuccessorReady,
        }
    }

    /// As a successor that is ready: until it fails. Cancel-safe.
    pub(super) async fn stand_by(&mut self) -> Event {
        let fault = pipe::watch_idle(self.process.as_mut()).await;
        self.note(fault).await;
        Event::SuccessorFailed
    }

    /// What it did wrong. An exit that a closed end was the beginning of wins over that, whoever
    /// made it exit: after its own KILL the gateway could not tell. Cancel-safe.
    async fn note(&mut self, fault: Fault) {
        let is_closed = matches!(fault, Fault::StdoutClosed | Fault::StdinClosed);
        let has_exited = is_closed && self.exits_within(EXITING).await;
        self.fault = Some(if has_exited { Fault::Exited } else { fault });
    }

    /// Hands the reply to whoever asked.
    pub(super) fn answer(&mut self, shared: &Shared) {
        let (Some(reply), Some(InEngine { mut waiting, .. })) =
            (self.reply.take(), self.turn.take())
        else {
            return;
        };
        self.turns_served += 1;
        let took = self.end_turn(&mut waiting, Outcome::Replied(reply), shared);
        shared.note_turn_time(took);
    }

    /// Tells whoever asked that there will be no reply.
    pub(super) fn fail_turn(&mut self, shared: &Shared) {
        let Some(InEngine { mut waiting, .. }) = self.turn.take() else {
            return;
        };
        let timed_out = self.fault == Some(Fault::TimedOut);
        let outcome = if timed_out {
            Outcome::TimedOut
        } else {
            Outcome::Failed
        };
        self.end_turn(&mut waiting, outcome, shared);
        self.victim = Some(waiting);
    }

    /// Back to where it stood, unless nobody waits for it any more: its client has left, or its time is over.
    pub(super) fn put_back(&mut self, shared: &Shared) {
        self.exchange = None;
        let Some(InEngine { place, waiting }) = self.turn.take() else {
            return;
        };
        if waiting.is_wanted() {
            shared.queue().put_back(place, waiting);
        } else {
            shared.queue().finished();
            waiting.end_unseen(Outcome::Shed, shared);
        }
    }

    /// Kills its process group.
    pub(super) fn kill(&self) {
        self.process.signal_group(Signal::KILL);
    }

    /// Until nothing of a killed one is left; its death goes to the log. Cancel-safe.
    pub(super) async fn die(&mut self, terms: &Terms, shared: &Shared) {
        let (status, last_words) = self.end().await;
        let code = status.as_ref().ok().and_then(ExitStatus::code);
        let never_ran = launcher::failure(&last_words, code);
        self.never_ran = never_ran.map(|(why, code)| (why.to_owned(), code));
        let cause = self.cause(&status);
        self.log_death(cause, &status, &last_words, terms);
        if let Some(cause) = cause {
            shared.metrics.death(cause);
            shared.record().died(Death {
                at: clock::now(),
                cause,
                status: told(&status),
                ran: clock::now() - self.started_at,
                turns: self.turns_served,
            });
        }
    }

    /// Its process id and the turns it has served.
    pub(super) fn told(&self) -> (Option<u32>, u64) {
        (self.process.id(), self.turns_served)
    }

    /// What it died of; none if it was only told to go.
    fn cause(&self, status: &io::Result<ExitStatus>) -> Option<Fault> {
        // The exit wins over the broken pipe that it caused; a KILL so late is our own.
        let by_itself = status
            .as_ref()
            .is_ok_and(|status| status.signal() != Some(Signal::KILL.as_raw()));
        match self.fault {
            Some(_) if self.never_ran.is_some() => Some(Fault::NotRun),
            Some(Fault::StdoutClosed | Fault::StdinClosed) if by_itself => Some(Fault::Exited),
            fault => fault,
        }
    }

    /// Why there was no program to run, and the launcher's exit code. Only after it died.
    pub(super) fn never_ran(&self) -> Option<(String, u8)> {
        self.never_ran.clone()
    }

    /// Lets it leave: stdin closed, then TERM, then KILL. Bounded, up to what the kernel needs for a KILL.
    pub(super) async fn leave(mut self) {
        let _ = self.process.shutdown().await;
        if !self.exits_within(LEAVE).await {
            self.process.signal_group(Signal::TERM);
            self.exits_within(LEAVE).await;
        }
        self.kill();
        let (status, _) = self.end().await;
        info!(status = told(&status), "the engine is closed");
    }

    async fn exits_within(&mut self, time: Duration) -> bool {
        timeout(time, pipe::exited_unheard(self.process.as_mut()))
            .await
            .is_ok()
    }

    async fn end(&mut self) -> (io::Result<ExitStatus>, Vec<String>) {
        pipe::exited(self.process.as_mut()).await;
        let until = *(self.last_words_until).get_or_insert_with(|| clock::now() + LAST_WORDS);
        let last_words = pipe::last_words(self.process.as_mut());
        let last_words = timeout_at(until, last_words).await.unwrap_or_default();
        (self.process.reap(), last_words)
    }

    fn send(&mut self, line: Bytes) {
        self.exchange = Some(Exchange::new(line, self.is_fresh));
        self.sent_at = clock::now();
    }

    /// Frees the place first, so that whoever hears the outcome finds it free.
    fn end_turn(&self, waiting: &mut Waiting, outcome: Outcome, shared: &Shared) -> Duration {
        shared.queue().finished();
        let took = clock::now() - self.sent_at;
        let ended = Ended {
            outcome,
            waited: self.sent_at - waiting.entered_at,
            in_engine: Some(took),
        };
        shared.count(&ended);
        waiting.end(ended);
        took
    }

    /// One record for each death, with all that helps to find the turn that kills engines.
    fn log_death(
        &self,
        cause: Option<Fault>,
        status: &io::Result<ExitStatus>,
        last_words: &[String],
        terms: &Terms,
    ) {
        let victim = self.victim.as_ref();
        let ran = clock::now() - self.started_at;
        warn!(
            cause = cause.map(tracing::field::display),
            status = told(status),
            ran_ms = u64::try_from(ran.as_millis()).unwrap_or(u64::MAX),
            turns = self.turns_served,
            client = victim
                .and_then(|turn| terms.log_client.shows(turn.asker.hop))
                .map(tracing::field::display),
            kind = victim.map(|turn| printable(&turn.kind)).as_deref(),
            line_bytes = victim.map(|turn| turn.line.len()),
            line_hash = victim.map(|turn| hash(&turn.line)),
            last_stderr = &*printable(&last_words.join(" | ")),
            "the engine is dead"
        );
    }
}

/// Enough to see that the same line came again, and not what it said.
fn hash(line: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    format!("{:016x}", hasher.finish())
}

/// An exit status, or why there is none.
fn told(status: &io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
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
