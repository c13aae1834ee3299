//! Understands sentences: from what was typed, in either language, to one `Act`.
//!
//! Widths, kana, case, articles and politeness are folded away first; then a Japanese sentence is
//! read from its last verb, an English one from its first. A sentence that is no command is speech,
//! never an error. Total: any string has a meaning, and none may panic. Which words mean what is in
//! `lexicon`; whether a deed succeeds is not known here.

use super::lexicon::{self, GAP, Noun, Verb};
use super::world::Sort;

/// What is being done with a thing, where it matters for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Use,
    Open,
    Light,
    Strike,
    Put,
    Give,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// At a noun, or all around.
    Look(Option<Noun>),
    Take(Option<Noun>),
    /// With all the nouns named, in the order in which they were named.
    Use(Deed, Vec<Noun>),
    Go(Option<Noun>),
    /// To whom, and about what.
    Talk(Vec<Noun>),
    /// A noun and no verb.
    Name(Noun),
    Speak(Vec<Noun>),
    Carried,
    Wait,
    Help,
    /// Something that has an answer and changes nothing.
    Idle(Verb),
    /// A verb, and an object that is in no lexicon.
    Puzzled(Verb),
}

/// A typed sentence whose kind is not told.
pub fn sentence(input: &str) -> Act {
    let said = Said::new(input);
    let Said {
        verb,
        nouns,
        object,
        rest,
    } = said;
    match verb {
        Some(verb) => command(verb, nouns, object, rest),
        None => match nouns.as_slice() {
            [noun] if !rest => Act::Name(*noun),
            _ => Act::Speak(nouns),
        },
    }
}

/// What `kind: look` means.
pub fn look(input: &str) -> Act {
    with_kind(Verb::Look, input)
}

/// What `kind: take` means.
pub fn take(input: &str) -> Act {
    with_kind(Verb::Take, input)
}

/// What `kind: move` means.
pub fn go(input: &str) -> Act {
    with_kind(Verb::Go, input)
}

/// What `kind: use` means; the sentence may tell more exactly what is done.
pub fn use_it(input: &str) -> Act {
    let said = Said::new(input);
    let verb = match said.verb {
        Some(verb @ (Verb::Open | Verb::Light | Verb::Strike | Verb::Put | Verb::Give)) => verb,
        _ => Verb::Use,
    };
    command(verb, said.nouns, said.object, said.rest)
}

fn with_kind(verb: Verb, input: &str) -> Act {
    let said = Said::new(input);
    let rest = said.rest && said.verb != Some(verb);
    command(verb, said.nouns, said.object, rest)
}

fn command(verb: Verb, nouns: Vec<Noun>, object: Option<Noun>, rest: bool) -> Act {
    let first = object.or_else(|| nouns.first().copied());
    let deed = match verb {
        Verb::Look if nouns.is_empty() && rest => return Act::Puzzled(verb),
        Verb::Look => return Act::Look(first),
        // "Take it along": in Japanese a going with a thing is a taking.
        Verb::Take => return Act::Take(first),
        Verb::Go => {
            let goal = nouns
                .iter()
                .rev()
                .find(|noun| !matches!(noun, Noun::Thing(_)));
            return match (goal, first) {
                (Some(&goal), _) => Act::Go(Some(goal)),
                (None, goal) => Act::Go(goal),
            };
        }
        Verb::Leave => match first {
            Some(Noun::Thing(item)) if item.sort() == Sort::Item => Deed::Put,
            first => return Act::Go(Some(first.unwrap_or(Noun::Back))),
        },
        Verb::Sing | Verb::Harm | Verb::Eat | Verb::Sit | Verb::Jump => return Act::Idle(verb),
        Verb::Say => return Act::Speak(nouns),
        Verb::Talk => return Act::Talk(nouns),
        Verb::Carried => return Act::Carried,
        Verb::Wait => return Act::Wait,
        Verb::Help => return Act::Help,
        Verb::Use => Deed::Use,
        Verb::Open => Deed::Open,
        Verb::Light => Deed::Light,
        Verb::Strike => Deed::Strike,
        Verb::Put => Deed::Put,
        Verb::Give => Deed::Give,
    };
    if nouns.is_empty() && rest {
        return Act::Puzzled(verb);
    }
    Act::Use(deed, nouns)
}

/// What was heard in a sentence.
#[derive(Debug, Default)]
struct Said {
    verb: Option<Verb>,
    nouns: Vec<Noun>,
    /// The noun marked as the object, where the language marks it.
    object: Option<Noun>,
    /// There were further words that are in no lexicon.
    rest: bool,
}

impl Said {
    fn new(input: &str) -> Self {
        let folded = fold(input);
        if folded.chars().any(is_japanese) {
            japanese(&folded)
        } else {
            english(&folded)
        }
    }
}

fn is_japanese(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{4e00}'..='\u{9fff}' | 'ー')
}

/// Fullwidth to ASCII, halfwidth kana to wide, katakana to hiragana, macrons off, lower case;
/// everything that is neither letter nor digit becomes one space.
pub fn fold(input: &str) -> String {
    let mut out = String::with_capacity(input.len());
    for c in input.chars().flat_map(char::to_lowercase) {
        let c = lexicon::widen(c);
        let c = match c {
            '\u{ff01}'..='\u{ff5e}' => shift(c, -0xfee0),
            _ => c,
        };
        match c {
            // Voicing marks that stand apart join the kana before them.
            '\u{3099}' | '\u{309b}' | '\u{ff9e}' => voice(&mut out, 1),
            '\u{309a}' | '\u{309c}' | '\u{ff9f}' => voice(&mut out, 2),
            'ā' | 'â' => out.push('a'),
            'ē' | 'ê' => out.push('e'),
            'ī' | 'î' => out.push('i'),
            'ō' | 'ô' => out.push('o'),
            'ū' | 'û' => out.push('u'),
            // An apostrophe is no word border: "don't" stays one word.
            '\'' | '’' | '\u{304}' | '\u{307}' => {}
            '\u{30a1}'..='\u{30f6}' => out.push(shift(c, -0x60)),
            'ー' => out.push(c),
            _ if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            _ if out.ends_with(' ') => {}
            _ => out.push(' '),
        }
    }
    out.trim().to_owned()
}

fn shift(c: char, by: i32) -> char {
    u32::from(c)
        .checked_add_signed(by)
        .and_then(char::from_u32)
        .unwrap_or(c)
}

fn voice(out: &mut String, steps: i32) {
    if let Some(kana) = out.pop() {
        let voiced = matches!(kana, 'か'..='と' | 'は'..='ほ');
        out.push(match kana {
            'う' if steps == 1 => 'ゔ',
            _ if voiced => shift(kana, steps),
            _ => kana,
        });
    }
}

fn japanese(folded: &str) -> Said {
    let mut said = Said::default();
    let text = lexicon::plain(&folded.chars().filter(|&c| c != ' ').collect::<String>());
    let mut masked = String::with_capacity(text.len());
    let mut left = text.as_str();
    while let Some(c) = left.chars().next() {
        if let Some((noun, length)) = lexicon::japanese_noun(left) {
            left = left.get(length..).unwrap_or_default();
            said.nouns.push(noun);
            if said.object.is_none() && (left.starts_with('を') || left.starts_with("に火")) {
                said.object = Some(noun);
            }
            masked.push(GAP);
        } else {
            masked.push(c);
            left = left.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    said.nouns.dedup();
    let asks = masked.ends_with('か') && said.nouns.is_empty();
    if asks || lexicon::is_refusal(&masked) {
        said.rest = true;
        return said;
    }
    said.verb = lexicon::japanese_verb(&masked);
    if said.verb.is_none() && said.nouns.iter().any(|noun| noun.is_way()) {
        // "Down into the pit" is a going, with or without the verb.
        said.verb = Some(Verb::Go);
    }
    let particles = |c: char| c == GAP || "のをへにはがでともやさんよねるてう".contains(c);
    said.rest = match said.verb {
        // An object that is in no lexicon is still marked as one.
        Some(_) => masked.contains('を') && said.object.is_none(),
        None => masked.chars().any(|c| !particles(c)),
    };
    said
}

fn english(folded: &str) -> Said {
    let mut said = Said::default();
    let words: Vec<&str> = folded.split(' ').filter(|word| !word.is_empty()).collect();
    let mut left = words.as_slice();
    if let Some(command) = lexicon::without_politeness(&words) {
        left = command;
        if let Some((verb, length)) = lexicon::english_verb(left) {
            said.verb = Some(verb);
            left = left.get(length..).unwrap_or_default();
        }
    }
    while !left.is_empty() {
        let step = if let Some((noun, length)) = lexicon::english_noun(left) {
            said.nouns.push(noun);
            length
        } else {
            said.rest |= left.first().is_some_and(|word| !lexicon::is_small(word));
            1
        };
        left = left.get(step..).unwrap_or_default();
    }
    said.nouns.dedup();
    if said.verb.is_none() && !said.rest && said.nouns.first().is_some_and(|noun| noun.is_way()) {
        said.verb = Some(Verb::Go);
    }
    said
}
