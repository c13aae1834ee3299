//! The bytes of one connection as HTTP sees them: read under the deadlines that HTTP
//! libraries leave out, counted as they are written. Never changes a byte.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

use super::{Connection, Connections, Phase, RefusedBecause};
use crate::clock;

/// Most bytes that are read ahead of HTTP while a request is answered.
const AHEAD_BYTES_MAX: usize = 8 * 1024;

/// A stream, and what was read of it ahead of HTTP.
#[derive(Debug)]
struct Ahead<S> {
    stream: S,
    bytes: BytesMut,
    ended: bool,
}

/// A stream whose reads keep the head's and the idle deadline, and whose writes are counted.
#[derive(Debug)]
pub struct Watched<S> {
    /// Shared with [`HangUp`] inside one task; never contended.
    ahead: Arc<Mutex<Ahead<S>>>,
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    /// Set anew only when it fires or must fire earlier, not at every request.
    deadline: Pin<Box<Sleep>>,
    was_late: bool,
}

/// Whether the client is still there while its request is answered. HTTP does not look
/// when bytes of a next request are waiting; so this reads on, a little, until the end.
#[derive(Debug)]
pub struct HangUp<S> {
    ahead: Arc<Mutex<Ahead<S>>>,
}

impl<S: Read + Unpin> HangUp<S> {
    /// Ready when the client has closed its side, or half of it. Cancel-safe.
    pub async fn happened(&self) {
        poll_fn(|cx| {
            let mut ahead = lock(&self.ahead);
            while !ahead.ended {
                if ahead.bytes.len() >= AHEAD_BYTES_MAX {
                    return Poll::Pending;
                }
                let mut chunk = [0; 1024];
                let mut buffer = ReadBuf::new(&mut chunk);
                let read = ready!(Pin::new(&mut ahead.stream).poll_read(cx, buffer.unfilled()));
                let read = read.map_or(&[][..], |()| buffer.filled());
                ahead.ended = read.is_empty();
                ahead.bytes.extend_from_slice(read);
                // HTTP may have asked for these, and has been told that there were none.
                cx.waker().wake_by_ref();
            }
            Poll::Ready(())
        })
        .await;
    }
}

fn lock<S>(ahead: &Mutex<Ahead<S>>) -> MutexGuard<'_, Ahead<S>> {
    ahead.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> Ahead<S> {
    fn take(&mut self, buffer: &mut ReadBufCursor<'_>) {
        let bytes = self.bytes.len().min(buffer.remaining());
        buffer.put_slice(&self.bytes.split_to(bytes));
    }
}

impl<S> Watched<S> {
    pub(super) fn new(
        stream: S,
        connections: Arc<Connections>,
        connection: Arc<Connection>,
    ) -> Self {
        let ahead = Ahead {
            stream,
            bytes: BytesMut::new(),
            ended: false,
        };
        Self {
            ahead: Arc::new(Mutex::new(ahead)),
            connections,
            connection,
            deadline: Box::pin(tokio::time::sleep_until(clock::now())),
            was_late: false,
        }
    }

    /// Watches for the client's leaving, in the same task.
    pub fn hang_up(&self) -> HangUp<S> {
        HangUp {
            ahead: Arc::clone(&self.ahead),
        }
    }

    /// When the client must have said, or taken, something, if nobody else watches it now.
    fn read_deadline(&self) -> Option<Instant> {
        let limits = self.connections.limits;
        match self.connection.state().phase {
            Phase::Idle(since) => Some(since + limits.idle_timeout),
            Phase::Head(since) => Some(since + limits.header_timeout),
            Phase::Sending { since, .. } => Some(since + limits.write_timeout),
            Phase::Busy => None,
        }
    }

    /// A socket that takes nothing more, or gives nothing, until the deadline has passed.
    fn or_too_late<T>(
        &mut self,
        done: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if done.is_pending() {
            ready!(self.poll_deadline(cx));
            self.count_as_late();
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }

    /// Once. Nobody is late who says nothing between two requests.
    fn count_as_late(&mut self) {
        let is_idle = matches!(self.connection.state().phase, Phase::Idle(_));
        if !is_idle && !self.was_late {
            self.connections.refuse(RefusedBecause::Timeout);
        }
        self.was_late = true;
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
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = {
            let mut ahead = lock(&self.ahead);
            if ahead.bytes.is_empty() && !ahead.ended {
                Pin::new(&mut ahead.stream).poll_read(cx, buffer)
            } else {
                ahead.take(&mut buffer);
                Poll::Ready(Ok(()))
            }
        };
        let read = ready!(self.or_too_late(read, cx));
        let mut state = self.connection.state();
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Head(clock::now());
        }
        drop(state);
        Poll::Ready(read)
    }
}

impl<S: Write + Unpin> Write for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut lock(&self.ahead).stream).poll_write(cx, bytes);
        let written = ready!(self.or_too_late(written, cx))?;
        self.connections.sent(&self.connection, written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut lock(&self.ahead).stream).poll_write_vectored(cx, pieces);
        let written = ready!(self.or_too_late(written, cx))?;
        self.connections.sent(&self.connection, written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        lock(&self.ahead).stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut lock(&self.ahead).stream).poll_flush(cx))?;
        self.connections.flushed(&self.connection);
        // After a long turn no timer runs any more, and nobody need read again before it must.
        if self.poll_deadline(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.ahead).stream).poll_shutdown(cx)
    }
}

/// The whole body of one answer. When HTTP lets go of it, the answer is complete, if not yet sent.
#[derive(Debug)]
pub struct AnswerBody {
    pub(super) bytes: Option<Bytes>,
    pub(super) connection: Arc<Connection>,
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.connection.answer_is_complete();
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

/// A body that comes in pieces for as long as somebody listens: each piece has as much time
/// as a whole answer. Its source keeps it small; it is not counted among what is unsent.
#[derive(Debug)]
pub struct StreamedBody<B> {
    pub(super) pieces: B,
    pub(super) connection: Arc<Connection>,
}

impl<B> Drop for StreamedBody<B> {
    fn drop(&mut self) {
        self.connection.answer_is_complete();
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for StreamedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let piece = ready!(Pin::new(&mut self.pieces).poll_frame(cx));
        self.connection.answer_begun(false);
        Poll::Ready(piece)
    }
}
