//! The picture against its contents: well-formed, complete, and the same number of marks as
//! there are verdicts.
use super::*;
