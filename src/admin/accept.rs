//! What an `Accept` header wants (RFC 9110, 12.5.1), as far as two answers of this
//! listener have a choice. Bytes that are no media range are skipped, never refused.

use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// Quality of a range without one, in thousandths.
const QUALITY_MAX: u16 = 1_000;

/// How much a media type is wanted: more by its quality, and at the same quality by who names it more closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// In thousandths.
    quality: u16,
    named: Named,
}

/// How closely a range names a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    /// Or refused.
    Not,
    /// `*/*`
    Any,
    /// `text/*`
    Kind,
    /// This very type.
    Exactly,
}

impl Wanted {
    const NOT: Self = Self {
        quality: 0,
        named: Named::Not,
    };

    /// It is named itself.
    pub fn by_name(self) -> bool {
        self.named == Named::Exactly
    }
}

/// How much this media type is wanted. Of the ranges that it falls under the closest counts. One
/// that asks for a `version` other than `version` is another type.
pub fn wanted(headers: &HeaderMap, media_type: &str, version: Option<&str>) -> Wanted {
    let lines = headers.get_all(ACCEPT).iter();
    let ranges = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    ranges
        .filter_map(|range| of_range(range, media_type, version))
        .max_by_key(|wanted| (wanted.named, wanted.quality))
        .filter(|wanted| wanted.quality > 0)
        .unwrap_or(Wanted::NOT)
}

fn of_range(range: &str, media_type: &str, version: Option<&str>) -> Option<Wanted> {
    let mut parts = range.split(';').map(str::trim);
    let named = how_closely(parts.next()?, media_type)?;
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
    Some(Wanted { quality, named })
}

/// None where it names something else.
fn how_closely(range: &str, media_type: &str) -> Option<Named> {
    let (kind, subtype) = range.split_once('/')?;
    let (of_kind, of_subtype) = media_type.split_once('/')?;
    let is_kind = kind.eq_ignore_ascii_case(of_kind);
    match (kind, subtype) {
        ("*", "*") => Some(Named::Any),
        (_, "*") if is_kind => Some(Named::Kind),
        (_, subtype) if is_kind && subtype.eq_ignore_ascii_case(of_subtype) => Some(Named::Exactly),
        _ => None,
    }
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

    fn of(accept: &str, media_type: &str) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        wanted(&headers, media_type, Some("1.0.0"))
    }

    #[test]
    fn what_is_named_itself() {
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
            ("a/b;q=0.2, a/b;q=0.4", 400),
            ("a/bc", 0),
            ("b/b", 0),
            ("", 0),
            (";;,=", 0),
        ] {
            let told = of(accept, "a/b");
            assert_eq!(told.quality, expected, "{accept:?}");
            assert_eq!(told.by_name(), expected > 0, "{accept:?}");
        }
        assert_eq!(wanted(&HeaderMap::new(), "a/b", None), Wanted::NOT);
    }

    /// The closest range counts, whatever it says.
    #[test]
    fn what_falls_under_a_wildcard() {
        for (accept, quality, named) in [
            ("*/*", 1_000, Named::Any),
            ("a/*;q=0.3", 300, Named::Kind),
            ("*/*;q=0.9, A/*;q=0.3", 300, Named::Kind),
            ("*/*, a/b;q=0.1", 100, Named::Exactly),
            ("a/b;q=0, */*", 0, Named::Not),
            ("b/*", 0, Named::Not),
            ("*/b", 0, Named::Not),
            ("*", 0, Named::Not),
            ("a/b;version=0.0.1, */*;q=0.2", 200, Named::Any),
        ] {
            let told = of(accept, "a/b");
            assert_eq!(told, Wanted { quality, named }, "{accept:?}");
        }
    }

    #[test]
    fn which_of_two_is_wanted_more() {
        for (accept, wins) in [
            ("a/b", true),
            ("a/b, */*", true),
            ("a/b;q=0.7, c/d;q=0.5", true),
            ("a/*", true),
            ("a/b, c/d", false),
            ("*/*", false),
            ("a/b;q=0.05, */*;q=0.1", false),
            ("a/b;q=0", false),
            ("c/*, a/b;q=0.9", false),
            ("", false),
        ] {
            let is_more = of(accept, "a/b") > of(accept, "c/d");
            assert_eq!(is_more, wins, "{accept:?}");
        }
    }
}
