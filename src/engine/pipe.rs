//! One line in, one line out. Writing and reading go on together, so that an engine
//! which does not read a long line while it writes one blocks nobody. Knows no
//! deadline, no queue and no restart; never hands on anything but one whole line of JSON.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;
use serde::de::IgnoredAny;
use tokio::io::{AsyncReadExt, ReadBuf};
use tokio::time::timeout;

use super::process::Process;
use crate::logic::frame::{Lines, TooLong};

/// Room made for each read; a longer reply makes the buffer grow by doubling.
const READ_BYTES_MIN: usize = 8 * 1024;
/// How long the last bytes of an engine that has exited may take to be read, when a
/// process outside its group holds the pipe open. Inside the group all are dead by then.
const LAST_BYTES: Duration = Duration::from_millis(100);

/// How an engine broke its contract. After any of these it is killed and replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The process ended.
    #[error("it exited")]
    Exited,
    /// No reply in time.
    #[error("it did not reply in time")]
    TimedOut,
    /// End of file on stdout.
    #[error("it closed its stdout")]
    StdoutClosed,
    /// The pipe to stdin is broken.
    #[error("it stopped reading its stdin")]
    StdinClosed,
    /// A line that is not one JSON value in UTF-8.
    #[error("it wrote a line that is not JSON")]
    NotJson,
    /// More bytes in one line than `--max-reply`.
    #[error("it wrote a line longer than --max-reply")]
    TooLong,
    /// Something behind the reply's line end.
    #[error("it wrote more than one line for one turn")]
    MoreThanOneLine,
    /// Bytes while no turn was in it.
    #[error("it wrote a line that nobody asked for")]
    Unasked,
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// What the engine did.
    pub fault: Fault,
    /// Not a byte of the line went out: the engine knows nothing of it.
    pub unsent: bool,
}

/// Writes `line` and reads one line, together; ends early when the engine exits.
///
/// Not cancel-safe: when dropped before the end, the engine is out of step and must be killed.
///
/// # Errors
/// [`Broken`]; the engine must be killed.
pub async fn exchange(
    process: &mut dyn Process,
    lines: &mut Lines,
    line: &[u8],
) -> Result<Bytes, Broken> {
    let broken = |fault, unwritten: &[u8]| Broken {
        fault,
        unsent: unwritten.len() == line.len(),
    };
    if process.unread_bytes() > 0 {
        return Err(broken(Fault::Unasked, line));
    }
    let mut exchange = Exchange {
        lines,
        unwritten: line,
        reply: None,
    };
    let done = poll_fn(|cx| match exchange.poll(process, cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => process.poll_exited(cx).map(|()| None),
    });
    if let Some(done) = done.await {
        return done.map_err(|fault| broken(fault, exchange.unwritten));
    }
    // What it wrote before it exited is in the pipe. Who else holds that pipe dies with the group.
    process.signal_group(Signal::KILL);
    let rest = poll_fn(|cx| exchange.poll(process, cx));
    let fault = match timeout(LAST_BYTES, rest).await {
        Ok(Ok(reply)) => return Ok(reply),
        Ok(Err(Fault::StdoutClosed | Fault::StdinClosed)) | Err(_) => Fault::Exited,
        Ok(Err(fault)) => fault,
    };
    Err(broken(fault, exchange.unwritten))
}

/// Ready when the idle engine exits or says something: either way it is done for. Cancel-safe.
pub async fn watch_idle(process: &mut dyn Process) -> Fault {
    let mut byte = [0];
    poll_fn(|cx| {
        if process.poll_exited(cx).is_ready() {
            return Poll::Ready(Fault::Exited);
        }
        let mut buffer = ReadBuf::new(&mut byte);
        let read = ready!(Pin::new(&mut *process).poll_read(cx, &mut buffer));
        Poll::Ready(if read.is_ok() && !buffer.filled().is_empty() {
            Fault::Unasked
        } else {
            Fault::StdoutClosed
        })
    })
    .await
}

/// Ready once the process has exited. Cancel-safe.
pub async fn exited(process: &mut dyn Process) {
    poll_fn(|cx| process.poll_exited(cx)).await;
}

/// One turn's way through the pipes.
struct Exchange<'a> {
    lines: &'a mut Lines,
    unwritten: &'a [u8],
    reply: Option<Bytes>,
}

/// What was seen on stdout, once there is something to tell.
enum Stdout {
    /// The reply is there in full, and the pipe behind it is empty.
    Quiet,
    /// End of file.
    Ended,
}

impl Exchange<'_> {
    fn poll(
        &mut self,
        process: &mut dyn Process,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bytes, Fault>> {
        let written = self.poll_write(process, cx)?.is_ready();
        let stdout = ready!(self.poll_read(process, cx)?);
        match (stdout, self.reply.take()) {
            (_, Some(reply)) if written && is_json(&reply) => Poll::Ready(Ok(reply)),
            (_, Some(_)) if written => Poll::Ready(Err(Fault::NotJson)),
            (Stdout::Ended, _) => Poll::Ready(Err(Fault::StdoutClosed)),
            (Stdout::Quiet, reply) => {
                self.reply = reply;
                Poll::Pending
            }
        }
    }

    fn poll_write(
        &mut self,
        process: &mut dyn Process,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        while !self.unwritten.is_empty() {
            match ready!(Pin::new(&mut *process).poll_write(cx, self.unwritten)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(Fault::StdinClosed)),
                Ok(n) => self.unwritten = &self.unwritten[n..],
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        process: &mut dyn Process,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stdout, Fault>> {
        loop {
            let buffer = self.lines.buffer();
            buffer.reserve(READ_BYTES_MIN);
            let room = buffer.capacity() - buffer.len();
            let read = match pin!(process.read_buf(buffer)).poll(cx) {
                Poll::Ready(read) => read.unwrap_or(0),
                Poll::Pending if self.reply.is_some() => return Poll::Ready(Ok(Stdout::Quiet)),
                Poll::Pending => return Poll::Pending,
            };
            if self.reply.is_none() {
                let line = self.lines.next_line();
                self.reply = line.map_err(|TooLong { .. }| Fault::TooLong)?;
            }
            if self.reply.is_some() && !self.lines.is_empty() {
                return Poll::Ready(Err(Fault::MoreThanOneLine));
            }
            if read == 0 {
                return Poll::Ready(Ok(Stdout::Ended));
            }
            // A read that left room has emptied the pipe: no second call to hear that.
            if self.reply.is_some() && self.unwritten.is_empty() && read < room {
                return Poll::Ready(Ok(Stdout::Quiet));
            }
        }
    }
}

fn is_json(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}
