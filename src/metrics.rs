//! Every metric: its name, what it means, and the handle that others count with. The only
//! place where names stand. Counting is one atomic addition, without a lock; whatever can be
//! read elsewhere is read when somebody scrapes. Never a client in a label.

mod names;
mod process;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use self::names::Name;
use self::process::ProcessFigures;
use crate::connection::RefusedBecause;
use crate::engine::pipe::Fault;
use crate::engine::record::Stand;
use crate::refusal::{Code, Gate};

/// What this binary is.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What it was built from.
pub const COMMIT: &str = env!("KIDOBAN_COMMIT");

/// Bounds of all three histograms, in seconds, so that they can be compared: from what a quick engine
/// needs for a turn to the default `--max-wait`, each two to two and a half times the one before,
/// with one at 30, the default `--reply-timeout`.
const SECONDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It got the engine's reply.
    Ok,
    /// Its client left before there was an answer.
    ClientLeft,
    /// It was refused, or failed.
    Refused(Code),
}

impl Outcome {
    fn index(self) -> usize {
        match self {
            Self::Ok => 0,
            Self::ClientLeft => 1,
            Self::Refused(code) => 2 + code as usize,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ClientLeft => "client_left",
            Self::Refused(code) => code.word(),
        }
    }

    /// In the order of their indices.
    fn all() -> impl Iterator<Item = Self> {
        let refused = Code::ALL.into_iter().filter(|code| code.is_for_turns());
        [Self::Ok, Self::ClientLeft]
            .into_iter()
            .chain(refused.map(Self::Refused))
    }
}

/// How a scrape is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' own text format 0.0.4.
    Text,
    /// `OpenMetrics` 1.0.
    OpenMetrics,
}

impl Format {
    /// Its `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => prometheus_text::CONTENT_TYPE,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The metrics. All are there from the start, with every value that a label can have.
#[derive(Debug)]
pub struct Metrics {
    turns: ByLabel<Counter>,
    refusals: ByLabel<Counter>,
    /// Each turn that left the queue for the engine, or in vain.
    pub queue_wait: Histogram,
    /// Each turn that was in the engine, whatever came of it.
    pub engine_time: Histogram,
    /// Each turn that was in the engine and whose client waited for the end.
    pub turn_time: Histogram,
    /// Read at a scrape.
    pub waiting: Gauge,
    /// Read at a scrape.
    pub places: Gauge,
    engines: ByLabel<Gauge>,
    deaths: ByLabel<Counter>,
    /// Replies that broke the contract of lines.
    pub violations: Counter,
    /// Lines of stderr that were only counted.
    pub stderr_lines_dropped: Counter,
    /// Read at a scrape.
    pub clients_remembered: Gauge,
    clients_forgotten: Counter,
    /// Turns on the shared bucket.
    pub clients_overflowed: Counter,
    /// Turns that `--shadow` let pass.
    pub shadow_refusals: Counter,
    /// Read at a scrape.
    pub connections: Gauge,
    connection_refusals: ByLabel<Counter>,
    /// Requests whose handling panicked.
    pub handler_panics: Counter,
    log_lines_lost: Counter,
    registry: Registry,
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(ProcessFigures::new()));
        let mut ours = Ours(registry.sub_registry_with_prefix("kidoban"));
        ours.tell_build();
        Self {
            turns: ours.by_label(names::TURNS, "outcome", Outcome::all().map(Outcome::word)),
            refusals: ours.by_label(names::REFUSALS, "gate", Gate::ALL.map(Gate::word)),
            queue_wait: ours.seconds(names::QUEUE_WAIT),
            engine_time: ours.seconds(names::ENGINE_TIME),
            turn_time: ours.seconds(names::TURN_TIME),
            waiting: ours.one(names::WAITING),
            places: ours.one(names::PLACES),
            engines: ours.by_label(names::ENGINES, "state", Stand::ALL.map(Stand::word)),
            deaths: ours.by_label(names::DEATHS, "cause", Fault::ALL.map(Fault::word)),
            violations: ours.one(names::VIOLATIONS),
            stderr_lines_dropped: ours.one(names::STDERR_LINES_DROPPED),
            clients_remembered: ours.one(names::CLIENTS_REMEMBERED),
            clients_forgotten: ours.one(names::CLIENTS_FORGOTTEN),
            clients_overflowed: ours.one(names::CLIENTS_OVERFLOWED),
            shadow_refusals: ours.one(names::SHADOW_REFUSALS),
            connections: ours.one(names::CONNECTIONS),
            connection_refusals: ours.by_label(
                names::CONNECTION_REFUSALS,
                "reason",
                RefusedBecause::ALL.map(RefusedBecause::word),
            ),
            handler_panics: ours.one(names::HANDLER_PANICS),
            log_lines_lost: ours.one(names::LOG_LINES_LOST),
            registry,
        }
    }

    /// One more turn that ended so.
    pub fn turn(&self, outcome: Outcome) {
        self.turns.at(outcome.index()).inc();
    }

    /// One more request that was refused there.
    pub fn refusal(&self, gate: Gate) {
        self.refusals.at(gate as usize).inc();
    }

    /// One more engine that died of it.
    pub fn death(&self, cause: Fault) {
        self.deaths.at(cause as usize).inc();
        if cause.is_violation() {
            self.violations.inc();
        }
    }

    /// So many connections were refused something so far.
    pub fn connections_refused(&self, because: RefusedBecause, connections: u64) {
        let counter = self.connection_refusals.at(because as usize);
        counter.inner().store(connections, Ordering::Relaxed);
    }

    /// So many clients were forgotten so far.
    pub fn clients_forgotten(&self, clients: u64) {
        let counter = &self.clients_forgotten;
        counter.inner().store(clients, Ordering::Relaxed);
    }

    /// So many log lines were lost so far.
    pub fn log_lines_lost(&self, lines: u64) {
        let counter = &self.log_lines_lost;
        counter.inner().store(lines, Ordering::Relaxed);
    }

    /// So many engines stand so.
    pub fn engines(&self, stand: Stand, engines: u32) {
        self.engines.at(stand as usize).set(engines.into());
    }

    /// Turns so far, by outcome.
    pub fn turns(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.turns
            .values()
            .map(|(word, counter)| (word, counter.get()))
    }

    /// Refusals so far, by gate, in the order of [`Gate::ALL`].
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.refusals
            .values()
            .map(|(word, counter)| (word, counter.get()))
    }

    /// Turns so far that ended so.
    pub fn turns_of(&self, outcome: Outcome) -> u64 {
        self.turns.at(outcome.index()).get()
    }

    /// Everything, in this format.
    pub fn write(&self, format: Format) -> String {
        let mut written = String::new();
        let done = match format {
            Format::Text => prometheus_text::encode(&mut written, &self.registry),
            Format::OpenMetrics => text::encode(&mut written, &self.registry),
        };
        done.expect("a string takes everything");
        written
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the gateway's own are registered.
struct Ours<'a>(&'a mut Registry);

impl Ours<'_> {
    fn tell_build(&mut self) {
        let Name(name, help) = names::BUILD;
        let build = Info::new([("version", VERSION), ("commit", COMMIT)]);
        self.0.register(name, help, build);
    }

    fn one<M>(&mut self, Name(name, help): Name) -> M
    where
        M: EncodeMetric + Clone + Default + fmt::Debug + Send + Sync + 'static,
    {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    fn seconds(&mut self, Name(name, help): Name) -> Histogram {
        let histogram = Histogram::new(SECONDS);
        let registered = histogram.clone();
        self.0
            .register_with_unit(name, help, Unit::Seconds, registered);
        histogram
    }

    fn by_label<M>(
        &mut self,
        Name(name, help): Name,
        label: &'static str,
        values: impl IntoIterator<Item = &'static str>,
    ) -> ByLabel<M>
    where
        M: EncodeMetric + TypedMetric + Default + fmt::Debug + Send + Sync + 'static,
    {
        let values = values.into_iter().map(|value| (value, M::default()));
        let metrics = ByLabel {
            label,
            values: values.collect(),
        };
        self.0.register(name, help, metrics.clone());
        metrics
    }
}

/// One metric for each value of one label, by number: the library's own family looks each
/// up by its words, behind a lock.
#[derive(Debug)]
struct ByLabel<M> {
    label: &'static str,
    values: Arc<[(&'static str, M)]>,
}

impl<M> Clone for ByLabel<M> {
    fn clone(&self) -> Self {
        Self {
            label: self.label,
            values: Arc::clone(&self.values),
        }
    }
}

impl<M> ByLabel<M> {
    fn at(&self, index: usize) -> &M {
        &self.values[index].1
    }

    fn values(&self) -> impl Iterator<Item = (&'static str, &M)> {
        self.values.iter().map(|(value, metric)| (*value, metric))
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for ByLabel<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (value, metric) in self.values.iter() {
            metric.encode(encoder.encode_family(&[(self.label, *value)])?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}
