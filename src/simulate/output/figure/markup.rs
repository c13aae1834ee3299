//! Writes XML by hand. Whatever comes from outside is escaped here and nowhere else, and what
//! no XML may hold is replaced.

use std::fmt::{self, Display, Write as _};

/// A document in the making.
#[derive(Debug, Default)]
pub(in crate::simulate::output) struct Markup {
    text: String,
}

/// A length in the drawing: to a tenth of a pixel, so that files stay small and every
/// machine writes the same one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Px(pub(super) f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Halves go up, as they do in the page's script; and there is no `-0`.
        let tenths = (self.0 * 10.0 + 0.5).floor();
        write!(f, "{}", tenths / 10.0 + 0.0)
    }
}

/// Attributes in the order they are written in.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

impl Markup {
    pub(super) fn open(&mut self, tag: &str, attributes: Attributes) {
        self.start(tag, attributes);
        self.text.push('>');
    }

    pub(super) fn close(&mut self, tag: &str) {
        self.raw("</");
        self.raw(tag);
        self.raw(">\n");
    }

    pub(super) fn empty(&mut self, tag: &str, attributes: Attributes) {
        self.start(tag, attributes);
        self.raw("/>");
    }

    /// An element with nothing but text in it.
    pub(super) fn words(&mut self, tag: &str, attributes: Attributes, words: &str) {
        self.open(tag, attributes);
        escape(&mut self.text, words);
        self.raw("</");
        self.raw(tag);
        self.raw(">");
    }

    /// Text of our own that is markup already.
    pub(super) fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn start(&mut self, tag: &str, attributes: Attributes) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            let mut shown = String::new();
            let _ = write!(shown, "{value}");
            escape(&mut self.text, &shown);
            self.text.push('"');
        }
    }
}

/// As text or as a value in double quotes, in XML and in HTML alike.
pub(in crate::simulate::output) fn escape(into: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            // XML 1.0, 2.2: these are no characters, not even escaped.
            '\t' | '\n' | '\r' => into.push(' '),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => into.push('\u{fffd}'),
            _ => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut markup = Markup::default();
        let hostile = "</text><script>alert(\"1\")</script>&amp;\u{1b}[31m\u{ffff}\n'x'";
        markup.words("text", &[("class", &hostile)], hostile);
        let text = markup.finish();
        let document = roxmltree::Document::parse(&text).unwrap();
        let element = document.root_element();
        let kept = hostile
            .replace(['\u{1b}', '\u{ffff}'], "\u{fffd}")
            .replace('\n', " ");
        assert_eq!(element.text(), Some(kept.as_str()));
        assert_eq!(element.attribute("class"), Some(kept.as_str()));
        assert_eq!(
            element
                .children()
                .filter(roxmltree::Node::is_element)
                .count(),
            0
        );
    }

    #[test]
    fn lengths_are_short() {
        for (length, written) in [
            (0.0, "0"),
            (-0.01, "0"),
            (12.0, "12"),
            (0.25, "0.3"),
            (-0.25, "-0.2"),
            (899.96, "900"),
            (1.0 / 3.0, "0.3"),
        ] {
            assert_eq!(Px(length).to_string(), written);
        }
    }
}
