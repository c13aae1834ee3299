//! What the picture says in words. Short sentences for somebody who has never heard of any of
//! this; no number that is not counted elsewhere.

use std::fmt::Write as _;

use crate::logic::bucket::Limit;
use crate::logic::limiter::Algorithm;
use crate::logic::printable::printable;

use super::axis::length;
use super::story::{Numbers, Worst};
use super::{Figure, Row};

/// With commas between thousands, as English has them.
pub(in crate::simulate::output) fn count(number: u64) -> String {
    thousands(&number.to_string())
}

/// With a comma after each three digits before the point.
pub(super) fn thousands(number: &str) -> String {
    let whole = number.split('.').next().unwrap_or_default();
    let mut text = String::new();
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + &number[whole.len()..]
}

/// `1 request`, `20 requests`.
pub(in crate::simulate::output) fn counted(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number))
}

/// What is above the picture.
pub(in crate::simulate::output) fn heading(figure: &Figure) -> String {
    let requests = counted(figure.asked, "request");
    format!("The same {requests} under ten rate limits")
}

/// What all the algorithms were given, in words: `10 per 10 s`.
pub(in crate::simulate::output) fn limit(limit: &Limit) -> String {
    let burst = u64::from(limit.burst().tickets());
    format!("{} per {}", count(burst), length(limit.window_nanos()))
}

/// What an algorithm promises, whatever arrives.
pub(super) fn guarantee(algorithm: Algorithm) -> String {
    format!("At most {} in any window", algorithm.guarantee())
}

/// The same as options of the gateway.
pub(in crate::simulate::output) fn options(limit: &Limit) -> String {
    format!("--rate {} --burst {}", limit.rate().given(), limit.burst())
}

/// What is to be seen, in one or two sentences.
pub(in crate::simulate::output) fn summary(figure: &Figure) -> String {
    let let_in: Vec<u64> = figure.rows.iter().map(|row| row.numbers.let_in).collect();
    let (Some(few), Some(many)) = (let_in.iter().min(), let_in.iter().max()) else {
        return String::new();
    };
    let by = |values: &[u64], value: u64| {
        let rows = figure.rows.iter().zip(values);
        let mut who = rows.filter(|(_, its)| **its == value);
        match (who.next(), who.count()) {
            (Some((row, _)), 0) => name(row.algorithm),
            (_, others) => format!("{} algorithms", others + 1),
        }
    };
    let mut text = if few == many {
        format!("Every algorithm lets in {}.", count(*many))
    } else {
        format!(
            "The fewest are let in by {} ({}), the most by {} ({}).",
            by(&let_in, *few),
            count(*few),
            by(&let_in, *many),
            count(*many)
        )
    };
    let worst = |row: &Row| row.numbers.worst.map_or(0, |worst| worst.count);
    let in_window: Vec<u64> = figure.rows.iter().map(worst).collect();
    let full = in_window.iter().max().copied().unwrap_or(0);
    if full > u64::from(figure.limit.burst().tickets()) {
        let _ = write!(
            text,
            " The fullest {}: {} let in for one client by {}, where the limit says {}.",
            length(figure.limit.window_nanos()),
            count(full),
            by(&in_window, full),
            limit(&figure.limit)
        );
    }
    text
}

/// A title in the middle of a sentence.
fn name(algorithm: Algorithm) -> String {
    let title = algorithm.title();
    let is_acronym = title.chars().nth(1).is_some_and(char::is_uppercase);
    let mut letters = title.chars();
    match letters.next() {
        Some(first) if !is_acronym => {
            format!("the {}{}", first.to_lowercase(), letters.as_str())
        }
        _ => title.to_owned(),
    }
}

/// A row as a sentence: what is read out where the picture is not seen.
pub(super) fn row(title: &str, numbers: &Numbers, limit: &Limit) -> String {
    let mut text = format!(
        "{title}: {} let in, {} refused",
        count(numbers.let_in),
        count(numbers.refused)
    );
    if numbers.later > 0 {
        text.push_str(", the longest wait ");
        text.push_str(&length(numbers.longest_wait));
    }
    if let Some(worst) = numbers.worst {
        text.push_str("; at most ");
        text.push_str(&worst_window(&worst, numbers, limit));
    }
    text.push('.');
    text
}

/// The fullest window: `20 let in within 10 s: twice the limit`.
pub(super) fn worst_window(worst: &Worst, numbers: &Numbers, limit: &Limit) -> String {
    let burst = u64::from(limit.burst().tickets());
    let verb = if numbers.later > 0 {
        "served"
    } else {
        "let in"
    };
    let number = count(worst.count);
    let mut text = format!("{number} {verb} within {}", length(limit.window_nanos()));
    if worst.count == 2 * burst {
        text.push_str(": twice the limit");
    } else if worst.count > burst {
        text.push_str(": the limit is ");
        text.push_str(&count(burst));
    }
    text
}

/// How long a text is, in letters.
#[expect(clippy::cast_precision_loss, reason = "a few dozen letters")]
pub(super) fn letters(text: &str) -> f64 {
    text.chars().count() as f64
}

/// A client's name, fit to be shown: hosts name themselves as they like.
pub(super) fn client(name: &str) -> String {
    const LETTERS_MAX: usize = 45;
    let name = printable(name);
    if name.chars().count() <= LETTERS_MAX {
        return name.into_owned();
    }
    let mut cut: String = name.chars().take(LETTERS_MAX - 1).collect();
    cut.push('…');
    cut
}

/// Lines of at most so many characters, cut at spaces where there are any.
pub(in crate::simulate::output) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        for (n, piece) in letters.chunks(most).enumerate() {
            let space = usize::from(n == 0 && length > 0);
            if length > 0 && length + space + piece.len() > most {
                lines.push(String::new());
                length = 0;
            } else if space == 1
                && let Some(line) = lines.last_mut()
            {
                line.push(' ');
                length += 1;
            }
            if let Some(line) = lines.last_mut() {
                line.extend(piece);
                length += piece.len();
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        assert_eq!(counted(1, "request"), "1 request");
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(10_000_000), "10,000,000");
    }

    #[test]
    fn lines_are_cut_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrapped("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("ab abcdef", 4), ["ab", "abcd", "ef"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn titles_stand_in_sentences() {
        assert_eq!(name(Algorithm::FixedWindow), "the fixed window");
        assert_eq!(name(Algorithm::GcraNoBurst), "GCRA without burst");
    }
}
