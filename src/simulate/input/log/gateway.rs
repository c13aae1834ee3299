//! The gateway's own JSON log: one line per turn or refusal, written when it ended, with
//! how long it waited and how long it was in the engine.
//!
//! A limit decides on what passes the first two gates. What is refused before them takes
//! no ticket, so it is no arrival here. And a flood's refusals are not logged one by one
//! beyond some a second: the log says how many, and that is told, for then a simulation
//! sees less than there was.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Parsed, Request, Said, begin, bytes};
use crate::simulate::input::time;

/// Codes of what never reaches the bucket.
const BEFORE_THE_BUCKET: [&str; 7] = [
    "bad_request",
    "not_found",
    "method_not_allowed",
    "expectation_failed",
    "body_too_large",
    "body_timeout",
    "bad_shape",
];
/// What is said of a line that is no line of this log.
pub const NOT_MINE: &str = "it is no line of kidoban's log";
/// Longest wait or engine time that is believed, in milliseconds: a year.
const MILLIS_MAX: f64 = 3.2e10;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    client: Option<Cow<'a, str>>,
    #[serde(borrow)]
    route: Option<Cow<'a, str>>,
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
    wait_ms: Option<f64>,
    engine_ms: Option<f64>,
    refusals: Option<u64>,
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Parsed<'_> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| NOT_MINE)?;
    let Some(route) = line.route else {
        return Ok(line.refusals.map_or(Said::Other, Said::Unlogged));
    };
    let is_request = matches!(&*line.message, "turn" | "refused" | "client left");
    let code = line.code.as_deref().unwrap_or_default();
    if !is_request || BEFORE_THE_BUCKET.contains(&code) {
        return Ok(Said::Other);
    }
    let end = time::stamp(line.timestamp.as_bytes()).ok_or("its timestamp cannot be read")?;
    let took = nanos(line.wait_ms).zip(nanos(line.engine_ms));
    let (waited, in_engine) = took.ok_or("its wait_ms or engine_ms cannot be read")?;
    Ok(Said::Request(Request {
        at: begin(end, waited.saturating_add(in_engine)),
        whole: end.whole,
        client: line
            .client
            .ok_or("it has no client, as under --log-client off")?,
        path: bytes(route),
    }))
}

/// Milliseconds in nanoseconds.
fn nanos(millis: Option<f64>) -> Option<u64> {
    let millis = millis.unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within bounds by the check"
    )]
    let nanos = (millis * 1e6).round() as u64;
    (0.0..MILLIS_MAX).contains(&millis).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TURN: &str = r#"{"timestamp":"2026-11-30T16:16:37.684545Z","level":"INFO","client":"127.0.0.1","route":"/api/new","kind":"new","status":200,"wait_ms":0.07,"engine_ms":0.519,"request_id":"15131d1160f287758a8418627cb1d617","message":"turn"}"#;

    fn read(line: &str) -> Result<(u64, String, String), String> {
        match parse(line.as_bytes())? {
            Said::Request(request) => {
                assert!(!request.whole);
                let path = String::from_utf8_lossy(&request.path).into_owned();
                Ok((request.at, request.client.into_owned(), path))
            }
            Said::Other => Err("other".into()),
            Said::Unlogged(refusals) => Err(format!("{refusals} unlogged")),
        }
    }

    #[test]
    fn a_turn_arrived_before_its_wait() {
        let at = 1_796_055_397_684_545_000 - 589_000;
        assert_eq!(read(TURN), Ok((at, "127.0.0.1".into(), "/api/new".into())));
    }

    #[test]
    fn only_what_reaches_the_bucket_is_an_arrival() {
        let refused = |code: &str| {
            let line = r#"{"timestamp":"2026-11-30T16:16:37.704267Z","level":"INFO","client":"127.0.0.1","route":"/api/new","kind":"new","status":429,"code":"CODE","request_id":"c08d9cf6036f67798c7c472e8c10e872","message":"refused"}"#;
            read(&line.replace("CODE", code))
        };
        for code in ["rate_limited", "queue_full", "engine_down", "shed"] {
            assert!(refused(code).is_ok(), "{code}");
        }
        for code in BEFORE_THE_BUCKET {
            assert_eq!(refused(code), Err("other".into()), "{code}");
        }
    }

    #[test]
    fn other_lines_are_no_arrivals() {
        for (line, told) in [
            (
                r#"{"timestamp":"2026-11-30T16:16:36.189893Z","level":"INFO","message":"listening","address":"127.0.0.1:18201"}"#,
                "other",
            ),
            (
                r#"{"timestamp":"2026-11-30T16:16:36.189893Z","level":"WARN","message":"more refusals than are logged one by one","refusals":812}"#,
                "812 unlogged",
            ),
            ("{}", NOT_MINE),
            (&TURN.replace("127.0.0.1\"", "127.0.0.1"), NOT_MINE),
            (
                &TURN.replace("\"client\":\"127.0.0.1\",", ""),
                "it has no client, as under --log-client off",
            ),
            (
                &TURN.replace("2026-11-30T", ""),
                "its timestamp cannot be read",
            ),
            (
                &TURN.replace("0.519", "-1"),
                "its wait_ms or engine_ms cannot be read",
            ),
        ] {
            assert_eq!(read(line), Err(told.to_owned()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(text: Vec<u8>, at in 0usize..250, byte: u8) {
            let _ = parse(&text);
            let mut good = TURN.as_bytes().to_vec();
            if let Some(place) = good.get_mut(at) {
                *place = byte;
            }
            let _ = parse(&good);
        }
    }
}
