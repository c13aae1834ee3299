//! Pure decisions: no `async`, no clock, no operating system, nothing of
//! ours outside this folder. Time comes in as an argument.

pub mod address;
pub mod frame;
pub mod shape;
