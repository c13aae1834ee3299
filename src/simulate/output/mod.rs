//! What a run shows: its numbers for people, for programs and for spreadsheets.

pub mod csv;
pub mod json;
pub mod place;
pub mod table;
