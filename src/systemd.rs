//! What systemd hands over and what it wants to hear: sockets that were passed, and
//! `sd_notify`. Adopts the sockets before there is any thread, and never removes one nor
//! shuts it down: they are systemd's, and outlive the gateway. Nothing here holds a turn
//! up.
//!
//! Sources: `sd_listen_fds(3)`, `sd_notify(3)`, `sd_watchdog_enabled(3)`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;
use std::str::FromStr;
use std::time::Duration;

use listenfd::ListenFd;
use rustix::net::sockopt;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{error, info, warn};

use crate::drain::{Drain, Stage};
use crate::engine::{Engine, Status};

/// The first of the sockets that are passed.
const FIRST_SOCKET: usize = 3;
/// Most sockets that are taken over; a unit passes one or two. The bound is there because
/// the number comes from outside.
const SOCKETS_MAX: usize = 64;
/// The watchdog is fed so many times in its period: twice is what it asks for, and one
/// sign of life may come late.
const FEEDS_PER_PERIOD: u32 = 3;
/// Shortest pause between two signs of life, whatever the period.
const FEED_EVERY_MIN: Duration = Duration::from_millis(1);

/// What an end takes beyond the drain: the last answers, an engine that does not leave, and
/// some to spare. `TimeoutStopSec=` of `kidoban.service` has as much beyond the drain's default.
pub const BEYOND_THE_DRAIN: Duration = Duration::from_secs(10);

/// What is wrong with what systemd, or who plays its part, has handed over.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A variable that cannot be read.
    #[error("{name}={value:?} in the environment: takes {takes}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: OsString,
        /// What it may be.
        takes: &'static str,
    },
    /// A descriptor that cannot be listened on.
    #[error("the socket passed as descriptor {number} (LISTEN_FDS): {why}")]
    Socket {
        /// The descriptor.
        number: usize,
        /// What is wrong with it.
        why: io::Error,
    },
}

/// A listening socket that was passed.
#[derive(Debug)]
pub enum Passed {
    /// TCP
    Tcp(std::net::TcpListener),
    /// A unix stream socket.
    Unix(std::os::unix::net::UnixListener),
}

/// The sockets that were passed to this very process; none where nobody passes any.
///
/// Call once, and before there is any thread: it changes the environment.
///
/// # Errors
/// [`Unusable`]
pub fn passed_sockets() -> Result<Vec<Passed>, Unusable> {
    const TAKES: &str = "a number from 0 to 64";
    // Descriptors meant for another process, such as a shell that started this one, are not ours.
    if !is_ours("LISTEN_PID")?.unwrap_or(false) {
        return Ok(Vec::new());
    }
    let count = variable::<usize>("LISTEN_FDS", TAKES)?.unwrap_or(0);
    if count > SOCKETS_MAX {
        return Err(unreadable("LISTEN_FDS", TAKES));
    }
    let mut all = ListenFd::from_env();
    (0..count)
        .map(|index| {
            adopt(&mut all, index).map_err(|why| Unusable::Socket {
                number: FIRST_SOCKET + index,
                why,
            })
        })
        .collect()
}

fn adopt(all: &mut ListenFd, index: usize) -> io::Result<Passed> {
    let wrong = || io::Error::other("no listening TCP or unix stream socket");
    let passed = if let Ok(Some(socket)) = all.take_tcp_listener(index) {
        Passed::Tcp(socket)
    } else if let Ok(Some(socket)) = all.take_unix_listener(index) {
        Passed::Unix(socket)
    } else {
        return Err(wrong());
    };
    let listens = match &passed {
        Passed::Tcp(socket) => {
            socket.set_nonblocking(true)?;
            sockopt::socket_acceptconn(socket)?
        }
        Passed::Unix(socket) => {
            socket.set_nonblocking(true)?;
            sockopt::socket_acceptconn(socket)?
        }
    };
    // One connection instead of the socket (`Accept=yes`).
    if listens { Ok(passed) } else { Err(wrong()) }
}

/// Who is told how the gateway is.
#[derive(Debug)]
pub struct Manager {
    socket: tokio::net::UnixDatagram,
    /// How often it wants a sign of life, at the least.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The one that started this process, if it wants to be told. Inside a runtime only.
    ///
    /// # Errors
    /// [`Unusable`], for a watchdog that would never be fed. Nobody at the other end is
    /// no error: a warning in the log says so.
    pub fn from_environment() -> Result<Option<Self>, Unusable> {
        let Some(address) = env::var_os("NOTIFY_SOCKET").filter(|address| !address.is_empty())
        else {
            return Ok(None);
        };
        let watchdog = watchdog()?;
        let told = connect(&address).inspect_err(|error| {
            warn!(%error, ?address, "NOTIFY_SOCKET: cannot tell anybody how the gateway is");
        });
        let manager = told.ok().map(|socket| Self { socket, watchdog });
        Ok(manager)
    }

    /// Tells it all there is to tell, until it is dropped: READY at once, STATUS when the
    /// engine's changes, STOPPING and how long that may take when the drain begins, and
    /// WATCHDOG while the gateway gets on. `tasks` are those that never end before the drain.
    pub async fn tell(
        self,
        engine: Engine,
        drain: Drain,
        longest: Duration,
        tasks: Vec<AbortHandle>,
    ) {
        tokio::join!(
            self.report(&engine, &drain, longest),
            self.feed(&engine, &drain, &tasks)
        );
    }

    async fn report(&self, engine: &Engine, drain: &Drain, longest: Duration) {
        let mut statuses = engine.statuses();
        let mut news = "READY=1\n";
        loop {
            let status = match *statuses.borrow_and_update() {
                Status::Up => "The engine is up",
                Status::Starting => "The engine is starting",
                Status::Down { .. } => "The engine is down",
            };
            self.send(&format!("{news}STATUS={status}")).await;
            news = "";
            tokio::select! {
                biased;
                () = drain.reached(Stage::Draining) => break,
                // An error means that the engine is gone, which `engine` itself rules out.
                _ = statuses.changed() => {}
            }
        }
        let within = longest.saturating_add(BEYOND_THE_DRAIN).as_micros();
        let news = format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={within}\nSTATUS=Draining");
        self.send(&news).await;
    }

    /// This task runs on the thread that serves, so that one that is blocked feeds nothing. Beyond that the engine's
    /// supervisor must answer, and nobody who accepts may have ended. A drain is bounded by timers of its own.
    async fn feed(&self, engine: &Engine, drain: &Drain, tasks: &[AbortHandle]) {
        let Some(period) = self.watchdog else { return };
        let pause = (period / FEEDS_PER_PERIOD).max(FEED_EVERY_MIN);
        let mut due = interval(pause);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut gets_on = true;
        loop {
            due.tick().await;
            let got_on = gets_on;
            gets_on = tokio::select! {
                biased;
                () = drain.reached(Stage::Draining) => true,
                beat = timeout(pause, engine.beat()) => {
                    beat.is_ok() && !tasks.iter().any(AbortHandle::is_finished)
                }
            };
            match (got_on, gets_on) {
                (true, false) => error!("a part of the gateway is stuck: the watchdog is not fed"),
                (false, true) => info!("the gateway gets on: the watchdog is fed again"),
                (true, true) | (false, false) => {}
            }
            if gets_on {
                self.send("WATCHDOG=1").await;
            }
        }
    }

    /// Waits while systemd is behind with its reading. Who listens no longer is not told.
    async fn send(&self, words: &str) {
        if let Err(error) = self.socket.send(words.as_bytes()).await {
            warn!(%error, words, "NOTIFY_SOCKET: not told");
        }
    }
}

/// A path, or with `@` in front a name in the abstract namespace.
fn connect(address: &OsString) -> io::Result<tokio::net::UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match address.as_bytes() {
        [b'@', name @ ..] => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        [b'/', ..] => socket.connect(address)?,
        _ => return Err(io::Error::other("neither a path nor an abstract name")),
    }
    socket.set_nonblocking(true)?;
    tokio::net::UnixDatagram::from_std(socket)
}

fn watchdog() -> Result<Option<Duration>, Unusable> {
    const TAKES: &str = "a number of microseconds, at least 1";
    if !is_ours("WATCHDOG_PID")?.unwrap_or(true) {
        return Ok(None);
    }
    match variable::<u64>("WATCHDOG_USEC", TAKES)? {
        Some(0) => Err(unreadable("WATCHDOG_USEC", TAKES)),
        period => Ok(period.map(Duration::from_micros)),
    }
}

/// Does this variable name this process? None where it is not there.
fn is_ours(name: &'static str) -> Result<Option<bool>, Unusable> {
    let pid = variable::<u32>(name, "a process id")?;
    Ok(pid.map(|pid| pid == process::id()))
}

fn variable<T: FromStr>(name: &'static str, takes: &'static str) -> Result<Option<T>, Unusable> {
    let Some(value) = env::var_os(name) else {
        return Ok(None);
    };
    let read = value.to_str().and_then(|value| value.parse().ok());
    read.map(Some).ok_or_else(|| unreadable(name, takes))
}

fn unreadable(name: &'static str, takes: &'static str) -> Unusable {
    let value = env::var_os(name).unwrap_or_default();
    Unusable::Variable { name, value, takes }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::net::UnixDatagram;
    use tokio::time::sleep;

    use super::*;
    use crate::clock::Clock;
    use crate::engine::supervisor::{Supervisor, Terms};
    use crate::logic::queue::Order;
    use crate::settings::LogClient;

    const LONGEST: Duration = Duration::from_secs(3);
    const PERIOD: Duration = Duration::from_secs(3);

    /// A manager with a watchdog, and systemd's end.
    fn manager() -> (Manager, UnixDatagram) {
        let (socket, systemd) = UnixDatagram::pair().unwrap();
        let watchdog = Some(PERIOD);
        (Manager { socket, watchdog }, systemd)
    }

    /// An engine that can never be started, and its supervisor.
    fn supervised() -> Engine {
        let engine = Engine::new(1, Order::Fair, Arc::default());
        let terms = Terms {
            reply_timeout: PERIOD,
            reply_bytes_max: 1,
            restart_delay_max: PERIOD,
            ready_probe: None,
            log_client: LogClient::Full,
        };
        let no_engine = || Err(io::Error::other("there is none"));
        let supervisor = Supervisor::new(&engine, terms, Clock::start(), no_engine);
        tokio::spawn(supervisor.run(std::future::pending()));
        engine
    }

    /// Everything that was said meanwhile.
    async fn said(systemd: &UnixDatagram, time: Duration) -> Vec<String> {
        sleep(time).await;
        let mut all = Vec::new();
        let mut bytes = [0; 4096];
        while let Ok(length) = systemd.try_recv(&mut bytes) {
            all.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
        all
    }

    /// It is the thread that serves whose life is told of, and no other's.
    #[test]
    fn while_its_thread_is_blocked_it_is_not_fed() {
        let period = Duration::from_millis(60);
        let (socket, systemd) = std::os::unix::net::UnixDatagram::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        systemd.set_nonblocking(true).unwrap();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all();
        let messages = || {
            let mut bytes = [0; 4096];
            std::iter::from_fn(|| systemd.recv(&mut bytes).ok()).count()
        };
        runtime.build().unwrap().block_on(async {
            let socket = tokio::net::UnixDatagram::from_std(socket).unwrap();
            let watchdog = Some(period);
            let manager = Manager { socket, watchdog };
            tokio::spawn(manager.tell(supervised(), Drain::default(), LONGEST, Vec::new()));
            sleep(period * 4).await;
            assert!(messages() > 4, "it was fed before");
            std::thread::sleep(period * 4);
            assert_eq!(messages(), 0);
            sleep(period).await;
            assert!(messages() > 0, "it is fed again");
        });
    }

    fn fed(said: &[String]) -> usize {
        said.iter().filter(|words| *words == "WATCHDOG=1").count()
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_fed_three_times_in_each_period_whatever_the_engine_does() {
        let (manager, systemd) = manager();
        tokio::spawn(manager.tell(supervised(), Drain::default(), LONGEST, Vec::new()));
        let first = said(&systemd, PERIOD / 6).await;
        assert_eq!(first[0], "READY=1\nSTATUS=The engine is down");
        for _ in 0..10 {
            assert_eq!(fed(&said(&systemd, PERIOD).await), 3);
        }
    }

    /// A supervisor that hangs, has ended or was never there does not answer.
    #[tokio::test(start_paused = true)]
    async fn without_a_supervisor_it_is_not_fed() {
        let (manager, systemd) = manager();
        let engine = Engine::new(1, Order::Fair, Arc::default());
        tokio::spawn(manager.tell(engine, Drain::default(), LONGEST, Vec::new()));
        let said = said(&systemd, PERIOD * 10).await;
        assert_eq!(said, ["READY=1\nSTATUS=The engine is starting"]);
    }

    #[tokio::test(start_paused = true)]
    async fn when_nobody_accepts_any_more_it_is_fed_only_in_a_drain() {
        let (manager, systemd) = manager();
        let drain = Drain::default();
        let accepts = tokio::spawn(sleep(PERIOD));
        let tasks = vec![accepts.abort_handle()];
        tokio::spawn(manager.tell(supervised(), drain.clone(), LONGEST, tasks));
        assert!(fed(&said(&systemd, PERIOD).await) >= 3);
        said(&systemd, PERIOD).await;
        assert_eq!(fed(&said(&systemd, PERIOD * 10).await), 0);
        drain.reach(Stage::Draining);
        let said = said(&systemd, PERIOD).await;
        assert!(
            said.contains(&"STOPPING=1\nEXTEND_TIMEOUT_USEC=13000000\nSTATUS=Draining".to_owned()),
            "{said:?}"
        );
        assert_eq!(fed(&said), 3);
    }
}
