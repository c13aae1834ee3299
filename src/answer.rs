//! How answers are built: bodies, and the headers that stand on every answer of a kind.
//! Decides no status and no code.

use bytes::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONNECTION,
    CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use crate::config::Cors;
use crate::gates::Meter;
use crate::refusal::Refusal;

/// The header that names a request, here and in the log.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// What pages of other origins may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id",
);
/// How long a browser may remember a preflight, in seconds: Chromium's own ceiling.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("7200");

/// An answer under `/api/`.
pub fn json(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A refusal.
pub fn refusal(refusal: &Refusal) -> Response<Bytes> {
    let mut response = json(refusal.status(), refusal.json());
    let headers = response.headers_mut();
    if let Some(retry) = refusal.retry() {
        headers.insert(RETRY_AFTER, retry.after_seconds.into());
    }
    if let Refusal::MethodNotAllowed(allow) = refusal {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    if refusal.closes_connection() {
        close(&mut response);
    }
    response
}

/// Says that the connection ends with this answer.
pub fn close(response: &mut Response<Bytes>) {
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}

/// Whether it says so.
pub fn closes(response: &Response<Bytes>) -> bool {
    response.headers().contains_key(CONNECTION)
}

/// HEAD: the headers of the whole answer, and no body.
pub fn strip_body(response: &mut Response<Bytes>) {
    let length = response.body().len();
    if length > 0 {
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, length.into());
        *response.body_mut() = Bytes::new();
    }
}

/// How the client's bucket stood: draft-ietf-httpapi-ratelimit-headers-10, and the older `X-` ones with the same numbers.
pub fn rate_limit(headers: &mut HeaderMap, meter: &Meter) {
    let Meter {
        burst,
        window_seconds,
        decision,
    } = meter;
    let left = decision.left;
    let next = decision
        .next
        .map(|next| next.as_secs() + u64::from(next.subsec_nanos() > 0));
    let state = match next {
        Some(seconds) => format!(r#""ip";r={left};t={seconds}"#),
        None => format!(r#""ip";r={left}"#),
    };
    let policy = format!(r#""ip";q={burst};w={window_seconds}"#);
    for (name, value) in [("ratelimit-policy", policy), ("ratelimit", state)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    let mut number = |name, n: u64| headers.insert(HeaderName::from_static(name), n.into());
    number("x-ratelimit-limit", u64::from(*burst));
    number("x-ratelimit-remaining", left);
    number("x-ratelimit-reset", next.unwrap_or(0));
}

/// Lets the pages of an allowed origin read the answer.
pub fn cors(headers: &mut HeaderMap, cors: &Cors, request: &HeaderMap) {
    let allowed = match cors {
        Cors::Any => Some(HeaderValue::from_static("*")),
        Cors::Listed(origins) if origins.is_empty() => return,
        Cors::Listed(origins) => {
            headers.append(VARY, HeaderValue::from_static("origin"));
            let origin = request.get(ORIGIN);
            origin.filter(|origin| origins.contains(origin)).cloned()
        }
    };
    if let Some(origin) = allowed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

/// The answer to a preflight; [`cors`] adds whether the origin is allowed.
pub fn preflight(methods: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(methods),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("content-type, x-request-id"),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::logic::bucket::Decision;

    use super::*;

    /// The five headers of a bucket of 2 that has one ticket more `next` from now.
    fn told(left: u64, next: Option<Duration>) -> Vec<String> {
        let mut headers = HeaderMap::new();
        let wait = None;
        let meter = Meter {
            burst: 2,
            window_seconds: 1,
            decision: Decision { wait, left, next },
        };
        rate_limit(&mut headers, &meter);
        let lines = headers.iter();
        let mut lines: Vec<_> = lines
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn a_full_bucket_has_nothing_to_wait_for() {
        assert_eq!(
            told(2, None),
            [
                r#"ratelimit-policy: "ip";q=2;w=1"#,
                r#"ratelimit: "ip";r=2"#,
                "x-ratelimit-limit: 2",
                "x-ratelimit-remaining: 2",
                "x-ratelimit-reset: 0",
            ]
        );
    }

    #[test]
    fn whole_seconds_are_rounded_up() {
        for (nanos, seconds) in [(1, 1), (1_000_000_000, 1), (1_000_000_001, 2)] {
            let lines = told(0, Some(Duration::from_nanos(nanos)));
            assert_eq!(lines[1], format!(r#"ratelimit: "ip";r=0;t={seconds}"#));
            assert_eq!(lines[4], format!("x-ratelimit-reset: {seconds}"));
        }
    }
}
