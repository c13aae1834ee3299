//! What `kidoban simulate` takes on its command line. Every value is checked here for
//! itself; opens no file.

#![allow(
    clippy::doc_markdown,
    rustdoc::broken_intra_doc_links,
    reason = "doc comments here are the text of --help"
)]

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::advise::Share;
use super::input::filter::{ClientFilter, Filter, Moment};
use super::input::log::Log;
use super::input::pattern::Pattern;
use super::input::{self, Input};
use super::preset::Preset;
use crate::logic::bucket::{Burst, Limit, Rate};
use crate::settings::{count, duration};

/// The flags of `simulate`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("input").required(true).args(["log", "pattern"]))]
pub struct SimulateArgs {
    /// An access log, or - for standard input: Caddy's JSON, common or combined (nginx, Apache), or kidoban's own JSON; .gz too
    #[arg(long, value_name = "FILE", help_heading = "What comes")]
    log: Option<PathBuf>,
    /// Made-up traffic: burst:10, every:100ms:46, poisson:RATE:DURATION[:SEED], players:N:DURATION[:SEED], or as large as the limit, edge and flood; each may start later, @9.5s; joined with +
    #[arg(long, value_name = "PATTERN", help_heading = "What comes")]
    pattern: Option<Pattern>,
    /// Only of this client, a network (10.0.0.0/8) or a name. Repeatable
    #[arg(
        long,
        value_name = "CLIENT",
        value_delimiter = ',',
        conflicts_with = "pattern",
        help_heading = "What comes"
    )]
    client: Vec<ClientFilter>,
    /// Only requests whose path begins so, such as /api/
    #[arg(
        long,
        value_name = "PREFIX",
        value_parser = path_prefix,
        conflicts_with = "pattern",
        help_heading = "What comes"
    )]
    path: Option<String>,
    /// Only from this moment on: 2026-10-17T13:55:00+02:00 or 2026-10-17
    #[arg(
        long,
        value_name = "MOMENT",
        conflicts_with = "pattern",
        help_heading = "What comes"
    )]
    since: Option<Moment>,
    /// Only before this moment
    #[arg(
        long,
        value_name = "MOMENT",
        conflicts_with = "pattern",
        help_heading = "What comes"
    )]
    until: Option<Moment>,
    /// How much later than its moment a line may stand in the log
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, conflicts_with = "pattern", help_heading = "What comes")]
    reorder: Duration,
    /// How much of an IPv6 address makes one client
    #[arg(long, value_name = "LEN", default_value = "64", value_parser = count(1, 128), conflicts_with = "pattern", help_heading = "What comes")]
    ipv6_prefix: usize,

    /// Turns per second per client: 2, 0.5, 30/min, 5000/h, 10/10s, 200/d
    #[arg(
        long,
        value_name = "RATE",
        default_value = "2",
        help_heading = "The limit"
    )]
    rate: Rate,
    /// Turns at once; windows are burst ÷ rate long
    #[arg(
        long,
        value_name = "N",
        default_value = "2",
        help_heading = "The limit"
    )]
    burst: Burst,
    /// Somebody's published limit, in the place of --rate and --burst
    #[arg(long, value_name = "NAME", conflicts_with_all = ["rate", "burst"], help_heading = "The limit")]
    preset: Option<Preset>,
    /// Also the smallest limits under which at most this share of ordinary clients would ever have been refused
    #[arg(
        long,
        value_name = "SHARE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.1%",
        help_heading = "The limit"
    )]
    advise: Option<Share>,

    /// Draw the picture into this file
    #[arg(long, value_name = "FILE", help_heading = "What is shown")]
    svg: Option<PathBuf>,
    /// Make a page of the picture, to try other limits and arrivals on
    #[arg(long, value_name = "FILE", help_heading = "What is shown")]
    html: Option<PathBuf>,
    /// Lines for a spreadsheet in the place of the table
    #[arg(long, conflicts_with_all = ["json", "advise"], help_heading = "What is shown")]
    csv: bool,
    /// JSON in the place of the table
    #[arg(long, help_heading = "What is shown")]
    json: bool,
}

/// Other prefixes would let nothing pass, and most likely lack their slash.
fn path_prefix(given: &str) -> Result<String, String> {
    if given.starts_with('/') {
        Ok(given.to_owned())
    } else {
        Err("takes what a path begins with, such as /api/".to_owned())
    }
}

/// In what form the numbers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table for people.
    Table,
    /// Comma-separated values.
    Csv,
    /// JSON.
    Json,
}

impl SimulateArgs {
    /// Where arrivals come from.
    pub fn input(&self) -> Input {
        match &self.pattern {
            Some(pattern) => Input::Pattern(pattern.clone()),
            None => Input::Log(Log {
                file: self.log.clone().filter(|file| file.as_os_str() != "-"),
                reorder: input::nanos(self.reorder),
                #[expect(clippy::cast_possible_truncation, reason = "at most 128")]
                ipv6_prefix: self.ipv6_prefix as u8,
                filter: Filter {
                    clients: self.client.clone(),
                    path: self.path.clone(),
                    since: self.since,
                    until: self.until,
                },
            }),
        }
    }

    /// What everybody is held to.
    ///
    /// # Errors
    /// When rate and burst do not go together.
    pub fn limit(&self) -> Result<Limit, String> {
        match self.preset {
            Some(preset) => Ok(preset.limit()),
            None => Limit::new(self.rate.clone(), self.burst),
        }
    }

    /// Whose limit that is.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// Whether limits are to be advised, and how many ordinary clients may be refused.
    pub fn advise(&self) -> Option<Share> {
        self.advise
    }

    /// The picture's file.
    pub fn svg(&self) -> Option<&PathBuf> {
        self.svg.as_ref()
    }

    /// The page's file.
    pub fn html(&self) -> Option<&PathBuf> {
        self.html.as_ref()
    }

    /// How numbers are told.
    pub fn form(&self) -> Form {
        if self.json {
            Form::Json
        } else if self.csv {
            Form::Csv
        } else {
            Form::Table
        }
    }
}
