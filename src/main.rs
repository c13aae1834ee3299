//! kidoban.
fn main() {}
