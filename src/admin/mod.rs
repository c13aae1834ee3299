//! The admin listener: metrics, the status page and what feeds it, for the operator and
//! nobody else. Answers from memory, changes nothing, and holds no turn up. A page of
//! somebody else's cannot read it: only names that are surely this machine's are answered.

mod accept;
mod events;
mod host;
mod page;
mod status;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Either;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::events::Events;
use self::host::Hosts;
pub use self::status::Sources;
use crate::config::ConnectionLimits;
use crate::connection::{AnswerBody, Permit, StreamedBody};
use crate::drain::Drain;
use crate::logic::address::Hop;
use crate::metrics::Format;
use crate::refusal::Refusal;
use crate::server::Answers;
use crate::{answer, protocol};

/// Limits of this listener's own, so that neither side can fill the other: it answers while the public
/// one is full. A scraper, a few browsers of six connections each, and room to spare.
pub const LIMITS: ConnectionLimits = ConnectionLimits {
    // Shorter than a prober waits: it is how long heads that stall on every connection can keep `/livez` waiting. Who
    // asks here is near.
    header_timeout: Duration::from_secs(2),
    // For an event stream: one second's event, and an operator's slow line.
    write_timeout: Duration::from_secs(30),
    idle_timeout: Duration::from_mins(3),
    connections_max: 64,
    // 64 answers of some 30 KiB fit many times.
    unsent_bytes_max: 16 * 1024 * 1024,
};
/// Event streams at once. Each costs one status a second.
const STREAMS_MAX: usize = 16;
/// What is asked of who comes when all streams are taken.
const STREAM_RETRY_SECONDS: u64 = 5;

/// Answers the operator.
pub struct Admin {
    hosts: Hosts,
    sources: Arc<Sources>,
    streams: Arc<Semaphore>,
    closing: Drain,
}

/// What stands on every answer: nothing here is kept, framed, guessed at or passed on.
const GUARDS: [(HeaderName, HeaderValue); 4] = [
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
];

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Page,
    Metrics,
    Status,
    Live,
    Ready,
}

impl Path {
    fn of(path: &str) -> Option<Self> {
        match path {
            "/" => Some(Self::Page),
            "/metrics" => Some(Self::Metrics),
            "/status.json" => Some(Self::Status),
            "/livez" => Some(Self::Live),
            "/readyz" => Some(Self::Ready),
            _ => None,
        }
    }
}

/// Why something is not answered.
enum No {
    /// It is no HTTP as it is taken here.
    Broken(Refusal),
    /// It asks by a name that is not surely ours.
    Misdirected,
    NotFound,
    Method,
    StreamsTaken,
}

impl No {
    fn answer(self) -> Response<Bytes> {
        match self {
            Self::Broken(refusal) => {
                let mut response = text(refusal.status(), &refusal.to_string());
                answer::close(&mut response);
                response
            }
            Self::Misdirected => text(
                StatusCode::MISDIRECTED_REQUEST,
                "ask by an address, by localhost, or by a name of --admin-host",
            ),
            Self::NotFound => text(StatusCode::NOT_FOUND, "there is nothing here"),
            Self::Method => {
                let status = StatusCode::METHOD_NOT_ALLOWED;
                let mut response = text(status, "this path takes GET and HEAD");
                let allowed = HeaderValue::from_static("GET, HEAD");
                response.headers_mut().insert(ALLOW, allowed);
                response
            }
            Self::StreamsTaken => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                let mut response = text(status, "too many event streams are open");
                let headers = response.headers_mut();
                headers.insert(RETRY_AFTER, STREAM_RETRY_SECONDS.into());
                response
            }
        }
    }
}

type AdminBody = Either<AnswerBody, StreamedBody<Events>>;

impl Admin {
    /// For the operator of what `sources` tell of. `names` are asked for besides addresses and `localhost`.
    pub fn new(sources: Sources, names: &[String]) -> Self {
        Self {
            hosts: Hosts::new(names),
            sources: Arc::new(sources),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            closing: Drain::default(),
        }
    }

    fn route(&self, permit: &Permit, head: &Parts, is_last: bool) -> Response<AdminBody> {
        let mut response = match self.checked(head) {
            Ok(Path::Status) if wants_events(head) => match self.stream(permit) {
                Ok(stream) => return stream,
                Err(no) => no.answer(),
            },
            Ok(path) => self.content(path, &head.headers),
            Err(no) => no.answer(),
        };
        if head.method == Method::HEAD {
            answer::strip_body(&mut response);
        }
        if is_last {
            answer::close(&mut response);
        }
        let is_last = answer::closes(&response);
        response.map(|bytes| Either::Left(permit.answer_body(bytes, is_last)))
    }

    /// What is asked for, or why it is not answered.
    fn checked(&self, head: &Parts) -> Result<Path, No> {
        protocol::check(head).map_err(No::Broken)?;
        if !self.hosts.may_ask(head) {
            return Err(No::Misdirected);
        }
        let path = Path::of(head.uri.path()).ok_or(No::NotFound)?;
        if head.method == Method::GET || head.method == Method::HEAD {
            Ok(path)
        } else {
            Err(No::Method)
        }
    }

    fn content(&self, path: Path, headers: &HeaderMap) -> Response<Bytes> {
        match path {
            Path::Page => page(),
            Path::Metrics => metrics(&self.sources, headers),
            Path::Status => answer::json(StatusCode::OK, self.sources.status()),
            Path::Live => text(StatusCode::OK, "ok"),
            Path::Ready => self.sources.gateway.health(),
        }
    }

    fn stream(&self, permit: &Permit) -> Result<Response<AdminBody>, No> {
        let place = Arc::clone(&self.streams).try_acquire_owned();
        let place = place.map_err(|_| No::StreamsTaken)?;
        let events = events::stream(Arc::clone(&self.sources), place);
        let mut response = Response::new(Either::Right(permit.streamed_body(events)));
        let kind = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        Ok(response)
    }
}

impl Answers for Admin {
    type Body = AdminBody;

    async fn answer(
        &self,
        permit: &Permit,
        _: Hop,
        _: Instant,
        request: Request<Incoming>,
    ) -> Response<AdminBody> {
        let (head, body) = request.into_parts();
        // Nothing here takes a body; what follows one is not waited for.
        let is_last = !body.is_end_stream() || head.version == Version::HTTP_10;
        let mut response = self.route(permit, &head, is_last);
        let headers = response.headers_mut();
        for (name, value) in GUARDS {
            headers.entry(name).or_insert(value);
        }
        response
    }

    /// The operator's own slip, and not counted among what clients do.
    fn unread(&self, _: Hop, _: &hyper::Error) {}

    fn drain(&self) -> &Drain {
        &self.closing
    }
}

/// The page. What runs and what styles in it is marked with a word made afresh: whatever
/// might get into the page besides does not have it.
fn page() -> Response<Bytes> {
    let nonce = format!("{:032x}", fastrand::u128(..));
    let html = page::DOCUMENT
        .replace("<script>", &format!("<script nonce=\"{nonce}\">"))
        .replace("<style>", &format!("<style nonce=\"{nonce}\">"));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = Response::new(html.into());
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// As the scraper likes it best; where it likes both as well, in the text format.
fn metrics(sources: &Sources, headers: &HeaderMap) -> Response<Bytes> {
    let open = accept::wanted(headers, "application/openmetrics-text", Some("1.0.0"));
    let text = accept::wanted(headers, "text/plain", Some("0.0.4"));
    let format = if open > text {
        Format::OpenMetrics
    } else {
        Format::Text
    };
    let mut response = Response::new(sources.metrics(format).into());
    let kind = HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn text(status: StatusCode, sentence: &str) -> Response<Bytes> {
    let mut response = Response::new(format!("{sentence}\n").into());
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

fn wants_events(head: &Parts) -> bool {
    head.method == Method::GET && accept::wanted(&head.headers, "text/event-stream", None).by_name()
}
