//! What a run shows: its numbers for people, for programs and for spreadsheets.

pub mod csv;
pub mod json;
pub mod place;
pub mod table;
//! What a run shows: here the picture, as a drawing and as a page to try things on, and
//! how a file gets to its place whole or not at all. Decides nothing: every verdict comes
//! from [`limiter`](crate::logic::limiter).
pub mod figure;
pub mod page;
