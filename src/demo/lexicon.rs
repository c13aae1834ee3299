//! The words that the game knows, and what they mean.
//!
//! Tables and the few questions asked of them. Japanese words stand here as `words::fold` leaves
//! them: katakana as hiragana, no spaces. Nothing here depends on the state of a game, and a word
//! that is missing here makes a sentence speech; it never makes it an error.

use super::world::{Direction, Place, Thing};

mod tables;

/// Stands where a noun was, so that no verb is found across it.
pub const GAP: char = '\u{1}';

/// What a word can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    Thing(Thing),
    Place(Place),
    Way(Direction),
    /// The way one came.
    Back,
    /// Up or down, whichever there is.
    Ladder,
    /// Everything around.
    Around,
    /// Something to talk about: the fire of thirty years ago.
    Fire,
    /// Something to talk about: the house itself.
    Theatre,
    /// Something to ask after: who somebody is.
    Who,
}

impl Noun {
    /// Whether the word alone says where to go.
    pub fn is_way(self) -> bool {
        matches!(self, Self::Way(_) | Self::Back)
    }
}

/// What a sentence can ask to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Look,
    Take,
    Go,
    Leave,
    Talk,
    Say,
    Use,
    Open,
    Light,
    Strike,
    Put,
    Give,
    Carried,
    Wait,
    Help,
    Sing,
    Harm,
    Eat,
    Sit,
    Jump,
}

use tables::{ENGLISH_VERBS, JAPANESE_VERBS, NOUNS};

/// Words at the head of an English sentence that only make it kinder.
const POLITE: &str = "please could would can may might you kindly i id we ill will shall want wish like to lets let me us try just now then and ok okay well so maybe going am im gonna need should carefully quietly gently slowly";

/// English words that name nothing.
const SMALL: &str = "the a an at to of in on into onto with by from for my your his her its this that it them him and some please through over under about me up off there towards toward again now then carefully small little old open closed first";

/// Endings of Japanese politeness and of trying, and what is left without them.
const POLITE_ENDINGS: &[(&str, &str)] = &[
    ("をおねがいします", ""),
    ("をお願いします", ""),
    ("おねがいします", ""),
    ("お願いします", ""),
    ("ください", ""),
    ("下さい", ""),
    ("ちょうだい", ""),
    ("頂戴", ""),
    ("もらえますか", ""),
    ("いただけますか", ""),
    ("頂けますか", ""),
    ("くれますか", ""),
    ("ていきます", "て"),
    ("て行きます", "て"),
    ("ていく", "て"),
    ("て行く", "て"),
    ("ていこう", "て"),
    ("て行こう", "て"),
    ("てみ", "て"),
    ("て見", "て"),
    ("でみ", "で"),
];

/// A sentence without its politeness.
pub fn plain(sentence: &str) -> String {
    let mut plain = sentence.to_owned();
    for (ending, left) in POLITE_ENDINGS {
        // A sentence that is nothing but politeness is left as it is.
        let shorter = plain.replace(ending, left);
        if !shorter.is_empty() {
            plain = shorter;
        }
    }
    plain
}

/// Whether a sentence says that something is not to be done.
pub fn is_refusal(plain: &str) -> bool {
    ["ないで", "ません", "たくない", "なかった"]
        .iter()
        .any(|end| plain.contains(end))
        || (plain.ends_with("ない") && !plain.ends_with("からない"))
}

/// The longest noun that the text begins with, and its length in bytes.
pub fn japanese_noun(text: &str) -> Option<(Noun, usize)> {
    let all = NOUNS
        .iter()
        .flat_map(|&(noun, japanese, _)| japanese.split(' ').map(move |word| (noun, word)));
    all.filter(|(_, word)| {
        text.strip_prefix(word)
            .is_some_and(|after| !is_part_of_a_verb(word, after))
    })
    .map(|(noun, word)| (noun, word.len()))
    .max_by_key(|&(_, length)| length)
}

/// Characters that name a thing alone and do something together with what follows.
fn is_part_of_a_verb(word: &str, after: &str) -> bool {
    let next = after.chars().next().unwrap_or(' ');
    match word {
        "灯" | "外" => "すしせそさ".contains(next),
        "上" => "げ着".contains(next),
        "下" => "げろ".contains(next),
        "通り" | "した" | "ここ" | "かじ" => {
            !"をへにのは".contains(next) && !after.is_empty()
        }
        _ => false,
    }
}

/// The last verb of a sentence in which nouns have been replaced by `GAP`.
pub fn japanese_verb(masked: &str) -> Option<Verb> {
    let all = JAPANESE_VERBS
        .iter()
        .flat_map(|&(verb, stems)| stems.split(' ').map(move |stem| (verb, stem)));
    all.filter_map(|(verb, stem)| {
        let start = masked
            .rmatch_indices(stem)
            .map(|(start, _)| start)
            .find(|&start| {
                // A stem in kana alone may be the middle of another word.
                is_kanji_start(stem) || begins_a_word(masked.get(..start).unwrap_or_default())
            })?;
        Some((start, stem.len(), verb))
    })
    .max_by_key(|&(start, length, _)| (start, length))
    .map(|(_, _, verb)| verb)
}

fn is_kanji_start(stem: &str) -> bool {
    stem.chars()
        .next()
        .is_some_and(|c| matches!(c, '\u{4e00}'..='\u{9fff}'))
}

fn begins_a_word(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| c == GAP || "をにへでとはがもてう".contains(c))
}

/// Whether the words begin with `phrase`, whose parts are joined by `_`; how many parts it has.
fn begins_with(words: &[&str], phrase: &str) -> Option<usize> {
    let mut length = 0;
    for part in phrase.split('_') {
        if *words.get(length)? != part {
            return None;
        }
        length += 1;
    }
    Some(length)
}

/// The longest noun that the words begin with, and how many words it takes.
pub fn english_noun(words: &[&str]) -> Option<(Noun, usize)> {
    let all = NOUNS
        .iter()
        .flat_map(|&(noun, _, english)| english.split(' ').map(move |phrase| (noun, phrase)));
    all.filter_map(|(noun, phrase)| Some((noun, begins_with(words, phrase)?)))
        .max_by_key(|&(_, length)| length)
}

/// The longest verb that the words begin with, and how many words it takes.
pub fn english_verb(words: &[&str]) -> Option<(Verb, usize)> {
    let all = ENGLISH_VERBS
        .iter()
        .flat_map(|&(verb, phrases)| phrases.split(' ').map(move |phrase| (verb, phrase)));
    all.filter_map(|(verb, phrase)| Some((verb, begins_with(words, phrase)?)))
        .max_by_key(|&(_, length)| length)
}

/// The words from the first verb on, if nothing but politeness stands before it.
pub fn without_politeness<'a, 'b>(words: &'a [&'b str]) -> Option<&'a [&'b str]> {
    for start in 0..words.len() {
        let left = words.get(start..).unwrap_or_default();
        // A lone "i" is the inventory, an "i" before other words a person.
        let is_person = left.first() == Some(&"i") && words.len() > 1;
        if english_verb(left).is_some_and(|(_, length)| !is_person || length > 1) {
            return Some(left);
        }
        if !left
            .first()
            .is_some_and(|word| POLITE.split(' ').any(|polite| polite == *word))
        {
            break;
        }
    }
    None
}

/// Whether an English word names nothing.
pub fn is_small(word: &str) -> bool {
    SMALL.split(' ').any(|small| small == word)
}

/// A halfwidth kana or mark, as its wide form; any other character as it is.
pub fn widen(c: char) -> char {
    const WIDE: &str = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン";
    let index = u32::from(c)
        .checked_sub(0xff66)
        .and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| WIDE.chars().nth(index)).unwrap_or(c)
}
