//! The numbers of a run for people: a table, a line of glyphs for each algorithm, and what
//! is advised. Fits a terminal of 80 columns as far as the numbers allow.

use std::fmt::Write as _;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::logic::bucket::{Limit, Nanos};
use crate::simulate::advise::Advice;
use crate::simulate::preset::Preset;
use crate::simulate::run::{Outcome, Summary};
use crate::simulate::strip::LEGEND;

/// Columns of the widest bar of an advice.
const BAR_COLUMNS: u64 = 20;

/// What the table says beside the numbers.
pub struct About<'a> {
    /// What every algorithm was given.
    pub limit: &'a Limit,
    /// Whose limit that is.
    pub preset: Option<Preset>,
    /// What a reader must know of the input.
    pub notes: &'a [String],
}

/// The whole of it.
pub fn table(about: &About, summary: &Summary, advice: Option<&Advice>) -> String {
    let mut text = head(about, summary);
    let mut table = plain(&[
        "algorithm",
        "let in",
        "refused",
        "clients refused",
        "most in a window",
        "worst second",
        "longest wait",
        "fair",
        "bytes each",
    ]);
    for outcome in &summary.outcomes {
        table.add_row(row(outcome));
    }
    let _ = writeln!(text, "{}\n", trimmed(&table));
    for (n, outcome) in (0..).zip(&summary.outcomes) {
        let _ = writeln!(
            text,
            "{:<20}{}",
            outcome.algorithm.name(),
            summary.strip.line(n)
        );
    }
    let _ = writeln!(text, "\n{LEGEND}");
    if let Some(preset) = about.preset {
        let _ = writeln!(
            text,
            "This limit is known to be kept with a {}.",
            preset.algorithm().name()
        );
    }
    if let Some(advice) = advice {
        text.push_str(&advised(advice));
    }
    text
}

fn head(about: &About, summary: &Summary) -> String {
    let limit = about.limit;
    let mut text = format!(
        "{} of {} within {}\neach held to {}, burst {}; a window is {}\n",
        counted(summary.arrivals, "arrival"),
        counted(summary.clients, "client"),
        span(summary.strip.span()),
        limit.rate(),
        limit.burst(),
        span(limit.fill_nanos()),
    );
    for note in about.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    text.push('\n');
    text
}

fn row(outcome: &Outcome) -> Vec<Cell> {
    let wait = outcome.longest_wait;
    let wait = if wait.is_zero() {
        "–".to_owned()
    } else {
        span(u64::try_from(wait.as_nanos()).unwrap_or(Nanos::MAX))
    };
    let numbers = [
        grouped(outcome.admitted),
        grouped(outcome.refused),
        grouped(outcome.refused_clients),
        grouped(outcome.worst_window),
        grouped(outcome.worst_second),
        wait,
        format!("{:.2}", outcome.fairness),
        grouped(outcome.bytes_per_client),
    ];
    let name = Cell::new(outcome.algorithm.name());
    let right = |number| Cell::new(number).set_alignment(CellAlignment::Right);
    std::iter::once(name)
        .chain(numbers.into_iter().map(right))
        .collect()
}

fn advised(advice: &Advice) -> String {
    let mut text = format!(
        "\nUnder each of these at most {} of the {} would ever have been refused.\n",
        advice.share,
        counted(advice.ordinary as u64, "ordinary client"),
    );
    let Some(best) = advice.best else {
        text.push_str("There is none: no burst up to the deepest would do.\n");
        return text;
    };
    let noisiest = counted(advice.noisiest as u64, "client");
    let turns = counted(advice.noisy_turns, "turn");
    let _ = writeln!(
        text,
        "What it would have stopped of the noisiest ({noisiest}, {turns}):\n"
    );
    let mut table = plain(&[
        "",
        "rate",
        "burst",
        "ordinary refused",
        "of the noisiest",
        "",
    ]);
    for (n, point) in advice.curve.iter().enumerate() {
        let all = advice.noisy_turns.max(1);
        let columns = usize::try_from(point.stopped * BAR_COLUMNS / all).unwrap_or(0);
        table.add_row([
            Cell::new(if n == best { "→" } else { "" }),
            Cell::new(point.limit.rate().given()).set_alignment(CellAlignment::Right),
            Cell::new(point.limit.burst()).set_alignment(CellAlignment::Right),
            Cell::new(grouped(point.refused_ordinary as u64)).set_alignment(CellAlignment::Right),
            Cell::new(format!("{} %", point.stopped * 100 / all))
                .set_alignment(CellAlignment::Right),
            Cell::new("█".repeat(columns)),
        ]);
    }
    let flags = advice.curve[best].flags();
    let _ = writeln!(text, "{}\n\nAfter kidoban:\n\n  {flags}", trimmed(&table));
    text
}

fn plain(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(head.iter().enumerate().map(|(n, word)| {
        let alignment = if n == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        };
        Cell::new(word.replace(' ', "\n")).set_alignment(alignment)
    }));
    table
}

/// Without the spaces at the ends of its lines, and without the one that each begins with.
fn trimmed(table: &Table) -> String {
    let lines = table.lines().map(|line| {
        let line = line.trim_end();
        line.strip_prefix(' ').unwrap_or(line).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `1 client`, `2,000 clients`.
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// In the two largest units: what is smaller tells nothing beside them.
fn span(nanos: Nanos) -> String {
    let units: [(Nanos, Nanos); 4] = [
        (3_600_000_000_000, 60_000_000_000),
        (60_000_000_000, 1_000_000_000),
        (1_000_000_000, 10_000_000),
        (1_000_000, 100_000),
    ];
    let step = units.iter().find(|(from, _)| nanos >= *from);
    let step = step.map_or(1, |(_, step)| *step);
    humantime::format_duration(Duration::from_nanos(nanos - nanos % step)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let read = [0, 7, 999, 1_000, 123_456, 1_234_567].map(grouped);
        assert_eq!(read, ["0", "7", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!(counted(1, "client"), "1 client");
        assert_eq!(counted(0, "turn"), "0 turns");
    }

    #[test]
    fn spans_are_told_as_far_as_they_tell_something() {
        let read = [
            0,
            10_500_000_000,
            90_000_000_000,
            3_723_999_999_999,
            1_234_567,
        ]
        .map(span);
        assert_eq!(read, ["0s", "10s 500ms", "1m 30s", "1h 2m", "1ms 200us"]);
    }
}
