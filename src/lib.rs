//! kidoban.

pub mod demo;
pub mod logic;
pub mod static_files;
