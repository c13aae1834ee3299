//! What an `Accept` header wants (RFC 9110, 12.5.1), as far as two answers of this
//! listener have a choice. Bytes that are no media range are skipped, never refused.

use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// Quality of a range without one, in thousandths.
const QUALITY_MAX: u16 = 1_000;

/// How much this very media type is wanted, in thousandths; 0 where it is not named or refused.
/// A range that asks for a `version` other than `version` is another type.
pub fn quality(headers: &HeaderMap, media_type: &str, version: Option<&str>) -> u16 {
    let lines = headers.get_all(ACCEPT).iter();
    let ranges = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    ranges
        .filter_map(|range| of_range(range, media_type, version))
        .max()
        .unwrap_or(0)
}

fn of_range(range: &str, media_type: &str, version: Option<&str>) -> Option<u16> {
    let mut parts = range.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(media_type) {
        return None;
    }
    let mut quality = QUALITY_MAX;
    for parameter in parts {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "q" => quality = thousandths(value)?,
            "version" if version.is_some_and(|version| version != value) => return None,
            _ => {}
        }
    }
    Some(quality)
}

/// `0` to `1`, with at most three decimals (RFC 9110, 12.4.2).
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let decimals: u16 = format!("{decimals:0<3}").parse().ok()?;
    match whole {
        "0" => Some(decimals),
        "1" if decimals == 0 => Some(QUALITY_MAX),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &str) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        quality(&headers, "a/b", Some("1.0.0"))
    }

    #[test]
    fn qualities() {
        for (accept, expected) in [
            ("a/b", 1_000),
            ("A/B", 1_000),
            ("a/b;q=0.5", 500),
            ("c/d, a/b ; q=0.25", 250),
            ("a/b;q=0", 0),
            ("a/b;q=1.000", 1_000),
            ("a/b;q=1.5", 0),
            ("a/b;q=0.1234", 0),
            ("a/b;q=x", 0),
            ("a/b;version=1.0.0;q=0.7", 700),
            ("a/b;version=\"1.0.0\"", 1_000),
            ("a/b;version=0.0.1", 0),
            ("a/b;version=0.0.1, a/b;version=1.0.0;q=0.3", 300),
            ("*/*", 0),
            ("a/*", 0),
            ("a/bc", 0),
            ("", 0),
            (";;,=", 0),
        ] {
            assert_eq!(wanted(accept), expected, "{accept:?}");
        }
        assert_eq!(quality(&HeaderMap::new(), "a/b", None), 0);
    }
}
