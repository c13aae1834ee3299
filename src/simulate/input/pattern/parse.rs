//! The text of a pattern: what each term is, and what is wrong with it and where. Any text
//! at all is read or told off; it never panics.

use std::fmt::Display;

use super::{Kind, PatternError, SEED, SPAN_MAX, TERMS_MAX, Term};
use crate::logic::bucket::{Nanos, Rate};
use crate::logic::printable::printable;
use crate::simulate::input::time;

/// Characters of a wrong part that are shown.
const SHOWN_MAX: usize = 40;

const TERM: &str = "takes burst:N, every:GAP:N, poisson:RATE:DURATION[:SEED], edge, flood or \
                    players:N:DURATION[:SEED], each with a start such as @9.5s where it has one, \
                    joined by +";
const COUNT: &str = "takes a whole number from 1";
const SEED_TAKES: &str = "takes a whole number as a seed";
const DURATION: &str = "takes a duration such as 100ms, 9.5s or 2min, above 0, at most 10 years";
const START: &str = "takes a start such as 9.5s or 2min, at most 10 years";

impl PatternError {
    pub(super) fn new(character: usize, text: &str, why: impl Display) -> Self {
        let mut shown: String = printable(text).chars().take(SHOWN_MAX).collect();
        if text.chars().count() > SHOWN_MAX {
            shown.push('…');
        }
        Self {
            character,
            text: shown,
            why: why.to_string(),
        }
    }
}

/// All terms of a text.
pub(super) fn terms(text: &str) -> Result<Vec<Term>, PatternError> {
    let parts = split(Part { at: 1, text }, '+');
    if parts.len() > TERMS_MAX {
        return Err(parts[TERMS_MAX].wrong(format!("takes at most {TERMS_MAX} terms")));
    }
    parts.into_iter().map(term).collect()
}

fn term(part: Part<'_>) -> Result<Term, PatternError> {
    let part = part.trimmed();
    let mut halves = split(part, '@').into_iter();
    let what = halves.next().unwrap_or(part);
    let start = match halves.next() {
        None => 0,
        Some(start) => start.span(START, 0)?,
    };
    if let Some(more) = halves.next() {
        return Err(more.wrong("has its start already"));
    }
    let mut words = Words {
        whole: what,
        rest: split(what, ':').into_iter(),
    };
    let name = words.next(TERM)?;
    let kind = match name.text {
        "burst" => Kind::Burst {
            count: words.next(COUNT)?.count()?,
        },
        "every" => {
            let gap = words.next(DURATION)?;
            let count = words.next(COUNT)?.count()?;
            let nanos = gap.span(DURATION, 1)?;
            let length = nanos.checked_mul(count - 1);
            if length.is_none_or(|length| length > SPAN_MAX) {
                return Err(what.wrong("takes more than 10 years"));
            }
            Kind::Every { gap: nanos, count }
        }
        "poisson" => {
            let rate = words.next("needs a rate such as 2 or 30/min")?;
            Kind::Poisson {
                rate: rate.text.parse::<Rate>().map_err(|why| rate.wrong(why))?,
                duration: words.next(DURATION)?.span(DURATION, 1)?,
                seed: words.seed()?,
            }
        }
        "edge" => Kind::Edge,
        "flood" => Kind::Flood,
        "players" => Kind::Players {
            count: words.next(COUNT)?.count()?,
            duration: words.next(DURATION)?.span(DURATION, 1)?,
            seed: words.seed()?,
        },
        _ => return Err(name.wrong(TERM)),
    };
    if let Some(more) = words.rest.next() {
        return Err(more.wrong(format!("is more than `{}` takes", name.text)));
    }
    Ok(Term {
        character: part.at,
        given: part.text.to_owned(),
        start,
        kind,
    })
}

/// What stands between the colons of a term.
struct Words<'a> {
    whole: Part<'a>,
    rest: std::vec::IntoIter<Part<'a>>,
}

impl<'a> Words<'a> {
    fn next(&mut self, takes: &str) -> Result<Part<'a>, PatternError> {
        let end = self.whole.end();
        self.rest
            .next()
            .ok_or_else(|| end.wrong(format!("`{}` goes on: {takes}", self.whole.text)))
    }

    fn seed(&mut self) -> Result<u64, PatternError> {
        match self.rest.next() {
            None => Ok(SEED),
            Some(seed) => seed.text.parse().map_err(|_| seed.wrong(SEED_TAKES)),
        }
    }
}

/// A part of the text, and at which character it stands, from 1.
#[derive(Clone, Copy)]
struct Part<'a> {
    at: usize,
    text: &'a str,
}

impl Part<'_> {
    fn wrong(self, why: impl Display) -> PatternError {
        PatternError::new(self.at, self.text, why)
    }

    fn trimmed(self) -> Self {
        let text = self.text.trim_start();
        let cut = self.text.chars().count() - text.chars().count();
        Self {
            at: self.at + cut,
            text: text.trim_end(),
        }
    }

    /// Nothing, after it.
    fn end(self) -> Self {
        Self {
            at: self.at + self.text.chars().count(),
            text: "",
        }
    }

    fn count(self) -> Result<u64, PatternError> {
        let count = self.text.parse().ok().filter(|n| *n >= 1);
        count.ok_or_else(|| self.wrong(COUNT))
    }

    fn span(self, takes: &str, least: Nanos) -> Result<Nanos, PatternError> {
        time::span(self.text)
            .filter(|span| (least..=SPAN_MAX).contains(span))
            .ok_or_else(|| self.wrong(takes))
    }
}

/// At least one part.
fn split(whole: Part<'_>, between: char) -> Vec<Part<'_>> {
    let mut at = whole.at;
    whole
        .text
        .split(between)
        .map(|text| {
            let part = Part { at, text };
            at += text.chars().count() + 1;
            part
        })
        .collect()
}
