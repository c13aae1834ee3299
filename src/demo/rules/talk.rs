//! What the keeper and the girl answer, and what becomes of a sentence said aloud.
//!
//! The keeper's answers are the hints: he always knows the next step that is still to be taken,
//! and never the one after it.

use super::named;
use crate::demo::lexicon::Noun;
use crate::demo::state::{Spot, State};
use crate::demo::texts::{Lang, Text, deeds, people};
use crate::demo::words;
use crate::demo::world::{Place, Thing};

/// Talks to whoever is here, about `nouns` if any of them is something to talk about.
pub fn talk(state: &mut State, nouns: &[Noun], lang: Lang) -> String {
    let called = nouns.iter().find_map(|noun| match noun {
        Noun::Thing(person @ (Thing::Jinbei | Thing::Girl)) => Some(*person),
        _ => None,
    });
    let Some(person) = state.person() else {
        let text = called.map(|person| deeds::NOT_HERE.with(lang, &named(person, lang)));
        return text.unwrap_or_else(|| people::TALK_TO_WHOM.get(lang).to_owned());
    };
    // Of somebody absent one can talk to whoever is here.
    let text = nouns.iter().find_map(|&noun| topic(state, person, noun));
    text.unwrap_or_else(|| opening(state, person))
        .get(lang)
        .to_owned()
}

/// A sentence that is no command: said aloud, and answered if somebody hears it.
pub fn speak(state: &mut State, nouns: &[Noun], said: &str, lang: Lang) -> String {
    let said = spoken(said);
    if said.is_empty() {
        return deeds::NOTHING_TO_HEAR.get(lang).to_owned();
    }
    let Some(person) = state.person() else {
        return people::SPOKEN_ALONE.with(lang, &said);
    };
    if let Some(text) = nouns.iter().find_map(|&noun| topic(state, person, noun)) {
        return text.get(lang).to_owned();
    }
    let text = match (person, is_greeting(&said)) {
        (Thing::Girl, true) => people::GREET_GIRL,
        (Thing::Girl, false) => people::SPOKEN_TO_GIRL,
        (_, true) => people::GREET_JINBEI,
        (_, false) => people::SPOKEN_TO_JINBEI,
    };
    if person == Thing::Girl && !state.met && !state.is_played() {
        return opening(state, person).get(lang).to_owned();
    }
    text.with(lang, &said)
}

/// Help asked of nobody in particular.
pub fn help(state: &mut State, lang: Lang) -> String {
    match state.person() {
        Some(person) => opening(state, person).get(lang).to_owned(),
        None => format!(
            "{}\n\n{}",
            deeds::HELP.get(lang),
            people::HINT_ELSEWHERE.get(lang)
        ),
    }
}

/// The sentence as it can be quoted: one line, no controls, none of its own quotation marks.
fn spoken(said: &str) -> String {
    let line: String = said
        .chars()
        .map(|c| {
            if c.is_control() || c.is_whitespace() {
                ' '
            } else {
                c
            }
        })
        .filter(|c| !matches!(c, '「' | '」' | '“' | '”' | '"' | '{' | '}'))
        .take(200)
        .collect();
    let line = line.trim();
    let verb = line
        .get(..4)
        .filter(|verb| verb.eq_ignore_ascii_case("say "));
    let line = if verb.is_some() {
        line.get(4..).unwrap_or_default()
    } else {
        line
    };
    line.trim().to_owned()
}

fn is_greeting(said: &str) -> bool {
    const JAPANESE: [&str; 7] = [
        "こんばん",
        "今晩は",
        "こんにち",
        "今日は",
        "はじめまし",
        "初めまし",
        "おじゃま",
    ];
    const ENGLISH: [&str; 5] = ["hello", "hi", "hey", "evening", "greetings"];
    let folded = words::fold(said);
    let words: Vec<&str> = folded.split(' ').collect();
    JAPANESE.iter().any(|greeting| folded.contains(greeting))
        || ENGLISH.iter().any(|greeting| words.contains(greeting))
}

/// What the person says of a noun, if there is anything to say.
fn topic(state: &State, person: Thing, noun: Noun) -> Option<Text> {
    match (person, noun) {
        (Thing::Jinbei, Noun::Thing(Thing::Ticket | Thing::Board)) => {
            Some(if state.holds(Thing::Ticket) {
                people::HINT_GIVE
            } else {
                people::JINBEI_ON_TICKET
            })
        }
        (Thing::Jinbei, Noun::Thing(Thing::Candle))
            if state.spot(Thing::Candle) == Spot::At(Place::Dressing) =>
        {
            Some(people::HINT_CANDLE)
        }
        (Thing::Jinbei, Noun::Thing(Thing::Key)) if state.spot(Thing::Key) == Spot::Hidden => {
            Some(people::HINT_KEY)
        }
        (Thing::Jinbei, Noun::Fire | Noun::Thing(Thing::Brazier)) => Some(people::JINBEI_ON_FIRE),
        (Thing::Jinbei, Noun::Thing(Thing::Girl)) => Some(if state.met {
            people::JINBEI_ON_GIRL
        } else {
            people::JINBEI_ON_GIRL_UNMET
        }),
        (Thing::Jinbei, Noun::Thing(Thing::Clappers)) => Some(
            if state.met && state.spot(Thing::Clappers) == Spot::Hidden {
                hint(state)
            } else {
                people::JINBEI_ON_CLAPPERS
            },
        ),
        (Thing::Jinbei, Noun::Theatre) => Some(people::JINBEI_ON_THEATRE),
        (Thing::Jinbei, Noun::Who | Noun::Place(Place::Wicket)) => Some(people::JINBEI_ON_HIMSELF),
        (Thing::Girl, Noun::Thing(Thing::Jinbei)) => Some(people::GIRL_ON_JINBEI),
        (Thing::Girl, Noun::Who) => {
            (state.met || state.is_played()).then_some(people::GIRL_ON_HERSELF)
        }
        (Thing::Girl, Noun::Fire) => Some(people::GIRL_ON_FIRE),
        (Thing::Girl, Noun::Thing(Thing::Ticket)) if !state.is_played() => {
            state.met.then_some(people::GIRL_ON_TICKET)
        }
        _ => None,
    }
}

fn opening(state: &mut State, person: Thing) -> Text {
    if person == Thing::Jinbei {
        return hint(state);
    }
    if state.is_played() {
        let asked = state.holds(Thing::Ticket);
        return if asked {
            people::GIRL_WAITS
        } else {
            people::GIRL_IN_HOUSE
        };
    }
    if !state.met {
        state.met = true;
        return people::GIRL_FIRST;
    }
    if state.holds(Thing::Clappers) {
        people::GIRL_HAS_CLAPPERS
    } else {
        people::GIRL_AGAIN
    }
}

/// The next step that is still to be taken.
fn hint(state: &State) -> Text {
    let lantern = state.spot(Thing::Lantern);
    if state.holds(Thing::Ticket) {
        people::HINT_GIVE
    } else if state.is_played() {
        people::HINT_TICKET
    } else if lantern == Spot::At(Place::Wicket) {
        people::HINT_LANTERN
    } else if !state.lit && !matches!(state.spot(Thing::Candle), Spot::Held | Spot::Gone) {
        people::HINT_CANDLE
    } else if !state.lit {
        people::HINT_FIRE
    } else if !state.met {
        people::HINT_NARAKU
    } else {
        match (state.spot(Thing::Clappers), state.spot(Thing::Key)) {
            (Spot::Hidden, Spot::Held) => people::HINT_BOX,
            (Spot::Hidden, _) => people::HINT_KEY,
            (Spot::Held, _) if lantern == Spot::At(Place::Stage) => people::HINT_STRIKE,
            (Spot::Held, _) => people::HINT_FOOTLIGHT,
            _ => people::HINT_CLAPPERS,
        }
    }
}
