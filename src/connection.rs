//! One client connection and all of them together: the deadlines that HTTP libraries
//! leave out, the cap on open connections, and the bytes of answers that nobody has
//! read yet. Knows bytes and moments, never what a request asks for.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

use crate::clock;
use crate::config::ConnectionLimits;

/// All open connections.
#[derive(Debug)]
pub struct Connections {
    limits: ConnectionLimits,
    permits: Arc<Semaphore>,
    open: Mutex<Open>,
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
    closing: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No request since.
    Idle(Instant),
    /// The first byte of a head came then.
    Head(Instant),
    /// A request is being answered.
    Busy,
}

impl Connections {
    /// None yet.
    pub fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            permits: Arc::new(Semaphore::new(limits.connections_max)),
            open: Mutex::default(),
        }
    }

    /// Leave to open one more. When all are open, the longest idle connection is closed
    /// for it; when none is idle, it waits. Cancel-safe.
    pub async fn permit(self: &Arc<Self>) -> Permit {
        let permits = Arc::clone(&self.permits);
        let permit = if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            Some(permit)
        } else {
            let _waits = Newcomer::new(self);
            self.make_room();
            permits.acquire_owned().await.ok()
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

    /// Ready when no connection is open. Only once nothing is accepted any more.
    pub async fn all_closed(&self) {
        let all = u32::try_from(self.limits.connections_max).unwrap_or(u32::MAX);
        // An error means that nobody will ever ask for one again.
        let _ = self.permits.acquire_many(all).await;
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the longest idle connections, one for each newcomer that none is being closed for.
    fn make_room(&self) {
        let open = self.open();
        let closing = open.by_id.values().filter(|c| c.is_closing()).count();
        for _ in closing..open.newcomers {
            let longest = open
                .by_id
                .values()
                .filter_map(|connection| Some((connection.idle_since()?, connection)))
                .min_by_key(|(since, _)| *since);
            let Some((_, connection)) = longest else {
                return;
            };
            connection.close();
        }
    }

    /// A connection has become idle: whoever waits for a permit may have its.
    fn became_idle(&self) {
        if self.open().newcomers > 0 {
            self.make_room();
        }
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
        while open.unsent_bytes > self.limits.unsent_bytes_max {
            let slowest = open
                .by_id
                .values()
                .filter_map(|connection| Some((connection.stuck_since()?, connection)))
                .min_by_key(|(since, _)| *since)
                .map(|(_, connection)| Arc::clone(connection));
            let Some(slowest) = slowest else { return };
            open.unsent_bytes -= slowest.forget_unsent();
            slowest.close();
        }
    }

    fn sent(&self, connection: &Connection, bytes: usize) {
        let (sent, left) = {
            let mut state = connection.state();
            let sent = bytes.min(state.unsent_bytes);
            if sent == 0 {
                return;
            }
            state.unsent_bytes -= sent;
            state.progress_at = clock::now();
            (sent, state.unsent_bytes)
        };
        self.open().unsent_bytes -= sent;
        if left == 0 {
            self.became_idle();
        }
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
    /// The connection that holds it.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Watches the bytes of the connection.
    pub fn watch<S>(&self, stream: S) -> Watched<S> {
        Watched {
            stream,
            connections: Arc::clone(&self.connections),
            connection: Arc::clone(&self.connection),
            deadline: Box::pin(tokio::time::sleep_until(clock::now())),
        }
    }

    /// A body that is counted until it is sent.
    pub fn answer_body(&self, bytes: Bytes) -> AnswerBody {
        if !bytes.is_empty() {
            self.connections.add_unsent(&self.connection, bytes.len());
        }
        AnswerBody {
            bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
            connections: Arc::clone(&self.connections),
            connection: Arc::clone(&self.connection),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.by_id.remove(&self.id);
        open.unsent_bytes -= self.connection.forget_unsent();
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
                closing: false,
            }),
            close: Notify::new(),
        }
    }

    /// A request's head is complete.
    pub fn request_begun(&self) {
        self.state().phase = Phase::Busy;
    }

    /// Ready when this connection must make room for others. Cancel-safe.
    pub async fn must_close(&self) {
        self.close.notified().await;
    }

    fn close(&self) {
        self.state().closing = true;
        self.close.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        match state.phase {
            Phase::Idle(since) if state.unsent_bytes == 0 && !state.closing => Some(since),
            Phase::Idle(_) | Phase::Head(_) | Phase::Busy => None,
        }
    }

    fn stuck_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.unsent_bytes > 0).then_some(state.progress_at)
    }

    fn is_closing(&self) -> bool {
        self.state().closing
    }

    fn forget_unsent(&self) -> usize {
        std::mem::take(&mut self.state().unsent_bytes)
    }
}

/// A stream whose reads keep the head's and the idle deadline, and whose writes are counted.
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    /// Set anew only when it fires or must fire earlier, not at every request.
    deadline: Pin<Box<Sleep>>,
}

impl<S> Watched<S> {
    /// When the client must have said something, if nobody else watches it now.
    fn read_deadline(&self) -> Option<Instant> {
        let limits = self.connections.limits;
        let state = self.connection.state();
        match state.phase {
            // The answer may have taken its time to go out.
            Phase::Idle(since) => Some(since.max(state.progress_at) + limits.idle_timeout),
            Phase::Head(since) => Some(since + limits.header_timeout),
            Phase::Busy => None,
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(due) = self.read_deadline() else {
                return Poll::Pending;
            };
            if self.deadline.is_elapsed() || due < self.deadline.deadline() {
                if due <= clock::now() {
                    return Poll::Ready(());
                }
                self.deadline.as_mut().reset(due);
            }
            ready!(self.deadline.as_mut().poll(cx));
        }
    }
}

impl<S: Read + Unpin> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                let mut state = self.connection.state();
                if let Phase::Idle(_) = state.phase {
                    state.phase = Phase::Head(clock::now());
                }
                Poll::Ready(read)
            }
            Poll::Pending => {
                ready!(self.poll_deadline(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<S: Write + Unpin> Write for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.connections.sent(&self.connection, written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, pieces))?;
        self.connections.sent(&self.connection, written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        // After a long turn no timer runs any more, and nobody need read again before it must.
        if self.poll_deadline(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The whole body of one answer. When HTTP lets go of it, the connection is idle again.
#[derive(Debug)]
pub struct AnswerBody {
    bytes: Option<Bytes>,
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.connection.state().phase = Phase::Idle(clock::now());
        self.connections.became_idle();
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
