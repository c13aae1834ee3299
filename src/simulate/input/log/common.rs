//! The common and combined log formats of Apache and nginx, and Apache's
//! `vhost_combined`, which has the virtual host in front:
//!
//! ```text
//! 192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "…" "…"
//! ```
//!
//! Apache's moment is when the request came (`%t`, `mod_log_config`), nginx's when it was
//! answered (`$time_local`, `ngx_http_core_module`); neither format tells how long it took,
//! so the line's moment counts as the arrival. What follows the status is not looked at.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use super::{Parsed, Request, Said};
use crate::simulate::input::names;
use crate::simulate::input::time::CommonStamps;

/// Reads one line. Allocates nothing.
pub fn parse<'a>(line: &'a [u8], stamps: &mut CommonStamps) -> Parsed<'a> {
    let (mut client, mut rest) = word(line).ok_or("it has no client")?;
    if is_virtual_host(client) {
        (client, rest) = word(rest).ok_or("it has no client")?;
    }
    let client = str::from_utf8(client).map_err(|_| "its client is no text")?;
    // In between stand an identity and a user, who may have spaces in the name.
    let bracket = memchr(b'[', rest).ok_or("it has no [time]")?;
    let rest = &rest[bracket + 1..];
    let (at, length) = stamps
        .read(rest)
        .ok_or("its time is not like 10/Oct/2000:13:55:36 -0700")?;
    let request = rest[length..]
        .strip_prefix(b"] \"")
        .ok_or("it has no \"request\" after its time")?;
    let end = quote(request).ok_or("its \"request\" has no end")?;
    let (request, status) = request.split_at(end);
    if !is_status(status) {
        return Err("it has no status after its \"request\"");
    }
    Ok(Said::Request(Request {
        at,
        whole: true,
        client: Cow::Borrowed(client),
        path: Cow::Borrowed(target(request)),
    }))
}

/// The first word and what follows its space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = memchr(b' ', text).filter(|end| *end > 0)?;
    Some((&text[..space], &text[space + 1..]))
}

/// `example.com:443`: ends in a port, and is no address.
fn is_virtual_host(word: &[u8]) -> bool {
    let digits = word.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let port = word.len() - digits;
    digits > 0
        && port > 1
        && word[port - 1] == b':'
        && str::from_utf8(word).is_ok_and(|word| names::hop(word).is_none())
}

/// Where the closing quote is: one inside is escaped by a backslash.
fn quote(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// `" 200 `, where Apache may have a `-`.
fn is_status(text: &[u8]) -> bool {
    let Some(status) = text.strip_prefix(b"\" ") else {
        return false;
    };
    let status = status.split(|b| *b == b' ').next().unwrap_or_default();
    status == b"-" || status.len() == 3 && status.iter().all(u8::is_ascii_digit)
}

/// The second word of `GET /path HTTP/1.1`; nothing if it is no such thing.
fn target(request: &[u8]) -> &[u8] {
    let Some((_, rest)) = word(request) else {
        return b"";
    };
    word(rest).map_or(rest, |(target, _)| target)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Result<(u64, String, String), &'static str> {
        match parse(line.as_bytes(), &mut CommonStamps::default())? {
            Said::Request(request) => {
                assert!(request.whole);
                let path = String::from_utf8_lossy(&request.path).into_owned();
                Ok((
                    request.at / 1_000_000_000,
                    request.client.into_owned(),
                    path,
                ))
            }
            Said::Other | Said::Unlogged(_) => panic!("{line}"),
        }
    }

    #[test]
    fn lines_as_servers_write_them() {
        for (line, second, client, path) in [
            // The example of Apache's documentation.
            (
                r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#,
                971_211_336,
                "127.0.0.1",
                "/apache_pb.gif",
            ),
            (
                r#"2001:db8::1 - - [30/Nov/2026:16:16:35 +0000] "POST /api/turn HTTP/1.1" 429 77 "https://example.com/" "Mozilla/5.0 (X11) [x]""#,
                1_796_055_395,
                "2001:db8::1",
                "/api/turn",
            ),
            (
                r#"host.example.com - John Doe [30/Nov/2026:16:16:35 +0000] "GET /a\"b HTTP/1.1" 200 -"#,
                1_796_055_395,
                "host.example.com",
                "/a\\\"b",
            ),
            (
                r#"example.com:443 192.0.2.7 - - [30/Nov/2026:16:16:35 +0000] "GET / HTTP/2.0" 200 5 "-" "-""#,
                1_796_055_395,
                "192.0.2.7",
                "/",
            ),
            // What nginx writes of whoever comes through a unix socket; a request of HTTP/0.9.
            (
                r#"unix: - - [30/Nov/2026:16:16:35 +0000] "GET /old" 200 5"#,
                1_796_055_395,
                "unix:",
                "/old",
            ),
            // What nginx writes of a TLS handshake sent to a plain port, and of an empty connection.
            (
                r#"192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] "\x16\x03\x01" 400 157 "-" "-""#,
                1_796_055_395,
                "192.0.2.1",
                "",
            ),
            (
                r#"192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] "" 400 0"#,
                1_796_055_395,
                "192.0.2.1",
                "",
            ),
            (
                r#"192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] "-" 408 -"#,
                1_796_055_395,
                "192.0.2.1",
                "",
            ),
        ] {
            assert_eq!(
                read(line),
                Ok((second, client.into(), path.into())),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_no_such_line_says_what_is_missing() {
        for (line, why) in [
            ("", "client"),
            (" - - ", "client"),
            ("word", "client"),
            ("example.com:80 ", "client"),
            ("192.0.2.1 - -", "[time]"),
            ("192.0.2.1 - - [30/Nov/2026", "its time"),
            (
                "192.0.2.1 - - [31/Nov/2026:16:16:35 +0000] \"\" 200",
                "its time",
            ),
            (
                "192.0.2.1 - - [30/Nov/2026:16:16:35 +0000]",
                "after its time",
            ),
            (
                "192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] \"GET /\\\" 200",
                "no end",
            ),
            (
                "192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] \"GET /\\",
                "no end",
            ),
            (
                "192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] \"GET /\" x",
                "status",
            ),
            (
                "192.0.2.1 - - [30/Nov/2026:16:16:35 +0000] \"GET /\" 20",
                "status",
            ),
        ] {
            let told = read(line).unwrap_err();
            assert!(told.contains(why), "{line}: {told}");
        }
        let bytes = b"\xff\xfe - - [30/Nov/2026:16:16:35 +0000] \"GET / HTTP/1.1\" 200 1";
        assert!(parse(bytes, &mut CommonStamps::default()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(
            line: Vec<u8>,
            cut in 0usize..120,
            at in 0usize..120,
            byte: u8,
        ) {
            let mut stamps = CommonStamps::default();
            let _ = parse(&line, &mut stamps);
            let mut line = br#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /x HTTP/1.0" 200 2"#.to_vec();
            line.truncate(cut);
            if let Some(place) = line.get_mut(at) {
                *place = byte;
            }
            let _ = parse(&line, &mut stamps);
        }
    }
}
