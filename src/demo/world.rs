//! The theatre: its places, its things, the ways between them, and the state that travels.
//!
//! Plain facts and a checked reading of the state; what a deed does is decided in `rules`. A state
//! comes from outside and may be forged: reading it yields a `State` in which every field is one
//! of its allowed values, or nothing. No combination of those values may lead to a panic.

use serde_json::{Value, json};

use super::texts::{Text, names};

/// Where one can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Wicket,
    House,
    Gallery,
    Stage,
    Dressing,
    Naraku,
}

/// Which way a neighbouring place lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    North,
    South,
    East,
    West,
    Up,
    Down,
}

/// Everything that has a name: what can be carried, what stands fast, who lives here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Lantern,
    Candle,
    Key,
    Clappers,
    Ticket,
    Jinbei,
    Girl,
    Brazier,
    Board,
    Rain,
    Door,
    Seats,
    Hanamichi,
    Tray,
    Rail,
    Curtain,
    Trap,
    Mirror,
    Box,
    Shaft,
}

/// What sort of thing it is, which decides what the page offers to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Item,
    Person,
    Scenery,
}

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

use Direction::{Down, East, North, South, Up, West};
use Place::{Dressing, Gallery, House, Naraku, Stage, Wicket};
use Thing::{
    Board, Box as ClapperBox, Brazier, Candle, Clappers, Curtain, Door, Girl, Hanamichi, Jinbei,
    Key, Lantern, Mirror, Rail, Rain, Seats, Shaft, Ticket, Trap, Tray,
};

pub const PLACES: [Place; 6] = [Wicket, House, Gallery, Stage, Dressing, Naraku];

/// The portable things, in the order in which the state lists them.
pub const ITEMS: [Thing; 5] = [Lantern, Candle, Key, Clappers, Ticket];

impl Place {
    pub const fn id(self) -> &'static str {
        match self {
            Wicket => "wicket",
            House => "house",
            Gallery => "gallery",
            Stage => "stage",
            Dressing => "dressing",
            Naraku => "naraku",
        }
    }

    pub const fn name(self) -> Text {
        match self {
            Wicket => names::WICKET,
            House => names::HOUSE,
            Gallery => names::GALLERY,
            Stage => names::STAGE,
            Dressing => names::DRESSING,
            Naraku => names::NARAKU,
        }
    }

    /// The ways out, the first one towards the wicket (none from the wicket itself).
    pub const fn exits(self) -> &'static [(Direction, Place)] {
        match self {
            Wicket => &[(North, House)],
            House => &[(South, Wicket), (North, Stage), (Up, Gallery)],
            Gallery => &[(Down, House)],
            Stage => &[(South, House), (East, Dressing), (Down, Naraku)],
            Dressing => &[(West, Stage)],
            Naraku => &[(Up, Stage)],
        }
    }

    pub fn leads_to(self, place: Place) -> bool {
        self.exits().iter().any(|&(_, there)| there == place)
    }

    pub fn towards(self, direction: Direction) -> Option<Place> {
        self.exits()
            .iter()
            .find(|&&(way, _)| way == direction)
            .map(|&(_, place)| place)
    }

    /// The next place on the way out; the ways form a tree with the wicket at its root.
    pub fn back(self) -> Option<Place> {
        if self == Wicket {
            None
        } else {
            self.exits().first().map(|&(_, place)| place)
        }
    }

    /// The first step from here to `goal`.
    pub fn step_to(self, goal: Place) -> Option<Place> {
        let mut step = goal;
        // No way is longer than there are places.
        for _ in PLACES {
            if self.leads_to(step) {
                return Some(step);
            }
            step = step.back()?;
        }
        None
    }

    /// What stands fast here, in the order in which the page shows it.
    pub const fn scenery(self) -> &'static [Thing] {
        match self {
            Wicket => &[Brazier, Board, Rain],
            House => &[Seats, Hanamichi],
            Gallery => &[Tray, Rail],
            Stage => &[Curtain, Trap],
            Dressing => &[Mirror, ClapperBox],
            Naraku => &[Shaft],
        }
    }
}

impl Direction {
    pub const fn id(self) -> &'static str {
        match self {
            North => "north",
            South => "south",
            East => "east",
            West => "west",
            Up => "up",
            Down => "down",
        }
    }

    pub const fn name(self) -> Text {
        match self {
            North => names::NORTH,
            South => names::SOUTH,
            East => names::EAST,
            West => names::WEST,
            Up => names::UP,
            Down => names::DOWN,
        }
    }
}

impl Thing {
    pub const fn id(self) -> &'static str {
        match self {
            Lantern => "lantern",
            Candle => "candle",
            Key => "key",
            Clappers => "clappers",
            Ticket => "ticket",
            Jinbei => "jinbei",
            Girl => "girl",
            Brazier => "brazier",
            Board => "board",
            Rain => "rain",
            Door => "door",
            Seats => "seats",
            Hanamichi => "hanamichi",
            Tray => "tray",
            Rail => "rail",
            Curtain => "curtain",
            Trap => "trap",
            Mirror => "mirror",
            ClapperBox => "box",
            Shaft => "shaft",
        }
    }

    pub const fn name(self) -> Text {
        match self {
            Lantern => names::LANTERN,
            Candle => names::CANDLE,
            Key => names::KEY,
            Clappers => names::CLAPPERS,
            Ticket => names::TICKET,
            Jinbei => names::JINBEI,
            Girl => names::GIRL,
            Brazier => names::BRAZIER,
            Board => names::BOARD,
            Rain => names::RAIN,
            Door => names::DOOR,
            Seats => names::SEATS,
            Hanamichi => names::HANAMICHI,
            Tray => names::TRAY,
            Rail => names::RAIL,
            Curtain => names::CURTAIN,
            Trap => names::TRAP,
            Mirror => names::MIRROR,
            ClapperBox => names::BOX,
            Shaft => names::SHAFT,
        }
    }

    pub const fn sort(self) -> Sort {
        match self {
            Lantern | Candle | Key | Clappers | Ticket => Sort::Item,
            Jinbei | Girl => Sort::Person,
            Brazier | Board | Rain | Door | Seats | Hanamichi | Tray | Rail | Curtain | Trap
            | Mirror | ClapperBox | Shaft => Sort::Scenery,
        }
    }

    /// Whether the page offers to use it where it stands.
    pub const fn is_handy(self) -> bool {
        matches!(self, Brazier | Tray | Curtain | ClapperBox)
    }
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
