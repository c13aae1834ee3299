//! The built-in engine: one line of JSON in, one line of JSON out, nothing kept in between.
//!
//! [`reply`] is pure and total: whatever bytes come in, one line of JSON goes out, without a line
//! break and without a panic. A game's whole state is in the request and in the reply, so any copy
//! of the engine can serve any turn. Lines end at `\n` and nowhere else.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use super::rules;
use super::state::State;
use super::texts::{Lang, Text, deeds, places};
use super::words::{self, Act};
use super::world::{Sort, Thing};

/// Answers every line of `input` with one line on `output`, flushed at once, until end of file.
///
/// A last line without a line end is answered too. Fails only as reading or writing fails.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let mut answer = reply(line.strip_suffix(b"\n").unwrap_or(&line));
        answer.push('\n');
        output.write_all(answer.as_bytes())?;
        output.flush()?;
    }
}

/// The reply to one line: one line of JSON, without its line end.
///
/// Fields of a good reply: `ok` (true), `text`, `place` (`id`, `name`), `exits` (`id`, `name`,
/// `direction`, `direction_name`), `things` and `carried` (`id`, `name`, `kind`, `can`), `ended`, `state`. Of a bad one:
/// `ok` (false) and `error`, a sentence in the language asked for.
pub fn reply(line: &[u8]) -> String {
    let Ok(request @ Value::Object(_)) = serde_json::from_slice(line) else {
        return refuse(deeds::BAD_REQUEST, Lang::Ja);
    };
    let lang = match request.get("lang").and_then(Value::as_str) {
        Some("en") => Lang::En,
        _ => Lang::Ja,
    };
    let input = match request.get("input") {
        None | Some(Value::Null) => "",
        Some(Value::String(input)) => input,
        Some(_) => return refuse(deeds::BAD_REQUEST, lang),
    };
    let act = match request.get("kind").and_then(Value::as_str) {
        Some("new") => {
            let state = State::new();
            return tell(places::OPENING.get(lang), &state, lang);
        }
        Some("look") => words::look(input),
        Some("move") => words::go(input),
        Some("take") => words::take(input),
        Some("use") => words::use_it(input),
        Some("say") => words::sentence(input),
        _ => return refuse(deeds::BAD_KIND, lang),
    };
    let Some(mut state) = request.get("state").and_then(State::from_json) else {
        return refuse(deeds::BAD_STATE, lang);
    };
    let before = state;
    let text = rules::act(&mut state, &act, input, lang);
    if matches!(act, Act::Look(None)) {
        // Looking around is free: the page does it on its own when the language changes.
        state.turns = before.turns;
    }
    tell(&text, &state, lang)
}

fn refuse(error: Text, lang: Lang) -> String {
    json!({"ok": false, "error": error.get(lang)}).to_string()
}

fn tell(text: &str, state: &State, lang: Lang) -> String {
    let ended = state.is_ended();
    let exits: Vec<Value> = state
        .at
        .exits()
        .iter()
        .map(|(direction, place)| {
            json!({
                "id": place.id(),
                "name": place.name().get(lang),
                "direction": direction.id(),
                "direction_name": direction.name().get(lang),
            })
        })
        .collect();
    let scenery = state.at.scenery().iter().copied();
    let things: Vec<Value> = state
        .person()
        .into_iter()
        .chain(state.lying_here())
        .chain(scenery)
        .map(|thing| show(thing, state, lang))
        .collect();
    let carried: Vec<Value> = state
        .carried()
        .map(|thing| show(thing, state, lang))
        .collect();
    json!({
        "ok": true,
        "text": text,
        "place": {"id": state.at.id(), "name": state.at.name().get(lang)},
        "exits": if ended { Vec::new() } else { exits },
        "things": if ended { Vec::new() } else { things },
        "carried": if ended { Vec::new() } else { carried },
        "ended": ended,
        "state": state.to_json(),
    })
    .to_string()
}

/// One thing as the page lists it, with the kinds of turn that make sense with it.
fn show(thing: Thing, state: &State, lang: Lang) -> Value {
    let held = state.holds(thing);
    let name = if thing == Thing::Lantern && state.lit {
        super::texts::names::LANTERN_LIT
    } else {
        thing.name()
    };
    let (kind, can): (&str, &[&str]) = match thing.sort() {
        Sort::Person => ("person", &["look", "say"]),
        Sort::Item if held => ("item", &["look", "use"]),
        Sort::Item => ("item", &["look", "take"]),
        Sort::Scenery if thing.is_handy() => ("scenery", &["look", "use"]),
        Sort::Scenery => ("scenery", &["look"]),
    };
    json!({"id": thing.id(), "name": name.get(lang), "kind": kind, "can": can})
}
