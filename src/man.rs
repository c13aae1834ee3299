//! `kidoban man` and `kidoban completions`: what a shell and a reader of manuals want to
//! know, made from the same definition as `--help`, so that it cannot differ from it.
//! Starts nothing.

use std::io;

use clap::{Arg, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::cli;

/// What the process's exit code says, as in the README.
const EXIT_STATUS: [(&str, &str); 7] = [
    ("0", "Ended by a signal; or what was asked for is done."),
    (
        "1",
        "Failed: a socket, a file, the system; or the gateway that was asked is not well.",
    ),
    ("2", "A bad option, or options that contradict each other."),
    ("126", "The engine is there and cannot be run."),
    ("127", "The engine was not found."),
    ("130", "Ended at once by a second SIGINT."),
    ("143", "Ended at once by a second SIGTERM."),
];

const SIGNALS: [(&str, &str); 2] = [
    (
        "SIGTERM, SIGINT",
        "Take nothing new, answer what was accepted, let the engine leave, end. A second one ends everything at once.",
    ),
    (
        "SIGHUP",
        "Start a fresh engine, let it take over between two turns when it is ready, and read the static files again. \
         No turn is lost. In demo it means SIGTERM.",
    ),
];

const EXAMPLES: [(&str, &str); 4] = [
    (
        "kidoban demo",
        "Play the built-in game at once, in a browser.",
    ),
    (
        "kidoban --rate 30/min --burst 5 -- python3 engine.py",
        "Put a program of one's own behind the gateway.",
    ),
    (
        "kidoban --check -- python3 engine.py",
        "Check the options, and that the engine is there.",
    ),
    (
        "kidoban health unix:/run/kidoban/kidoban.sock",
        "Ask a gateway whether it takes turns.",
    ),
];

/// Writes a script that completes command lines in `shell`.
///
/// # Errors
/// The writer's.
pub fn completions(shell: Shell, mut to: impl io::Write) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "kidoban", &mut script);
    to.write_all(&script)
}

/// Writes the manual of the whole tool, one page, as roff.
///
/// # Errors
/// The writer's.
pub fn man(mut to: impl io::Write) -> io::Result<()> {
    let command = cli::command().disable_help_subcommand(true);
    let page = Man::new(command.clone())
        .section("1")
        .date(env!("KIDOBAN_COMMIT_DATE"))
        .source(concat!("kidoban ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    let mut roff = Roff::new();
    synopsis(&mut roff, &command);
    roff.to_writer(&mut text)?;
    page.render_description_section(&mut text)?;
    let mut roff = Roff::new();
    commands(&mut roff, &command);
    roff.to_writer(&mut text)?;
    page.render_options_section(&mut text)?;
    let mut roff = Roff::new();
    listed(&mut roff, "SIGNALS", &SIGNALS);
    listed(&mut roff, "EXIT STATUS", &EXIT_STATUS);
    listed(&mut roff, "EXAMPLES", &EXAMPLES);
    roff.to_writer(&mut text)?;
    page.render_version_section(&mut text)?;
    to.write_all(&text)
}

/// One line for each command: the library's own has all forty options in it.
fn synopsis(roff: &mut Roff, root: &Command) {
    roff.control("SH", ["SYNOPSIS"]);
    for (i, command) in root.get_subcommands().enumerate() {
        if i > 0 {
            roff.control("br", []);
        }
        let mut line = vec![bold("kidoban"), roman(" ")];
        if command.get_name() == "serve" {
            line.extend([roman("["), bold("serve"), roman("] ")]);
        } else {
            line.extend([bold(command.get_name()), roman(" ")]);
        }
        line.extend(arguments(command));
        roff.text(line);
    }
}

fn arguments(command: &Command) -> Vec<Inline> {
    let mut line = Vec::new();
    if takes_options(command) {
        line.extend([roman("["), italic("OPTION"), roman("]... ")]);
    }
    for argument in command.get_positionals() {
        let name = value_name(argument);
        if argument.is_last_set() {
            let more = roman(" [");
            line.extend([
                roman("[-- "),
                italic(name),
                more,
                italic("ARG"),
                roman("]...]"),
            ]);
        } else if argument.is_required_set() {
            line.push(italic(name));
        } else {
            line.extend([roman("["), italic(name), roman("]")]);
        }
    }
    line
}

fn takes_options(command: &Command) -> bool {
    command.get_opts().next().is_some()
}

fn value_name(argument: &Arg) -> String {
    argument
        .get_value_names()
        .and_then(|names| names.first())
        .map_or_else(|| argument.get_id().to_string(), ToString::to_string)
}

fn commands(roff: &mut Roff, root: &Command) {
    roff.control("SH", ["COMMANDS"]);
    for command in root.get_subcommands() {
        roff.control("TP", []);
        roff.text([bold(command.get_name())]);
        let about = command.get_about().map(ToString::to_string);
        let mut about = about.unwrap_or_default() + ".";
        if takes_options(command) {
            about += " Takes the options below.";
        }
        roff.text([roman(about)]);
        for argument in command.get_positionals() {
            let help = argument.get_help().map(ToString::to_string);
            roff.control("IP", []);
            roff.text([
                italic(value_name(argument)),
                roman(format!(": {}", help.unwrap_or_default())),
            ]);
        }
    }
}

fn listed(roff: &mut Roff, heading: &str, entries: &[(&str, &str)]) {
    roff.control("SH", [heading]);
    for (name, text) in entries {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*text)]);
    }
}
