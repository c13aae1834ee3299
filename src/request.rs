//! The life of one request: checked, routed, admitted, answered, logged. One exit:
//! [`Gateway::answer`] finishes every answer, whatever it says. Reaches the engine only
//! through the gates.

mod path;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::time::Instant;
use tracing::{error, warn};

use self::path::Path;
use crate::answer::{self, X_REQUEST_ID};
use crate::clock::{self, Clock};
use crate::config::Config;
use crate::drain::{Drain, Stage};
use crate::engine::{Engine, Outcome, Status};
use crate::gates::{self, Gates, Seen};
use crate::log::{AccessLog, Entry};
use crate::logic::address::{self, Client, Hop};
use crate::logic::shape::Route;
use crate::logic::times::Took;
use crate::protocol;
use crate::refusal::{Code, Refusal, Retry};
use crate::static_files::StaticFiles;
use crate::tally::Tally;

/// What requests share.
#[derive(Debug)]
pub struct Gateway {
    config: Arc<Config>,
    clock: Clock,
    engine: Engine,
    gates: Gates,
    drain: Drain,
    log: Arc<AccessLog>,
    static_files: RwLock<Arc<StaticFiles>>,
    told_untrusted: AtomicBool,
    tally: Arc<Tally>,
}

/// One request on its way. Dropped unfinished, its client has left.
struct Open<'a> {
    log: &'a Arc<AccessLog>,
    tally: &'a Tally,
    entry: Entry,
    seen: Seen,
    is_turn: bool,
    finished: bool,
}

impl Open<'_> {
    /// Everything about it is known: what the gates saw goes into the entry.
    fn close(&mut self) {
        self.entry.kind = self.seen.kind.take();
        self.entry.shadow = self.seen.shadow_refused.then_some("rate_limited");
        self.finished = true;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_turn && !self.finished {
            self.close();
            self.tally.client_left();
            self.log.hang_up(&self.entry);
        }
    }
}

impl Gateway {
    /// The gateway before `engine`.
    pub fn new(
        config: Arc<Config>,
        engine: Engine,
        drain: Drain,
        tally: Arc<Tally>,
        clock: Clock,
    ) -> Self {
        let metrics = Arc::clone(tally.metrics());
        Self {
            gates: Gates::new(Arc::clone(&config), engine.clone(), metrics, clock),
            log: AccessLog::new(config.log_client, clock),
            static_files: RwLock::default(),
            told_untrusted: AtomicBool::new(false),
            tally,
            config,
            clock,
            engine,
            drain,
        }
    }

    /// What it was told.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// How far its shutdown has come.
    pub fn drain(&self) -> &Drain {
        &self.drain
    }

    /// Forgets clients in the background, for ever.
    pub async fn forget_clients(&self) -> Infallible {
        self.gates.forget_clients().await
    }

    /// Serves these files from now on.
    pub fn serve_files(&self, files: StaticFiles) {
        let mut served = self
            .static_files
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *served = Arc::new(files);
    }

    /// What became of its requests.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Clients remembered now, and forgotten so far.
    pub fn count_clients(&self) -> (usize, u64) {
        self.gates.count_clients()
    }

    /// One request, whose first byte came at `began_at`, one answer.
    ///
    /// Cancel-safe: dropping it is what a client does that hangs up.
    pub async fn answer(
        &self,
        peer: Hop,
        began_at: Instant,
        request: Request<Incoming>,
    ) -> Response<Bytes> {
        let (head, body) = request.into_parts();
        let path = Path::of(head.uri.path());
        let mut open = Open {
            log: &self.log,
            tally: &self.tally,
            entry: Entry {
                client: self.client(peer, &head.headers),
                route: path.logged(),
                kind: None,
                shadow: None,
                waited: None,
                in_engine: None,
                request_id: self.request_id(peer, &head.headers),
            },
            seen: Seen::default(),
            is_turn: matches!(path, Path::Turn(_)) && head.method == Method::POST,
            finished: false,
        };
        let mut body = Some(body);
        let routed = self.route(path, &head, &mut body, &mut open.entry, &mut open.seen);
        let result = caught(routed).await.unwrap_or_else(|| {
            let panics = self.tally.metrics().handler_panics.inc() + 1;
            error!(panics, "the handling of a request panicked");
            Err(Refusal::Internal)
        });
        open.close();
        if let (Some(waiting), Some(in_engine)) = (open.entry.waited, open.entry.in_engine) {
            self.tally.took(Took {
                waiting,
                in_engine,
                whole: clock::now() - began_at,
            });
        }

        let unread = body.filter(|body| !body.is_end_stream());
        let closes = unread.is_some() || head.version == Version::HTTP_10 || self.drain.has_begun();
        if let Some(body) = unread {
            gates::discard_unasked(body, &head.headers, self.config.body_timeout);
        }
        let mut response = match result {
            Ok(response) => {
                if open.is_turn {
                    self.tally.turn();
                    self.log.turn(&open.entry, response.status());
                }
                response
            }
            Err(refusal) => {
                let client = (open.is_turn).then(|| self.whose_bucket(open.entry.client));
                self.tally.refusal(refusal.code(), client);
                (self.log).refusal(&open.entry, refusal.status(), refusal.code());
                answer::refusal(&refusal)
            }
        };
        if closes {
            answer::close(&mut response);
        }
        let headers = response.headers_mut();
        if let Some(meter) = &open.seen.meter {
            answer::rate_limit(headers, meter);
        }
        if path.is_api() {
            answer::cors(headers, &self.config.cors, &head.headers);
        }
        headers.insert(X_REQUEST_ID, open.entry.request_id.clone());
        if head.method == Method::HEAD {
            answer::strip_body(&mut response);
        }
        response
    }

    /// A head that HTTP could not read, and refused by itself: no answer of ours, but a refusal like any other.
    pub fn unread(&self, peer: Hop, error: &hyper::Error) {
        let entry = Entry {
            client: peer,
            route: Path::Elsewhere.logged(),
            kind: None,
            shadow: None,
            waited: None,
            in_engine: None,
            request_id: HeaderValue::from_static("none"),
        };
        let status = if error.is_parse_too_large() {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        } else {
            StatusCode::BAD_REQUEST
        };
        self.tally.refusal(Code::BadRequest, None);
        self.log.refusal(&entry, status, Code::BadRequest);
    }

    async fn route(
        &self,
        path: Path,
        head: &Parts,
        body: &mut Option<Incoming>,
        entry: &mut Entry,
        seen: &mut Seen,
    ) -> Result<Response<Bytes>, Refusal> {
        protocol::check(head)?;
        let files = self.files();
        let file = match path {
            Path::Elsewhere => files.find(head.uri.path()),
            Path::Turn(_) | Path::Health | Path::UnknownApi => None,
        };
        let methods = self.methods(path, file.is_some());
        let methods = allowed(methods.ok_or(Refusal::NotFound)?, &head.method)?;
        protocol::check_expectation(&head.headers)?;
        if head.method == Method::OPTIONS {
            return Ok(answer::preflight(methods));
        }
        match path {
            Path::Turn(route) => {
                protocol::check_turn(&head.headers)?;
                if self.drain.refuses() {
                    return Err(Refusal::Draining);
                }
                let body = body.take().ok_or(Refusal::Internal)?;
                self.turn(route, &head.headers, body, entry, seen).await
            }
            Path::Health => Ok(self.health()),
            Path::Elsewhere | Path::UnknownApi => {
                let file = file.ok_or(Refusal::NotFound)?;
                Ok(file.answer(&head.headers))
            }
        }
    }

    /// What this path takes, if there is such a path.
    fn methods(&self, path: Path, is_file: bool) -> Option<&'static str> {
        let cors = self.config.cors.is_on();
        match path {
            Path::Turn(_) if cors => Some("POST, OPTIONS"),
            Path::Turn(_) => Some("POST"),
            Path::Health if cors => Some("GET, HEAD, OPTIONS"),
            Path::Health => Some("GET, HEAD"),
            Path::Elsewhere if is_file => Some("GET, HEAD"),
            Path::Elsewhere | Path::UnknownApi => None,
        }
    }

    async fn turn(
        &self,
        route: Route,
        headers: &HeaderMap,
        body: Incoming,
        entry: &mut Entry,
        seen: &mut Seen,
    ) -> Result<Response<Bytes>, Refusal> {
        let turn = async {
            let place = (self.gates)
                .admit(entry.client, route, body, headers, seen)
                .await?;
            Ok(place.reply().await)
        };
        let ended = tokio::select! {
            biased;
            ended = turn => ended?,
            () = self.drain.reached(Stage::TimeUp) => return Err(Refusal::Draining),
        };
        entry.waited = Some(ended.waited);
        entry.in_engine = ended.in_engine;
        match ended.outcome {
            Outcome::Replied(line) => Ok(answer::json(StatusCode::OK, line)),
            Outcome::Failed => Err(Refusal::EngineFailed),
            Outcome::TimedOut => Err(Refusal::EngineTimeout),
            Outcome::Shed => Err(Refusal::Shed {
                wait: self.engine.turn_time(),
            }),
            Outcome::PushedOut => Err(Refusal::QueueFull {
                wait: self.engine.turn_time(),
            }),
            Outcome::Lost => Err(Refusal::Internal),
        }
    }

    /// In one word, how it is.
    pub fn state(&self) -> &'static str {
        match self.engine.status() {
            _ if self.drain.has_begun() => "draining",
            Status::Up => "up",
            Status::Starting => "starting",
            Status::Down { .. } => "down",
        }
    }

    /// Whether turns are taken: what `/api/health` answers.
    pub fn health(&self) -> Response<Bytes> {
        let status = self.engine.status();
        let engine = self.state();
        let ok = engine == "up";
        let waiting = self.engine.waiting();
        let queue = self.config.places_max;
        let version = env!("CARGO_PKG_VERSION");
        let body = format!(
            r#"{{"ok":{ok},"engine":"{engine}","waiting":{waiting},"queue":{queue},"version":"{version}"}}"#
        );
        if ok {
            return answer::json(StatusCode::OK, body.into());
        }
        let mut response = answer::json(StatusCode::SERVICE_UNAVAILABLE, body.into());
        let wait = match status {
            Status::Down { start_at } if !self.drain.has_begun() => {
                start_at.saturating_sub(self.clock.nanos())
            }
            Status::Down { .. } | Status::Starting | Status::Up => 0,
        };
        let retry = Retry::exact(Duration::from_nanos(wait));
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, retry.after_seconds.into());
        response
    }

    fn files(&self) -> Arc<StaticFiles> {
        let served = self.static_files.read();
        Arc::clone(&served.unwrap_or_else(PoisonError::into_inner))
    }

    fn client(&self, peer: Hop, headers: &HeaderMap) -> Hop {
        let identity = &self.config.identity;
        let lines = headers.get_all(&identity.header).iter();
        if !identity.trusted.contains(peer)
            && headers.contains_key(&identity.header)
            && !self.told_untrusted.swap(true, Ordering::Relaxed)
        {
            warn!(
                %peer,
                header = identity.header.as_str(),
                "a peer that is no trusted proxy sends this header; it is ignored (--trusted-proxy). This is said once"
            );
        }
        address::find(
            peer,
            lines.map(HeaderValue::as_bytes),
            identity.header_kind,
            identity.order,
            &identity.trusted,
        )
    }

    fn whose_bucket(&self, client: Hop) -> Client {
        Client::of(client, self.config.identity.ipv6_prefix)
    }

    fn request_id(&self, peer: Hop, headers: &HeaderMap) -> HeaderValue {
        headers
            .get(X_REQUEST_ID)
            .filter(|id| self.config.identity.trusted.contains(peer) && protocol::is_request_id(id))
            .cloned()
            .unwrap_or_else(|| {
                let made = format!("{:032x}", fastrand::u128(..));
                HeaderValue::try_from(made).unwrap_or(HeaderValue::from_static("none"))
            })
    }
}

/// The methods again, if this one is among them.
fn allowed(methods: &'static str, method: &Method) -> Result<&'static str, Refusal> {
    if methods.split(", ").any(|allowed| method == allowed) {
        Ok(methods)
    } else {
        Err(Refusal::MethodNotAllowed(methods))
    }
}

/// None if it panicked; the panic itself is in the log by then.
async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        // What the request had is dropped with it; what it shares is behind locks that survive.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_and_nothing_else() {
        assert_eq!(caught(async { 7 }).await, Some(7));
        let panics = caught(async {
            tokio::task::yield_now().await;
            panic!("on purpose");
        });
        assert_eq!(panics.await, None::<()>);
    }
}
