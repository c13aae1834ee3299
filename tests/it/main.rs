//! The gateway as its users see it: the real program, real sockets, a real engine.
//! One file a section of the README.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "in a test an unwrap is an assertion, and time and processes are real"
)]

mod harness;
mod http;
mod watch;

mod admin;
mod browser;
mod caddy;
mod commands;
mod config_files;
mod connections;
mod containment;
mod cross_origin;
mod demo;
mod drain;
mod early_answers;
mod engine_faults;
mod engine_file;
mod engine_stderr;
mod events;
mod fair_queue;
mod gates;
mod health;
mod hostile_clients;
mod hostile_connections;
mod hostile_json;
mod house;
mod image;
mod in_memory;
mod listening;
mod log;
mod memory;
mod metrics;
mod options;
mod options_bad_values;
mod options_obeyed;
mod probe;
mod promptness;
mod protocol;
mod rate_limit;
mod readme;
mod shutdown;
mod simulate;
mod simulate_figure;
mod slowhttptest;
mod soak;
mod static_files;
mod status_page;
mod swap;
mod systemd;
mod turns;
mod units;
mod upgrade;
mod wall_clock;
mod who_is_the_client;
