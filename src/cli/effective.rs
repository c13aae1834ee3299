//! The settings in force, as `--check` prints them and the status page shows them. Hides
//! what may be secret, and decides nothing.

use std::fmt;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// One setting as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// With its two dashes.
    pub flag: String,
    /// What may be secret is hidden; several are separated by commas.
    pub value: String,
    /// Where it came from: `default`, `environment`, `passed`, or nothing where it was typed.
    pub source: &'static str,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            flag,
            value,
            source,
        } = self;
        write!(f, "{flag} = {value}")?;
        if source.is_empty() {
            return Ok(());
        }
        write!(f, "  ({source})")
    }
}

/// Every setting of this command as it stands.
pub fn effective_settings(command: &Command, matches: &ArgMatches) -> Vec<Setting> {
    let mut settings = Vec::new();
    for argument in command.get_arguments() {
        let Some(flag) = argument.get_long().filter(|flag| *flag != "check") else {
            continue;
        };
        let id = argument.get_id().as_str();
        let Ok(Some(values)) = matches.try_get_raw(id) else {
            continue;
        };
        let from = matches.value_source(id);
        let values: Vec<_> = values
            .map(|value| value.to_string_lossy())
            .map(|value| match flag {
                "engine-env" if from == Some(ValueSource::EnvVariable) => hide_each(&value),
                "engine-env" => hide(&value),
                _ => value.into_owned(),
            })
            .collect();
        let source = match from {
            Some(ValueSource::EnvVariable) => "environment",
            Some(ValueSource::CommandLine) => "",
            _ => "default",
        };
        settings.push(Setting {
            flag: format!("--{flag}"),
            value: values.join(", "),
            source,
        });
    }
    settings
}

/// Sockets that were passed took the place of `--listen`.
pub fn show_passed(settings: &mut [Setting], addresses: &[String]) {
    for listen in settings.iter_mut().filter(|it| it.flag == "--listen") {
        listen.value = addresses.join(", ");
        listen.source = "passed";
    }
}

/// On the command line a comma belongs to the value, and is as secret as the rest.
fn hide(variable: &str) -> String {
    format!("{}=…", variable.split('=').next().unwrap_or(""))
}

fn hide_each(variables: &str) -> String {
    variables
        .split(',')
        .map(hide)
        .collect::<Vec<_>>()
        .join(", ")
}
