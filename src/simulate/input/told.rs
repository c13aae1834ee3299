//! What was read, told to people: how much of it counts, what does not, and why.

use super::log::Format;
use super::names::Names;
use crate::logic::printable::printable;

/// Bad lines that are shown.
const SHOWN_MAX: usize = 3;
/// Bytes of a bad line that are shown: about a line of a terminal.
const SHOWN_BYTES_MAX: usize = 72;

/// What an input was found to be. `lines` is the sum of `arrivals`, `bad`, `other`,
/// `filtered` and `late`; a pattern has arrivals and no lines.
#[derive(Clone, Debug)]
pub struct Told {
    /// Every client that has an arrival.
    pub names: Names,
    /// How the log is written; none for a pattern.
    pub format: Option<Format>,
    /// Lines that are not blank.
    pub lines: u64,
    /// Arrivals given out.
    pub arrivals: u64,
    /// Lines that could not be read.
    pub bad: u64,
    /// The first of them.
    pub bad_shown: Vec<BadLine>,
    /// Lines that tell of no request, or of one that never reaches a limit.
    pub other: u64,
    /// Requests that a filter left out.
    pub filtered: u64,
    /// Requests that came too late to be put in order.
    pub late: u64,
    /// Requests that have no line: the gateway counts refusals beyond some a second.
    pub unlogged: u64,
    /// Moments are known to the second: the lines of one were spread evenly over it.
    pub whole_seconds: bool,
}

impl Told {
    /// Nothing read yet.
    pub fn new(names: Names) -> Self {
        Self {
            names,
            format: None,
            lines: 0,
            arrivals: 0,
            bad: 0,
            bad_shown: Vec::new(),
            other: 0,
            filtered: 0,
            late: 0,
            unlogged: 0,
            whole_seconds: false,
        }
    }

    /// Counts a bad line, and keeps it if it is among the first.
    pub fn bad(&mut self, line: BadLine) {
        self.bad += 1;
        if self.bad_shown.len() < SHOWN_MAX {
            self.bad_shown.push(line);
        }
    }

    /// What a reader of the result must know, a sentence each; nothing where all is well.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.whole_seconds {
            notes.push(
                "the log tells moments to the second: the lines of one second were spread evenly \
                 over it"
                    .to_owned(),
            );
        }
        if self.bad > 0 {
            let mut shown: Vec<_> = self.bad_shown.iter().map(BadLine::to_string).collect();
            if self.bad > shown.len() as u64 {
                shown.push("…".to_owned());
            }
            let (lines, shown) = (count(self.bad, "line"), shown.join("; "));
            notes.push(format!("{lines} could not be read: {shown}"));
        }
        if self.late > 0 {
            notes.push(format!(
                "{} stood too far behind later ones to be put in order and left out: try a \
                 longer --reorder",
                count(self.late, "request")
            ));
        }
        if self.unlogged > 0 {
            notes.push(format!(
                "{} more refused without a line of their own: this sees less than there was",
                count(self.unlogged, "request")
            ));
        }
        if self.other > 0 {
            notes.push(format!(
                "{} of no request that a limit decides on",
                count(self.other, "line")
            ));
        }
        if self.filtered > 0 {
            notes.push(format!("{} filtered out", count(self.filtered, "request")));
        }
        notes
    }
}

fn count(number: u64, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}

/// A line that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// In its file, from 1.
    pub number: u64,
    /// Its beginning, printable.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl BadLine {
    /// Cuts it and makes it printable.
    pub fn new(number: u64, line: &[u8], why: &'static str) -> Self {
        let cut = &line[..line.len().min(SHOWN_BYTES_MAX)];
        let mut text = printable(&String::from_utf8_lossy(cut)).into_owned();
        if cut.len() < line.len() {
            text.push('…');
        }
        Self { number, text, why }
    }
}

impl std::fmt::Display for BadLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}: {}", self.number, self.why, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_counted_and_the_first_shown() {
        let mut told = Told::new(Names::new());
        assert!(told.notes().is_empty());
        told.bad(BadLine::new(7, b"a\x1b[31mb\xff", "it is red"));
        let notes = told.notes();
        assert_eq!(
            notes,
            ["1 line could not be read: line 7: it is red: a\\u{1b}[31mb\u{fffd}"]
        );
        for number in 8..20 {
            told.bad(BadLine::new(number, &[b'x'; 100], "it is long"));
        }
        let notes = told.notes();
        assert!(
            notes[0].starts_with("13 lines could not be read: line 7"),
            "{notes:?}"
        );
        assert!(notes[0].ends_with("…; …"), "{notes:?}");
        assert_eq!(notes[0].matches("it is long").count(), 2);
        assert_eq!(told.bad_shown.len(), SHOWN_MAX);
        assert_eq!(told.bad_shown[1].text.chars().count(), SHOWN_BYTES_MAX + 1);
    }

    #[test]
    fn every_count_has_its_sentence() {
        let told = Told {
            late: 1,
            unlogged: 2,
            other: 3,
            filtered: 4,
            whole_seconds: true,
            ..Told::new(Names::new())
        };
        let notes = told.notes().join("\n");
        for part in [
            "to the second",
            "1 request stood too far behind",
            "2 requests more",
            "3 lines of",
            "4 requests filtered",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
    }
}
