//! The bytes of one connection as HTTP sees them: read under the deadlines that HTTP
//! libraries leave out, counted as they are written. Never changes a byte.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

use super::{Connection, Connections, Phase};
use crate::clock;

/// A stream whose reads keep the head's and the idle deadline, and whose writes are counted.
#[derive(Debug)]
pub struct Watched<S> {
    pub(super) stream: S,
    pub(super) connections: Arc<Connections>,
    pub(super) connection: Arc<Connection>,
    /// Set anew only when it fires or must fire earlier, not at every request.
    pub(super) deadline: Pin<Box<Sleep>>,
}

impl<S> Watched<S> {
    /// When the client must have said something, if nobody else watches it now.
    fn read_deadline(&self) -> Option<Instant> {
        let limits = self.connections.limits;
        let state = self.connection.state();
        match state.phase {
            Phase::Idle(since) => Some(since + limits.idle_timeout),
            Phase::Head(since) => Some(since + limits.header_timeout),
            Phase::Answered => Some(state.progress_at + limits.idle_timeout),
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
        self.connections.flushed(&self.connection);
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

/// The whole body of one answer. When HTTP lets go of it, the answer is complete, if not yet sent.
#[derive(Debug)]
pub struct AnswerBody {
    pub(super) bytes: Option<Bytes>,
    pub(super) connection: Arc<Connection>,
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.connection.state().phase = Phase::Answered;
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
