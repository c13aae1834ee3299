//! kidoban.

pub mod answer;
pub mod cli;
pub mod clock;
pub mod config;
pub mod connection;
pub mod demo;
pub mod drain;
pub mod engine;
pub mod gates;
pub mod health;
pub mod listen;
pub mod log;
pub mod logic;
pub mod protocol;
pub mod refusal;
pub mod request;
pub mod run;
pub mod server;
pub mod settings;
pub mod static_files;
