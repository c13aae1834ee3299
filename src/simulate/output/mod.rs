//! What a run shows: its numbers for people, for programs and for spreadsheets, the
//! picture, as a drawing and as a page to try things on, and how a file gets to its place
//! whole or not at all. Decides nothing: every verdict comes from
//! [`limiter`](crate::logic::limiter).

pub mod csv;
pub mod figure;
pub mod json;
pub mod page;
pub mod place;
pub mod table;
