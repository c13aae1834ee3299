//! The numbers of a run for a spreadsheet: a head, and a line for each algorithm. No value
//! holds a comma, so none is quoted.

use std::fmt::Write as _;

use crate::simulate::run::Summary;

const HEAD: &str = "name,admitted,refused,delayed,refused_clients,worst_window,worst_second,\
                    longest_wait_ms,fairness,bytes_per_client";

/// Lines end as RFC 4180 has it.
pub fn csv(summary: &Summary) -> String {
    let mut text = format!("{HEAD}\r\n");
    for outcome in &summary.outcomes {
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},{}\r\n",
            outcome.algorithm.name(),
            outcome.admitted,
            outcome.refused,
            outcome.delayed,
            outcome.refused_clients,
            outcome.worst_window,
            outcome.worst_second,
            outcome.longest_wait.as_secs_f64() * 1e3,
            outcome.fairness,
            outcome.bytes_per_client,
        );
    }
    text
}
