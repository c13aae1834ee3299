//! Gate 2: whatever passes is one line, and parses back to what was sent.
#![no_main]

use kidoban::logic::shape::{Kinds, Route, Rules, check};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let rules = Rules {
        kinds: Kinds::Any,
        input_chars_max: 200,
        depth_max: 64,
    };
    for route in [Route::Turn, Route::New] {
        let Ok(turn) = check(data.to_vec(), route, &rules) else {
            continue;
        };
        let line = turn.line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(line.last(), Some(&b'\n'));
        let Ok(seen) = serde_json::from_slice::<Value>(line) else {
            panic!("the line is no JSON");
        };
        let mut sent = serde_json::from_slice::<Value>(data).unwrap_or(Value::Object(Default::default()));
        if route == Route::New {
            sent["kind"] = "new".into();
        }
        assert_eq!(seen, sent);
        assert_eq!(seen["kind"], turn.kind());
    }
});
