//! What is remembered of a game, and how it travels.
//!
//! A state comes from outside and may be forged: reading it yields a `State` in which every field is
//! one of its allowed values, or nothing. No combination of those values may lead to a panic.

use serde_json::{Value, json};

use super::world::{ITEMS, PLACES, Place, Sort, Thing};
use Place::{Dressing, Gallery, House, Naraku, Stage, Wicket};
use Thing::{Door, Girl, Jinbei, Lantern, Ticket};

/// Where a portable thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Not yet to be seen: in a closed drawer, a locked box, a closed hand.
    Hidden,
    At(Place),
    Held,
    /// Used up: the candle in its lantern, the key in its lock, the ticket on its nail.
    Gone,
}

/// All that is remembered of a game. It travels with every request and every reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub at: Place,
    items: [Spot; ITEMS.len()],
    /// The candle in the lantern burns.
    pub lit: bool,
    /// The girl has told what she waits for.
    pub met: bool,
    /// One bit for each place that has been seen, in the order of `PLACES`.
    seen: u8,
    pub turns: u32,
}

impl State {
    /// The beginning of a game.
    pub const fn new() -> Self {
        Self {
            at: Wicket,
            items: [
                Spot::At(Wicket),
                Spot::At(Dressing),
                Spot::Hidden,
                Spot::Hidden,
                Spot::Hidden,
            ],
            lit: false,
            met: false,
            seen: 1,
            turns: 0,
        }
    }

    /// Where a portable thing is; everything else is where it always was.
    pub fn spot(&self, item: Thing) -> Spot {
        let index = ITEMS.iter().position(|&one| one == item);
        index
            .and_then(|index| self.items.get(index))
            .copied()
            .unwrap_or(Spot::Gone)
    }

    pub fn put(&mut self, item: Thing, spot: Spot) {
        if let Some(index) = ITEMS.iter().position(|&one| one == item)
            && let Some(slot) = self.items.get_mut(index)
        {
            *slot = spot;
        }
    }

    /// Notes that `place` is seen now; whether it had been before.
    pub fn see(&mut self, place: Place) -> bool {
        let index = PLACES.iter().position(|&one| one == place).unwrap_or(0);
        let before = self.seen;
        self.seen |= 1 << index;
        before == self.seen
    }

    pub fn holds(&self, item: Thing) -> bool {
        self.spot(item) == Spot::Held
    }

    pub fn has_light(&self) -> bool {
        self.holds(Lantern) && self.lit
    }

    /// The curtain has closed, and the girl has come up.
    pub fn is_played(&self) -> bool {
        self.spot(Ticket) != Spot::Hidden
    }

    pub fn is_ended(&self) -> bool {
        self.spot(Ticket) == Spot::Gone
    }

    pub fn carried(&self) -> impl Iterator<Item = Thing> + '_ {
        ITEMS.into_iter().filter(|&item| self.holds(item))
    }

    pub fn lying_here(&self) -> impl Iterator<Item = Thing> + '_ {
        ITEMS
            .into_iter()
            .filter(|&item| self.spot(item) == Spot::At(self.at))
    }

    /// Who is here to talk to.
    pub fn person(&self) -> Option<Thing> {
        match self.at {
            Wicket => Some(Jinbei),
            House if self.is_played() => Some(Girl),
            Naraku if !self.is_played() => Some(Girl),
            House | Gallery | Stage | Dressing | Naraku => None,
        }
    }

    /// Whether one can see it or feel it in the pocket.
    pub fn is_near(&self, thing: Thing) -> bool {
        match thing.sort() {
            Sort::Item => {
                matches!(self.spot(thing), Spot::Held) || self.spot(thing) == Spot::At(self.at)
            }
            Sort::Person => self.person() == Some(thing),
            Sort::Scenery => {
                self.at.scenery().contains(&thing) || (thing == Door && self.at == Wicket)
            }
        }
    }

    /// The state as it travels.
    pub fn to_json(self) -> Value {
        let mut value = json!({
            "v": 1,
            "at": self.at.id(),
            "lit": self.lit,
            "met": self.met,
            "seen": self.seen,
            "turns": self.turns,
        });
        for item in ITEMS {
            let spot = match self.spot(item) {
                Spot::Hidden => "hidden",
                Spot::Held => "held",
                Spot::Gone => "gone",
                Spot::At(place) => place.id(),
            };
            value[item.id()] = json!(spot);
        }
        value
    }

    /// Reads a state that came from outside; anything unheard of is no state at all.
    pub fn from_json(value: &Value) -> Option<Self> {
        let word = |name: &str| value.get(name)?.as_str();
        let flag = |name: &str| value.get(name)?.as_bool();
        let place = |id: &str| PLACES.into_iter().find(|place| place.id() == id);
        if value.get("v")?.as_u64()? != 1 {
            return None;
        }
        let mut state = Self {
            at: place(word("at")?)?,
            lit: flag("lit")?,
            met: flag("met")?,
            seen: u8::try_from(value.get("seen")?.as_u64()?).ok()?,
            turns: u32::try_from(value.get("turns")?.as_u64()?).ok()?,
            ..Self::new()
        };
        for item in ITEMS {
            let spot = match word(item.id())? {
                "hidden" => Spot::Hidden,
                "held" => Spot::Held,
                "gone" => Spot::Gone,
                id => Spot::At(place(id)?),
            };
            state.put(item, spot);
        }
        Some(state)
    }
}
