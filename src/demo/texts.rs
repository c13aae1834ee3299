//! Every sentence that a player reads, in Japanese and in English side by side.
//!
//! Both are originals: neither is a translation of the other, they only agree on the facts. No text
//! may exist in one language alone (the type forbids it, and a test looks for blanks), and none may
//! hold markup: the page shows them as plain text.

/// The language of a request and of its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    #[default]
    Ja,
    En,
}

/// One text in both languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    pub ja: &'static str,
    pub en: &'static str,
}

impl Text {
    pub const fn get(self, lang: Lang) -> &'static str {
        match lang {
            Lang::Ja => self.ja,
            Lang::En => self.en,
        }
    }

    /// The text with its one `{}` filled in.
    pub fn with(self, lang: Lang, what: &str) -> String {
        self.get(lang).replacen("{}", what, 1)
    }
}

/// Declares texts, and the list of all of them that the tests walk.
macro_rules! texts {
    ($($name:ident: $ja:expr, $en:expr;)*) => {
        $(pub const $name: Text = Text { ja: $ja, en: $en };)*
        #[cfg(test)]
        pub const ALL: &[(&str, Text)] = &[$((stringify!($name), $name)),*];
    };
}

pub mod deeds;
pub mod names;
pub mod people;
pub mod places;
pub mod things;

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static (&'static str, Text)> {
        [
            deeds::ALL,
            names::ALL,
            people::ALL,
            places::ALL,
            things::ALL,
        ]
        .into_iter()
        .flatten()
    }

    fn is_japanese(c: char) -> bool {
        matches!(c, '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
    }

    #[test]
    fn every_text_is_there_in_both_languages() {
        assert!(all().count() > 100, "the list of texts is nearly empty");
        for (name, text) in all() {
            assert!(text.ja.chars().any(is_japanese), "{name} has no Japanese");
            assert!(
                text.en.chars().any(|c| c.is_ascii_alphabetic()),
                "{name} has no English"
            );
            assert!(
                !text.en.chars().any(is_japanese),
                "{name}: Japanese in the English"
            );
            assert!(
                !text.ja.contains("  ") && !text.en.contains("  "),
                "{name}: doubled space, a broken continuation"
            );
            for side in [text.ja, text.en] {
                assert_eq!(side, side.trim(), "{name} has outer white space");
                assert!(
                    !side.contains(['<', '>', '\t', '\r']),
                    "{name} is not plain text"
                );
            }
            for side in [text.ja, text.en] {
                let gaps = side.matches("{}").count();
                assert!(
                    gaps <= 1 && !side.replace("{}", "").contains(['{', '}']),
                    "{name}: gaps"
                );
            }
        }
    }

    #[test]
    fn texts_are_told_apart() {
        let mut seen = std::collections::BTreeMap::new();
        for (name, text) in all() {
            if let Some(other) = seen.insert(text.en, name) {
                panic!("{name} and {other} say the same");
            }
        }
    }
}
