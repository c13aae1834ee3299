//! The gateway as its users see it: the real program, real sockets, a real engine.
//! One file a section of the README.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests stand outside of the program: they start it, time it, and fail by a panic"
)]

mod harness;
mod http;

mod connections;
mod cross_origin;
mod crossing;
mod early_answers;
mod engine_faults;
mod engine_stderr;
mod gates;
mod health;
mod in_memory;
mod listening;
mod log;
mod options;
mod options_bad_values;
mod options_obeyed;
mod protocol;
mod rate_limit;
mod shutdown;
mod static_files;
mod turns;
mod wall_clock;
mod who_is_the_client;
