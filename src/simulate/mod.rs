//! `kidoban simulate`: an access log or a pattern of traffic, run through every way to
//! limit a rate. Serves nobody, asks no clock and changes nothing but the files it is
//! told to write.
//!
//! [`options`] says what, [`input`] gives arrivals in order of time, [`run`] decides on
//! each with every algorithm of [`logic::limiter`](crate::logic::limiter) and measures,
//! [`output`] shows it. [`advise`](mod@advise) looks for limits instead of trying one.

pub mod advise;
pub mod input;
pub mod options;
pub mod output;
pub mod preset;
mod progress;
pub mod run;
pub mod strip;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::logic::limiter::Algorithm;
use input::{Input, InputError, Progress};
use options::{Form, SimulateArgs};
use output::figure::{self, Figure, Sketch, svg};
use output::place::{self, PlaceError};
use output::{csv, json, page, table};
use progress::Bar;
use run::Run;

/// Why there is nothing to show. Each names the flag.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// `--rate` and `--burst` do not go together.
    #[error("--rate, --burst: {0}")]
    Limit(String),
    /// Nothing came, or it could not be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Standard input cannot be read twice, nor a pipe.
    #[error("--advise reads the log twice, and this --log can be read once: takes a plain file")]
    Once,
    /// No moment lies between the two.
    #[error("--since, --until: the second is not after the first, so nothing lies between them")]
    NoTime,
    /// What is read would be written over, or what was written.
    #[error("{0} and {1} name the same file")]
    OneFile(&'static str, &'static str),
    /// A file that cannot be written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Stdout(#[source] io::Error),
}

/// All of it, from the reading to the showing. `command` is the command line, as typed.
///
/// # Errors
/// [`SimulateError`]; then nothing was shown and no file was written.
pub fn simulate(args: &SimulateArgs, command: &str) -> Result<ExitCode, SimulateError> {
    let limit = args.limit().map_err(SimulateError::Limit)?;
    let input = args.input();
    if let Input::Log(log) = &input
        && log.filter.is_without_time()
    {
        return Err(SimulateError::NoTime);
    }
    if args.advise().is_some() && !input.can_be_read_again() {
        return Err(SimulateError::Once);
    }
    let files = [
        ("--log", input.file()),
        ("--svg", args.svg().map(PathBuf::as_path)),
        ("--html", args.html().map(PathBuf::as_path)),
    ];
    for (n, (flag, file)) in files.iter().enumerate() {
        for (other_flag, other) in &files[n + 1..] {
            if let (Some(file), Some(other)) = (file, other)
                && place::are_one(file, other)
            {
                return Err(SimulateError::OneFile(flag, other_flag));
            }
        }
    }
    for (flag, file) in [("--svg", args.svg()), ("--html", args.html())] {
        if let Some(file) = file {
            place::check(flag, file)?;
        }
    }

    let bar = Bar::new();
    let mut watch = |progress: Progress| bar.show(progress);
    let mut run = Run::new(&limit, &Algorithm::ALL);
    let is_drawn = args.svg().is_some() || args.html().is_some();
    let mut sketch = is_drawn.then(|| Sketch::new(&limit));
    let told = input::read(&input, &limit, &mut watch, &mut |arrival| {
        run.arrive(arrival.at, arrival.client);
        if let Some(sketch) = &mut sketch {
            sketch.add(arrival.at, arrival.client);
        }
    })?;
    let summary = run.finish();
    let advice = args
        .advise()
        .map(|share| advise::advise(&input, &limit, share, &mut watch))
        .transpose()?;
    drop(bar);

    if let Some(sketch) = sketch {
        let figure = sketch.finish(&figure::About {
            command,
            moments: input.moments(),
            name: &|client| {
                told.names
                    .name(client)
                    .map_or(String::new(), |name| name.to_string())
            },
            outcomes: &summary.outcomes,
        });
        write_picture(args, &figure)?;
    }
    let notes = told.notes();
    if args.form() != Form::Table {
        for note in &notes {
            let _ = writeln!(io::stderr(), "Note: {note}");
        }
    }
    let shown = match args.form() {
        Form::Table => {
            let about = table::About {
                limit: &limit,
                preset: args.preset(),
                notes: &notes,
            };
            table::table(&about, &summary, advice.as_ref())
        }
        Form::Csv => csv::csv(&summary),
        Form::Json => json::json(command, &summary, advice.as_ref()),
    };
    match io::stdout().lock().write_all(shown.as_bytes()) {
        // Whoever reads has seen enough: head, less.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(SimulateError::Stdout(error))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn write_picture(args: &SimulateArgs, figure: &Figure) -> Result<(), PlaceError> {
    if let Some(file) = args.svg() {
        place::write("--svg", file, &svg::document(figure))?;
    }
    if let Some(file) = args.html() {
        let nonce = format!("{:032x}", fastrand::u128(..));
        place::write("--html", file, &page::document(figure, &nonce))?;
    }
    Ok(())
}
