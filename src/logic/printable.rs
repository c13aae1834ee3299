//! Text of a client's own, made fit for one line of a log. Changes nothing that is harmless.

use std::borrow::Cow;

/// JSON leaves some of what moves a terminal's cursor or ends a line as it stands
/// (U+009B, U+2028): that is escaped here.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| c == '\'' || c == '"' || c == '\\' || c.escape_debug().len() == 1;
    if text.chars().all(harmless) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.escape_debug().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_harms_is_escaped() {
        for (text, shown) in [
            ("look", "look"),
            ("見る \"x\" \\", "見る \"x\" \\"),
            ("a\u{9b}31m", "a\\u{9b}31m"),
            ("a\u{2028}b\nc", "a\\u{2028}b\\nc"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
