//! The engine, as the rest of the gateway sees it: is it up, is there room, and one
//! reply for one turn. Who holds a [`Place`] holds one of the queue's; dropping it gives
//! it back, or, once the turn is in the engine, leaves that to the turn's end. Nothing
//! here can reach the engine but a [`Turn`] that gate 2 has made.
//!
//! One task, [`supervisor`], owns the process and its pipes. Requests and that task
//! share the queue behind a lock that is never held across an await.

pub mod launcher;
pub mod orphans;
pub mod pipe;
pub mod process;
pub mod record;
mod stderr;
pub mod supervisor;
mod unit;

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use self::record::Record;
use crate::clock;
use crate::logic::address::{Client, Hop};
use crate::logic::bucket::Nanos;
use crate::logic::queue::{Full, Order, PlaceId, Queue};
use crate::logic::shape::Turn;
use crate::metrics::Metrics;

/// The share of the newest turn in the moving average of turn times: one in this.
const AVERAGE_OVER: u64 = 8;

/// Does the engine take turns?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs, and has answered its probe if there is one.
    Up,
    /// It was started, and has not answered its probe yet.
    Starting,
    /// It does not run; the next start is due at this moment.
    Down {
        /// When.
        start_at: Nanos,
    },
}

/// How a turn ended.
#[derive(Debug)]
pub enum Outcome {
    /// The engine's line, without its line end.
    Replied(Bytes),
    /// The engine died or broke the protocol during this turn.
    Failed,
    /// No reply within `--reply-timeout`.
    TimedOut,
    /// Another client's turn took its place in the queue.
    PushedOut,
    /// It waited for longer than `--max-wait`, and the engine never saw it.
    Shed,
    /// The supervisor is gone: a fault of the gateway's own.
    Lost,
}

/// What became of a turn, and how long it took.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// From the queue's door to the engine's; all of it if the engine never saw the turn.
    pub waited: Duration,
    /// In the engine; none if the engine never saw the turn.
    pub in_engine: Option<Duration>,
}

impl Ended {
    fn unseen(outcome: Outcome, entered_at: Instant) -> Self {
        Self {
            outcome,
            waited: clock::now() - entered_at,
            in_engine: None,
        }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// Where it came from, for the log.
    pub hop: Hop,
    /// Who holds the place, for the queue.
    pub client: Client,
}

#[derive(Debug)]
struct Waiting {
    line: Bytes,
    kind: String,
    asker: Asker,
    entered_at: Instant,
    /// How long it may wait for the engine.
    wait_until: Instant,
    /// Taken when the turn ends.
    reply: Option<oneshot::Sender<Ended>>,
}

impl Waiting {
    fn end(&mut self, ended: Ended) {
        if let Some(reply) = self.reply.take() {
            // Whoever hung up has dropped the other end; what they asked for ends here.
            let _ = reply.send(ended);
        }
    }

    /// Ends a turn that no engine ever saw.
    fn end_unseen(mut self, outcome: Outcome, shared: &Shared) {
        let ended = Ended::unseen(outcome, self.entered_at);
        shared.count(&ended);
        self.end(ended);
    }

    fn is_wanted(&self) -> bool {
        let wanted = self.reply.as_ref().is_some_and(|reply| !reply.is_closed());
        wanted && clock::now() < self.wait_until
    }
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue<Waiting>>,
    arrived: Notify,
    swap_asked: Notify,
    beat_asked: Notify,
    /// Counts the supervisor's answers to it.
    beats: watch::Sender<u64>,
    status: watch::Sender<Status>,
    /// A moving average over served turns; 0 before the first.
    turn_nanos: AtomicU64,
    record: Mutex<Record>,
    metrics: Arc<Metrics>,
}

impl Shared {
    /// The queue's own steps never panic half-way, so a poisoned lock still guards a whole queue.
    fn queue(&self) -> MutexGuard<'_, Queue<Waiting>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once for each turn that left the queue, but for those whose client left before.
    fn count(&self, ended: &Ended) {
        self.metrics.queue_wait.observe(ended.waited.as_secs_f64());
        if let Some(in_engine) = ended.in_engine {
            self.metrics.engine_time.observe(in_engine.as_secs_f64());
        }
    }

    fn note_turn_time(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let before = self.turn_nanos.load(Ordering::Relaxed);
        let average = match before {
            0 => took,
            _ => before - before / AVERAGE_OVER + took / AVERAGE_OVER,
        };
        self.turn_nanos.store(average, Ordering::Relaxed);
    }
}

/// The engine and the queue in front of it.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

impl Engine {
    /// A queue of `places_max`, and an engine that is down until a supervisor starts it.
    pub fn new(places_max: usize, order: Order, metrics: Arc<Metrics>) -> Self {
        let (status, _) = watch::channel(Status::Starting);
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(Queue::new(places_max, order)),
                arrived: Notify::new(),
                swap_asked: Notify::new(),
                beat_asked: Notify::new(),
                beats: watch::channel(0).0,
                status,
                turn_nanos: AtomicU64::new(0),
                record: Mutex::default(),
                metrics,
            }),
        }
    }

    /// Does it take turns now?
    pub fn status(&self) -> Status {
        *self.shared.status.borrow()
    }

    /// The same, to be waited on. It never ends while this engine is there.
    pub fn statuses(&self) -> watch::Receiver<Status> {
        self.shared.status.subscribe()
    }

    /// Ready when the supervisor has answered: it gets on with its work, and waits for
    /// nothing that should have come long ago. Never ready otherwise. Cancel-safe.
    pub async fn beat(&self) {
        let mut beats = self.shared.beats.subscribe();
        self.shared.beat_asked.notify_one();
        if beats.changed().await.is_err() {
            // The sender is gone, which `self` itself rules out.
            pending::<()>().await;
        }
    }

    /// Places taken, the turn in the engine included.
    pub fn waiting(&self) -> usize {
        self.shared.queue().taken()
    }

    /// The most places that were taken at once since this was last asked.
    pub fn take_peak(&self) -> usize {
        self.shared.queue().take_peak()
    }

    /// How the engine stands, and how others died.
    pub fn record(&self) -> Record {
        self.shared.record().clone()
    }

    /// What one turn took lately.
    pub fn turn_time(&self) -> Duration {
        Duration::from_nanos(self.shared.turn_nanos.load(Ordering::Relaxed))
    }

    /// Starts a fresh engine, lets it take over when it is ready, and the old one leave.
    /// No turn is lost or refused for it; a fresh one that fails leaves the old in place.
    pub fn swap(&self) {
        self.shared.swap_asked.notify_one();
    }

    /// Takes a place in the queue, for at most `wait_max` until the engine takes the
    /// turn; if need be that of a greedy client's newest turn, which is told so.
    ///
    /// # Errors
    /// [`Full`], and the turn is gone.
    pub fn enter(&self, turn: Turn, asker: Asker, wait_max: Duration) -> Result<Place, Full> {
        let entered_at = clock::now();
        let wait_until = entered_at + wait_max;
        let (reply, receiver) = oneshot::channel();
        let (line, kind) = turn.into_parts();
        let waiting = Waiting {
            line: line.into(),
            kind,
            asker,
            entered_at,
            wait_until,
            reply: Some(reply),
        };
        let (id, pushed_out) = self.shared.queue().push(asker.client, waiting)?;
        if let Some(pushed_out) = pushed_out {
            pushed_out.end_unseen(Outcome::PushedOut, &self.shared);
        }
        self.shared.arrived.notify_one();
        Ok(Place {
            shared: Arc::clone(&self.shared),
            id,
            entered_at,
            wait_until,
            receiver,
        })
    }
}

/// A place in the queue. Dropped while its turn waits, the turn leaves and the engine never sees it.
#[derive(Debug)]
pub struct Place {
    shared: Arc<Shared>,
    id: PlaceId,
    entered_at: Instant,
    wait_until: Instant,
    receiver: oneshot::Receiver<Ended>,
}

impl Place {
    /// Waits for the reply: for the engine at most as long as was said, then for as long as the engine may take.
    ///
    /// Cancel-safe: dropping it is what a client does that hangs up.
    pub async fn reply(mut self) -> Ended {
        let patience = tokio::time::sleep_until(self.wait_until);
        let received = tokio::select! {
            biased;
            received = &mut self.receiver => received,
            () = patience => {
                if self.leave() {
                    let ended = Ended::unseen(Outcome::Shed, self.entered_at);
                    self.shared.count(&ended);
                    return ended;
                }
                (&mut self.receiver).await
            }
        };
        received.unwrap_or_else(|_| Ended::unseen(Outcome::Lost, self.entered_at))
    }

    /// True if the turn was still waiting.
    fn leave(&self) -> bool {
        self.shared.queue().remove(self.id).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}
