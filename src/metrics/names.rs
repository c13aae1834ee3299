//! What each metric is called and what it means, for whoever reads it at night. The
//! library puts `kidoban_` before a name, and `_total`, `_seconds` or `_info` behind it.

/// A name and a help text, without the full stop at its end.
#[derive(Clone, Copy, Debug)]
pub struct Name(pub &'static str, pub &'static str);

pub const BUILD: Name = Name("build", "What this gateway is; the value is always 1");
pub const TURNS: Name = Name(
    "turns",
    "Turns, by what became of them: ok is a reply of the engine, client_left a client that hung up first, the rest are the codes of refusals and failures",
);
pub const REFUSALS: Name = Name(
    "refusals",
    "Requests refused, by the gate that said no, in the order a request meets them; protocol and draining stand before the gates, after is behind them (502, 503 shed, 504, 500)",
);
pub const QUEUE_WAIT: Name = Name(
    "queue_wait",
    "How long turns waited for the engine, those included that were shed or pushed out",
);
pub const ENGINE_TIME: Name = Name(
    "engine",
    "How long turns were in the engine, whatever came of them; the sum grows by 1 a second when the engine is never idle",
);
pub const TURN_TIME: Name = Name(
    "turn",
    "How long turns took that were in the engine, from the first byte of the request to the answer",
);
pub const WAITING: Name = Name(
    "waiting_turns",
    "Turns that hold a place in the queue, those in the engine included",
);
pub const PLACES: Name = Name(
    "queue_places",
    "Places in the queue (--queue): when so many turns wait, others are refused",
);
pub const ENGINES: Name = Name(
    "engines",
    "Engines by state: starting also while a fresh one warms up to take over, down is one that waits to be started, leaving one that was replaced",
);
pub const DEATHS: Name = Name(
    "engine_deaths",
    "Engines that died or had to be killed, by what they did; the log has a record of each",
);
pub const VIOLATIONS: Name = Name(
    "protocol_violations",
    "Times that an engine wrote anything but one line of JSON for one turn; it was killed for it",
);
pub const STDERR_LINES_DROPPED: Name = Name(
    "engine_stderr_lines_dropped",
    "Lines of the engine's stderr that were too many to be logged",
);
pub const CLIENTS_REMEMBERED: Name = Name(
    "clients_remembered",
    "Clients whose bucket is not full, and some that are not yet forgotten",
);
pub const CLIENTS_FORGOTTEN: Name = Name(
    "clients_forgotten",
    "Clients forgotten because their bucket was full again, which changes nothing for them",
);
pub const CLIENTS_OVERFLOWED: Name = Name(
    "clients_overflowed",
    "Turns of newcomers that had to share one bucket, since the table was full (--max-clients)",
);
pub const SHADOW_REFUSALS: Name = Name(
    "shadow_refusals",
    "Turns that the bucket would have refused and --shadow let pass",
);
pub const CONNECTIONS: Name = Name("connections", "Client connections that are open");
pub const CONNECTION_REFUSALS: Name = Name(
    "connection_refusals",
    "Connections that were not served as they wished: accept_failed, the system gave none (descriptors); all_busy, a newcomer had to wait (--max-connections); idle, closed to make room for a newcomer; unsent, closed because answers piled up (--max-unsent); timeout, too slow with the head of a request or with taking an answer (a body that stalls is a turn: body_timeout)",
);
pub const HANDLER_PANICS: Name = Name(
    "handler_panics",
    "Requests answered 500 because the gateway itself failed: a bug, please report it",
);
pub const LOG_LINES_LOST: Name = Name(
    "log_lines_lost",
    "Log lines dropped because the reader of stderr is too slow",
);
