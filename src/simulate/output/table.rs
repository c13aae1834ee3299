//! The numbers of a run for people: a table, a line of glyphs for each algorithm, and what
//! is advised. Fits a terminal of 80 columns as far as the numbers allow.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::logic::bucket::{Limit, Nanos};
use crate::simulate::advise::{Advice, FILLS_MIN};
use crate::simulate::output::figure::axis::length;
use crate::simulate::output::figure::words::{count, counted};
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

/// What the heads of the table mean.
const MEASURES: &str =
    "most in a window: of one client; worst second: of all together; fair: Jain's
index of the shares of their turns that clients got, 1.00 where all are equal";

/// The whole of it.
pub fn table(about: &About, summary: &Summary, advice: Option<&Advice>) -> String {
    let mut text = head(about, summary);
    let mut table = plain(&[
        "algorithm",
        "let in",
        "refused",
        "clients refused",
        "most in\u{a0}a window",
        "worst second",
        "longest wait",
        "fair",
        "bytes each",
    ]);
    for outcome in &summary.outcomes {
        table.add_row(row(outcome));
    }
    let _ = writeln!(text, "{}\n\n{MEASURES}\n", trimmed(&table));
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
        length(summary.strip.span()),
        limit.rate(),
        limit.burst(),
        length(limit.window_nanos()),
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
        length(u64::try_from(wait.as_nanos()).unwrap_or(Nanos::MAX))
    };
    let numbers = [
        count(outcome.admitted),
        count(outcome.refused),
        count(outcome.refused_clients),
        count(outcome.worst_window),
        count(outcome.worst_second),
        wait,
        format!("{:.2}", outcome.fairness),
        count(outcome.bytes_per_client),
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
    let mut is_any_beyond = false;
    for (n, point) in advice.curve.iter().enumerate() {
        let is_beyond = advice.is_beyond_the_seen(point);
        is_any_beyond |= is_beyond;
        let mark = match (n == best, is_beyond) {
            (true, false) => "→",
            (true, true) => "→ ?",
            (false, true) => "?",
            (false, false) => "",
        };
        let all = advice.noisy_turns.max(1);
        let columns = usize::try_from(point.stopped * BAR_COLUMNS / all).unwrap_or(0);
        table.add_row([
            Cell::new(mark),
            Cell::new(point.limit.rate().given()).set_alignment(CellAlignment::Right),
            Cell::new(point.limit.burst()).set_alignment(CellAlignment::Right),
            Cell::new(count(point.refused_ordinary as u64)).set_alignment(CellAlignment::Right),
            Cell::new(format!("{} %", point.stopped * 100 / all))
                .set_alignment(CellAlignment::Right),
            Cell::new("█".repeat(columns)),
        ]);
    }
    let _ = writeln!(text, "{}", trimmed(&table));
    if is_any_beyond {
        const { assert!(FILLS_MIN == 4, "the sentence says so") };
        let span = length(advice.span);
        let _ = writeln!(
            text,
            "\n? takes longer to fill than a quarter of what was seen ({span}): what it does to those \
             who\n  stay is not known"
        );
    }
    let best = &advice.curve[best];
    if advice.is_beyond_the_seen(best) {
        text.push_str(
            "\nWhat was seen is too short to tell; of these, this one fills the soonest.\n",
        );
    }
    let _ = writeln!(text, "\nAfter kidoban:\n\n  {}", best.flags());
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
        Cell::new(word.replace(' ', "\n").replace('\u{a0}', " ")).set_alignment(alignment)
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
