//! What was decided: the options as types that cannot be wrong, with what the flags
//! say of each other checked. Opens no file; only looks whether the engine is there.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use ipnet::IpNet;

use crate::cli::Options;
use crate::engine::launcher;
use crate::engine::process::{self, EngineCommand, NotRunnable};
use crate::engine::supervisor::Terms;
use crate::logic::address::{HeaderKind, Hop, Order, Trusted};
use crate::logic::bucket::{Cost, Limit};
use crate::logic::queue;
use crate::logic::shape;
use crate::settings::{CostOf, LimitFor, ListenAt, LogClient, LogFormat, Origin, Probe};

/// What is started when nothing else was said.
const DEFAULT_ENGINE: [&str; 2] = ["adv-sim", "serve"];

/// Which command runs the gateway: what is served besides `/api/`, and what a terminal's hang-up means.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// `serve`
    Serve,
    /// `demo`: the built-in page unless a folder was named.
    Demo,
}

/// Everything the gateway was told, decided.
#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: Vec<ListenAt>,
    /// Where metrics and the status page are.
    pub admin: Vec<ListenAt>,
    /// Nobody asked for that: where it cannot be had, all else goes on without.
    pub admin_is_optional: bool,
    /// Names that the admin listener may be asked for by, in small letters.
    pub admin_hosts: Vec<String>,
    /// Where to write what is listened on.
    pub port_file: Option<PathBuf>,
    /// The folder of static files.
    pub static_folder: Option<PathBuf>,
    /// Who may call from pages of their own.
    pub cors: Cors,
    /// Who is the client.
    pub identity: Identity,
    /// What a client may take.
    pub limits: Limits,
    /// Clients remembered at once.
    pub clients_max: usize,
    /// The bucket refuses nothing.
    pub shadow: bool,
    /// Gate 2.
    pub shape: shape::Rules,
    /// Longest request body.
    pub body_bytes_max: usize,
    /// The whole body.
    pub body_timeout: Duration,
    /// Places in the queue.
    pub places_max: usize,
    /// Which waiting turn is next.
    pub queue_order: queue::Order,
    /// Longest wait for the engine.
    pub wait_max: Duration,
    /// What the engine is held to.
    pub terms: Terms,
    /// Limits of connections.
    pub connections: ConnectionLimits,
    /// Longest a shutdown waits for turns.
    pub drain_timeout: Duration,
    /// How log lines look.
    pub log_format: LogFormat,
    /// How much of a client's address is logged.
    pub log_client: LogClient,
}

/// Limits of connections, and of each.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// From the first byte of a request to the end of its head.
    pub header_timeout: Duration,
    /// From an answer's beginning to its last byte in the client's hands, as far as the kernel tells.
    pub write_timeout: Duration,
    /// Without a request.
    pub idle_timeout: Duration,
    /// Open at once.
    pub connections_max: usize,
    /// Bytes of answers not yet sent, over all connections.
    pub unsent_bytes_max: usize,
}

impl ConnectionLimits {
    /// What the kernel may hold for each connection besides, in bytes: so that it holds for
    /// all of them together no more than the gateway itself may.
    pub fn kernel_bytes(&self) -> usize {
        let (least, most) = KERNEL_BYTES;
        (self.unsent_bytes_max / self.connections_max).clamp(least, most)
    }
}

/// Least and most that [`ConnectionLimits::kernel_bytes`] says: less would make each answer
/// many small writes, and more serves nobody on a loopback.
const KERNEL_BYTES: (usize, usize) = (16 * 1024, 256 * 1024);

/// How the client of a request is found.
#[derive(Debug)]
pub struct Identity {
    /// Whose forwarding header is believed.
    pub trusted: Trusted,
    /// The one header that is read.
    pub header: HeaderName,
    /// How it is written.
    pub header_kind: HeaderKind,
    /// Which entry counts.
    pub order: Order,
    /// How much of an IPv6 address makes one client.
    pub ipv6_prefix: u8,
}

/// Which limit a client stands under, and what a turn costs.
#[derive(Debug)]
pub struct Limits {
    default: Limit,
    /// Longest prefix first.
    networks: Vec<(IpNet, Option<Limit>)>,
    costs: HashMap<String, Cost>,
}

impl Limits {
    /// The limit of who comes from nowhere in particular.
    pub fn default_limit(&self) -> &Limit {
        &self.default
    }

    /// The limit in force for this client; none if it is exempt.
    pub fn of(&self, client: Hop) -> Option<&Limit> {
        let Hop::Ip(address) = client else {
            return Some(&self.default);
        };
        self.networks
            .iter()
            .find(|(network, _)| network.contains(&address))
            .map_or(Some(&self.default), |(_, limit)| limit.as_ref())
    }

    /// Tickets that a turn of this kind costs.
    pub fn cost_of(&self, kind: &str) -> Cost {
        self.costs.get(kind).copied().unwrap_or(Cost::ONE)
    }
}

/// Which origins may call.
#[derive(Debug)]
pub enum Cors {
    /// Every origin.
    Any,
    /// These; none at all means that CORS is off.
    Listed(Vec<HeaderValue>),
}

impl Cors {
    /// Is any origin allowed?
    pub fn is_on(&self) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(origins) => !origins.is_empty(),
        }
    }
}

impl Config {
    /// Decides, or tells everything that contradicts itself.
    ///
    /// # Errors
    /// One sentence for each contradiction, each naming its flags.
    pub fn decide(options: &Options) -> Result<Self, Vec<String>> {
        let mut wrong = Vec::new();
        let limits = decide_limits(options, &mut wrong);
        let wildcard = options.cors_origin.contains(&Origin::Any);
        if wildcard && options.cors_origin.len() > 1 {
            wrong.push("--cors-origin: * allows every origin; name it alone".to_owned());
        }
        if options.max_unsent < options.max_reply {
            wrong.push(format!(
                "--max-unsent: {} bytes are less than one reply of --max-reply, {} bytes",
                options.max_unsent, options.max_reply
            ));
        }
        if let Some(folder) = options.engine_dir.as_ref().filter(|path| !path.is_dir()) {
            wrong.push(format!(
                "--engine-dir: {} is no directory",
                folder.display()
            ));
        }
        named_twice("--listen", &options.listen, &mut wrong);
        named_twice("--admin", &options.admin, &mut wrong);
        for at in options.admin.iter().filter(|at| !at.has_free_port()) {
            // The demo's own is only left out where it cannot be had.
            if options.listen.contains(at) && !options.admin_by_default {
                wrong.push(format!(
                    "--admin: {at} is also named by --listen, and what is there is for the operator only"
                ));
            }
        }
        let Some(limits) = limits.filter(|_| wrong.is_empty()) else {
            return Err(wrong);
        };
        Ok(Self {
            listen: options.listen.clone(),
            admin: options.admin.clone(),
            admin_is_optional: options.admin_by_default,
            admin_hosts: options.admin_host.clone(),
            port_file: options.port_file.clone(),
            static_folder: options.static_folder.clone(),
            cors: decide_cors(&options.cors_origin),
            identity: Identity {
                trusted: Trusted::new(options.trusted_proxy.iter().copied()),
                header_kind: HeaderKind::of(options.client_ip_header.as_str()),
                header: options.client_ip_header.clone(),
                order: options.forwarded_for.into(),
                ipv6_prefix: options.ipv6_prefix,
            },
            limits,
            clients_max: options.max_clients,
            shadow: options.shadow,
            shape: shape::Rules {
                kinds: options.kinds.clone(),
                input_chars_max: options.max_input,
                depth_max: options.max_depth,
            },
            body_bytes_max: options.max_body,
            body_timeout: options.body_timeout,
            places_max: options.queue,
            queue_order: options.queue_order.into(),
            wait_max: options.max_wait,
            terms: Terms {
                reply_timeout: options.reply_timeout,
                reply_bytes_max: options.max_reply,
                restart_delay_max: options.restart_delay_max,
                ready_probe: options.ready_probe.clone().map(|Probe(line)| line),
                log_client: options.log_client,
            },
            connections: ConnectionLimits {
                header_timeout: options.header_timeout,
                write_timeout: options.write_timeout,
                idle_timeout: options.idle_timeout,
                connections_max: options.max_connections,
                unsent_bytes_max: options.max_unsent,
            },
            drain_timeout: options.drain_timeout,
            log_format: options.log_format,
            log_client: options.log_client,
        })
    }
}

fn named_twice(flag: &str, places: &[ListenAt], wrong: &mut Vec<String>) {
    for (i, at) in places.iter().enumerate() {
        if places[..i].contains(at) && !at.has_free_port() {
            wrong.push(format!("{flag}: {at} is named twice"));
        }
    }
}

fn decide_cors(origins: &[Origin]) -> Cors {
    let listed = origins.iter().map(|origin| match origin {
        Origin::Any => None,
        Origin::One(value) => Some(value.clone()),
    });
    listed
        .collect::<Option<Vec<_>>>()
        .map_or(Cors::Any, Cors::Listed)
}

fn decide_limits(options: &Options, wrong: &mut Vec<String>) -> Option<Limits> {
    let default = Limit::new(options.rate.clone(), options.burst)
        .map_err(|why| wrong.push(format!("--rate and --burst: {why}")))
        .ok();
    let mut networks: Vec<(IpNet, Option<Limit>)> = Vec::new();
    for LimitFor { network, limit } in &options.limit_for {
        if let IpNet::V6(v6) = network
            && limit.is_some()
            && v6.prefix_len() > options.ipv6_prefix
        {
            wrong.push(format!(
                "--limit-for: {network} is only a part of one client, which is a /{} by --ipv6-prefix",
                options.ipv6_prefix
            ));
        }
        if networks.iter().any(|(known, _)| known == network) {
            wrong.push(format!("--limit-for: {network} is named twice"));
        }
        networks.push((*network, limit.clone()));
    }
    networks.sort_by_key(|(network, _)| std::cmp::Reverse(network.prefix_len()));

    let in_force = || networks.iter().filter_map(|(_, limit)| limit.as_ref());
    let mut costs = HashMap::new();
    for CostOf { kind, cost } in &options.cost {
        if kind != shape::NEW && !options.kinds.takes(kind) {
            wrong.push(format!("--cost: `{kind}` is no kind that --kinds takes"));
        }
        let too_small = in_force()
            .chain(&default)
            .find(|limit| !cost.fits(limit.burst()));
        if let Some(limit) = too_small {
            wrong.push(format!(
                "--cost: {kind}={cost} is more than a burst of {} can ever pay",
                limit.burst()
            ));
        }
        if costs.insert(kind.clone(), *cost).is_some() {
            wrong.push(format!("--cost: `{kind}` is named twice"));
        }
    }
    Some(Limits {
        default: default?,
        networks,
        costs,
    })
}

/// The engine of `serve`: what was typed, or the default, found on this machine.
///
/// # Errors
/// [`NotRunnable`]
pub fn decide_engine(
    typed: &[OsString],
    options: &Options,
    open_files_soft: Option<u64>,
) -> Result<EngineCommand, NotRunnable> {
    let default = DEFAULT_ENGINE.map(OsString::from);
    let (program, arguments) = typed.split_first().unwrap_or((&default[0], &default[1..]));
    let program = process::find(program, std::env::var_os("PATH").as_deref())?;
    Ok(engine_command(program, arguments, options, open_files_soft))
}

/// The engine of `demo`: this very program.
pub fn built_in_engine(options: &Options, open_files_soft: Option<u64>) -> EngineCommand {
    let arguments = [OsString::from("engine")];
    engine_command(launcher::SELF.into(), &arguments, options, open_files_soft)
}

fn engine_command(
    program: PathBuf,
    arguments: &[OsString],
    options: &Options,
    open_files_soft: Option<u64>,
) -> EngineCommand {
    let variables = options.engine_env.iter();
    EngineCommand {
        program,
        arguments: arguments.to_vec(),
        directory: options.engine_dir.clone(),
        environment: variables
            .map(|variable| (variable.name.clone().into(), variable.value.clone().into()))
            .collect(),
        open_files_soft,
    }
}
