//! `kidoban simulate`: an access log or a pattern of traffic, run through every way to
//! limit a rate. Serves nobody, asks no clock and changes nothing but the files it is
//! told to write.

pub mod input;
pub mod run;
