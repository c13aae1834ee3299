//! A fault of the gateway's own: one turn is 500, and the next one is served.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kidoban::metrics::Outcome;
use kidoban::refusal::Code;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::steady;
use super::world::World;
use crate::harness::outcome;

/// A log that panics when it is told that the table of clients is full: a panic in the
/// middle of the gates, which nothing else that one can ask for brings about.
struct Breaking {
    told: Arc<Mutex<Vec<String>>>,
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Breaking {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.told.lock().unwrap().push(message.0.clone());
        assert!(
            !message.0.contains("the table of clients is full"),
            "on purpose"
        );
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Set in the process that has this one test to itself.
const ALONE: &str = "KIDOBAN_TEST_ALONE";

/// In a process of its own. Whether anybody wants an event is remembered for all threads when it is
/// first met; met by another test's thread, which has no log, it would never come to this one's.
#[test]
fn a_panic_is_one_500_and_a_counted_event() {
    if std::env::var_os(ALONE).is_none() {
        let itself = std::env::current_exe().unwrap();
        let name = "in_memory::panics::a_panic_is_one_500_and_a_counted_event";
        let ended = outcome(
            Command::new(itself)
                .args(["--exact", name, "--nocapture", "--test-threads=1"])
                .env(ALONE, "1"),
        );
        let is_seen = ended.stdout.contains("test result: ok. 1 passed;");
        assert!(ended.code == Some(0) && is_seen, "{ended:#?}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(a_panic_in_the_gates());
}

async fn a_panic_in_the_gates() {
    let told = Arc::default();
    let log = Breaking {
        told: Arc::clone(&told),
    };
    let _log = tracing::subscriber::set_default(log);
    let options = ["--limit-for=0.0.0.0/0=1/h:2", "--max-clients=1"];
    let world = World::up(&options, |ends| steady(ends, Duration::ZERO)).await;
    assert_eq!(world.ask_from("192.0.2.1", "a").await.unwrap().status, 200);

    let broken = world.ask_from("192.0.2.2", "b").await.unwrap();
    assert_eq!((broken.status, broken.code()), (500, "internal"));
    assert_eq!(broken.retry_after, None);
    assert_eq!(broken.request_id.len(), 32, "it left by the one exit");
    let events = told.lock().unwrap().join("\n");
    assert!(
        events.contains("the handling of a request panicked panics=1"),
        "{events}"
    );
    assert!(events.contains("status=500"), "{events}");
    let metrics = world.gateway().tally().metrics();
    assert_eq!(metrics.handler_panics.get(), 1);
    assert_eq!(metrics.turns_of(Outcome::Refused(Code::Internal)), 1);
    let after = metrics.refusals().find(|(gate, _)| *gate == "after");
    assert_eq!(after, Some(("after", 1)));

    assert_eq!(world.ask_from("192.0.2.1", "c").await.unwrap().status, 200);
    assert_eq!(world.seen(), ["a", "c"]);
}
