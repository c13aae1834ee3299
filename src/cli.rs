//! What was typed: commands, flags, environment. Every value is checked here for
//! itself; what contradicts another value is `config`'s to say. Starts nothing.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments here are the text of --help"
)]

mod effective;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use hyper::header::HeaderName;

use self::effective::effective_settings;
pub use self::effective::{Setting, show_passed};
use crate::health::Target;
use crate::logic::address::TrustedItem;
use crate::logic::bucket::{Burst, Rate};
use crate::logic::shape::{DEPTH_MAX_LIMIT, Kinds};
use crate::settings::{
    CostOf, ForwardedFor, LimitFor, ListenAt, LogClient, LogFormat, Origin, Probe, QueueOrder,
    Variable, count, duration, header_name, host_name, size,
};
use crate::simulate::options::SimulateArgs;

/// Where the demo's status page is when nothing else was said.
const DEMO_ADMIN: &str = "127.0.0.1:8788";

/// Keeper at the wicket of one slow program
///
/// HTTP turns in, one JSON line at a time to an engine that reads a line and writes a
/// line, and its line back.
#[derive(Debug, Parser)]
#[command(name = "kidoban", version = env!("KIDOBAN_VERSION"), args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the gateway; the word may be left out
    Serve(Box<ServeArgs>),
    /// Run the gateway with the built-in engine and page: play at once in a browser
    Demo(Box<Options>),
    /// Be the built-in engine, on stdin and stdout
    Engine,
    /// Ask a gateway's /api/health: exit 0 if it takes turns, else 1
    Health {
        /// `http://HOST:PORT[/PATH]` or `unix:/path/to.sock`; the path is /api/health if none is given
        #[arg(value_name = "URL", default_value = "http://127.0.0.1:8787")]
        target: Target,
    },
    /// Run an access log or a pattern of traffic through every rate-limit algorithm, and show who would have been let in
    Simulate(Box<SimulateArgs>),
    /// Write a script that completes command lines
    Completions {
        /// The shell that is to run it
        shell: Shell,
    },
    /// Write the manual page, for man -l -
    Man,
}

/// `kidoban [serve] [OPTIONS] [-- ENGINE [ARG]...]`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The flags.
    #[command(flatten)]
    pub options: Options,
    /// The engine and its arguments [default: adv-sim serve]
    #[arg(last = true, value_name = "ENGINE")]
    pub engine: Vec<OsString>,
}

/// The flags of `serve` and `demo`. Each has an environment variable `KIDOBAN_<FLAG>`; a flag wins.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Where to listen: IP:PORT (port 0 picks a free one) or a unix socket, unix:/PATH. Sockets passed by systemd take its place. Repeatable
    #[arg(
        long,
        env = "KIDOBAN_LISTEN",
        value_name = "ADDR",
        value_delimiter = ',',
        default_value = "127.0.0.1:8787",
        help_heading = "Listening"
    )]
    pub(crate) listen: Vec<ListenAt>,
    /// Write the addresses that are listened on to this file, one a line
    #[arg(
        long,
        env = "KIDOBAN_PORT_FILE",
        value_name = "FILE",
        help_heading = "Listening"
    )]
    pub(crate) port_file: Option<PathBuf>,
    /// Where to serve metrics and the status page, for the operator only: IP:PORT or unix:/PATH. Repeatable
    #[arg(
        long,
        env = "KIDOBAN_ADMIN",
        value_name = "ADDR",
        value_delimiter = ',',
        help_heading = "Listening"
    )]
    pub(crate) admin: Vec<ListenAt>,
    /// `--admin` was not typed: it is the demo's own.
    #[arg(skip)]
    pub(crate) admin_by_default: bool,
    /// A name that --admin may be asked for by, besides its addresses and localhost. Repeatable
    #[arg(long, env = "KIDOBAN_ADMIN_HOST", value_name = "NAME", value_delimiter = ',', value_parser = host_name, help_heading = "Listening")]
    pub(crate) admin_host: Vec<String>,
    /// Serve the files of this folder outside /api/, read into memory at start and again on SIGHUP [demo: the built-in page]
    #[arg(
        long = "static",
        env = "KIDOBAN_STATIC",
        value_name = "DIR",
        help_heading = "Listening"
    )]
    pub(crate) static_folder: Option<PathBuf>,
    /// Origin that may call from its own pages, or *. Repeatable
    #[arg(
        long,
        env = "KIDOBAN_CORS_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        help_heading = "Listening"
    )]
    pub(crate) cors_origin: Vec<Origin>,

    /// Tickets per second per client: 2, 0.5, 30/min, 5000/h, 10/10s, 200/d
    #[arg(
        long,
        env = "KIDOBAN_RATE",
        value_name = "RATE",
        default_value = "2",
        help_heading = "Rate limit"
    )]
    pub(crate) rate: Rate,
    /// Tickets that a full bucket holds
    #[arg(
        long,
        env = "KIDOBAN_BURST",
        value_name = "N",
        default_value = "2",
        help_heading = "Rate limit"
    )]
    pub(crate) burst: Burst,
    /// Other limits for a network: CIDR=RATE:BURST, or CIDR=off. The longest prefix wins. Repeatable
    #[arg(
        long,
        env = "KIDOBAN_LIMIT_FOR",
        value_name = "CIDR=LIMIT",
        value_delimiter = ',',
        help_heading = "Rate limit"
    )]
    pub(crate) limit_for: Vec<LimitFor>,
    /// Tickets that a kind of turn costs: KIND=N, fractions allowed. 1 if not said. Repeatable
    #[arg(
        long,
        env = "KIDOBAN_COST",
        value_name = "KIND=N",
        value_delimiter = ',',
        help_heading = "Rate limit"
    )]
    pub(crate) cost: Vec<CostOf>,
    /// How many bits of an IPv6 address make one client
    #[arg(long, env = "KIDOBAN_IPV6_PREFIX", value_name = "LEN", default_value = "64", value_parser = clap::value_parser!(u8).range(1..=128), help_heading = "Rate limit")]
    pub(crate) ipv6_prefix: u8,
    /// Clients remembered at once; newcomers beyond it share one bucket
    #[arg(long, env = "KIDOBAN_MAX_CLIENTS", value_name = "N", default_value = "1000000", value_parser = count(1, 100_000_000), help_heading = "Rate limit")]
    pub(crate) max_clients: usize,
    /// Count and log what the bucket would refuse, and refuse nothing by it
    #[arg(long, env = "KIDOBAN_SHADOW", value_parser = BoolishValueParser::new(), help_heading = "Rate limit")]
    pub(crate) shadow: bool,

    /// Whose forwarding header is believed: a network, or `unix`. Repeatable
    #[arg(long, env = "KIDOBAN_TRUSTED_PROXY", value_name = "CIDR|unix", value_delimiter = ',', default_values = ["127.0.0.0/8", "::1/128", "unix"], help_heading = "Who is the client")]
    pub(crate) trusted_proxy: Vec<TrustedItem>,
    /// The one header that is read: x-forwarded-for, forwarded, or one with a single address
    #[arg(long, env = "KIDOBAN_CLIENT_IP_HEADER", value_name = "NAME", default_value = "x-forwarded-for", value_parser = header_name, help_heading = "Who is the client")]
    pub(crate) client_ip_header: HeaderName,
    /// Which entry is the client: the rightmost that is not trusted, or the first
    #[arg(
        long,
        env = "KIDOBAN_FORWARDED_FOR",
        value_name = "WHICH",
        default_value = "trusted",
        help_heading = "Who is the client"
    )]
    pub(crate) forwarded_for: ForwardedFor,

    /// Turns accepted and waiting for their reply, the one in the engine included
    #[arg(long, env = "KIDOBAN_QUEUE", value_name = "N", default_value = "32", value_parser = count(1, 100_000), help_heading = "Queue and engine")]
    pub(crate) queue: usize,
    /// Who is next: fair (round robin over clients, newcomers first) or fifo (in order of arrival)
    #[arg(
        long,
        env = "KIDOBAN_QUEUE_ORDER",
        value_name = "ORDER",
        default_value = "fair",
        help_heading = "Queue and engine"
    )]
    pub(crate) queue_order: QueueOrder,
    /// Longest a turn may wait for the engine
    #[arg(long, env = "KIDOBAN_MAX_WAIT", value_name = "DUR", default_value = "60s", value_parser = duration, help_heading = "Queue and engine")]
    pub(crate) max_wait: Duration,
    /// An engine that takes longer for one turn is killed and replaced
    #[arg(long, env = "KIDOBAN_REPLY_TIMEOUT", value_name = "DUR", default_value = "30s", value_parser = duration, help_heading = "Queue and engine")]
    pub(crate) reply_timeout: Duration,
    /// A line of JSON that a fresh engine must answer, within --reply-timeout, before it counts as up
    #[arg(
        long,
        env = "KIDOBAN_READY_PROBE",
        value_name = "JSON",
        help_heading = "Queue and engine"
    )]
    pub(crate) ready_probe: Option<Probe>,
    /// Ceiling of the pause before a dead engine is started again
    #[arg(long, env = "KIDOBAN_RESTART_DELAY_MAX", value_name = "DUR", default_value = "10s", value_parser = duration, help_heading = "Queue and engine")]
    pub(crate) restart_delay_max: Duration,
    /// The engine's directory
    #[arg(
        long,
        env = "KIDOBAN_ENGINE_DIR",
        value_name = "DIR",
        help_heading = "Queue and engine"
    )]
    pub(crate) engine_dir: Option<PathBuf>,
    /// More environment for the engine. Repeatable
    #[arg(
        long,
        env = "KIDOBAN_ENGINE_ENV",
        value_name = "NAME=VALUE",
        hide_env_values = true,
        help_heading = "Queue and engine"
    )]
    pub(crate) engine_env: Vec<Variable>,

    /// Longest request body
    #[arg(long, env = "KIDOBAN_MAX_BODY", value_name = "SIZE", default_value = "64KiB", value_parser = size, help_heading = "What a turn may be")]
    pub(crate) max_body: usize,
    /// Longest reply line of the engine
    #[arg(long, env = "KIDOBAN_MAX_REPLY", value_name = "SIZE", default_value = "1MiB", value_parser = size, help_heading = "What a turn may be")]
    pub(crate) max_reply: usize,
    /// Longest `input`, in Unicode scalar values
    #[arg(long, env = "KIDOBAN_MAX_INPUT", value_name = "N", default_value = "200", value_parser = count(0, 1 << 30), help_heading = "What a turn may be")]
    pub(crate) max_input: usize,
    /// Deepest nesting of the JSON
    #[arg(long, env = "KIDOBAN_MAX_DEPTH", value_name = "N", default_value = "64", value_parser = count(1, DEPTH_MAX_LIMIT), help_heading = "What a turn may be")]
    pub(crate) max_depth: usize,
    /// Values of `kind` that /api/turn takes, or `any`
    #[arg(
        long,
        env = "KIDOBAN_KINDS",
        value_name = "LIST",
        default_value = "look,move,take,use,say",
        help_heading = "What a turn may be"
    )]
    pub(crate) kinds: Kinds,

    /// From the first byte of a request to the end of its head
    #[arg(long, env = "KIDOBAN_HEADER_TIMEOUT", value_name = "DUR", default_value = "10s", value_parser = duration, help_heading = "Connections")]
    pub(crate) header_timeout: Duration,
    /// The whole body
    #[arg(long, env = "KIDOBAN_BODY_TIMEOUT", value_name = "DUR", default_value = "10s", value_parser = duration, help_heading = "Connections")]
    pub(crate) body_timeout: Duration,
    /// The whole answer
    #[arg(long, env = "KIDOBAN_WRITE_TIMEOUT", value_name = "DUR", default_value = "30s", value_parser = duration, help_heading = "Connections")]
    pub(crate) write_timeout: Duration,
    /// A connection without a request
    #[arg(long, env = "KIDOBAN_IDLE_TIMEOUT", value_name = "DUR", default_value = "180s", value_parser = duration, help_heading = "Connections")]
    pub(crate) idle_timeout: Duration,
    /// Open client connections; when full the longest idle one is closed, else accepting pauses
    #[arg(long, env = "KIDOBAN_MAX_CONNECTIONS", value_name = "N", default_value = "1024", value_parser = count(1, 1_000_000), help_heading = "Connections")]
    pub(crate) max_connections: usize,
    /// Bytes of answers not yet sent, over all connections; beyond it the slowest are closed
    #[arg(long, env = "KIDOBAN_MAX_UNSENT", value_name = "SIZE", default_value = "64MiB", value_parser = size, help_heading = "Connections")]
    pub(crate) max_unsent: usize,
    /// Longest a shutdown waits for turns
    #[arg(long, env = "KIDOBAN_DRAIN_TIMEOUT", value_name = "DUR", default_value = "10s", value_parser = duration, help_heading = "Connections")]
    pub(crate) drain_timeout: Duration,

    /// auto: text on a terminal, JSON lines otherwise. `RUST_LOG` sets what is logged
    #[arg(
        long,
        env = "KIDOBAN_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "auto",
        help_heading = "Log"
    )]
    pub(crate) log_format: LogFormat,
    /// How much of a client's address is logged; prefix: an IPv4 /24, an IPv6 /48
    #[arg(
        long,
        env = "KIDOBAN_LOG_CLIENT",
        value_name = "HOW",
        default_value = "full",
        help_heading = "Log"
    )]
    pub(crate) log_client: LogClient,

    /// Check the options and the engine's presence, print the effective settings, and exit
    #[arg(long, env = "KIDOBAN_CHECK", value_parser = BoolishValueParser::new(), help_heading = "Log")]
    pub(crate) check: bool,
}

impl Cli {
    /// Reads the process's own arguments and environment: the command, and its settings as
    /// they stand. A bad value ends the process here: its message on stderr, exit 2.
    pub fn read() -> (Command, Vec<Setting>) {
        let definition = command().mut_args(take_negative_numbers);
        let mut definition =
            definition.mut_subcommands(|command| command.mut_args(take_negative_numbers));
        let matches = definition.get_matches_mut();
        let cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let (definition, matches) = match matches.subcommand() {
            Some((name, matches)) => (definition.find_subcommand(name), matches),
            None => (Some(&definition), &matches),
        };
        let settings = definition.map_or_else(Vec::new, |definition| {
            effective_settings(definition, matches)
        });
        let mut command = cli
            .command
            .unwrap_or_else(|| Command::Serve(Box::new(cli.serve)));
        match &mut command {
            Command::Serve(serve) => serve.options.split_engine_env(matches),
            Command::Demo(options) => {
                options.split_engine_env(matches);
                options.admin_by_default =
                    matches.value_source("admin") == Some(ValueSource::DefaultValue);
            }
            Command::Engine
            | Command::Health { .. }
            | Command::Simulate(_)
            | Command::Completions { .. }
            | Command::Man => {}
        }
        (command, settings)
    }
}

/// The process's own command line, fit to be typed again.
pub fn as_typed() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let words = std::iter::once("kidoban".to_owned()).chain(words);
    let quoted = words.map(|word| match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        // No shell can hand over a zero byte.
        Err(_) => word,
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The definition of the command line, for whoever describes it.
pub fn command() -> clap::Command {
    Cli::command().mut_subcommand("demo", |demo| {
        demo.mut_arg("admin", |admin| admin.default_value(DEMO_ADMIN))
    })
}

/// `--rate -1` is a bad rate, to be told so; without this it would be an unknown flag `-1`.
fn take_negative_numbers(argument: Arg) -> Arg {
    let takes = argument.get_long().is_some() && argument.get_action().takes_values();
    argument.allow_negative_numbers(takes)
}

impl Options {
    /// Only check and print?
    pub fn check(&self) -> bool {
        self.check
    }

    /// A value may hold commas on the command line; in the environment they separate.
    fn split_engine_env(&mut self, matches: &ArgMatches) {
        if matches.value_source("engine_env") != Some(ValueSource::EnvVariable) {
            return;
        }
        let together = self.engine_env.iter().map(ToString::to_string);
        let together = together.collect::<Vec<_>>().join(",");
        self.engine_env = together
            .split(',')
            .map(|variable| {
                variable.parse().unwrap_or_else(|why| {
                    let why = format!(
                        "a value for '--engine-env' in KIDOBAN_ENGINE_ENV, where commas separate them: each {why}\n"
                    );
                    Cli::command().error(ErrorKind::ValueValidation, why).exit()
                })
            })
            .collect();
    }
}
