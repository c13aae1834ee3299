//! What a deed does: a state and an act in, a changed state and a text out.
//!
//! Looking, taking and going are here, using in `deed`, people in `talk`. Every pair of a state and an act has an answer,
//! forged states included, and a deed that fails changes nothing but the count of turns. No text is
//! written here, only chosen.

use super::lexicon::{Noun, Verb};
use super::state::{Spot, State};
use super::texts::{Lang, Text, deeds, places, things};
use super::words::Act;
use super::world::{ITEMS, Place, Sort, Thing};

mod deed;
mod talk;

/// One turn. `said` is the sentence as it was typed, for the case that it is spoken.
pub fn act(state: &mut State, act: &Act, said: &str, lang: Lang) -> String {
    if state.is_ended() {
        return places::AFTER_THE_END.get(lang).to_owned();
    }
    state.turns = state.turns.saturating_add(1);
    match act {
        Act::Look(None | Some(Noun::Around)) => describe(state, lang),
        Act::Look(Some(noun)) => look(state, *noun, lang),
        Act::Take(Some(Noun::Thing(thing))) => take(state, *thing, lang),
        Act::Take(_) => deeds::TAKE_WHAT.get(lang).to_owned(),
        Act::Use(deed, nouns) => deed::use_it(state, *deed, nouns, lang),
        Act::Go(goal) => go(state, *goal, lang),
        Act::Talk(nouns) => talk::talk(state, nouns, lang),
        Act::Name(noun) => name(state, *noun, lang),
        Act::Speak(nouns) => talk::speak(state, nouns, said, lang),
        Act::Carried => carried(state, lang),
        Act::Wait => deeds::WAITED.get(lang).to_owned(),
        Act::Help => talk::help(state, lang),
        Act::Idle(verb) => idle(state, *verb).get(lang).to_owned(),
        Act::Puzzled(_) => deeds::NOT_KNOWN.get(lang).to_owned(),
    }
}

fn idle(state: &State, verb: Verb) -> Text {
    match (verb, state.at) {
        (Verb::Sing, Place::Stage) => deeds::SANG_ON_STAGE,
        (Verb::Sing, _) => deeds::SANG,
        (Verb::Harm, _) => deeds::HARMED,
        (Verb::Eat, _) => deeds::ATE,
        (Verb::Sit, Place::House) => deeds::SAT_IN_HOUSE,
        (Verb::Sit, _) => deeds::SAT,
        (Verb::Jump, _) => deeds::JUMPED,
        _ => deeds::WAITED,
    }
}

/// A thing's name as a sentence can hold it: English wants its article.
fn named(thing: Thing, lang: Lang) -> String {
    let name = thing.name().get(lang);
    match (lang, thing.sort()) {
        (Lang::En, Sort::Item | Sort::Scenery) => format!("the {name}"),
        (Lang::Ja, _) | (Lang::En, Sort::Person) => name.to_owned(),
    }
}

/// What can be seen where one stands.
pub fn describe(state: &State, lang: Lang) -> String {
    let place = match state.at {
        Place::Wicket => places::WICKET,
        Place::House => places::HOUSE,
        Place::Gallery => places::GALLERY,
        Place::Stage => places::STAGE,
        Place::Dressing => places::DRESSING,
        Place::Naraku => places::NARAKU,
    };
    tell(state, place, lang)
}

/// What can be seen on coming back: the walls need no second description.
fn describe_again(state: &State, lang: Lang) -> String {
    let place = match state.at {
        Place::Wicket if state.holds(Thing::Ticket) => places::WICKET_WITH_TICKET,
        Place::Wicket => places::WICKET_AGAIN,
        Place::House => places::HOUSE_AGAIN,
        Place::Gallery => places::GALLERY_AGAIN,
        Place::Stage => places::STAGE_AGAIN,
        Place::Dressing => places::DRESSING_AGAIN,
        Place::Naraku => places::NARAKU_AGAIN,
    };
    tell(state, place, lang)
}

/// The place, then whoever and whatever is there for the moment.
fn tell(state: &State, place: Text, lang: Lang) -> String {
    let mut text = place.get(lang).to_owned();
    let mut add = |more: &str| {
        text.push_str(if lang == Lang::En { " " } else { "" });
        text.push_str(more);
    };
    match (state.at, state.is_played()) {
        (Place::Stage, false) => add(places::CURTAIN_OPEN.get(lang)),
        (Place::Stage, true) => add(places::CURTAIN_CLOSED.get(lang)),
        (Place::House, true) => add(places::GIRL_IN_HOUSE.get(lang)),
        (Place::Naraku, false) => add(places::GIRL_IN_NARAKU.get(lang)),
        (Place::Naraku, true) => add(places::NARAKU_EMPTY.get(lang)),
        _ => {}
    }
    for item in state.lying_here() {
        match lying(item, state.at) {
            Some(text) => add(text.get(lang)),
            None => add(&places::LIES_HERE.with(lang, &named(item, lang))),
        }
    }
    text
}

/// How a thing lies in the place where the play puts it.
fn lying(item: Thing, place: Place) -> Option<Text> {
    match (item, place) {
        (Thing::Lantern, Place::Wicket) => Some(places::LANTERN_AT_WICKET),
        (Thing::Lantern, Place::Stage) => Some(places::LANTERN_ON_STAGE),
        (Thing::Candle, Place::Dressing) => Some(places::CANDLE_BY_MIRROR),
        (Thing::Key, Place::Gallery) => Some(places::KEY_IN_DRAWER),
        (Thing::Clappers, Place::Dressing) => Some(places::CLAPPERS_IN_BOX),
        (Thing::Ticket, Place::House) => Some(places::TICKET_IN_HOUSE),
        _ => None,
    }
}

fn look(state: &State, noun: Noun, lang: Lang) -> String {
    match noun {
        Noun::Thing(thing) if state.is_near(thing) => closely(state, thing).get(lang).to_owned(),
        Noun::Thing(Thing::Candle) if candle_is_in(state) => {
            closely(state, Thing::Lantern).get(lang).to_owned()
        }
        Noun::Thing(thing) => deeds::NOT_HERE.with(lang, &named(thing, lang)),
        Noun::Place(place) if place == state.at => describe(state, lang),
        Noun::Place(Place::Stage) if state.at == Place::House || state.at == Place::Gallery => {
            things::STAGE_FROM_AFAR.get(lang).to_owned()
        }
        Noun::Place(place) => afar(state, place, lang),
        Noun::Way(way) => match state.at.towards(way) {
            Some(place) => afar(state, place, lang),
            None => deeds::NO_WAY.get(lang).to_owned(),
        },
        Noun::Fire | Noun::Theatre | Noun::Who | Noun::Around => describe(state, lang),
        Noun::Back | Noun::Ladder => match destination(state, noun) {
            Some(place) => afar(state, place, lang),
            None => describe(state, lang),
        },
    }
}

fn afar(state: &State, place: Place, lang: Lang) -> String {
    let text = match (state.at.leads_to(place), place) {
        (true, Place::Naraku) => things::NARAKU_FROM_AFAR,
        (true, _) => things::PLACE_FROM_AFAR,
        (false, _) => things::OUT_OF_SIGHT,
    };
    text.with(lang, place.name().get(lang))
}

/// The candle stands in the lantern, and the lantern is at hand.
fn candle_is_in(state: &State) -> bool {
    state.spot(Thing::Candle) == Spot::Gone && state.is_near(Thing::Lantern)
}

fn closely(state: &State, thing: Thing) -> Text {
    let played = state.is_played();
    match thing {
        Thing::Lantern if state.lit => things::LANTERN_LIT,
        Thing::Lantern if state.spot(Thing::Candle) == Spot::Gone => things::LANTERN_READY,
        Thing::Lantern => things::LANTERN,
        Thing::Candle => things::CANDLE,
        Thing::Key => things::KEY,
        Thing::Clappers => things::CLAPPERS,
        Thing::Ticket => things::TICKET,
        Thing::Jinbei => things::JINBEI,
        Thing::Girl if played => things::GIRL_IN_HOUSE,
        Thing::Girl => things::GIRL,
        Thing::Brazier => things::BRAZIER,
        Thing::Board if state.is_ended() => things::BOARD_FULL,
        Thing::Board => things::BOARD,
        Thing::Rain => things::RAIN,
        Thing::Door => things::DOOR,
        Thing::Seats => things::SEATS,
        Thing::Hanamichi => things::HANAMICHI,
        Thing::Tray if state.spot(Thing::Key) == Spot::Hidden => things::TRAY,
        Thing::Tray => things::TRAY_OPEN,
        Thing::Rail => things::RAIL,
        Thing::Curtain if played => things::CURTAIN_CLOSED,
        Thing::Curtain => things::CURTAIN,
        Thing::Trap => things::TRAP,
        Thing::Mirror => things::MIRROR,
        Thing::Box if state.spot(Thing::Clappers) == Spot::Hidden => things::BOX,
        Thing::Box => things::BOX_OPEN,
        Thing::Shaft => things::SHAFT,
    }
}

fn take(state: &mut State, thing: Thing, lang: Lang) -> String {
    if state.holds(thing) {
        return deeds::HAVE_ALREADY.get(lang).to_owned();
    }
    if thing == Thing::Candle && candle_is_in(state) {
        return deeds::IN_LANTERN_ALREADY.get(lang).to_owned();
    }
    if thing == Thing::Ticket && state.person() == Some(Thing::Girl) && !state.is_played() {
        return talk::talk(state, &[Noun::Thing(Thing::Ticket)], lang);
    }
    if !state.is_near(thing) {
        return deeds::NOT_HERE.with(lang, &named(thing, lang));
    }
    let text = match thing {
        Thing::Lantern if state.at == Place::Stage => deeds::TAKE_LANTERN_BACK,
        Thing::Lantern if state.at == Place::Wicket => deeds::TAKE_LANTERN,
        Thing::Candle => deeds::TAKE_CANDLE,
        Thing::Key => deeds::TAKE_KEY,
        Thing::Clappers => deeds::TAKE_CLAPPERS,
        Thing::Ticket if state.at == Place::House => deeds::TAKE_TICKET,
        Thing::Lantern | Thing::Ticket => deeds::TAKE_FORGED,
        Thing::Jinbei | Thing::Girl => deeds::TAKE_PERSON,
        Thing::Brazier => deeds::TAKE_BRAZIER,
        Thing::Board => deeds::TAKE_BOARD,
        Thing::Seats => deeds::TAKE_CUSHION,
        Thing::Box if state.spot(Thing::Clappers) == Spot::Hidden => deeds::TAKE_BOX,
        Thing::Tray if state.spot(Thing::Key) == Spot::Hidden => deeds::TAKE_TRAY,
        Thing::Rain
        | Thing::Door
        | Thing::Hanamichi
        | Thing::Tray
        | Thing::Rail
        | Thing::Curtain
        | Thing::Trap
        | Thing::Mirror
        | Thing::Box
        | Thing::Shaft => deeds::TAKE_FIXED,
    };
    if thing.sort() == Sort::Item {
        state.put(thing, Spot::Held);
    }
    text.with(lang, &named(thing, lang))
}

fn carried(state: &State, lang: Lang) -> String {
    let names: Vec<String> = state.carried().map(|item| named(item, lang)).collect();
    if names.is_empty() {
        return deeds::EMPTY_HANDED.get(lang).to_owned();
    }
    let comma = if lang == Lang::Ja { "、" } else { ", " };
    deeds::CARRYING.with(lang, &names.join(comma))
}

/// A name and nothing else: whatever is most natural with what it names.
fn name(state: &mut State, noun: Noun, lang: Lang) -> String {
    match noun {
        Noun::Thing(person) if person.sort() == Sort::Person => talk::talk(state, &[noun], lang),
        Noun::Thing(_) | Noun::Around => look(state, noun, lang),
        Noun::Place(place) if place == state.at => describe(state, lang),
        Noun::Place(_) | Noun::Way(_) | Noun::Back | Noun::Ladder => go(state, Some(noun), lang),
        Noun::Fire | Noun::Theatre | Noun::Who => talk::talk(state, &[noun], lang),
    }
}

/// Where a word leads from here.
fn destination(state: &State, noun: Noun) -> Option<Place> {
    match noun {
        Noun::Place(place) => Some(place),
        Noun::Way(way) => state.at.towards(way),
        Noun::Back => state.at.back(),
        Noun::Ladder => match state.at {
            Place::House => Some(Place::Gallery),
            Place::Gallery => Some(Place::House),
            Place::Stage => Some(Place::Naraku),
            Place::Naraku => Some(Place::Stage),
            Place::Wicket | Place::Dressing => None,
        },
        Noun::Thing(Thing::Door) => match state.at {
            Place::Wicket => Some(Place::House),
            _ => Some(Place::Wicket),
        },
        Noun::Thing(Thing::Trap) => Some(Place::Naraku),
        Noun::Thing(Thing::Hanamichi) if state.at == Place::House => Some(Place::Stage),
        Noun::Thing(Thing::Hanamichi) => Some(Place::House),
        Noun::Theatre if state.at == Place::Wicket => Some(Place::House),
        Noun::Thing(_) | Noun::Around | Noun::Fire | Noun::Theatre | Noun::Who => None,
    }
}

fn go(state: &mut State, goal: Option<Noun>, lang: Lang) -> String {
    let place = match (goal, state.at.exits()) {
        (None, &[(_, only)]) => only,
        (None, _) => return deeds::GO_WHERE.get(lang).to_owned(),
        // "Through the wicket", said in front of it.
        (Some(Noun::Place(Place::Wicket)), _) if state.at == Place::Wicket => Place::House,
        (Some(Noun::Back | Noun::Way(super::world::Direction::South)), _)
            if state.at == Place::Wicket =>
        {
            return deeds::NOT_OUT_YET.get(lang).to_owned();
        }
        (Some(Noun::Thing(thing)), _) if thing.sort() == Sort::Person => {
            return talk::talk(state, &[Noun::Thing(thing)], lang);
        }
        (Some(Noun::Thing(thing)), _) if ITEMS.contains(&thing) => {
            return take(state, thing, lang);
        }
        (Some(Noun::Thing(Thing::Rain)), _) => {
            return deeds::NOT_OUT_YET.get(lang).to_owned();
        }
        (Some(noun), _) => match destination(state, noun) {
            Some(place) => place,
            None => return deeds::NO_WAY.get(lang).to_owned(),
        },
    };
    if place == state.at {
        return deeds::HERE_ALREADY.get(lang).to_owned();
    }
    if !state.at.leads_to(place) {
        let next = state.at.step_to(place).unwrap_or(Place::House);
        return deeds::NEXT_STEP.with(lang, next.name().get(lang));
    }
    if place == Place::Naraku && !state.has_light() {
        return deeds::TOO_DARK.get(lang).to_owned();
    }
    state.at = place;
    if state.see(place) {
        return describe_again(state, lang);
    }
    let onwards = match place {
        Place::Naraku => deeds::DOWN_WITH_LIGHT,
        Place::House => deeds::GO_HOUSE_FIRST,
        _ => return describe(state, lang),
    };
    format!("{}\n\n{}", onwards.get(lang), describe(state, lang))
}
