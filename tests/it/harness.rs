//! Runs the real program: port 0, ready when it says so, killed when dropped, its log
//! shown when a test fails. Nothing here sleeps to be safe: it asks until a deadline.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::http::{Reply, Request};

/// Longest that anything here may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How often a question is asked again.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// The program under test.
pub fn kidoban() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kidoban"));
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"KIDOBAN_") {
            command.env_remove(name);
        }
    }
    command.env_remove("RUST_LOG");
    command.stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn output(arguments: &[&str]) -> Output {
    ended(kidoban().args(arguments))
}

/// Runs a command to its end: its exit code and its words.
pub fn outcome(command: &mut Command) -> Outcome {
    let output = ended(command);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Outcome {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs a command to its end, which must come; what it says must fit into a pipe.
fn ended(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child can be asked").is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it runs on: {command:?}");
        }
        thread::sleep(ASK_EVERY);
    }
    child.wait_with_output().expect("a child can be waited for")
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Outcome {
    /// None if it was killed.
    pub code: Option<i32>,
    /// All of it.
    pub stdout: String,
    /// All of it.
    pub stderr: String,
}

/// The engine that misbehaves on request; see `tests/stub/engine.rs`.
pub fn stub_engine() -> PathBuf {
    let deps = std::env::current_exe().expect("a test knows its path");
    let target = deps.ancestors().nth(2).expect("target/debug/deps/it");
    let stub = target.join("examples/stub-engine");
    assert!(
        stub.is_file(),
        "the stub is not built: cargo build --example stub-engine"
    );
    stub
}

/// Asks until the answer is there.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited too long: {what}");
        thread::sleep(ASK_EVERY);
    }
}

/// A gateway to be started, told like a sentence.
///
/// ```ignore
/// let gateway = Gateway::with(&["--rate", "1000"]).start();
/// ```
pub struct Gateway {
    command: Command,
    engine: Vec<String>,
    is_demo: bool,
    stderr: Option<Stdio>,
}

impl Gateway {
    /// `kidoban serve` with these options, before the stub engine.
    pub fn with(options: &[&str]) -> Self {
        let mut command = kidoban();
        command.arg("serve").args(options);
        Self {
            command,
            engine: vec![stub_engine().display().to_string()],
            is_demo: false,
            stderr: None,
        }
    }

    /// The same with limits that never get in a test's way.
    pub fn unlimited(options: &[&str]) -> Self {
        let mut gateway = Self::with(&["--rate", "1000000", "--burst", "1000000"]);
        gateway.command.args(options);
        gateway
    }

    /// The same without the word `serve`.
    pub fn without_serve(options: &[&str]) -> Self {
        let mut command = kidoban();
        command.args(options);
        Self {
            command,
            ..Self::with(&[])
        }
    }

    /// `kidoban serve`, started by a shell that does this first.
    pub fn after(script: &str, options: &[&str]) -> Self {
        Self::behind(
            &["sh", "-c", &format!("{script} && exec \"$@\""), "sh"],
            options,
        )
    }

    /// `kidoban serve`, as the last words of this command.
    pub fn behind(words: &[&str], options: &[&str]) -> Self {
        let gateway = Self::with(options);
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .arg(gateway.command.get_program())
            .args(gateway.command.get_args())
            .stdin(Stdio::null());
        for (name, value) in gateway.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self { command, ..gateway }
    }

    /// `kidoban demo` with these options.
    pub fn demo(options: &[&str]) -> Self {
        let mut command = kidoban();
        command.arg("demo").args(options);
        Self {
            command,
            engine: Vec::new(),
            is_demo: true,
            stderr: None,
        }
    }

    /// With an admin listener on a free port; see [`Running::admin`].
    pub fn admin(mut self) -> Self {
        self.command.args(["--admin", "127.0.0.1:0"]);
        self
    }

    /// Another engine, or the stub with arguments.
    pub fn engine(mut self, words: &[&str]) -> Self {
        self.engine = words.iter().map(ToString::to_string).collect();
        self
    }

    /// The stub engine with arguments.
    pub fn stub(mut self, arguments: &[&str]) -> Self {
        self.engine
            .extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// One more variable in its environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// It is given this to read, or to take over.
    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.command.stdin(stdin);
        self
    }

    /// Its stderr goes here and not where [`Running::log`] looks.
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.stderr = Some(stderr.into());
        self
    }

    /// Starts it and waits until it takes turns.
    pub fn start(self) -> Running {
        let running = self.start_unready();
        until("health is 200", || {
            let reply = running.try_send(&Request::get("/api/health")).ok()?;
            (reply.status == 200).then_some(())
        });
        running
    }

    /// Starts it and waits until it listens, whatever its engine does.
    pub fn start_unready(mut self) -> Running {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let port_file = folder.path().join("ports");
        let log = folder.path().join("log");
        self.command.arg("--port-file").arg(&port_file);
        let listens = |arg: &OsStr| arg.to_string_lossy().starts_with("--listen");
        let env_listens = (self.command.get_envs()).any(|(name, _)| name == "KIDOBAN_LISTEN");
        if !self.command.get_args().any(listens) && !env_listens {
            self.command.args(["--listen", "127.0.0.1:0"]);
        }
        let names_admin = |arg: &OsStr| arg.to_string_lossy().starts_with("--admin");
        if self.is_demo && !self.command.get_args().any(names_admin) {
            self.command.args(["--admin", "127.0.0.1:0"]);
        }
        if !self.is_demo {
            self.command.arg("--").args(&self.engine);
        }
        let log = fs::File::create(&log).expect("a file for the log");
        self.command
            .stdout(Stdio::null())
            .stderr(self.stderr.take().unwrap_or_else(|| log.into()));
        let child = self.command.spawn().expect("kidoban starts");
        let mut running = Running {
            child,
            folder,
            addresses: Vec::new(),
        };
        let addresses = until("the port file", || {
            if let Some(status) = running.child.try_wait().expect("a child can be asked") {
                panic!("kidoban ended: {status}\n{}", running.log());
            }
            fs::read_to_string(&port_file).ok()
        });
        running.addresses = addresses.lines().map(str::to_owned).collect();
        running
    }
}

/// A running gateway.
pub struct Running {
    child: Child,
    folder: TempDir,
    /// As the port file names them.
    pub addresses: Vec<String>,
}

impl Running {
    /// Its first TCP address.
    pub fn address(&self) -> SocketAddr {
        self.addresses
            .iter()
            .find_map(|address| address.parse().ok())
            .expect("one address is TCP")
    }

    /// Where its admin listener is, which only the log says.
    pub fn admin(&self) -> SocketAddr {
        let record = self.wait_for_log("the admin listener", |record| {
            record["message"] == "listening for the operator"
        });
        let address = record["address"].as_str();
        address.and_then(|at| at.parse().ok()).expect("it is TCP")
    }

    /// One request to its admin listener.
    pub fn ask_admin(&self, request: &Request) -> Reply {
        request.send_to(self.admin()).expect("an answer")
    }

    /// What `/status.json` says now.
    pub fn status(&self) -> Value {
        self.ask_admin(&Request::get("/status.json")).json()
    }

    /// A folder that lives as long as the gateway.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One request on a connection of its own; the whole answer.
    pub fn send(&self, request: &Request) -> Reply {
        self.try_send(request).expect("an answer")
    }

    /// The same, for answers that may not come.
    pub fn try_send(&self, request: &Request) -> std::io::Result<Reply> {
        request.send_to(self.address())
    }

    /// A turn with this body.
    pub fn turn(&self, body: &str) -> Reply {
        self.send(&Request::turn(body))
    }

    /// What `/api/health` says now.
    pub fn health(&self) -> Value {
        self.send(&Request::get("/api/health")).json()
    }

    /// Everything logged so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for a log record (a JSON line) that this accepts.
    pub fn wait_for_log(&self, what: &str, accepts: impl Fn(&Value) -> bool) -> Value {
        until(what, || self.log_records().into_iter().find(&accepts))
    }

    /// Every whole record so far.
    pub fn log_records(&self) -> Vec<Value> {
        self.log()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        until("kidoban's end", || {
            self.child.try_wait().expect("a child can be asked")
        })
    }

    /// Process ids of its children: the engine.
    pub fn children(&self) -> Vec<u32> {
        let pid = self.pid();
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let list = list.unwrap_or_default();
        list.split_whitespace()
            .filter_map(|id| id.parse().ok())
            .collect()
    }

    /// Waits until it has one child, which is no zombie; the child's process id.
    pub fn one_engine(&self) -> u32 {
        until("one engine and no zombie", || match self.children()[..] {
            [engine] => {
                let status = fs::read_to_string(format!("/proc/{engine}/status")).ok()?;
                (!status.contains("\nState:\tZ")).then_some(engine)
            }
            _ => None,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = self.log();
            let tail: Vec<_> = log.lines().rev().take(60).collect();
            let mut stderr = std::io::stderr().lock();
            let _ = writeln!(stderr, "--- the gateway's last log lines ---");
            for line in tail.iter().rev() {
                let _ = writeln!(stderr, "{line}");
            }
        }
    }
}

/// True when no such process runs any more; one that waits to be reaped is gone.
pub fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    matches!(state, None | Some("Z" | "X"))
}

/// Waits until a process is gone.
pub fn wait_until_gone(what: &str, pid: u32) {
    until(what, || is_gone(pid).then_some(()));
}

/// A program that some tests need beside the gateway.
///
/// None, with a line that says what to install, where it is absent; under
/// `KIDOBAN_REQUIRE_PEERS=1` its absence fails the test.
pub fn peer(program: &str, install: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        absent(&format!("`{program}` is not installed ({install})"));
    }
    found
}

/// Says that a test did not run, or fails it where it must.
pub fn absent(why: &str) {
    let must = std::env::var("KIDOBAN_REQUIRE_PEERS").is_ok_and(|must| must == "1");
    assert!(!must, "{why}, and KIDOBAN_REQUIRE_PEERS=1");
    not_run(why);
}

/// Says that a test did not run, for something that nobody can install.
pub fn not_run(why: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "NOT RUN: {why}");
}
