//! kidoban (木戸番): the keeper at the wicket of one slow program.
//!
//! HTTP turns come in, one JSON line at a time goes to an engine that reads a line and
//! writes a line, and its line goes back. This page is the map.
//!
//! # The life of a turn
//!
//! [`server`] accepts a connection and speaks HTTP on it, under the deadlines of
//! [`connection`]. Each request goes through [`request::Gateway::answer`]: [`protocol`]
//! looks at the head, the path decides, and a turn goes to [`gates::Gates::admit`], the
//! five gates in their order:
//!
//! 1. the body is read: bytes,
//! 2. its shape is checked by [`logic::shape`]: a turn, which is one line,
//! 3. a ticket is taken from the bucket ([`logic::bucket`]) of the client
//!    ([`logic::address`]), out of the table of clients ([`logic::clients`], packed in
//!    [`logic::table`]): a paid turn,
//! 4. the engine is up,
//! 5. there is room in the queue ([`logic::queue`]): an [`engine::Place`].
//!
//! Then the place is waited on for its reply. Every no, wherever it comes from, is a
//! [`refusal::Refusal`]; [`answer`] builds what goes out, [`log`] writes the one line, and
//! [`tally`] counts it.
//!
//! # The life of the engine
//!
//! [`engine::supervisor`] is the one owner of the engine's processes: the one that serves
//! and, during a swap, its successor. It turns what happens into the events of
//! [`logic::lifecycle`] and carries its actions out on a unit, which is one process with
//! all that is known of it: [`engine::process`] starts and kills (through
//! [`engine::launcher`], which becomes the engine), [`engine::pipe`] moves one line in
//! and one line out, [`logic::frame`] cuts lines out of bytes, [`logic::backoff`] says
//! when to start again. [`engine::orphans`] reaps what engines leave behind.
//!
//! # The life of the gateway
//!
//! [`run`]: the sockets are bound by [`listen`], or taken over from [`systemd`], which is
//! also told how the gateway is; a signal ends it by the steps of [`drain`]. First no connection
//! is accepted, then no turn taken, then time is up.
//!
//! # What the operator sees
//!
//! [`metrics`] holds every metric, and the handles that the others count with; [`tally`]
//! puts beside them what the status page shows besides ([`logic::history`],
//! [`logic::times`], [`logic::most_refused`]), [`engine::record`] how the engine stands
//! and how others died. [`admin`] is a second listener, behind the same [`server`], that
//! tells all of it from memory.
//!
//! # Tasks, and where state lives
//!
//! One thread does everything but write log lines and read static files. Its tasks: one
//! for each connection, one that accepts for each listener, one supervisor, for each
//! engine one that drains its stderr, one that tells systemd, one that ends the steps of the
//! history, one that reads static files again when asked,
//! one that forgets clients whose buckets are full, one that reaps orphans, and
//! short-lived ones that read on behind an early answer or tell a count later. What they
//! share:
//!
//! | state | where | who changes it |
//! | --- | --- | --- |
//! | the queue | [`engine`], behind a lock never held across an await | requests push and remove, the supervisor pops |
//! | does the engine take turns | [`engine`], a watch | the supervisor |
//! | how the engine stands, and the last deaths | [`engine::record`], behind a lock of a moment | the supervisor |
//! | counts | [`metrics`], atomics | whoever sees it happen |
//! | the last minutes, the last turns, the most refused | [`tally`], behind locks of a moment | requests, and the end of each step |
//! | buckets | [`gates`], behind a lock never held across an await | gate 3 |
//! | open connections | [`mod@connection`] | each connection's own task |
//! | how far a shutdown has come | [`drain`] | [`run`] |
//! | static files | [`request`] | [`run`], on SIGHUP |
//!
//! Beside the gateway stand the small commands: [`health`] asks one, [`man`] describes
//! the command line, [`demo`] is an engine and a page of its own.
//!
//! # Beside the gateway
//!
//! [`mod@simulate`] runs an access log or a pattern of traffic through the algorithms of
//! [`logic::limiter`], of which one is the gateway's own bucket. It shares nothing else with
//! the gateway, and the gateway knows nothing of it.
//!
//! # What always holds
//!
//! - A line is never given to an engine that is out of step, and no line is given twice.
//! - A ticket paid is never given back; what gates 1 and 2 refuse pays none.
//! - `logic` never waits, never asks the time and knows nothing outside itself; time
//!   comes in as an argument, and [`clock`] is the only file that asks.
//! - Everything has a limit, and the limit has a name.

pub mod admin;
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
pub mod man;
pub mod metrics;
pub mod protocol;
pub mod refusal;
pub mod request;
pub mod run;
pub mod server;
pub mod settings;
pub mod simulate;
pub mod static_files;
pub mod systemd;
pub mod tally;
