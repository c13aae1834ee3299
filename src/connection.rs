//! One client connection and all of them together: the deadlines that HTTP libraries
//! leave out, the cap on open connections, and the bytes of answers that nobody has
//! read yet. Knows bytes and moments, never what a request asks for.

mod pace;
mod refused;
mod watched;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

pub use self::refused::RefusedBecause;
pub use self::watched::{AnswerBody, HangUp, StreamedBody, Watched};
use crate::clock;
use crate::config::ConnectionLimits;

/// An idle connection is closed for a newcomer only after so long: its next request may
/// be on the way, and a new one's first surely is.
const IDLE_BEFORE_CLOSED: Duration = Duration::from_millis(500);
/// How often a newcomer looks whether there is one by now.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// All open connections.
#[derive(Debug)]
pub struct Connections {
    limits: ConnectionLimits,
    permits: Arc<Semaphore>,
    open: Mutex<Open>,
    /// Told when one closes.
    closed: Notify,
    /// By [`RefusedBecause`].
    refused: [AtomicU64; RefusedBecause::ALL.len()],
}

#[derive(Debug, Default)]
struct Open {
    by_id: BTreeMap<u64, Arc<Connection>>,
    next_id: u64,
    /// Over all connections that are not being closed for it.
    unsent_bytes: usize,
    /// Newcomers without a permit.
    newcomers: usize,
}

/// One open connection.
#[derive(Debug)]
pub struct Connection {
    state: Mutex<State>,
    close: Notify,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    unsent_bytes: usize,
    /// When bytes of an answer last went out, or the first of them came to be.
    progress_at: Instant,
    closing: Closing,
}

/// Whether the connection is to make room for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    /// If it is idle, and has not begun a request meanwhile.
    IfIdle,
    /// Whatever it does.
    Now,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No request since.
    Idle(Instant),
    /// The first byte of a head came then.
    Head(Instant),
    /// A request is being answered.
    Busy,
    /// Its answer is being sent since then.
    Sending {
        since: Instant,
        /// HTTP has all of it.
        is_complete: bool,
        /// No request follows it: what still comes is the rest of a refused body.
        is_last: bool,
    },
}

impl Connections {
    /// None yet.
    pub fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            permits: Arc::new(Semaphore::new(limits.connections_max)),
            open: Mutex::default(),
            closed: Notify::new(),
            refused: Default::default(),
        }
    }

    /// Connections that are open.
    pub fn count(&self) -> usize {
        self.open().by_id.len()
    }

    /// One more was refused something.
    pub fn refuse(&self, because: RefusedBecause) {
        self.refused[because as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many were refused something, for this reason.
    pub fn refused(&self, because: RefusedBecause) -> u64 {
        self.refused[because as usize].load(Ordering::Relaxed)
    }

    /// Leave to open one more. When all are open, the longest idle connection is closed
    /// for it; when none is idle, it waits. Cancel-safe.
    pub async fn permit(self: &Arc<Self>) -> Permit {
        let permits = Arc::clone(&self.permits);
        let permit = if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            Some(permit)
        } else {
            let _waits = Newcomer::new(self);
            if !self.make_room() {
                self.refuse(RefusedBecause::AllBusy);
            }
            loop {
                let free = timeout(LOOK_AGAIN, Arc::clone(&permits).acquire_owned());
                if let Ok(permit) = free.await {
                    break permit.ok();
                }
                self.make_room();
            }
        };
        let connection = Arc::new(Connection::new());
        let mut open = self.open();
        let id = open.next_id;
        open.next_id += 1;
        open.by_id.insert(id, Arc::clone(&connection));
        Permit {
            connections: Arc::clone(self),
            connection,
            id,
            _counted: permit,
        }
    }

    /// Ready when no connection is open, and none waits for its permit. For one to wait at a time.
    pub async fn all_closed(&self) {
        loop {
            {
                let open = self.open();
                if open.by_id.is_empty() && open.newcomers == 0 {
                    return;
                }
            }
            self.closed.notified().await;
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the longest idle connections, one for each newcomer that none is being closed
    /// for. False when there are not as many.
    fn make_room(&self) -> bool {
        let open = self.open();
        let closing = open.by_id.values().filter(|c| c.is_closing()).count();
        for _ in closing..open.newcomers {
            let longest = open
                .by_id
                .values()
                .filter_map(|connection| Some((connection.idle_since()?, connection)))
                .min_by_key(|(since, _)| *since);
            let Some((_, connection)) = longest else {
                return false;
            };
            connection.close(Closing::IfIdle);
        }
        true
    }

    /// HTTP has nothing left to send. After a whole answer, but the last, the connection is idle.
    fn flushed(&self, connection: &Connection) {
        {
            let mut state = connection.state();
            let Phase::Sending {
                is_complete: true,
                is_last,
                ..
            } = state.phase
            else {
                return;
            };
            if !is_last {
                state.phase = Phase::Idle(clock::now());
            }
        }
        let mut open = self.open();
        open.unsent_bytes -= connection.forget_unsent();
    }

    /// Counts an answer's bytes, and closes the slowest connections while there are too many.
    fn add_unsent(&self, connection: &Connection, bytes: usize) {
        let mut open = self.open();
        {
            let mut state = connection.state();
            if state.unsent_bytes == 0 {
                state.progress_at = clock::now();
            }
            state.unsent_bytes += bytes;
        }
        open.unsent_bytes += bytes;
        let now = clock::now();
        while open.unsent_bytes > self.limits.unsent_bytes_max {
            let mut slow: Vec<_> = open
                .by_id
                .values()
                .filter_map(|connection| Some((connection.pace(now)?, connection)))
                .collect();
            slow.sort_by_key(|(pace, _)| *pace);
            // One alone is slower than nobody, and its answer is bounded by itself.
            let [(_, slowest), _, ..] = &slow[..] else {
                return;
            };
            let slowest = Arc::clone(slowest);
            open.unsent_bytes -= slowest.forget_unsent();
            slowest.close(Closing::Now);
        }
    }

    fn sent(&self, connection: &Connection, bytes: usize) {
        // The bytes of a head are not counted; the few hundred that are thereby missed are told by the flush.
        let sent = {
            let mut state = connection.state();
            let sent = bytes.min(state.unsent_bytes);
            if sent == 0 {
                return;
            }
            state.unsent_bytes -= sent;
            state.progress_at = clock::now();
            sent
        };
        self.open().unsent_bytes -= sent;
    }
}

/// Somebody who waits for a permit; dropping it ends that.
struct Newcomer<'a>(&'a Connections);

impl<'a> Newcomer<'a> {
    fn new(connections: &'a Connections) -> Self {
        connections.open().newcomers += 1;
        Self(connections)
    }
}

impl Drop for Newcomer<'_> {
    fn drop(&mut self) {
        self.0.open().newcomers -= 1;
    }
}

/// Leave to be open, for one connection; dropping it gives it back.
#[derive(Debug)]
pub struct Permit {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    id: u64,
    _counted: Option<OwnedSemaphorePermit>,
}

impl Permit {
    /// A request's head is complete. Says when its first byte was read.
    pub fn request_begun(&self) -> Instant {
        let mut state = self.connection.state();
        let since = match state.phase {
            // Idle: its bytes were there already when the answer before it was done.
            Phase::Head(since) | Phase::Idle(since) => since,
            Phase::Busy | Phase::Sending { .. } => clock::now(),
        };
        state.phase = Phase::Busy;
        since
    }

    /// Ready when this connection must be closed for others. Let it read first: one that
    /// has begun a request since it was chosen is spared. Cancel-safe.
    pub async fn must_close(&self) {
        loop {
            self.connection.close.notified().await;
            let mut state = self.connection.state();
            let is_idle = matches!(state.phase, Phase::Idle(_));
            match state.closing {
                Closing::Now => return self.connections.refuse(RefusedBecause::Unsent),
                Closing::IfIdle if is_idle => {
                    return self.connections.refuse(RefusedBecause::Idle);
                }
                Closing::IfIdle | Closing::No => state.closing = Closing::No,
            }
        }
    }

    /// Something of an answer was never taken. Once the connection has ended.
    pub fn was_cut(&self) -> bool {
        let state = self.connection.state();
        state.closing == Closing::Now || state.unsent_bytes > 0
    }

    /// Watches the bytes of the connection.
    pub fn watch<S>(&self, stream: S) -> Watched<S> {
        Watched::new(
            stream,
            Arc::clone(&self.connections),
            Arc::clone(&self.connection),
        )
    }

    /// A body that is counted until it is sent. `is_last`: the connection is closed after it.
    pub fn answer_body(&self, bytes: Bytes, is_last: bool) -> AnswerBody {
        self.connection.answer_begun(is_last);
        if !bytes.is_empty() {
            self.connections.add_unsent(&self.connection, bytes.len());
        }
        AnswerBody {
            bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
            connection: Arc::clone(&self.connection),
        }
    }

    /// A body that comes in small pieces, for as long as it takes.
    pub fn streamed_body<B>(&self, pieces: B) -> StreamedBody<B> {
        self.connection.answer_begun(false);
        StreamedBody {
            pieces,
            connection: Arc::clone(&self.connection),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.by_id.remove(&self.id);
        open.unsent_bytes -= self.connection.forget_unsent();
        self.connections.closed.notify_one();
    }
}

impl Connection {
    fn new() -> Self {
        let now = clock::now();
        Self {
            state: Mutex::new(State {
                phase: Phase::Idle(now),
                unsent_bytes: 0,
                progress_at: now,
                closing: Closing::No,
            }),
            close: Notify::new(),
        }
    }

    /// What is sent from now on has the whole time of an answer.
    fn answer_begun(&self, is_last: bool) {
        self.state().phase = Phase::Sending {
            since: clock::now(),
            is_complete: false,
            is_last,
        };
    }

    fn answer_is_complete(&self) {
        if let Phase::Sending { is_complete, .. } = &mut self.state().phase {
            *is_complete = true;
        }
    }

    fn close(&self, closing: Closing) {
        self.state().closing = closing;
        self.close.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when, if it has been idle for long enough to be closed for others.
    fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        match state.phase {
            Phase::Idle(since) if state.closing == Closing::No => {
                Some(since).filter(|since| *since + IDLE_BEFORE_CLOSED <= clock::now())
            }
            Phase::Idle(_) | Phase::Head(_) | Phase::Busy | Phase::Sending { .. } => None,
        }
    }

    fn is_closing(&self) -> bool {
        self.state().closing != Closing::No
    }

    fn forget_unsent(&self) -> usize {
        std::mem::take(&mut self.state().unsent_bytes)
    }
}
