//! Traffic made up: terms such as `burst:10@9.5s`, joined by `+`. The same text under the
//! same limit gives the same arrivals, on every machine and in every version: chance
//! comes from a generator of its own with a seed.
//!
//! | term | arrivals |
//! | --- | --- |
//! | `burst:N` | N at once |
//! | `every:GAP:N` | N, one every GAP |
//! | `poisson:RATE:DURATION[:SEED]` | at random, RATE on average: exponential gaps |
//! | `edge` | a full burst on each side of the edge of a fixed window |
//! | `flood` | one client at ten times the rate beside four polite ones at half of it, for as long as ten bursts take to come back |
//! | `players:N:DURATION[:SEED]` | N people who read and type |
//!
//! Each may have a start, `@9.5s`; without one it is 0. All terms but the last two are of
//! one and the same client.

mod parse;
mod random;

use std::fmt;
use std::str::FromStr;

use super::Arrival;
use super::names::{Names, Who};
use super::told::Told;
use crate::logic::bucket::{Limit, Nanos, Rate};
use random::Random;

/// Most arrivals of one pattern: an `edge` at the deepest burst. 32 MB.
pub const ARRIVALS_MAX: usize = 2_000_000;
/// Latest start and longest duration: as long as an empty bucket may take to fill.
const SPAN_MAX: Nanos = 10 * 365 * 86_400 * 1_000_000_000;
/// Terms of one pattern.
const TERMS_MAX: usize = 100;
/// The seed of a term that names none.
const SEED: u64 = 1;

/// How much faster than the limit's rate a flood's greedy client is.
const GREEDY_TIMES: u64 = 10;
/// A flood's polite clients, each at half the limit's rate.
const POLITE: u64 = 4;
/// How long a flood is, in windows of burst ÷ rate.
const FLOOD_WINDOWS: u64 = 10;

const MILLIS: Nanos = 1_000_000;
const SECONDS: Nanos = 1_000 * MILLIS;
/// Players come in one by one within this time.
const PLAYERS_COME_WITHIN: Nanos = 30 * SECONDS;
/// A player reads what the game said and types: log-normal around this median, with nine
/// of ten pauses between 10 and 60 seconds.
const READING_MEDIAN_NANOS: f64 = 24.5e9;
const READING_SIGMA: f64 = 0.55;
/// Nobody reads and types faster, and nobody who is longer away is still at it.
const READING: (Nanos, Nanos) = (5 * SECONDS, 180 * SECONDS);
/// One turn in so many follows quickly: a slip put right, a look around after a step.
const QUICK_ONE_IN: u64 = 8;
const QUICK: (Nanos, Nanos) = (400 * MILLIS, 1_500 * MILLIS);

/// A pattern of traffic, as it was written.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    given: String,
    terms: Vec<Term>,
}

#[derive(Clone, PartialEq, Debug)]
struct Term {
    /// Where it stands in the text.
    character: usize,
    given: String,
    start: Nanos,
    kind: Kind,
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Burst {
        count: u64,
    },
    Every {
        gap: Nanos,
        count: u64,
    },
    Poisson {
        rate: Rate,
        duration: Nanos,
        seed: u64,
    },
    Edge,
    Flood,
    Players {
        count: u64,
        duration: Nanos,
        seed: u64,
    },
}

/// What is wrong with a pattern, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at character {character}{}: {why}", quoted(text))]
pub struct PatternError {
    /// Where it begins, from 1.
    pub character: usize,
    /// The part that is wrong, cut.
    pub text: String,
    /// What is wrong with it, or what it takes.
    pub why: String,
}

/// Nothing where the pattern has ended already.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(", `{text}`")
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(given: &str) -> Result<Self, PatternError> {
        Ok(Self {
            given: given.to_owned(),
            terms: parse::terms(given)?,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.given.fmt(f)
    }
}

impl Pattern {
    /// Gives out its arrivals in order of time; of those at one moment, the earlier
    /// term's first.
    ///
    /// # Errors
    /// It has more than [`ARRIVALS_MAX`] arrivals under this limit; none was given out.
    pub fn play(&self, limit: &Limit, each: &mut dyn FnMut(Arrival)) -> Result<Told, PatternError> {
        self.play_at_most(ARRIVALS_MAX, limit, each)
    }

    fn play_at_most(
        &self,
        most: usize,
        limit: &Limit,
        each: &mut dyn FnMut(Arrival),
    ) -> Result<Told, PatternError> {
        let mut played = Played {
            most,
            arrivals: Vec::new(),
            names: Names::new(),
        };
        for term in &self.terms {
            term.play(limit, &mut played).map_err(|Full| {
                let why = format!("with it, there are more than {most} arrivals");
                PatternError::new(term.character, &term.given, why)
            })?;
        }
        played.arrivals.sort_by_key(|arrival| arrival.at);
        played.arrivals.iter().copied().for_each(each);
        let mut told = Told::new(played.names);
        told.arrivals = played.arrivals.len() as u64;
        Ok(told)
    }
}

/// The pattern has as many arrivals as it may.
struct Full;

/// What was played so far.
struct Played {
    most: usize,
    arrivals: Vec<Arrival>,
    names: Names,
}

impl Played {
    fn client(&mut self, name: &str) -> Result<u32, Full> {
        self.names.number(Who::Text(name)).map_err(|_| Full)
    }

    fn push(&mut self, at: Nanos, client: u32) -> Result<(), Full> {
        if self.arrivals.len() == self.most {
            return Err(Full);
        }
        self.arrivals.push(Arrival { at, client });
        Ok(())
    }

    /// `count` arrivals, one every `gap`.
    fn steps(&mut self, start: Nanos, gap: Nanos, count: u64, client: u32) -> Result<(), Full> {
        let mut at = start;
        for _ in 0..count {
            self.push(at, client)?;
            at = at.saturating_add(gap);
        }
        Ok(())
    }
}

impl Term {
    fn play(&self, limit: &Limit, played: &mut Played) -> Result<(), Full> {
        let start = self.start;
        match &self.kind {
            Kind::Burst { count } => {
                let client = played.client(ONE)?;
                played.steps(start, 0, *count, client)
            }
            Kind::Every { gap, count } => {
                let client = played.client(ONE)?;
                played.steps(start, *gap, *count, client)
            }
            Kind::Poisson {
                rate,
                duration,
                seed,
            } => poisson(start, rate, *duration, *seed, played),
            Kind::Edge => edge(start, limit, played),
            Kind::Flood => flood(start, limit, played),
            Kind::Players {
                count,
                duration,
                seed,
            } => (1..=*count).try_for_each(|number| {
                let client = played.client(&format!("player {number}"))?;
                player(start, *duration, Random::of(*seed, number), client, played)
            }),
        }
    }
}

/// The client of all terms that have one.
const ONE: &str = "client 1";

fn poisson(
    start: Nanos,
    rate: &Rate,
    duration: Nanos,
    seed: u64,
    played: &mut Played,
) -> Result<(), Full> {
    let client = played.client(ONE)?;
    let mut random = Random::of(seed, 0);
    let mut passed = random.exponential(rate.interval_nanos());
    while passed < duration {
        played.push(start + passed, client)?;
        passed = passed.saturating_add(random.exponential(rate.interval_nanos()));
    }
    Ok(())
}

/// Half an interval before the edge, and at the edge: so close that no ticket comes back
/// in between, and in two windows.
fn edge(start: Nanos, limit: &Limit, played: &mut Played) -> Result<(), Full> {
    let client = played.client(ONE)?;
    let window = limit.window_nanos();
    let before = limit.rate().interval_nanos() / 2;
    let edge = (start + before).div_ceil(window) * window;
    let burst = u64::from(limit.burst().tickets());
    played.steps(edge - before, 0, burst, client)?;
    played.steps(edge, 0, burst, client)
}

fn flood(start: Nanos, limit: &Limit, played: &mut Played) -> Result<(), Full> {
    let interval = limit.rate().interval_nanos();
    let polite_gap = interval * 2;
    let polite_turns = FLOOD_WINDOWS * u64::from(limit.burst().tickets()).div_ceil(2);
    for number in 1..=POLITE {
        let client = played.client(&format!("polite {number}"))?;
        let first = start + polite_gap / POLITE * (number - 1);
        played.steps(first, polite_gap, polite_turns, client)?;
    }
    let client = played.client("greedy")?;
    let turns = FLOOD_WINDOWS * GREEDY_TIMES * u64::from(limit.burst().tickets());
    played.steps(start, interval / GREEDY_TIMES, turns, client)
}

fn player(
    start: Nanos,
    duration: Nanos,
    mut random: Random,
    client: u32,
    played: &mut Played,
) -> Result<(), Full> {
    let mut passed = random.between(0, PLAYERS_COME_WITHIN.min(duration));
    while passed < duration {
        played.push(start + passed, client)?;
        passed += pause(&mut random);
    }
    Ok(())
}

/// From one turn of a player to the next.
fn pause(random: &mut Random) -> Nanos {
    if random.below(QUICK_ONE_IN) == 0 {
        return random.between(QUICK.0, QUICK.1);
    }
    random
        .log_normal(READING_MEDIAN_NANOS, READING_SIGMA)
        .clamp(READING.0, READING.1)
}

#[cfg(test)]
mod tests;
