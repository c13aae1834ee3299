//! Caddy's JSON access log, as its default encoder writes it and as its `time_format` and
//! `duration_format` can turn it.
//!
//! A line is written when its request ends, so its arrival is `ts − duration`. Numbers are
//! taken as Caddy's defaults have them: seconds. The client is `request.client_ip`, which
//! knows Caddy's trusted proxies (2.7 and later), else `request.remote_ip`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Error, Visitor};

use super::{Parsed, Request, Said, begin, bytes};
use crate::simulate::input::time::{self, NANOS_PER_SECOND, Stamp};

/// Stamps below are seconds, those from here to the next milliseconds, then nanoseconds
/// (Caddy's `unix_seconds_float`, `unix_milli_float`, `unix_nano`): in seconds, the year 5138.
const SECONDS_MAX: f64 = 1e11;
const MILLIS_MAX: f64 = 1e14;
/// Latest moment in seconds, below 2^64 nanoseconds.
const MOMENT_SECONDS_MAX: f64 = 1.8e10;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    msg: Option<Cow<'a, str>>,
    ts: Option<Number<'a>>,
    duration: Option<Number<'a>>,
    request: Option<Asked<'a>>,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    client_ip: Option<Cow<'a, str>>,
    #[serde(borrow)]
    remote_ip: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Parsed<'_> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| "it is no line of Caddy's")?;
    // Caddy's error log has a line more for a request that failed.
    let is_access = line.msg.is_none_or(|msg| msg == "handled request");
    let (Some(asked), true) = (line.request, is_access) else {
        return Ok(Said::Other);
    };
    let end = line.ts.ok_or("it has no ts")?;
    let end = end.stamp().ok_or("its ts cannot be read")?;
    let took = match line.duration {
        None => 0,
        Some(duration) => duration.nanos().ok_or("its duration cannot be read")?,
    };
    let client = asked.client_ip.filter(|client| !client.is_empty());
    let client = client
        .or(asked.remote_ip)
        .ok_or("it has no client_ip and no remote_ip")?;
    Ok(Said::Request(Request {
        at: begin(end, took),
        whole: end.whole,
        client,
        path: bytes(asked.uri.unwrap_or_default()),
    }))
}

/// A number, or a text that stands for one.
enum Number<'a> {
    Whole(u64),
    Float(f64),
    Text(Cow<'a, str>),
}

impl Number<'_> {
    fn stamp(&self) -> Option<Stamp> {
        let (number, exact) = match self {
            Self::Text(text) => return time::stamp(text.as_bytes()),
            #[expect(
                clippy::cast_precision_loss,
                reason = "only nanoseconds need all digits"
            )]
            Self::Whole(whole) => (*whole as f64, Some(*whole)),
            Self::Float(float) => (*float, None),
        };
        let at = if number < SECONDS_MAX {
            nanos(number)?
        } else if number < MILLIS_MAX {
            nanos(number / 1e3)?
        } else {
            exact?
        };
        Some(Stamp { at, whole: false })
    }

    fn nanos(&self) -> Option<u64> {
        match self {
            Self::Whole(seconds) => seconds.checked_mul(NANOS_PER_SECOND),
            Self::Float(seconds) => nanos(*seconds),
            Self::Text(text) => time::span(text),
        }
    }
}

/// Seconds in nanoseconds.
fn nanos(seconds: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 2^64 by the check"
    )]
    let nanos = (seconds * 1e9).round() as u64;
    (0.0..MOMENT_SECONDS_MAX)
        .contains(&seconds)
        .then_some(nanos)
}

impl<'de: 'a, 'a> Deserialize<'de> for Number<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Number<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Number::Whole(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Number::Float(number))
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Number::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Number::Text(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Result<(u64, bool, String, String), &'static str> {
        match parse(line.as_bytes())? {
            Said::Request(request) => {
                let path = String::from_utf8_lossy(&request.path).into_owned();
                Ok((request.at, request.whole, request.client.into_owned(), path))
            }
            Said::Other | Said::Unlogged(_) => Err("other"),
        }
    }

    /// A line of Caddy 2.6.2 with other stamps and durations in it.
    fn line(ts: &str, duration: &str) -> String {
        format!(
            r#"{{"level":"info","ts":{ts},"logger":"http.log.access.log1","msg":"handled request","request":{{"remote_ip":"127.0.0.1","remote_port":"38654","proto":"HTTP/1.1","method":"GET","host":"127.0.0.1:18124","uri":"/a?x=1","headers":{{"User-Agent":["curl/7.88.1"],"Accept":["*/*"]}}}},"user_id":"","duration":{duration},"size":2,"status":200,"resp_headers":{{"Server":["Caddy"]}}}}"#
        )
    }

    #[test]
    fn arrival_is_the_end_less_the_duration() {
        for (ts, duration, at, whole) in [
            (
                "\"2026-11-30T16:16:35.764994697Z\"",
                "\"16.835µs\"",
                1_796_055_395_764_977_862,
                false,
            ),
            (
                "\"2026-11-30T16:16:35.764Z\"",
                "0.75",
                1_796_055_395_014_000_000,
                false,
            ),
            (
                "\"2026/11/30 16:16:35\"",
                "\"19.65µs\"",
                1_796_055_395_000_000_000,
                true,
            ),
            (
                "\"2026/11/30 16:16:35\"",
                "0",
                1_796_055_395_000_000_000,
                true,
            ),
            (
                "\"30/Nov/2026:16:16:35 +0000\"",
                "2",
                1_796_055_393_000_000_000,
                true,
            ),
            ("1796055395.5", "0.5", 1_796_055_395_000_000_000, false),
            ("1796055395", "0", 1_796_055_395_000_000_000, false),
            ("1796055395500.25", "0.0", 1_796_055_395_500_250_112, false),
            (
                "1796055395764994697",
                "0.000000697",
                1_796_055_395_764_994_000,
                false,
            ),
            ("1.0", "7.5", 0, false),
        ] {
            let expected = Ok((at, whole, "127.0.0.1".into(), "/a?x=1".into()));
            assert_eq!(read(&line(ts, duration)), expected, "{ts} {duration}");
        }
    }

    #[test]
    fn the_client_is_who_caddy_says_it_is() {
        let line = line("1.5", "0").replace(
            "{\"remote_ip\"",
            "{\"client_ip\":\"192.0.2.9\",\"remote_ip\"",
        );
        assert_eq!(read(&line).unwrap().2, "192.0.2.9");
        let escaped = line.replace("/a?x=1", "/a\\u0026\\\"b");
        assert_eq!(read(&escaped).unwrap().3, "/a&\"b");
    }

    #[test]
    fn other_lines_are_no_requests() {
        for other in [
            r#"{"level":"warn","ts":1796055393.7327676,"logger":"admin","msg":"admin endpoint disabled"}"#,
            r#"{"level":"error","ts":1.5,"logger":"http.log.error","msg":"dial","request":{"remote_ip":"127.0.0.1"},"duration":0.1}"#,
            "{}",
        ] {
            assert_eq!(read(other), Err("other"), "{other}");
        }
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        for (ts, duration, why) in [
            ("-1.5", "0", "ts"),
            ("1e300", "0", "ts"),
            ("1e-300x", "0", "no line"),
            ("\"yesterday\"", "0", "ts"),
            ("null", "0", "no ts"),
            ("true", "0", "no line"),
            ("1.5", "\"long\"", "duration"),
            ("1.5", "1e300", "duration"),
        ] {
            let told = read(&line(ts, duration)).unwrap_err();
            assert!(told.contains(why), "{ts} {duration}: {told}");
        }
        let nobody = r#"{"ts":1.5,"request":{"uri":"/"}}"#;
        assert!(read(nobody).unwrap_err().contains("client_ip"));
        assert!(read("[]").is_err());
        assert!(read(&"[".repeat(60_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(text: Vec<u8>, at in 0usize..500, byte: u8, ts: f64) {
            let _ = parse(&text);
            let mut good = line(&ts.to_string(), "1.5").into_bytes();
            let _ = parse(&good);
            if let Some(place) = good.get_mut(at) {
                *place = byte;
            }
            let _ = parse(&good);
        }
    }
}
