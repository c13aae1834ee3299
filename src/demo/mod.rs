//! The built-in engine and its page: a small theatre at night, to play at once.
//!
//! [`engine`] is what `kidoban engine` runs: a line in, a line out, nothing kept in between.
//! [`page`] is what `kidoban demo` serves. Inside: `words` understands sentences, `world` knows
//! places and things, `state` what changes, `rules` decides what a deed does, `texts` holds every
//! sentence a player reads, in both languages side by side. Nothing here asks the time, opens a file
//! or imports another part of the gateway.

pub mod engine;
mod lexicon;
pub mod page;
mod rules;
mod state;
mod texts;
mod words;
mod world;

#[cfg(test)]
mod tests;
