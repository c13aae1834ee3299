//! The gateway as its users see it: the real program, real sockets, a real engine.
//! One file a section of the README.

#![allow(
    clippy::disallowed_methods,
    reason = "tests look at the real clock, and start real processes"
)]

mod harness;
mod http;

mod connections;
mod cross_origin;
mod crossing;
mod engine_faults;
mod gates;
mod in_memory;
mod log;
mod options;
mod rate_limit;
mod shutdown;
mod static_files;
mod turns;
mod wall_clock;
mod who_is_the_client;
