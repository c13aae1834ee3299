//! What a request's head must be before anything else is asked: HTTP as the gateway
//! takes it, stricter than the library underneath. Looks at heads only, and answers nothing.

use std::net::Ipv6Addr;

use hyper::header::{CONTENT_ENCODING, EXPECT, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Uri, Version};

use crate::refusal::Refusal;

/// Longest request target. Paths here are short; a longer one is a mistake or a probe.
pub const TARGET_BYTES_MAX: usize = 8 * 1024;
/// Longest `x-request-id` that is taken over.
const REQUEST_ID_BYTES_MAX: usize = 64;

/// # Errors
/// The first rule of HTTP that this head breaks.
pub fn check(head: &Parts) -> Result<(), Refusal> {
    let headers = &head.headers;
    if head.version == Version::HTTP_11 && !has_one_host(headers) {
        return Err(Refusal::BadRequest(
            "a request has exactly one Host header, with a host in it",
        ));
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next();
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
        || codings.next().is_some()
    {
        return Err(Refusal::BadRequest(
            "the only Transfer-Encoding taken is a single chunked",
        ));
    }
    if target_bytes(&head.uri) > TARGET_BYTES_MAX {
        return Err(Refusal::TargetTooLong);
    }
    Ok(())
}

/// # Errors
/// [`Refusal::ExpectationFailed`]
pub fn check_expectation(headers: &HeaderMap) -> Result<(), Refusal> {
    let met = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if headers.get_all(EXPECT).iter().all(met) {
        Ok(())
    } else {
        Err(Refusal::ExpectationFailed)
    }
}

/// A turn's body is read as it comes.
///
/// # Errors
/// When the body is packed.
pub fn check_turn(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(Refusal::BadRequest("a turn has no Content-Encoding"));
    }
    Ok(())
}

/// Is this a request id that can stand in a log line and on an answer?
pub fn is_request_id(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    (1..=REQUEST_ID_BYTES_MAX).contains(&bytes.len())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(b))
}

fn has_one_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    !host.contains([',', '@'])
        && host
            .parse::<Authority>()
            .is_ok_and(|authority| is_host(authority.host()) && is_host_and_port(&authority))
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => (rest.strip_suffix(']')).is_some_and(|v6| v6.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty(),
    }
}

/// Nothing stands around its host but a port: none, an empty one, or a number (RFC 3986,
/// 3.2.3). `[::1].evil.example` is somebody's name, and no address.
pub fn is_host_and_port(authority: &Authority) -> bool {
    match authority.as_str().strip_prefix(authority.host()) {
        Some("" | ":") => true,
        Some(rest) => rest.starts_with(':') && authority.port_u16().is_some(),
        None => false,
    }
}

fn target_bytes(uri: &Uri) -> usize {
    uri.path_and_query()
        .map_or(0, |target| target.as_str().len())
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn head(version: Version, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().version(version).uri("/api/turn");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn one_valid_host_and_no_more() {
        for hosts in [
            &["example.com"][..],
            &["example.com:80"],
            &["127.0.0.1:8787"],
            &["[::1]:8787"],
            &["xn--fsq.example"],
        ] {
            let hosts: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
            assert!(check(&head(Version::HTTP_11, &hosts)).is_ok(), "{hosts:?}");
        }
        for hosts in [
            &[][..],
            &[""],
            &["a", "a"],
            &["a,b"],
            &["u@h"],
            &["a b"],
            &["a/b"],
            &[":80"],
            &["x:abc"],
            &["x:99999"],
            &["[::1]:x"],
            &["[zz]"],
            &["[::1].evil.example"],
            &["[::1].evil.example:80"],
        ] {
            let hosts: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
            assert!(check(&head(Version::HTTP_11, &hosts)).is_err(), "{hosts:?}");
        }
        assert!(check(&head(Version::HTTP_10, &[])).is_ok());
    }

    #[test]
    fn a_single_chunked_and_no_other_coding() {
        let with = |codings: &[&str]| {
            let mut headers = vec![("host", "h")];
            headers.extend(codings.iter().map(|coding| ("transfer-encoding", *coding)));
            check(&head(Version::HTTP_11, &headers))
        };
        assert!(with(&["chunked"]).is_ok());
        assert!(with(&["Chunked"]).is_ok());
        for codings in [
            &["chunked, chunked"][..],
            &["chunked", "chunked"],
            &["gzip, chunked"],
            &["identity"],
            &[""],
        ] {
            assert!(with(codings).is_err(), "{codings:?}");
        }
    }

    #[test]
    fn request_ids() {
        for (id, good) in [
            ("0b7c-A_x.9:1", true),
            ("", false),
            ("a b", false),
            ("a\"b", false),
            (&"x".repeat(64), true),
            (&"x".repeat(65), false),
        ] {
            assert_eq!(
                is_request_id(&HeaderValue::from_str(id).unwrap()),
                good,
                "{id}"
            );
        }
    }
}
