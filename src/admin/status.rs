//! What the admin listener tells: `/status.json`, everything the status page shows as one
//! object, and the metrics. Reads what others keep, at the moment somebody asks. Times
//! are seconds and milliseconds by the monotonic clock. The only place that shows addresses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::cli::Setting;
use crate::clock::{self, Clock};
use crate::connection::{Connections, RefusedBecause};
use crate::engine::Engine;
use crate::engine::record::{Death, Record};
use crate::log::Lost;
use crate::logic::history::{STEP, Step};
use crate::logic::queue::Order;
use crate::logic::times::{Spread, Took};
use crate::metrics::{COMMIT, Format, VERSION};
use crate::refusal::Gate;
use crate::request::Gateway;
use crate::tally::KINDS;

/// Clients shown as those that are refused the most.
const MOST_REFUSED: usize = 10;

/// Whom the admin listener asks.
#[derive(Debug)]
pub struct Sources {
    /// The public side.
    pub gateway: Arc<Gateway>,
    /// Its connections.
    pub connections: Arc<Connections>,
    /// The engine and its queue.
    pub engine: Engine,
    /// How the engine is started, for a person.
    pub engine_command: String,
    /// What the log lost.
    pub log_lost: Lost,
    /// Counts since the start.
    pub clock: Clock,
    /// The settings in force.
    pub settings: Vec<Setting>,
}

impl Sources {
    /// The whole status as JSON.
    pub fn status(&self) -> Bytes {
        let gateway = &self.gateway;
        let config = gateway.config();
        let tally = gateway.tally();
        let metrics = tally.metrics();
        let (remembered, forgotten) = gateway.count_clients();
        let turns: BTreeMap<_, _> = metrics.turns().collect();
        let refusals: BTreeMap<_, _> = metrics.refusals().collect();
        json!({
            "version": VERSION,
            "commit": COMMIT,
            "uptime_s": seconds(Duration::from_nanos(self.clock.nanos())),
            "health": gateway.state(),
            "engine": self.engine_status(),
            "queue": {
                "waiting": self.engine.waiting(),
                "places": config.places_max,
                "order": order(config.queue_order),
            },
            "turns": turns,
            "refusals": refusals,
            "shadow_refusals": metrics.shadow_refusals.get(),
            "recent": self.recent(),
            "times": self.times(),
            "most_refused": self.most_refused(),
            "clients": {
                "remembered": remembered,
                "max": config.clients_max,
                "forgotten": forgotten,
                "overflowed": metrics.clients_overflowed.get(),
            },
            "connections": {
                "open": self.connections.count(),
                "max": config.connections.connections_max,
            },
            "log_lines_lost": self.log_lost.lines(),
            "stderr_lines_dropped": metrics.stderr_lines_dropped.get(),
            "limits": self.limits(),
        })
        .to_string()
        .into()
    }

    /// The metrics, in this format.
    pub fn metrics(&self, format: Format) -> String {
        let metrics = self.gateway.tally().metrics();
        let (remembered, forgotten) = self.gateway.count_clients();
        metrics.waiting.set(level(self.engine.waiting()));
        metrics.places.set(level(self.gateway.config().places_max));
        metrics.clients_remembered.set(level(remembered));
        metrics.clients_forgotten(forgotten);
        metrics.connections.set(level(self.connections.count()));
        for because in RefusedBecause::ALL {
            metrics.connections_refused(because, self.connections.refused(because));
        }
        metrics.log_lines_lost(self.log_lost.lines());
        metrics.write(format)
    }

    fn engine_status(&self) -> Value {
        let Record {
            stand,
            since,
            pid,
            turns,
            deaths_total,
            deaths,
        } = self.engine.record();
        let now = clock::now();
        let deaths: Vec<_> = deaths
            .iter()
            .map(
                |Death {
                     at,
                     cause,
                     status,
                     ran,
                     turns,
                 }| {
                    json!({
                        "ago_s": seconds(now - *at),
                        "cause": cause.to_string(),
                        "code": cause.word(),
                        "status": status,
                        "ran_s": seconds(*ran),
                        "turns": turns,
                    })
                },
            )
            .collect();
        json!({
            "state": stand.word(),
            "command": self.engine_command,
            "pid": pid,
            "for_s": seconds(now - since),
            "turns": turns,
            "deaths_total": deaths_total,
            "deaths": deaths,
        })
    }

    fn recent(&self) -> Value {
        let tally = self.gateway.tally();
        tally.tell_history(self.clock.nanos(), self.engine.take_peak());
        let points: Vec<_> = tally.recent().steps().map(point).collect();
        json!({ "step_s": seconds(Duration::from_nanos(STEP)), "points": points })
    }

    fn times(&self) -> Value {
        let times = self.gateway.tally().times();
        let spread = |of: fn(&Took) -> Duration| times.spread(of).map(milliseconds_of);
        json!({
            "of_turns": times.turns(),
            "wait_ms": spread(|took| took.waiting),
            "engine_ms": spread(|took| took.in_engine),
            "turn_ms": spread(|took| took.whole),
        })
    }

    fn most_refused(&self) -> Vec<Value> {
        let most_refused = self.gateway.tally().most_refused();
        most_refused
            .first(MOST_REFUSED)
            .map(|one| {
                json!({
                    "client": one.client.to_string(),
                    "refused": one.at_most,
                    "at_least": one.at_least,
                })
            })
            .collect()
    }

    fn limits(&self) -> Vec<Value> {
        let limit = |setting: &Setting| {
            json!({
                "flag": setting.flag,
                "value": setting.value,
                // `default`, `environment`, or nothing where it was typed.
                "source": setting.source,
            })
        };
        self.settings.iter().map(limit).collect()
    }
}

fn point(step: &Step<KINDS>) -> Value {
    let Step { counts, peak } = step;
    let gates = Gate::ALL.into_iter().map(Gate::word);
    let kinds = ["ok"].into_iter().chain(gates);
    let mut point: Map<String, Value> = kinds
        .map(str::to_owned)
        .zip(counts.iter().map(|count| Value::from(*count)))
        .collect();
    point.insert("waiting_max".to_owned(), (*peak).into());
    point.into()
}

fn milliseconds_of(spread: Spread) -> Value {
    let ms = |time: Duration| seconds(time * 1_000);
    json!({ "p50": ms(spread.p50), "p90": ms(spread.p90), "p99": ms(spread.p99) })
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Fair => "fair",
        Order::Fifo => "fifo",
    }
}

/// With three decimals.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

fn level(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
