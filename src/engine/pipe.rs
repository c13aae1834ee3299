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
use tokio::time::{Instant, timeout_at};

use super::process::Process;
use crate::clock;
use crate::logic::frame::{Lines, TooLong};

/// Room made for each read; a longer reply makes the buffer grow by doubling.
const READ_BYTES_MIN: usize = 8 * 1024;
/// An engine that waits for its line has begun to read it after so long.
const READS_WITHIN: Duration = Duration::from_millis(10);
/// One that has not is looked at again so often, until it does.
const LOOKS_EVERY: Duration = Duration::from_millis(2);
/// When that was to be seen and the gateway itself had no time to look until so much
/// later, a reply that is there by then tells nothing. Timers may be late by a millisecond or two.
const LOOKS_WITHIN: Duration = Duration::from_millis(3);
/// A reply that came before the line was seen to be read is held back until nothing has
/// followed it for so many times as long as it took, and at least so long.
const QUIET_TIMES: u32 = 3;
const QUIET_MIN: Duration = Duration::from_millis(50);
/// And no longer than this: the reply is there, and somebody waits for it.
const QUIET_MAX: Duration = Duration::from_secs(5);
/// How long the last bytes of an engine that has exited may take to be read, when a
/// process outside its group holds the pipe open. Inside the group all are dead by then.
const LAST_BYTES: Duration = Duration::from_millis(100);

/// How an engine broke its contract. After any of these it is killed and replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no program of this name any more, or it is none.
    #[error("it could not be run")]
    NotRun,
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
    /// A reply to a line that it had not read, or one more line after a doubtful reply.
    #[error("it replied to an earlier line")]
    OutOfStep,
    /// Bytes while no turn was in it.
    #[error("it wrote a line that nobody asked for")]
    Unasked,
}

impl Fault {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::NotRun,
        Self::Exited,
        Self::TimedOut,
        Self::StdoutClosed,
        Self::StdinClosed,
        Self::NotJson,
        Self::TooLong,
        Self::MoreThanOneLine,
        Self::OutOfStep,
        Self::Unasked,
    ];

    /// As it stands in the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotRun => "not_run",
            Self::Exited => "exited",
            Self::TimedOut => "timed_out",
            Self::StdoutClosed => "stdout_closed",
            Self::StdinClosed => "stdin_closed",
            Self::NotJson => "not_json",
            Self::TooLong => "too_long",
            Self::MoreThanOneLine => "more_than_one_line",
            Self::OutOfStep => "out_of_step",
            Self::Unasked => "unasked",
        }
    }

    /// It wrote anything but one line of JSON for one turn.
    pub fn is_violation(self) -> bool {
        match self {
            Self::NotRun
            | Self::Exited
            | Self::TimedOut
            | Self::StdoutClosed
            | Self::StdinClosed => false,
            Self::NotJson
            | Self::TooLong
            | Self::MoreThanOneLine
            | Self::OutOfStep
            | Self::Unasked => true,
        }
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// What the engine did.
    pub fault: Fault,
    /// Not a byte of the line went out: the engine knows nothing of it.
    pub unsent: bool,
}

const TIMED_OUT: Broken = Broken {
    fault: Fault::TimedOut,
    unsent: false,
};

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

/// The last lines of its stderr, when that has ended. Cancel-safe, but told once.
pub async fn last_words(process: &mut dyn Process) -> Vec<String> {
    poll_fn(|cx| process.poll_last_words(cx)).await
}

/// Ready once the process has exited. Cancel-safe.
pub async fn exited(process: &mut dyn Process) {
    poll_fn(|cx| process.poll_exited(cx)).await;
}

/// The same, and whatever it still writes is read and dropped: nobody who wants to leave
/// is held by a full pipe. Cancel-safe.
pub async fn exited_unheard(process: &mut dyn Process) {
    let mut has_ended = false;
    poll_fn(|cx| {
        let mut chunk = [0; 4096];
        while !has_ended {
            let mut buffer = ReadBuf::new(&mut chunk);
            match Pin::new(&mut *process).poll_read(cx, &mut buffer) {
                Poll::Ready(read) => has_ended = read.is_err() || buffer.filled().is_empty(),
                Poll::Pending => break,
            }
        }
        process.poll_exited(cx)
    })
    .await;
}

/// One line's way in and its reply's way out. All that is known of it is kept here.
#[derive(Debug)]
pub struct Exchange {
    line: Bytes,
    written: usize,
    reply: Option<Bytes>,
    begun_at: Instant,
    /// When to look whether the engine has begun to read; none once it was seen to have.
    look_at: Option<Instant>,
    /// It had not when it was last looked at: what is written then may answer an earlier line.
    is_doubtful: bool,
    /// The first line that this engine gets: there is no earlier one whose reply could come.
    is_first: bool,
    /// A doubtful reply, and until when nothing may follow it.
    held: Option<(Bytes, Instant)>,
    /// It has exited: how long its last bytes are waited for.
    last_bytes_until: Option<Instant>,
}

/// What was seen on stdout, once there is something to tell.
enum Stdout {
    /// The reply is there in full, and the pipe behind it is empty.
    Quiet,
    /// End of file.
    Ended,
}

impl Exchange {
    /// Of this line, its line end included; nothing is written yet. `is_first`: the engine has replied to no other.
    pub fn new(line: Bytes, is_first: bool) -> Self {
        let begun_at = clock::now();
        Self {
            line,
            written: 0,
            reply: None,
            begun_at,
            look_at: Some(begun_at + READS_WITHIN),
            is_doubtful: false,
            is_first,
            held: None,
            last_bytes_until: None,
        }
    }

    /// Writes the line and reads one line, together; ends early when the engine exits.
    ///
    /// An engine that is in step is waiting for its line and reads it at once. One that
    /// does not may be starved, or busy with an earlier line, whose reply this would be:
    /// so it is looked at until it reads, and a reply that comes before that was seen is
    /// held back until nothing has followed it for a while. One that has its first line
    /// may take its time to start: only a greeting could stand there, and that is followed
    /// soon.
    ///
    /// The reply must be whole by `deadline`, and beyond doubt.
    ///
    /// Cancel-safe: called again, it goes on where it was.
    ///
    /// # Errors
    /// [`Broken`]; the engine must be killed.
    pub async fn run(
        &mut self,
        process: &mut dyn Process,
        lines: &mut Lines,
        deadline: Instant,
    ) -> Result<Bytes, Broken> {
        if self.written == 0 && process.unread_bytes() > 0 {
            return Err(self.broken(Fault::Unasked));
        }
        if self.held.is_none() {
            let bringing = self.bring_through(process, lines);
            let Ok(brought) = timeout_at(deadline, bringing).await else {
                return Err(TIMED_OUT);
            };
            let reply = brought?;
            if !self.is_doubtful {
                return Ok(reply);
            }
            let now = clock::now();
            let took = now - self.begun_at;
            let quiet = if self.is_first {
                QUIET_MIN
            } else {
                took.saturating_mul(QUIET_TIMES).clamp(QUIET_MIN, QUIET_MAX)
            };
            self.held = Some((reply, now + quiet));
        }
        let Some((reply, until)) = self.held.clone() else {
            return Err(self.broken(Fault::OutOfStep));
        };
        match timeout_at(until.min(deadline), watch_idle(process)).await {
            // An end after the first reply is no second one.
            Ok(Fault::Exited | Fault::StdoutClosed)
                if self.is_first && process.unread_bytes() == 0 =>
            {
                Ok(reply)
            }
            Ok(_) => Err(self.broken(Fault::OutOfStep)),
            Err(_) if until > deadline => Err(TIMED_OUT),
            Err(_) => Ok(reply),
        }
    }

    async fn bring_through(
        &mut self,
        process: &mut dyn Process,
        lines: &mut Lines,
    ) -> Result<Bytes, Broken> {
        loop {
            let look_at = self.look_at;
            let step = poll_fn(|cx| match self.poll(process, lines, cx) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending => process.poll_exited(cx).map(|()| None),
            });
            let step = match look_at {
                Some(at) => timeout_at(at, step).await,
                None => Ok(step.await),
            };
            match step {
                Ok(Some(Ok(_))) if self.is_unread(process) => {
                    return Err(self.broken(Fault::OutOfStep));
                }
                Ok(Some(done)) => {
                    self.is_doubtful |= look_at.is_some_and(|at| clock::now() > at + LOOKS_WITHIN);
                    return done.map_err(|fault| self.broken(fault));
                }
                Ok(None) => break,
                Err(_) => self.look(process, lines),
            }
        }
        // What it wrote before it exited is in the pipe. Who else holds that pipe dies with the group.
        process.signal_group(Signal::KILL);
        let until = *(self.last_bytes_until).get_or_insert_with(|| clock::now() + LAST_BYTES);
        let rest = poll_fn(|cx| self.poll(process, lines, cx));
        let fault = match timeout_at(until, rest).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(Fault::StdoutClosed | Fault::StdinClosed)) | Err(_) => Fault::Exited,
            Ok(Err(fault)) => fault,
        };
        Err(self.broken(fault))
    }

    /// Whether the engine has begun to read, and if it has, whether it wrote before that was seen.
    fn look(&mut self, process: &dyn Process, lines: &Lines) {
        // In this order: one that is in step reads, and only then writes.
        let is_unread = self.is_unread(process);
        self.look_at = is_unread.then(|| clock::now() + LOOKS_EVERY);
        let has_begun_to_reply = self.reply.is_some() || !lines.is_empty();
        self.is_doubtful = if has_begun_to_reply {
            is_unread || self.is_doubtful
        } else {
            is_unread || process.unread_bytes() > 0
        };
    }

    /// The engine has not read a byte of the line.
    fn is_unread(&self, process: &dyn Process) -> bool {
        process.unread_by_engine() >= self.line.len() as u64
    }

    fn broken(&self, fault: Fault) -> Broken {
        Broken {
            fault,
            unsent: self.written == 0,
        }
    }

    fn poll(
        &mut self,
        process: &mut dyn Process,
        lines: &mut Lines,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bytes, Fault>> {
        let written = self.poll_write(process, cx)?.is_ready();
        let stdout = ready!(self.poll_read(process, lines, cx)?);
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
        while self.written < self.line.len() {
            let unwritten = &self.line[self.written..];
            match ready!(Pin::new(&mut *process).poll_write(cx, unwritten)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(Fault::StdinClosed)),
                Ok(n) => self.written += n,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        process: &mut dyn Process,
        lines: &mut Lines,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stdout, Fault>> {
        loop {
            let buffer = lines.buffer();
            buffer.reserve(READ_BYTES_MIN);
            let room = buffer.capacity() - buffer.len();
            let read = match pin!(process.read_buf(buffer)).poll(cx) {
                Poll::Ready(read) => read.unwrap_or(0),
                Poll::Pending if self.reply.is_some() => return Poll::Ready(Ok(Stdout::Quiet)),
                Poll::Pending => return Poll::Pending,
            };
            if self.reply.is_none() {
                let line = lines.next_line();
                self.reply = line.map_err(|TooLong { .. }| Fault::TooLong)?;
            }
            if self.reply.is_some() && !lines.is_empty() {
                return Poll::Ready(Err(Fault::MoreThanOneLine));
            }
            if read == 0 {
                return Poll::Ready(Ok(Stdout::Ended));
            }
            // A read that left room has emptied the pipe: no second call to hear that.
            if self.reply.is_some() && self.written == self.line.len() && read < room {
                return Poll::Ready(Ok(Stdout::Quiet));
            }
        }
    }
}

fn is_json(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}
