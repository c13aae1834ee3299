//! Pure decisions: no `async`, no clock, no operating system, nothing of
//! ours outside this folder. Time comes in as an argument.

pub mod address;
pub mod backoff;
pub mod bucket;
pub mod clients;
pub mod frame;
pub mod history;
pub mod lifecycle;
pub mod limiter;
pub mod most_refused;
pub mod printable;
pub mod queue;
pub mod sampler;
pub mod shape;
pub mod table;
pub mod times;
