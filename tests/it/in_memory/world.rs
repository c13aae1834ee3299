//! A whole gateway without one socket or process: hyper's client, the real
//! `server::serve`, the real supervisor, and an engine that is a task. With a paused
//! clock, time moves only when nobody has anything left to do.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::ExitStatusExt;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kidoban::admin::{Admin, Sources};
use kidoban::cli::Options;
use kidoban::clock::{self, Clock};
use kidoban::config::Config;
use kidoban::connection::Connections;
use kidoban::drain::Drain;
use kidoban::engine::Engine;
use kidoban::engine::process::Process;
use kidoban::engine::supervisor::Supervisor;
use kidoban::logic::address::Hop;
use kidoban::metrics::Metrics;
use kidoban::request::Gateway;
use kidoban::server;
use kidoban::tally::Tally;
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadBuf, duplex,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What each of the engine's pipes holds: little, so that tests fill it easily.
const PIPE_BYTES: usize = 4 * 1024;
/// What a connection holds in each direction.
const SOCKET_BYTES: usize = 64 * 1024;

/// The gateway, and what its engines saw.
pub struct World {
    gateway: Arc<Gateway>,
    engine: Engine,
    connections: Arc<Connections>,
    seen: Arc<Mutex<Vec<String>>>,
    starts: Arc<Mutex<Vec<Instant>>>,
}

/// What `kidoban serve` reads from its command line.
#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    options: Options,
}

/// One answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub retry_after: Option<u64>,
    pub request_id: String,
    /// From the asking to the last byte.
    pub took: Duration,
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// The engine's ends of its pipes.
pub struct Ends {
    /// Which engine it is, from 1.
    pub nth: usize,
    pub stdin: BufReader<DuplexStream>,
    stdout: DuplexStream,
    unread: Arc<AtomicU64>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Ends {
    /// The next line; none once stdin is closed.
    pub async fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.stdin.read_line(&mut line).await.unwrap();
        let whole = read > 0 && line.ends_with('\n');
        whole.then(|| {
            let value = serde_json::from_str(&line).unwrap();
            self.seen.lock().unwrap().push(line);
            value
        })
    }

    /// Writes this text; what nobody reads any more is lost.
    pub async fn say(&mut self, text: &str) {
        self.unread.fetch_add(text.len() as u64, Ordering::Relaxed);
        let _ = self.stdout.write_all(text.as_bytes()).await;
    }

    /// The reply that carries the asker's mark.
    pub async fn reply(&mut self, line: &Value) {
        let (mark, nth) = (&line["mark"], self.nth);
        self.say(&format!("{{\"mark\":{mark},\"engine\":{nth}}}\n"))
            .await;
    }
}

impl World {
    /// A gateway with these options and limits that refuse nobody; `engine` is the life of each of its engines.
    pub fn new<F>(options: &[&str], engine: impl Fn(Ends) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let marks = Arc::clone(&seen);
        let count = AtomicUsize::new(0);
        let mut world = Self::of(options, move || {
            let nth = count.fetch_add(1, Ordering::Relaxed) + 1;
            let (process, ends) = InMemory::pipes(nth, Arc::clone(&marks));
            process.run(engine(ends))
        });
        world.seen = seen;
        world
    }

    /// The same over processes of any kind.
    pub fn of(
        options: &[&str],
        mut process: impl FnMut() -> Box<dyn Process> + Send + 'static,
    ) -> Self {
        let free = ["kidoban", "--rate", "1000000", "--burst", "1000000"];
        let typed = Typed::try_parse_from(free.iter().chain(options)).unwrap();
        let config = Arc::new(Config::decide(&typed.options).unwrap());
        let clock = Clock::start();
        let metrics = Arc::new(Metrics::new());
        let tally = Arc::new(Tally::new(Arc::clone(&metrics), clock.nanos()));
        let queue = Engine::new(config.places_max, config.queue_order, metrics);
        let starts = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&starts);
        let start = move || {
            started.lock().unwrap().push(clock::now());
            Ok(process())
        };
        let supervisor = Supervisor::new(&queue, config.terms.clone(), clock, start);
        tokio::spawn(supervisor.run(std::future::pending()));
        Self {
            connections: Arc::new(Connections::new(config.connections)),
            gateway: Arc::new(Gateway::new(
                config,
                queue.clone(),
                Drain::default(),
                tally,
                clock,
            )),
            engine: queue,
            seen: Arc::default(),
            starts,
        }
    }

    /// The same, ready: its engine has been started.
    pub async fn up<F>(options: &[&str], engine: impl Fn(Ends) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let world = Self::new(options, engine);
        settled().await;
        world
    }

    /// Asks a turn on a connection of its own. Aborting the task hangs up.
    pub fn ask(&self, mark: impl Into<Value>) -> JoinHandle<Answer> {
        self.ask_from("127.0.0.1", mark)
    }

    /// The same for a client of this address.
    pub fn ask_from(&self, client: &str, mark: impl Into<Value>) -> JoinHandle<Answer> {
        let turn = serde_json::json!({ "kind": "look", "mark": mark.into() });
        self.send_from(client, "POST", "/api/turn", turn.to_string())
    }

    /// What `/api/health` says.
    pub async fn health(&self) -> Answer {
        self.send("GET", "/api/health", String::new())
            .await
            .unwrap()
    }

    pub fn send(&self, method: &str, path: &str, body: String) -> JoinHandle<Answer> {
        self.send_from("127.0.0.1", method, path, body)
    }

    fn send_from(
        &self,
        client: &str,
        method: &str,
        path: &str,
        body: String,
    ) -> JoinHandle<Answer> {
        let (ours, theirs) = duplex(SOCKET_BYTES);
        let request = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("x-forwarded-for", client)
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let asked_at = clock::now();
        let (gateway, connections) = (Arc::clone(&self.gateway), Arc::clone(&self.connections));
        tokio::spawn(async move {
            let permit = connections.permit().await;
            let peer = Hop::new(IpAddr::V4(Ipv4Addr::LOCALHOST));
            server::serve(gateway, permit, theirs, peer).await;
        });
        tokio::spawn(async move {
            let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
            let answer = async {
                let (head, body) = sender.send_request(request).await.unwrap().into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let header = |name: &str| {
                    let value = head.headers.get(name);
                    value.map(|value| value.to_str().unwrap().to_owned())
                };
                Answer {
                    status: head.status.as_u16(),
                    body: serde_json::from_slice(&body).unwrap(),
                    retry_after: header("retry-after").map(|value| value.parse().unwrap()),
                    request_id: header("x-request-id").unwrap(),
                    took: clock::now() - asked_at,
                }
            };
            let mut answer = pin!(answer);
            tokio::select! {
                biased;
                answer = &mut answer => answer,
                // What was read until then may hold an answer, after which it was closed.
                _ = connection => answer.await,
            }
        })
    }

    /// The gateway itself.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// An admin listener beside it.
    pub fn admin(&self) -> Admin {
        let (writer, _) = tracing_appender::non_blocking(io::sink());
        let sources = Sources {
            gateway: Arc::clone(&self.gateway),
            connections: Arc::clone(&self.connections),
            engine: self.engine.clone(),
            engine_command: "an engine in memory".to_owned(),
            log_lost: writer.error_counter().into(),
            clock: Clock::start(),
            settings: Vec::new(),
        };
        Admin::new(sources, &[])
    }

    /// What SIGHUP asks for.
    pub fn swap(&self) {
        self.engine.swap();
    }

    /// Does the engine's supervisor answer?
    pub async fn beats(&self) -> bool {
        let beat = self.engine.beat();
        tokio::time::timeout(Duration::from_millis(1), beat)
            .await
            .is_ok()
    }

    /// The marks of the lines that engines have read, in order.
    pub fn seen(&self) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let mark = |line: &String| serde_json::from_str::<Value>(line).unwrap()["mark"].take();
        seen.iter().map(mark).collect()
    }

    /// What engines died of, the newest first.
    pub fn deaths(&self) -> Vec<&'static str> {
        let deaths = self.engine.record().deaths;
        deaths.iter().map(|death| death.cause.word()).collect()
    }

    /// When each engine was started.
    pub fn starts(&self) -> Vec<Instant> {
        self.starts.lock().unwrap().clone()
    }
}

/// Ready once nobody can go on without the time moving: only then does a paused clock move.
pub async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The gateway's ends of an engine's pipes, and the task that is the engine.
struct InMemory {
    stdin: Option<DuplexStream>,
    stdout: DuplexStream,
    unread: Arc<AtomicU64>,
    task: Option<JoinHandle<()>>,
    killed: bool,
}

impl InMemory {
    fn pipes(nth: usize, seen: Arc<Mutex<Vec<String>>>) -> (Self, Ends) {
        let (stdin, engine_stdin) = duplex(PIPE_BYTES);
        let (stdout, engine_stdout) = duplex(PIPE_BYTES);
        let unread = Arc::new(AtomicU64::new(0));
        let ends = Ends {
            nth,
            stdin: BufReader::new(engine_stdin),
            stdout: engine_stdout,
            unread: Arc::clone(&unread),
            seen,
        };
        let process = Self {
            stdin: Some(stdin),
            stdout,
            unread,
            task: None,
            killed: false,
        };
        (process, ends)
    }

    fn run(mut self, life: impl Future<Output = ()> + Send + 'static) -> Box<dyn Process> {
        self.task = Some(tokio::spawn(life));
        Box::new(self)
    }
}

impl Process for InMemory {
    fn poll_exited(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(task) = &mut self.task {
            let Poll::Ready(ended) = Pin::new(task).poll(cx) else {
                return Poll::Pending;
            };
            self.killed = ended.is_err_and(|error| error.is_cancelled());
            self.task = None;
        }
        Poll::Ready(())
    }

    fn unread_bytes(&self) -> u64 {
        self.unread.load(Ordering::Relaxed)
    }

    /// A duplex does not tell; the tests with a real pipe show what is made of it.
    fn unread_by_engine(&self) -> u64 {
        0
    }

    fn signal_group(&self, _: Signal) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        assert!(self.task.is_none(), "only the dead are reaped");
        let signal = if self.killed { 9 } else { 0 };
        Ok(ExitStatus::from_raw(signal))
    }
}

impl AsyncRead for InMemory {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stdout).poll_read(cx, buffer);
        let bytes = buffer.filled().len() - before;
        self.unread.fetch_sub(bytes as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for InMemory {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stdin {
            Some(stdin) => Pin::new(stdin).poll_write(cx, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stdin = None;
        Poll::Ready(Ok(()))
    }
}
