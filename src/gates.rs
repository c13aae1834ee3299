//! The five gates, in their order. [`Gates::admit`] is the order; each gate hands the
//! next something stronger, so that none can be walked around: bytes, a checked turn,
//! a paid turn, a place. A ticket paid is never given back. Sends nothing to anybody.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::EXPECT;
use tokio::time::timeout;
use tracing::warn;

use crate::clock::Clock;
use crate::config::Config;
use crate::engine::{Asker, Engine, Place, Status};
use crate::logic::address::{Client, Hop};
use crate::logic::bucket::Decision;
use crate::logic::clients::Clients;
use crate::logic::queue::Full;
use crate::logic::shape::{self, Route, Turn};
use crate::metrics::Metrics;
use crate::refusal::Refusal;

/// Most of a refused body that is read and thrown away, so that its sender gets to read the refusal.
const DISCARDED_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// What a body may grow by on its way to a line: a line end, and a `"kind":"new",`.
const ROOM_FOR_LINE: usize = 16;

/// How often clients are forgotten in the background, and how many slots are looked at:
/// a million clients, in two million slots, in under a minute, each step a fraction of a millisecond.
const FORGET_EVERY: Duration = Duration::from_millis(100);
const FORGOTTEN_PER_STEP: usize = 4 * 1024;

/// The gates and what they look at.
#[derive(Debug)]
pub struct Gates {
    config: Arc<Config>,
    clock: Clock,
    engine: Engine,
    clients: Mutex<Clients>,
    told_overflow: AtomicBool,
    metrics: Arc<Metrics>,
}

/// What the gates saw of a turn, whether or not it passed.
#[derive(Debug, Default)]
pub struct Seen {
    /// Gate 2: its kind.
    pub kind: Option<String>,
    /// Gate 3: how the client's bucket stood at the decision.
    pub meter: Option<Meter>,
    /// Gate 3 would have refused it, and `--shadow` let it pass.
    pub shadow_refused: bool,
}

/// The numbers of the rate-limit headers.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// Tickets in a full bucket.
    pub burst: u32,
    /// Seconds in which an empty bucket fills, rounded up.
    pub window_seconds: u64,
    /// What the bucket said.
    pub decision: Decision,
}

/// A turn whose ticket is taken, and by whom.
struct Paid(Turn, Asker);

impl Gates {
    /// The gates before `engine`.
    pub fn new(config: Arc<Config>, engine: Engine, metrics: Arc<Metrics>, clock: Clock) -> Self {
        let overflow_limit = config.limits.default_limit().clone();
        Self {
            clients: Mutex::new(Clients::new(
                config.clients_max,
                config.identity.ipv6_prefix,
                overflow_limit,
            )),
            told_overflow: AtomicBool::new(false),
            metrics,
            config,
            clock,
            engine,
        }
    }

    /// Forgets clients whose buckets are full, in small steps, also when nobody asks: so
    /// that memory goes back when traffic ends.
    pub async fn forget_clients(&self) -> Infallible {
        loop {
            tokio::time::sleep(FORGET_EVERY).await;
            let now = self.clock.nanos();
            self.clients().forget(now, FORGOTTEN_PER_STEP);
        }
    }

    /// Clients remembered now, and forgotten so far.
    pub fn count_clients(&self) -> (usize, u64) {
        let clients = self.clients();
        (clients.len(), clients.forgotten())
    }

    /// The order.
    ///
    /// Cancel-safe: a client that hangs up here gets no ticket back, and its turn never reaches the engine.
    ///
    /// # Errors
    /// The refusal of the first gate that did not open.
    pub async fn admit(
        &self,
        client: Hop,
        route: Route,
        body: Incoming,
        headers: &HeaderMap,
        seen: &mut Seen,
    ) -> Result<Place, Refusal> {
        let bytes = self.body_is_read(body, headers).await?;
        let turn = self.shape_is_checked(bytes, route, seen)?;
        let paid = self.ticket_is_taken(client, turn, seen)?;
        self.engine_is_up()?;
        self.room_in_the_queue(paid)
    }

    /// Gate 1. A length over the limit is refused before a byte is read, and so before any `100 Continue`.
    async fn body_is_read(
        &self,
        mut body: Incoming,
        headers: &HeaderMap,
    ) -> Result<Vec<u8>, Refusal> {
        let limit = self.config.body_bytes_max;
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            discard_unasked(body, headers, self.config.body_timeout);
            return Err(Refusal::BodyTooLarge(limit));
        }
        let mut bytes = Vec::with_capacity(announced + ROOM_FOR_LINE);
        let reading = read_up_to(limit, &mut body, &mut bytes);
        match timeout(self.config.body_timeout, reading).await {
            Ok(Ok(())) => Ok(bytes),
            Ok(Err(refusal)) => {
                discard(body, self.config.body_timeout);
                Err(refusal)
            }
            Err(_) => Err(Refusal::BodyTimeout),
        }
    }

    /// Gate 2.
    fn shape_is_checked(
        &self,
        bytes: Vec<u8>,
        route: Route,
        seen: &mut Seen,
    ) -> Result<Turn, Refusal> {
        let turn = shape::check(bytes, route, &self.config.shape).map_err(Refusal::BadShape)?;
        seen.kind = Some(turn.kind().to_owned());
        Ok(turn)
    }

    /// Gate 3. An exempt client has no bucket.
    fn ticket_is_taken(&self, client: Hop, turn: Turn, seen: &mut Seen) -> Result<Paid, Refusal> {
        let asker = Asker {
            hop: client,
            client: Client::of(client, self.config.identity.ipv6_prefix),
        };
        let limits = &self.config.limits;
        let Some(limit) = limits.of(client) else {
            return Ok(Paid(turn, asker));
        };
        let cost = limits.cost_of(turn.kind());
        let now = self.clock.nanos();
        let answer = self.clients().take(asker.client, now, limit, cost);
        let limit = if answer.overflowed {
            self.metrics.clients_overflowed.inc();
            self.tell_overflow();
            limits.default_limit()
        } else {
            limit
        };
        seen.meter = Some(Meter {
            burst: limit.burst().tickets(),
            window_seconds: limit.window_seconds(),
            decision: answer.decision,
        });
        match answer.decision.wait {
            None => Ok(Paid(turn, asker)),
            Some(_) if self.config.shadow => {
                seen.shadow_refused = true;
                self.metrics.shadow_refusals.inc();
                Ok(Paid(turn, asker))
            }
            Some(wait) => Err(Refusal::RateLimited {
                rate: limit.rate().to_string(),
                wait,
            }),
        }
    }

    /// Gate 4.
    fn engine_is_up(&self) -> Result<(), Refusal> {
        match self.engine.status() {
            Status::Up => Ok(()),
            Status::Starting => Err(Refusal::EngineDown {
                wait: Duration::ZERO,
            }),
            Status::Down { start_at } => Err(Refusal::EngineDown {
                wait: Duration::from_nanos(start_at.saturating_sub(self.clock.nanos())),
            }),
        }
    }

    /// Gate 5.
    fn room_in_the_queue(&self, Paid(turn, asker): Paid) -> Result<Place, Refusal> {
        let entered = self.engine.enter(turn, asker, self.config.wait_max);
        entered.map_err(|Full| Refusal::QueueFull {
            wait: self.engine.turn_time(),
        })
    }

    /// A step of the table never panics half-way, so a poisoned lock still guards a whole table.
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_overflow(&self) {
        if !self.told_overflow.swap(true, Ordering::Relaxed) {
            warn!(
                clients_max = self.config.clients_max,
                "the table of clients is full: newcomers share one bucket (--max-clients)"
            );
        }
    }
}

async fn read_up_to(limit: usize, body: &mut Incoming, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            // There is nobody to refuse any more: whoever watches for that drops this here.
            Err(error) if has_left(&error) => pending().await,
            Err(_) => return Err(Refusal::BadRequest("the body is broken")),
        };
        let Ok(data) = frame.into_data() else {
            return Err(Refusal::BadRequest("a body with fields behind it"));
        };
        if bytes.len() + data.len() > limit {
            return Err(Refusal::BodyTooLarge(limit));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(())
}

/// Whether the client closed its side, or half of it, in mid-body.
fn has_left(error: &hyper::Error) -> bool {
    let of_stream = error.source().and_then(|source| source.downcast_ref());
    of_stream.is_some_and(|error: &io::Error| {
        matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        )
    })
}

/// Reads on, beside the answer, so that a client that is still sending gets to read it. Bounded in bytes and time.
fn discard(mut body: Incoming, body_timeout: Duration) {
    tokio::spawn(timeout(body_timeout, async move {
        let mut left = DISCARDED_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let read = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }));
}

/// The same for a body of which nothing was read: a client that waits for a `100 Continue`
/// sends nothing, and must not be asked to by reading.
pub fn discard_unasked(body: Incoming, headers: &HeaderMap, body_timeout: Duration) {
    if !headers.contains_key(EXPECT) {
        discard(body, body_timeout);
    }
}
