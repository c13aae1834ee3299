//! The gateway as its users see it: the real program, real sockets, a real engine.
//! One file a section of the README.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "in a test an unwrap is an assertion, and time and processes are real"
)]

mod harness;
mod http;

mod browser;
mod caddy;
mod connections;
mod cross_origin;
mod crossing;
mod demo;
mod early_answers;
mod engine_faults;
mod engine_stderr;
mod gates;
mod health;
mod house;
mod image;
mod in_memory;
mod listening;
mod log;
mod options;
mod options_bad_values;
mod options_obeyed;
mod protocol;
mod rate_limit;
mod readme;
mod shutdown;
mod static_files;
mod turns;
mod wall_clock;
mod who_is_the_client;
