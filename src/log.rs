//! The log: one line per turn or refusal with fixed fields, to stderr, through a writer
//! that drops lines and counts them before it ever blocks a turn. Nothing a client sent
//! stands in it unescaped, and no `input` at all.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::HeaderValue;
use tracing::field;
use tracing::{error, info, warn};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::clock::{self, Clock};
use crate::logic::address::Hop;
use crate::logic::printable::printable;
use crate::logic::sampler::{Sampler, Verdict};
use crate::refusal::Code;
use crate::settings::{LogClient, LogFormat};

/// Refusals logged one by one in each second; the rest is counted.
const REFUSALS_PER_SECOND: u32 = 10;
/// Lines that wait for stderr's reader; beyond it lines are dropped and counted. The
/// longest, 4 KiB of an engine's stderr with every byte escaped, has some 25 KiB.
const LINES_WAITING_MAX: usize = 1024;
/// How often it is looked whether lines were lost.
const LOST_LOOK_EVERY: Duration = Duration::from_secs(10);

/// What the writer needs: keep it until the end, so that the last lines are written.
#[derive(Debug)]
pub struct Writer {
    lost: ErrorCounter,
    _flushed_on_drop: WorkerGuard,
}

/// Counts lines that were lost.
#[derive(Clone, Debug)]
pub struct Lost(ErrorCounter);

impl From<ErrorCounter> for Lost {
    fn from(counter: ErrorCounter) -> Self {
        Self(counter)
    }
}

impl Lost {
    /// So far.
    pub fn lines(&self) -> u64 {
        self.0.dropped_lines() as u64
    }
}

/// Starts logging. Call once.
///
/// # Errors
/// A sentence when `RUST_LOG` cannot be read.
pub fn start(format: LogFormat) -> Result<Writer, String> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(wanted) if !wanted.is_empty() => {
            EnvFilter::try_new(wanted).map_err(|why| format!("RUST_LOG: {why}"))?
        }
        _ => EnvFilter::new("info"),
    };
    let (lines, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LINES_WAITING_MAX)
        .thread_name("log")
        .finish(io::stderr());
    let lost = lines.error_counter();
    let terminal = io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(lines)
        .with_target(false)
        .with_ansi(terminal);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Auto if terminal => log.init(),
        LogFormat::Json | LogFormat::Auto => log.json().flatten_event(true).init(),
    }
    // The usual hook writes to stderr itself, past the writer that never blocks, and breaks lines.
    std::panic::set_hook(Box::new(|panic| {
        let said = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        error!(
            place,
            said = &*printable(said),
            "a fault of the gateway's own: a panic"
        );
    }));
    Ok(Writer {
        lost,
        _flushed_on_drop: guard,
    })
}

impl Writer {
    /// How many lines were lost so far.
    pub fn lost(&self) -> Lost {
        self.lost.clone().into()
    }

    /// Tells, now and then, how many lines were lost.
    pub fn tell_lost(&self) -> impl Future<Output = std::convert::Infallible> + use<> {
        let lost = self.lost.clone();
        async move {
            let mut told = 0;
            loop {
                tokio::time::sleep(LOST_LOOK_EVERY).await;
                let lines = lost.dropped_lines();
                if lines > told {
                    warn!(lines = lines - told, "log lines were lost");
                    told = lines;
                }
            }
        }
    }
}

/// What is logged of one request.
#[derive(Debug)]
pub struct Entry {
    /// Who asked.
    pub client: Hop,
    /// The known path, or `other`.
    pub route: &'static str,
    /// What kind of turn.
    pub kind: Option<String>,
    /// The gate that would have refused it, under `--shadow`.
    pub shadow: Option<&'static str>,
    /// How long it waited for the engine.
    pub waited: Option<Duration>,
    /// How long it was in the engine.
    pub in_engine: Option<Duration>,
    /// Its name.
    pub request_id: HeaderValue,
}

/// Writes the line of each turn and each refusal.
#[derive(Debug)]
pub struct AccessLog {
    clock: Clock,
    log_client: LogClient,
    refusals: Mutex<Sampler>,
}

impl AccessLog {
    /// Nothing logged yet.
    pub fn new(log_client: LogClient, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            clock,
            log_client,
            refusals: Mutex::new(Sampler::new(REFUSALS_PER_SECOND)),
        })
    }

    /// A turn that got its reply.
    pub fn turn(&self, entry: &Entry, status: StatusCode) {
        self.write(entry, Some(status), None, "turn");
    }

    /// A turn or a request that did not; at most so many a second are written, the rest is counted.
    pub fn refusal(self: &Arc<Self>, entry: &Entry, status: StatusCode, code: Code) {
        if self.may_write() {
            self.write(entry, Some(status), Some(code.word()), "refused");
        }
    }

    /// A turn whose client left before its answer.
    pub fn hang_up(self: &Arc<Self>, entry: &Entry) {
        if self.may_write() {
            self.write(entry, None, None, "client left");
        }
    }

    fn may_write(self: &Arc<Self>) -> bool {
        let verdict = self.refusals().ask(self.clock.nanos());
        if verdict == Verdict::CountFirst {
            let log = Arc::clone(self);
            let at = clock::now() + Duration::from_secs(1);
            tokio::spawn(async move {
                tokio::time::sleep_until(at).await;
                let refusals = log.refusals().take_dropped();
                warn!(refusals, "more refusals than are logged one by one");
            });
        }
        verdict == Verdict::Write
    }

    fn refusals(&self) -> std::sync::MutexGuard<'_, Sampler> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(
        &self,
        entry: &Entry,
        status: Option<StatusCode>,
        code: Option<&'static str>,
        message: &'static str,
    ) {
        let kind = entry.kind.as_deref().map(printable);
        info!(
            client = self.log_client.shows(entry.client).map(field::display),
            route = entry.route,
            kind = kind.as_deref(),
            status = status.map(|status| status.as_u16()),
            code,
            shadow = entry.shadow,
            wait_ms = entry.waited.map(milliseconds),
            engine_ms = entry.in_engine.map(milliseconds),
            request_id = entry.request_id.to_str().ok(),
            message,
        );
    }
}

/// With three decimals.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
