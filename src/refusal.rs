//! Every way of saying no: status, code, sentence and `Retry-After` of each are read
//! off here and nowhere else. A code is never told by its status: two gates answer 429.
//! Knows no connection and no header but its own.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;

use crate::logic::shape::BadShape;

/// A no, before, at or after a gate.
#[derive(Debug)]
pub enum Refusal {
    /// The request breaks HTTP; the sentence says how.
    BadRequest(&'static str),
    /// The request target is too long.
    TargetTooLong,
    /// Nothing of this path.
    NotFound,
    /// The path takes these methods.
    MethodNotAllowed(&'static str),
    /// `Expect` other than `100-continue`.
    ExpectationFailed,
    /// A shutdown has begun, or its time was up.
    Draining,
    /// Gate 1: the limit in bytes.
    BodyTooLarge(usize),
    /// Gate 1: the body stalled.
    BodyTimeout,
    /// Gate 2.
    BadShape(BadShape),
    /// Gate 3: the rate in force, as it was given, and the exact time until the ticket is there.
    RateLimited {
        /// As a person reads it.
        rate: String,
        /// Exact.
        wait: Duration,
    },
    /// Gate 4: time until the next start.
    EngineDown {
        /// Expected.
        wait: Duration,
    },
    /// Gate 5: one recent turn's time.
    QueueFull {
        /// Expected.
        wait: Duration,
    },
    /// The engine died or broke the protocol during this turn.
    EngineFailed,
    /// No reply in time.
    EngineTimeout,
    /// It waited too long: one recent turn's time.
    Shed {
        /// Expected.
        wait: Duration,
    },
    /// A fault of the gateway's own.
    Internal,
}

impl Refusal {
    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::BadShape(_) => StatusCode::BAD_REQUEST,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::ExpectationFailed => StatusCode::EXPECTATION_FAILED,
            Self::BodyTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::RateLimited { .. } | Self::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Draining | Self::EngineDown { .. } | Self::Shed { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::EngineFailed => StatusCode::BAD_GATEWAY,
            Self::EngineTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The word for a program, as a value.
    pub fn code(&self) -> Code {
        match self {
            Self::BadRequest(_) | Self::TargetTooLong => Code::BadRequest,
            Self::ExpectationFailed => Code::ExpectationFailed,
            Self::Draining => Code::Draining,
            Self::BodyTooLarge(_) => Code::BodyTooLarge,
            Self::BodyTimeout => Code::BodyTimeout,
            Self::BadShape(_) => Code::BadShape,
            Self::RateLimited { .. } => Code::RateLimited,
            Self::EngineDown { .. } => Code::EngineDown,
            Self::QueueFull { .. } => Code::QueueFull,
            Self::EngineFailed => Code::EngineFailed,
            Self::EngineTimeout => Code::EngineTimeout,
            Self::Shed { .. } => Code::Shed,
            Self::Internal => Code::Internal,
            Self::NotFound => Code::NotFound,
            Self::MethodNotAllowed(_) => Code::MethodNotAllowed,
        }
    }

    /// Whether what the client sends next can be trusted to be a request.
    pub fn closes_connection(&self) -> bool {
        match self {
            Self::BadRequest(_)
            | Self::TargetTooLong
            | Self::ExpectationFailed
            | Self::BodyTooLarge(_)
            | Self::BodyTimeout
            | Self::Internal => true,
            Self::NotFound
            | Self::MethodNotAllowed(_)
            | Self::Draining
            | Self::BadShape(_)
            | Self::RateLimited { .. }
            | Self::EngineDown { .. }
            | Self::QueueFull { .. }
            | Self::EngineFailed
            | Self::EngineTimeout
            | Self::Shed { .. } => false,
        }
    }

    /// When coming back helps.
    pub fn retry(&self) -> Option<Retry> {
        match self {
            Self::RateLimited { wait, .. } => Some(Retry::exact(*wait)),
            Self::EngineDown { wait } | Self::QueueFull { wait } | Self::Shed { wait } => {
                Some(Retry::expected(*wait))
            }
            Self::Draining => Some(Retry::expected(Duration::ZERO)),
            Self::BadRequest(_)
            | Self::TargetTooLong
            | Self::NotFound
            | Self::MethodNotAllowed(_)
            | Self::ExpectationFailed
            | Self::BodyTooLarge(_)
            | Self::BodyTimeout
            | Self::BadShape(_)
            | Self::EngineFailed
            | Self::EngineTimeout
            | Self::Internal => None,
        }
    }

    /// The body: `{"ok":false,"error":…,"code":…,"retry_after_ms":…}`.
    pub fn json(&self) -> Bytes {
        let error = serde_json::Value::from(self.to_string());
        let code = self.code().word();
        let retry = self.retry().map_or_else(String::new, |retry| {
            format!(r#","retry_after_ms":{}"#, retry.after_ms)
        });
        format!(r#"{{"ok":false,"error":{error},"code":"{code}"{retry}}}"#).into()
    }
}

/// The sentence for a person.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(why) => f.write_str(why),
            Self::TargetTooLong => f.write_str("the request target is too long"),
            Self::NotFound => f.write_str("there is nothing here"),
            Self::MethodNotAllowed(allow) => write!(f, "this path takes {allow}"),
            Self::ExpectationFailed => f.write_str("the only expectation met is 100-continue"),
            Self::Draining => f.write_str("the server is shutting down"),
            Self::BodyTooLarge(limit) => write!(f, "the body is longer than {limit} bytes"),
            Self::BodyTimeout => f.write_str("the body did not arrive in time"),
            Self::BadShape(why) => why.fmt(f),
            Self::RateLimited { rate, .. } => write!(f, "rate limit: {rate} per IP"),
            Self::EngineDown { .. } => f.write_str("the engine is being restarted"),
            Self::QueueFull { .. } => f.write_str("too many turns are waiting"),
            Self::EngineFailed => f.write_str("the engine failed during this turn"),
            Self::EngineTimeout => f.write_str("the engine took too long for this turn"),
            Self::Shed { .. } => f.write_str("this turn waited too long for the engine"),
            Self::Internal => f.write_str("something went wrong in the gateway"),
        }
    }
}

/// The word for a program. Two gates answer 429: it is this that tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// `bad_request`
    BadRequest,
    /// `expectation_failed`
    ExpectationFailed,
    /// `draining`
    Draining,
    /// `body_too_large`
    BodyTooLarge,
    /// `body_timeout`
    BodyTimeout,
    /// `bad_shape`
    BadShape,
    /// `rate_limited`
    RateLimited,
    /// `engine_down`
    EngineDown,
    /// `queue_full`
    QueueFull,
    /// `engine_failed`
    EngineFailed,
    /// `engine_timeout`
    EngineTimeout,
    /// `shed`
    Shed,
    /// `internal`
    Internal,
    /// `not_found`
    NotFound,
    /// `method_not_allowed`
    MethodNotAllowed,
}

impl Code {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::BadRequest,
        Self::ExpectationFailed,
        Self::Draining,
        Self::BodyTooLarge,
        Self::BodyTimeout,
        Self::BadShape,
        Self::RateLimited,
        Self::EngineDown,
        Self::QueueFull,
        Self::EngineFailed,
        Self::EngineTimeout,
        Self::Shed,
        Self::Internal,
        Self::NotFound,
        Self::MethodNotAllowed,
    ];

    /// As it stands in the answer, the log and the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::ExpectationFailed => "expectation_failed",
            Self::Draining => "draining",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTimeout => "body_timeout",
            Self::BadShape => "bad_shape",
            Self::RateLimited => "rate_limited",
            Self::EngineDown => "engine_down",
            Self::QueueFull => "queue_full",
            Self::EngineFailed => "engine_failed",
            Self::EngineTimeout => "engine_timeout",
            Self::Shed => "shed",
            Self::Internal => "internal",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
        }
    }

    /// Can a turn get it? The others are for paths and methods that are no turn's.
    pub fn is_for_turns(self) -> bool {
        match self {
            Self::NotFound | Self::MethodNotAllowed => false,
            Self::BadRequest
            | Self::ExpectationFailed
            | Self::Draining
            | Self::BodyTooLarge
            | Self::BodyTimeout
            | Self::BadShape
            | Self::RateLimited
            | Self::EngineDown
            | Self::QueueFull
            | Self::EngineFailed
            | Self::EngineTimeout
            | Self::Shed
            | Self::Internal => true,
        }
    }

    /// Where it is said.
    pub fn gate(self) -> Gate {
        match self {
            Self::BadRequest
            | Self::ExpectationFailed
            | Self::NotFound
            | Self::MethodNotAllowed => Gate::Protocol,
            Self::Draining => Gate::Draining,
            Self::BodyTooLarge | Self::BodyTimeout => Gate::Body,
            Self::BadShape => Gate::Shape,
            Self::RateLimited => Gate::Ticket,
            Self::EngineDown => Gate::Engine,
            Self::QueueFull => Gate::Queue,
            Self::EngineFailed | Self::EngineTimeout | Self::Shed | Self::Internal => Gate::After,
        }
    }
}

/// Which gate said no; or what stands before and behind the five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Before the gates: the request itself.
    Protocol,
    /// Before the gates: a shutdown; also what was still open when its time was up.
    Draining,
    /// Gate 1.
    Body,
    /// Gate 2.
    Shape,
    /// Gate 3.
    Ticket,
    /// Gate 4.
    Engine,
    /// Gate 5; also whoever was pushed out behind it.
    Queue,
    /// Behind the gates: in the queue, in the engine, in the gateway.
    After,
}

impl Gate {
    /// All of them, in the order of their numbers, which is the order a request meets them in.
    pub const ALL: [Self; 8] = [
        Self::Protocol,
        Self::Draining,
        Self::Body,
        Self::Shape,
        Self::Ticket,
        Self::Engine,
        Self::Queue,
        Self::After,
    ];

    /// As it stands in the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Draining => "draining",
            Self::Body => "body",
            Self::Shape => "shape",
            Self::Ticket => "ticket",
            Self::Engine => "engine",
            Self::Queue => "queue",
            Self::After => "after",
        }
    }
}

/// When to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// `Retry-After`: whole seconds, rounded up, at least 1.
    pub after_seconds: u64,
    /// `retry_after_ms`.
    pub after_ms: u64,
}

impl Retry {
    /// The wait is known to the millisecond.
    pub fn exact(wait: Duration) -> Self {
        Self {
            after_seconds: whole_seconds(wait),
            after_ms: whole_milliseconds(wait),
        }
    }

    /// The wait is a guess: milliseconds are random between it and the whole seconds,
    /// so that refused clients do not come back in step.
    pub fn expected(wait: Duration) -> Self {
        let after_seconds = whole_seconds(wait);
        let after_ms =
            fastrand::u64(whole_milliseconds(wait)..=after_seconds.saturating_mul(1_000));
        Self {
            after_seconds,
            after_ms,
        }
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    let begun = u64::from(wait.subsec_nanos() > 0);
    (wait.as_secs() + begun).max(1)
}

fn whole_milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_gates_are_numbered_in_their_order() {
        for (n, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, n, "{code:?}");
        }
        // So that the metrics can number the turns' codes without the others.
        let of_turns = Code::ALL.into_iter().map(Code::is_for_turns);
        assert!(of_turns.is_sorted_by(|one, next| one >= next));
        for (n, gate) in Gate::ALL.into_iter().enumerate() {
            assert_eq!(gate as usize, n, "{gate:?}");
        }
    }

    #[test]
    fn waits_are_rounded_up_and_never_zero() {
        for (nanos, seconds, ms) in [
            (0, 1, 0),
            (1, 1, 1),
            (1_000_000_000, 1, 1_000),
            (1_000_000_001, 2, 1_001),
            (86_400_000_000_000, 86_400, 86_400_000),
        ] {
            let retry = Retry::exact(Duration::from_nanos(nanos));
            assert_eq!(
                (retry.after_seconds, retry.after_ms),
                (seconds, ms),
                "{nanos}"
            );
        }
    }

    #[test]
    fn a_guessed_wait_is_spread_between_itself_and_the_whole_second() {
        let wait = Duration::from_millis(1_300);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let retry = Retry::expected(wait);
            assert_eq!(retry.after_seconds, 2);
            assert!((1_300..=2_000).contains(&retry.after_ms));
            seen.insert(retry.after_ms);
        }
        assert!(seen.len() > 50, "{} moments", seen.len());
    }

    #[test]
    fn a_refusal_is_json_whatever_it_quotes() {
        let refusal = Refusal::RateLimited {
            rate: "2 turns/sec".to_owned(),
            wait: Duration::from_millis(420),
        };
        assert_eq!(
            refusal.json(),
            r#"{"ok":false,"error":"rate limit: 2 turns/sec per IP","code":"rate_limited","retry_after_ms":420}"#
        );
        let quoted = Refusal::BadRequest("a \"quoted\" word").json();
        assert!(serde_json::from_slice::<serde_json::Value>(&quoted).is_ok());
    }
}
