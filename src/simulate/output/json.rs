//! The numbers of a run for programs. Field names are a promise.

use serde::Serialize;

use crate::simulate::advise::Advice;
use crate::simulate::run::{Outcome, Summary};

#[derive(Serialize)]
struct Whole<'a> {
    command: &'a str,
    arrivals: u64,
    clients: u64,
    algorithms: Vec<One<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<Advised>,
}

#[derive(Serialize)]
struct One<'a> {
    name: &'a str,
    admitted: u64,
    refused: u64,
    delayed: u64,
    refused_clients: u64,
    worst_window: u64,
    worst_second: u64,
    longest_wait_ms: f64,
    fairness: f64,
    bytes_per_client: u64,
}

#[derive(Serialize)]
struct Advised {
    share: f64,
    ordinary_clients: usize,
    noisiest_clients: usize,
    noisiest_turns: u64,
    curve: Vec<Limit>,
    /// To be typed after `kidoban`.
    flags: Option<String>,
}

#[derive(Serialize)]
struct Limit {
    rate: String,
    burst: u32,
    refused_ordinary_clients: usize,
    stopped_turns: u64,
    beyond_the_seen: bool,
}

impl<'a> From<&'a Outcome> for One<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        Self {
            name: outcome.algorithm.name(),
            admitted: outcome.admitted,
            refused: outcome.refused,
            delayed: outcome.delayed,
            refused_clients: outcome.refused_clients,
            worst_window: outcome.worst_window,
            worst_second: outcome.worst_second,
            longest_wait_ms: outcome.longest_wait.as_secs_f64() * 1e3,
            fairness: outcome.fairness,
            bytes_per_client: outcome.bytes_per_client,
        }
    }
}

impl From<&Advice> for Advised {
    fn from(advice: &Advice) -> Self {
        let point = |point: &crate::simulate::advise::Point| Limit {
            rate: point.limit.rate().given().to_owned(),
            burst: point.limit.burst().tickets(),
            refused_ordinary_clients: point.refused_ordinary,
            stopped_turns: point.stopped,
            beyond_the_seen: advice.is_beyond_the_seen(point),
        };
        Self {
            share: advice.share.of_one(),
            ordinary_clients: advice.ordinary,
            noisiest_clients: advice.noisiest,
            noisiest_turns: advice.noisy_turns,
            curve: advice.curve.iter().map(point).collect(),
            flags: advice.best.map(|best| advice.curve[best].flags()),
        }
    }
}

/// One object, on lines of its own.
pub fn json(command: &str, summary: &Summary, advice: Option<&Advice>) -> String {
    let whole = Whole {
        command,
        arrivals: summary.arrivals,
        clients: summary.clients,
        algorithms: summary.outcomes.iter().map(One::from).collect(),
        advice: advice.map(Advised::from),
    };
    let mut text = serde_json::to_string_pretty(&whole).expect("numbers and strings, no maps");
    text.push('\n');
    text
}
