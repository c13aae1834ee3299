//! The walk over a body: every value is visited, and little is kept.
//!
//! Nothing may be skipped here: what a parser skips it does not check.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Looks at every value of the one object that `text` is. An error of the
/// category data means that it is more than `depth_max` levels deep.
pub(super) fn walk(text: &str, depth_max: usize) -> serde_json::Result<Object<'_>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let object = json.deserialize_map(Top {
        levels_left: depth_max,
    })?;
    json.end()?;
    Ok(object)
}

/// What the walk keeps of the top-level object.
#[derive(Default)]
pub(super) struct Object<'a> {
    pub(super) names: Names,
    pub(super) kind: Field<'a>,
    pub(super) input: Field<'a>,
}

/// A top-level field, as far as it is asked for.
#[derive(Default)]
pub(super) enum Field<'a> {
    #[default]
    Absent,
    NoString,
    Text(Cow<'a, str>),
}

/// The names of an object, unescaped, one after the other in one piece of text:
/// a body of nothing but short names would else weigh many times its size.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    /// Where each name starts and ends in `text`.
    spans: Vec<(usize, usize)>,
}

impl Names {
    fn push(&mut self, name: &str) {
        let start = self.text.len();
        self.text.push_str(name);
        self.spans.push((start, self.text.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Bytes taken from the system.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.text.capacity() + self.spans.capacity() * size_of::<(usize, usize)>()
    }

    /// One that is there twice. Sorts them, so that it costs n log n.
    pub(super) fn doubled(&mut self) -> Option<&str> {
        let name = |(start, end): (usize, usize)| &self.text[start..end];
        self.spans.sort_unstable_by_key(|span| name(*span));
        self.spans
            .windows(2)
            .find(|pair| name(pair[0]) == name(pair[1]))
            .map(|pair| name(pair[0]))
    }
}

/// Visits the top-level object.
struct Top {
    levels_left: usize,
}

impl<'de> Visitor<'de> for Top {
    type Value = Object<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let levels_left = deeper(self.levels_left)?;
        let mut object = Object::default();
        while let Some(place) = map.next_key_seed(Name(&mut object.names))? {
            let slot = match place {
                Place::Kind => Some(&mut object.kind),
                Place::Input => Some(&mut object.input),
                Place::Other => None,
            };
            map.next_value_seed(Value { levels_left, slot })?;
        }
        Ok(object)
    }
}

/// Which of the names we know a name is.
enum Place {
    Kind,
    Input,
    Other,
}

/// Adds a top-level name to the others.
struct Name<'n>(&'n mut Names);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Place;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Place, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Place;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Place, E> {
        self.0.push(name);
        Ok(match name {
            "kind" => Place::Kind,
            "input" => Place::Input,
            _ => Place::Other,
        })
    }
}

/// Visits one value and all that is in it, and keeps a string if there is a
/// slot for it.
struct Value<'s, 'de> {
    levels_left: usize,
    slot: Option<&'s mut Field<'de>>,
}

impl Value<'_, '_> {
    /// A value inside of this one.
    fn inner(levels_left: usize) -> Self {
        let slot = None;
        Self { levels_left, slot }
    }

    fn no_string(self) {
        if let Some(slot) = self.slot {
            *slot = Field::NoString;
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.no_string();
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        if let Some(slot) = self.slot {
            *slot = Field::Text(Cow::Borrowed(text));
        }
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if let Some(slot) = self.slot {
            *slot = Field::Text(Cow::Owned(text.to_owned()));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let levels_left = deeper(self.levels_left)?;
        self.no_string();
        while seq.next_element_seed(Value::inner(levels_left))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let levels_left = deeper(self.levels_left)?;
        self.no_string();
        while map.next_key_seed(Value::inner(levels_left))?.is_some() {
            map.next_value_seed(Value::inner(levels_left))?;
        }
        Ok(())
    }
}

/// One level down, if there is one left. The only error made in the walk.
fn deeper<E: Error>(levels_left: usize) -> Result<usize, E> {
    levels_left
        .checked_sub(1)
        .ok_or_else(|| E::custom("no further level is allowed"))
}
