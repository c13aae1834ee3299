//! The theatre: its places, its things, and the ways between them.
//!
//! Plain facts that never change; what does change is in `state`, what a deed does in `rules`.

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
