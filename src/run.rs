//! The life of the gateway: bound, started, drained, ended. Each step that can fail at
//! the start is a [`StartError`] with its exit code.

mod start_error;

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tracing::{error, info, warn};

use crate::admin::{self, Admin, Sources};
use crate::cli::{Setting, show_passed};
use crate::clock::Clock;
use crate::config::{Config, Role};
use crate::connection::Connections;
use crate::drain::{Asked, Drain, Signals, Stage};
use crate::engine::orphans::Orphans;
use crate::engine::process::{self, EngineCommand};
use crate::engine::supervisor::{Ended, Supervisor};
use crate::engine::{Engine, Status};
use crate::listen::{Listener, put_in_place};
use crate::log;
use crate::logic::printable::printable;
use crate::metrics::Metrics;
use crate::request::Gateway;
use crate::server;
use crate::settings::ListenAt;
use crate::static_files::{ReadError, StaticFiles};
use crate::systemd::{Manager, Passed};
use crate::tally::Tally;

pub use start_error::StartError;

/// For how long into a drain turns are still taken on connections that are open: what
/// was sent before its sender could know of the drain has arrived by then.
const LAST_ARRIVALS: Duration = Duration::from_millis(500);
/// How long answers that are decided may take to go out, once the drain's time is up.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What the operator is shown besides what the gateway knows itself.
#[derive(Debug)]
pub struct Shown {
    /// The settings in force.
    pub settings: Vec<Setting>,
    /// The log, kept until the end.
    pub log: log::Writer,
}

/// Raises the soft descriptor limit to the hard one. Says what it was: the engine gets that.
pub fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Refused, the old limit still serves; accepting backs off when it is reached.
    let _ = setrlimit(Resource::Nofile, raised);
    limit.current
}

/// Runs the gateway until a signal ends it. Sockets that were passed take the place of `--listen`.
///
/// # Errors
/// [`StartError`]; once it runs, it ends with an exit code.
pub async fn run(
    config: Config,
    command: EngineCommand,
    role: Role,
    passed: Vec<Passed>,
    mut shown: Shown,
) -> Result<ExitCode, StartError> {
    let config = Arc::new(config);
    let clock = Clock::start();
    let mut signals =
        Signals::catch().map_err(|error| StartError::System("catch signals", error))?;
    let files = read_files(&config, role)?;
    let manager = Manager::from_environment()?;
    let keeps_backlog = !passed.is_empty();
    let admin_listeners = bind_admin(&config).await?;
    let listeners = listen(&config, passed, &mut shown.settings).await?;
    if let Role::Demo = role {
        tell_where_to_play(&listeners, &admin_listeners);
    }

    let drain = Drain::default();
    let metrics = Arc::new(Metrics::new());
    let tally = Arc::new(Tally::new(Arc::clone(&metrics), clock.nanos()));
    let engine = Engine::new(config.places_max, config.queue_order, Arc::clone(&metrics));
    let gateway = Arc::new(Gateway::new(
        Arc::clone(&config),
        engine.clone(),
        drain.clone(),
        tally,
        clock,
    ));
    gateway.serve_files(files);

    let (close_engine, closing) = watch::channel(false);
    let (orphans, child_ended) =
        Orphans::adopt().map_err(|error| StartError::System("adopt orphans", error))?;
    let orphans = Arc::new(orphans);
    let starts_beside = Arc::clone(&orphans);
    let engine_command = printable(&command.to_string()).into_owned();
    let supervisor = Supervisor::new(&engine, config.terms.clone(), clock, move || {
        process::start(&command, clock, &starts_beside, &metrics)
    });
    let mut supervisor = tokio::spawn(supervisor.run(is_true(closing)));

    let connections = Arc::new(Connections::new(config.connections));
    // Dropped with this function: nothing is accepted or read again after it.
    let mut tasks = JoinSet::new();
    let mut accepting = Vec::new();
    for listener in listeners {
        let accept = server::accept(Arc::clone(&gateway), Arc::clone(&connections), listener);
        let first_start = first_start(engine.clone(), drain.clone(), config.wait_max);
        accepting.push(tasks.spawn(async move {
            if keeps_backlog {
                first_start.await;
            }
            accept.await;
        }));
    }
    if let Some(manager) = manager {
        let longest = config.drain_timeout;
        tasks.spawn(manager.tell(engine.clone(), drain.clone(), longest, accepting));
    }

    let sources = Sources {
        gateway: Arc::clone(&gateway),
        connections: Arc::clone(&connections),
        engine: engine.clone(),
        engine_command,
        log_lost: shown.log.lost(),
        clock,
        settings: shown.settings,
    };
    let admin = Admin::new(sources, &config.admin_hosts);
    serve_operator(&mut tasks, admin, admin_listeners);
    tasks.spawn(keep_history(Arc::clone(&gateway), engine.clone(), clock));
    let telling = shown.log.tell_lost();
    tasks.spawn(async move {
        telling.await;
    });
    tasks.spawn(async move {
        orphans.reap(child_ended).await;
    });
    tasks.spawn(forget_clients(Arc::clone(&gateway)));
    let reload = Arc::new(Notify::new());
    tasks.spawn(reload_when_asked(Arc::clone(&gateway), Arc::clone(&reload)));

    loop {
        let asked = tokio::select! {
            asked = signals.next() => asked,
            ended = &mut supervisor => return exit_code(ended),
        };
        match (asked, role) {
            (Asked::Reload, Role::Serve) => {
                reload.notify_one();
                engine.swap();
            }
            (Asked::Reload, Role::Demo) | (Asked::ShutDown(_), _) => break,
        }
    }
    info!("draining");
    let ending = async {
        answer_the_last(&drain, &connections, config.drain_timeout).await;
        close_engine.send_replace(true);
        exit_code(supervisor.await)
    };
    let code = tokio::select! {
        code = ending => code?,
        code = signals.shut_down() => code,
    };
    info!("ended");
    Ok(code)
}

/// Until the very end: also a drain is to be watched.
fn serve_operator(tasks: &mut JoinSet<()>, admin: Admin, listeners: Vec<Listener>) {
    let admin = Arc::new(admin);
    let connections = Arc::new(Connections::new(admin::LIMITS));
    for listener in listeners {
        let (admin, connections) = (Arc::clone(&admin), Arc::clone(&connections));
        tasks.spawn(server::accept(admin, connections, listener));
    }
}

async fn forget_clients(gateway: Arc<Gateway>) {
    gateway.forget_clients().await;
}

/// Tells the history at the end of each of its steps, for ever.
async fn keep_history(gateway: Arc<Gateway>, engine: Engine, clock: Clock) {
    loop {
        let step = gateway
            .tally()
            .tell_history(clock.nanos(), engine.take_peak());
        tokio::time::sleep(step).await;
    }
}

/// How the supervisor ended: by itself only when there is nothing to run, or for a fault of the gateway's own.
fn exit_code(ended: Result<Result<(), Ended>, JoinError>) -> Result<ExitCode, StartError> {
    match ended {
        Ok(Ok(())) => Ok(ExitCode::SUCCESS),
        Ok(Err(never_ran @ Ended::NeverRan { .. })) => Err(StartError::NeverRan(never_ran)),
        Ok(Err(fault @ Ended::Illegal(_))) => {
            error!(%fault, "the engine's supervisor failed");
            Ok(ExitCode::FAILURE)
        }
        Err(fault) => {
            error!(%fault, "the engine's supervisor failed");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The steps of a drain: ready when no connection is open, or time is up.
async fn answer_the_last(drain: &Drain, connections: &Connections, longest: Duration) {
    let arrivals = LAST_ARRIVALS.min(longest);
    let mut all_closed = pin!(connections.all_closed());
    drain.reach(Stage::Draining);
    if timeout(arrivals, &mut all_closed).await.is_ok() {
        return;
    }
    info!("new turns are refused from now on");
    drain.reach(Stage::Refusing);
    if timeout(longest.saturating_sub(arrivals), &mut all_closed)
        .await
        .is_ok()
    {
        return;
    }
    warn!("the drain's time is up");
    drain.reach(Stage::TimeUp);
    let _ = timeout(LAST_ANSWERS, all_closed).await;
}

/// Ready when the first engine is up or has failed. Whoever waits in a socket's backlog for
/// the gateway to come back waits for its engine as well, for as long as any turn may wait.
async fn first_start(engine: Engine, drain: Drain, wait_max: Duration) {
    let mut statuses = engine.statuses();
    let is_known = statuses.wait_for(|status| *status != Status::Starting);
    tokio::select! {
        _ = timeout(wait_max, is_known) => {}
        () = drain.reached(Stage::Draining) => {}
    }
}

async fn is_true(mut flag: watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the gateway.
    let _ = flag.wait_for(|set| *set).await;
}

async fn listen(
    config: &Config,
    passed: Vec<Passed>,
    settings: &mut [Setting],
) -> Result<Vec<Listener>, StartError> {
    let were_passed = !passed.is_empty();
    let mut listeners = Vec::new();
    for passed in passed {
        let listener = Listener::adopt(passed)
            .map_err(|error| StartError::System("take over a socket", error))?;
        listeners.push(listener);
    }
    if listeners.is_empty() {
        for at in &config.listen {
            let listener = Listener::bind(at)
                .await
                .map_err(|error| StartError::Listen(at.clone(), error))?;
            listeners.push(listener);
        }
    }
    let limits = &config.connections;
    let mut addresses = Vec::new();
    for listener in &listeners {
        listener
            .bound_unsent(limits.kernel_bytes(), limits.write_timeout)
            .map_err(|error| StartError::System("bound a socket's buffer", error))?;
        let address = listener.address();
        info!(%address, "listening");
        addresses.push(address.to_string());
    }
    if were_passed {
        show_passed(settings, &addresses);
    }
    if let Some(path) = &config.port_file {
        // Whoever waits for the file finds it whole.
        let lines = addresses.join("\n") + "\n";
        put_in_place(path, |beside| fs::write(beside, &lines))
            .map_err(|error| StartError::PortFile(path.clone(), error))?;
    }
    Ok(listeners)
}

async fn bind_admin(config: &Config) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::new();
    for at in &config.admin {
        match Listener::bind(at).await {
            Ok(listener) => {
                info!(address = %listener.address(), "listening for the operator");
                listeners.push(listener);
            }
            Err(error) if config.admin_is_optional => {
                warn!(%at, %error, "there is no status page: another place is named with --admin");
            }
            Err(error) => return Err(StartError::Listen(at.clone(), error)),
        }
    }
    Ok(listeners)
}

/// On stdout: what the log says is for operators.
fn tell_where_to_play(listeners: &[Listener], admin_listeners: &[Listener]) {
    // Nobody may be reading; the game is served all the same.
    for address in listeners.iter().filter_map(for_browsers) {
        let _ = writeln!(io::stdout(), "Open http://{address}/ in a browser to play.");
    }
    for address in admin_listeners.iter().filter_map(for_browsers) {
        let _ = writeln!(io::stdout(), "How it goes is at http://{address}/");
    }
}

/// Where a browser on this machine finds it.
fn for_browsers(listener: &Listener) -> Option<SocketAddr> {
    match listener.address() {
        ListenAt::Tcp(mut address) => {
            if address.ip().is_unspecified() {
                address.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            Some(address)
        }
        ListenAt::Unix(_) => None,
    }
}

fn read_files(config: &Config, role: Role) -> Result<StaticFiles, ReadError> {
    let Some(folder) = &config.static_folder else {
        return Ok(match role {
            Role::Serve => StaticFiles::default(),
            Role::Demo => StaticFiles::from_assets(crate::demo::page::ASSETS),
        });
    };
    let (files, left_out) = StaticFiles::read(folder)?;
    for left_out in left_out {
        warn!(%left_out, "--static: left out");
    }
    Ok(files)
}

/// One reading at a time; what is asked for meanwhile is remembered once.
async fn reload_when_asked(gateway: Arc<Gateway>, asked: Arc<Notify>) {
    loop {
        asked.notified().await;
        let config = Arc::clone(gateway.config());
        let reading = tokio::task::spawn_blocking(move || read_files(&config, Role::Serve));
        match reading.await {
            Ok(Ok(files)) => {
                gateway.serve_files(files);
                info!("the static files were read again");
            }
            Ok(Err(error)) => error!(%error, "the static files stay as they were"),
            Err(error) => error!(%error, "the static files stay as they were"),
        }
    }
}
