//! The puzzle's own half: what the things do, alone and together.
//!
//! Everything that can be tried has an answer of its own where a player would expect one. What
//! cannot be done changes nothing.

use super::{candle_is_in, go, named, take, talk};
use crate::demo::lexicon::Noun;
use crate::demo::state::{Spot, State};
use crate::demo::texts::{Lang, Text, deeds, places, things};
use crate::demo::words::Deed;
use crate::demo::world::{Place, Sort, Thing};

/// Does `deed` with the nouns named, or says why not.
pub fn use_it(state: &mut State, deed: Deed, nouns: &[Noun], lang: Lang) -> String {
    let has = |thing: Thing| nouns.contains(&Noun::Thing(thing));
    let first = nouns.iter().find_map(|noun| match noun {
        Noun::Thing(thing) => Some(*thing),
        _ => None,
    });
    if deed == Deed::Give
        && state.holds(Thing::Ticket)
        && first.is_none_or(|first| first.sort() == Sort::Person)
    {
        return ticket(state, has(Thing::Girl), lang);
    }
    let Some(first) = first else {
        return match (implied(state, deed), nouns.first()) {
            (Some(thing), _) => use_it(state, deed, &[Noun::Thing(thing)], lang),
            (None, Some(_)) if deed == Deed::Light => deeds::HARMED.get(lang).to_owned(),
            (None, Some(&noun)) if noun != Noun::Around => go(state, Some(noun), lang),
            (None, _) => deeds::USE_WHAT.get(lang).to_owned(),
        };
    };
    // To unhook a thing, or unfasten it, is to take it.
    if deed == Deed::Open && state.spot(first) == Spot::At(state.at) {
        return take(state, first, lang);
    }
    // Where somebody is, giving and showing is between two.
    let receiver = [Thing::Jinbei, Thing::Girl]
        .into_iter()
        .find(|&person| has(person));
    let gift = first.sort() == Sort::Item
        || nouns
            .iter()
            .any(|noun| matches!(noun, Noun::Thing(thing) if thing.sort() == Sort::Item));
    if let Some(person) = receiver
        && !gift
    {
        return talk::talk(state, &[Noun::Thing(person)], lang);
    }
    if has(Thing::Ticket) {
        return ticket(state, has(Thing::Girl), lang);
    }
    if let Some(missing) = nouns.iter().find_map(|noun| absent(state, *noun)) {
        let text = if state.is_near(missing) {
            deeds::NOT_HELD
        } else {
            deeds::NOT_HERE
        };
        return text.with(lang, &named(missing, lang));
    }
    if deed == Deed::Give || receiver.is_some() {
        let text = if state.person().is_some() {
            deeds::GIFT_REFUSED
        } else {
            deeds::KEEP_IT
        };
        return text.with(lang, &named(first, lang));
    }
    if has(Thing::Box) || has(Thing::Key) && !has(Thing::Tray) {
        return clapper_box(state, has(Thing::Box), lang);
    }
    if has(Thing::Clappers) {
        return match deed {
            Deed::Use | Deed::Strike => clappers(state, lang),
            _ => deeds::KEEP_IT.with(lang, &named(Thing::Clappers, lang)),
        };
    }
    if has(Thing::Candle) || has(Thing::Lantern) || has(Thing::Brazier) {
        return light(state, deed, nouns, lang);
    }
    match first {
        Thing::Tray => tray(state).get(lang).to_owned(),
        Thing::Curtain if state.is_played() => things::CURTAIN_CLOSED.get(lang).to_owned(),
        Thing::Curtain => deeds::CURTAIN_PULLED.get(lang).to_owned(),
        Thing::Door | Thing::Trap => go(state, Some(Noun::Thing(first)), lang),
        _ => deeds::NOTHING_COMES.with(lang, &named(first, lang)),
    }
}

/// What is meant where nothing was named: the one thing with which the deed makes sense.
fn implied(state: &State, deed: Deed) -> Option<Thing> {
    let thing = match (deed, state.at) {
        (Deed::Open, Place::Gallery) => Thing::Tray,
        (Deed::Open, Place::Dressing) => Thing::Box,
        (Deed::Strike, _) => Thing::Clappers,
        (Deed::Light, _) => Thing::Lantern,
        _ => return None,
    };
    (thing.sort() == Sort::Scenery || state.holds(thing)).then_some(thing)
}

/// A thing that was named and cannot be used: an item out of hand, or anything out of sight.
fn absent(state: &State, noun: Noun) -> Option<Thing> {
    match noun {
        Noun::Thing(Thing::Candle) if candle_is_in(state) => None,
        Noun::Thing(Thing::Lantern)
            if state.is_near(Thing::Lantern) && state.at == Place::Stage =>
        {
            None
        }
        Noun::Thing(thing @ (Thing::Key | Thing::Clappers | Thing::Candle | Thing::Lantern)) => {
            (!state.holds(thing)).then_some(thing)
        }
        Noun::Thing(Thing::Door) => None,
        Noun::Thing(thing) => (!state.is_near(thing)).then_some(thing),
        _ => None,
    }
}

fn ticket(state: &mut State, to_girl: bool, lang: Lang) -> String {
    if !state.holds(Thing::Ticket) {
        let text = if state.is_near(Thing::Ticket) {
            deeds::NOT_HELD
        } else {
            deeds::NOT_HERE
        };
        return text.with(lang, &named(Thing::Ticket, lang));
    }
    if state.at == Place::Wicket && !to_girl {
        state.put(Thing::Ticket, Spot::Gone);
        return places::ENDING.get(lang).to_owned();
    }
    let text = match state.person() {
        Some(Thing::Girl) => deeds::TICKET_TO_GIRL,
        _ => deeds::TICKET_NOT_HERE,
    };
    text.get(lang).to_owned()
}

fn tray(state: &mut State) -> Text {
    if state.spot(Thing::Key) == Spot::Hidden {
        state.put(Thing::Key, Spot::At(Place::Gallery));
        deeds::TRAY_OPENED
    } else {
        deeds::TRAY_EMPTY
    }
}

fn clapper_box(state: &mut State, named_box: bool, lang: Lang) -> String {
    let text = if state.spot(Thing::Clappers) != Spot::Hidden && named_box {
        deeds::BOX_OPEN_ALREADY
    } else if state.at != Place::Dressing || state.spot(Thing::Clappers) != Spot::Hidden {
        deeds::KEY_FITS_NOTHING
    } else if state.holds(Thing::Key) {
        state.put(Thing::Key, Spot::Gone);
        state.put(Thing::Clappers, Spot::At(Place::Dressing));
        deeds::BOX_OPENED
    } else {
        deeds::BOX_LOCKED
    };
    text.get(lang).to_owned()
}

fn light(state: &mut State, deed: Deed, nouns: &[Noun], lang: Lang) -> String {
    let has = |thing: Thing| nouns.contains(&Noun::Thing(thing));
    let lantern =
        state.is_near(Thing::Lantern) && (state.holds(Thing::Lantern) || state.at == Place::Stage);
    if state.lit && lantern {
        return burning(state, deed).with(lang, &named(Thing::Lantern, lang));
    }
    if !state.holds(Thing::Lantern) {
        let text = if has(Thing::Candle) {
            deeds::CANDLE_NEEDS_LANTERN
        } else {
            deeds::BRAZIER_WITHOUT_LANTERN
        };
        return text.get(lang).to_owned();
    }
    let mut told = Vec::new();
    if state.holds(Thing::Candle) {
        state.put(Thing::Candle, Spot::Gone);
        told.push(deeds::CANDLE_INTO_LANTERN);
    }
    let ready = state.spot(Thing::Candle) == Spot::Gone;
    let wants_fire = deed == Deed::Light || told.is_empty() || has(Thing::Brazier);
    match (ready, state.at) {
        (false, _) => told.push(deeds::LANTERN_NEEDS_CANDLE),
        (true, Place::Wicket) => {
            state.lit = true;
            told.push(deeds::LANTERN_KINDLED);
        }
        (true, _) if wants_fire => told.push(deeds::LANTERN_NEEDS_FIRE),
        (true, _) => {}
    }
    let told: Vec<&str> = told.into_iter().map(|text| text.get(lang)).collect();
    told.join("\n\n")
}

/// What a burning lantern is good for where one stands.
fn burning(state: &mut State, deed: Deed) -> Text {
    if state.at != Place::Stage {
        return match deed {
            Deed::Put => deeds::LANTERN_PUT_ELSEWHERE,
            _ => deeds::LANTERN_BURNS_ALREADY,
        };
    }
    if !state.holds(Thing::Lantern) {
        return deeds::LANTERN_PLACED_ALREADY;
    }
    if state.met && deed != Deed::Light || deed == Deed::Put {
        state.put(Thing::Lantern, Spot::At(Place::Stage));
        return deeds::LANTERN_PLACED;
    }
    deeds::LANTERN_OVER_HOLE
}

fn clappers(state: &mut State, lang: Lang) -> String {
    let set = state.lit && state.spot(Thing::Lantern) == Spot::At(Place::Stage);
    let text = match state.at {
        Place::Wicket => deeds::CLAPPERS_WICKET,
        Place::House | Place::Gallery => deeds::CLAPPERS_FRONT,
        Place::Dressing => deeds::CLAPPERS_DRESSING,
        Place::Naraku if state.is_played() => deeds::CLAPPERS_EMPTY_DARK,
        Place::Naraku => deeds::CLAPPERS_NARAKU,
        Place::Stage if state.is_played() => deeds::CLAPPERS_AFTER,
        Place::Stage if !state.met => deeds::CLAPPERS_NOBODY_KNOWN,
        Place::Stage if !set => deeds::CLAPPERS_IN_THE_DARK,
        Place::Stage => {
            state.put(Thing::Ticket, Spot::At(Place::House));
            places::FINALE
        }
    };
    text.get(lang).to_owned()
}
