//! The engine's process: found, started, watched, killed and reaped. The only place
//! that starts one. Decides nothing: when to start and when to kill is the
//! supervisor's, what goes through the pipes is `pipe`'s.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::orphans::Orphans;
use super::{launcher, stderr};
use crate::clock::Clock;
use crate::metrics::Metrics;

/// Variables that are the gateway's own business, by name or by beginning.
const NOT_INHERITED: [&str; 5] = [
    "KIDOBAN_",
    "LISTEN_",
    "NOTIFY_SOCKET",
    "WATCHDOG_",
    "CREDENTIALS_DIRECTORY",
];

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct EngineCommand {
    /// An absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs; the gateway's own directory if none.
    pub directory: Option<PathBuf>,
    /// More environment, on top of the gateway's.
    pub environment: Vec<(OsString, OsString)>,
    /// The soft descriptor limit that the gateway was given; none if it had no limit.
    pub open_files_soft: Option<u64>,
}

/// As a shell would show it, for a person.
impl fmt::Display for EngineCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.program == Path::new(launcher::SELF) {
            f.write_str("kidoban")?;
        } else {
            write!(f, "{}", self.program.display())?;
        }
        for argument in &self.arguments {
            write!(f, " {}", argument.display())?;
        }
        Ok(())
    }
}

/// Why there is no engine to start.
#[derive(Debug, thiserror::Error)]
pub enum NotRunnable {
    /// Nothing of this name.
    #[error("the engine `{0}` was not found{1}")]
    NotFound(String, &'static str),
    /// It is there, and cannot be run.
    #[error("the engine `{0}` is not an executable file")]
    NotExecutable(String),
}

/// Finds a program as a shell would: a path as it is, a bare name along `PATH`. Absolute.
///
/// # Errors
/// [`NotRunnable`], with what was looked for.
pub fn find(program: &OsStr, search_path: Option<&OsStr>) -> Result<PathBuf, NotRunnable> {
    let shown = || program.to_string_lossy().into_owned();
    if program.as_encoded_bytes().contains(&b'/') {
        let path = Path::new(program);
        return match path.metadata() {
            Err(_) => Err(NotRunnable::NotFound(shown(), "")),
            Ok(_) if !is_executable(path) => Err(NotRunnable::NotExecutable(shown())),
            Ok(_) => std::path::absolute(path).map_err(|_| NotRunnable::NotFound(shown(), "")),
        };
    }
    let candidates: Vec<PathBuf> = search_path
        .map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default();
    let mut seen = false;
    for candidate in candidates.iter().map(|folder| folder.join(program)) {
        seen |= candidate.is_file();
        if is_executable(&candidate) {
            return std::path::absolute(candidate)
                .map_err(|_| NotRunnable::NotFound(shown(), " on PATH"));
        }
    }
    if seen {
        Err(NotRunnable::NotExecutable(shown()))
    } else {
        Err(NotRunnable::NotFound(shown(), " on PATH"))
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A running engine: reading from it reads its stdout, writing to it writes its stdin,
/// shutting the writer down closes its stdin.
///
/// A trait for the sake of tests that run a whole gateway in memory.
pub trait Process: AsyncRead + AsyncWrite + Send + Unpin {
    /// Its process id, if it has one.
    fn id(&self) -> Option<u32> {
        None
    }

    /// Ready once the process has exited, and from then on. It stays unreaped, so that its id cannot pass to another.
    fn poll_exited(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Bytes that the engine has written and nobody has read, as the kernel counts them now.
    fn unread_bytes(&self) -> u64;

    /// Bytes that were written to the engine and that it has not read, as the kernel counts them now.
    fn unread_by_engine(&self) -> u64;

    /// Signals the whole process group. Only before [`Process::reap`].
    fn signal_group(&self, signal: Signal);

    /// Reaps the process. Only after it has exited.
    ///
    /// # Errors
    /// The operating system's.
    fn reap(&mut self) -> io::Result<ExitStatus>;

    /// The last lines of its stderr, once that has ended. None where there is no stderr.
    fn poll_last_words(&mut self, _cx: &mut Context<'_>) -> Poll<Vec<String>> {
        Poll::Ready(Vec::new())
    }
}

/// A real child process.
#[derive(Debug)]
struct ChildProcess {
    child: Child,
    group: Pid,
    exit: AsyncFd<OwnedFd>,
    stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    stderr: Option<JoinHandle<Vec<String>>>,
    orphans: Arc<Orphans>,
    /// Its id, and so its group's, may belong to others.
    reaped: bool,
}

/// Starts the engine, in a process group of its own; its stderr goes to the log from here on.
///
/// # Errors
/// The operating system's. That a program which is there cannot be run shows later: the launcher exits with 126 or 127.
pub fn start(
    command: &EngineCommand,
    clock: Clock,
    orphans: &Arc<Orphans>,
    metrics: &Arc<Metrics>,
) -> io::Result<Box<dyn Process>> {
    // The launcher would find out too, but until then the engine would count as up.
    if !is_executable(&command.program) {
        let missing = NotRunnable::NotExecutable(command.program.display().to_string());
        return Err(io::Error::other(missing));
    }
    let mut launch = Command::new(launcher::SELF);
    launch
        .arg0("kidoban")
        .args(launcher::arguments(
            command.program.as_os_str(),
            command.open_files_soft,
        ))
        .args(&command.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(directory) = &command.directory {
        launch.current_dir(directory);
    }
    for (name, _) in std::env::vars_os() {
        let bytes = name.as_encoded_bytes();
        if (NOT_INHERITED.iter()).any(|prefix| bytes.starts_with(prefix.as_bytes())) {
            launch.env_remove(&name);
        }
    }
    launch.envs(
        command
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );

    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let mut child = launch.spawn()?;
    match adopt(&mut child) {
        Ok((group, exit, stdin, stdout, errors)) => {
            orphans.leave_alone(group);
            Ok(Box::new(ChildProcess {
                child,
                group,
                exit,
                stdin: Some(stdin),
                stdout,
                stderr: Some(tokio::spawn(stderr::log_lines(
                    errors,
                    clock,
                    Arc::clone(metrics),
                ))),
                orphans: Arc::clone(orphans),
                reaped: false,
            }))
        }
        Err(failure) => {
            // Not watched, so not used: a child nobody would reap must not run on.
            child.kill()?;
            child.wait()?;
            Err(failure)
        }
    }
}

type Adopted = (
    Pid,
    AsyncFd<OwnedFd>,
    pipe::Sender,
    pipe::Receiver,
    pipe::Receiver,
);

fn adopt(child: &mut Child) -> io::Result<Adopted> {
    let lost = || io::Error::other("a pipe of the child is missing");
    let group = Pid::from_child(child);
    let exit = rustix::process::pidfd_open(group, PidfdFlags::empty())?;
    #[expect(
        deprecated,
        reason = "its replacement is unsafe, for types that could swap their descriptor; an `OwnedFd` cannot"
    )]
    let exit = AsyncFd::with_interest(exit, Interest::READABLE)?;
    let stdin = child.stdin.take().ok_or_else(lost)?;
    let stdout = child.stdout.take().ok_or_else(lost)?;
    let stderr = child.stderr.take().ok_or_else(lost)?;
    Ok((
        group,
        exit,
        pipe::Sender::from_owned_fd(stdin.into())?,
        pipe::Receiver::from_owned_fd(stdout.into())?,
        pipe::Receiver::from_owned_fd(stderr.into())?,
    ))
}

impl Process for ChildProcess {
    fn id(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn poll_exited(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The descriptor stays readable for ever: the guard is dropped, not cleared.
        let _ = ready!(self.exit.poll_read_ready(cx));
        Poll::Ready(())
    }

    fn unread_bytes(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.stdout).unwrap_or(0)
    }

    fn unread_by_engine(&self) -> u64 {
        let counted = self.stdin.as_ref().map(rustix::io::ioctl_fionread);
        counted.and_then(Result::ok).unwrap_or(0)
    }

    fn signal_group(&self, signal: Signal) {
        // The only error there can be is that nobody of the group is left, which is what was wanted.
        let _ = rustix::process::kill_process_group(self.group, signal);
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        // Whatever comes of it, nobody of this id is ours any more.
        self.reaped = true;
        self.orphans.may_go(self.group);
        self.child.wait()
    }

    fn poll_last_words(&mut self, cx: &mut Context<'_>) -> Poll<Vec<String>> {
        let Some(stderr) = &mut self.stderr else {
            return Poll::Ready(Vec::new());
        };
        let said = ready!(Pin::new(stderr).poll(cx));
        self.stderr = None;
        Poll::Ready(said.unwrap_or_default())
    }
}

/// Whoever lets go of a running engine, at a second signal or in a panic, takes its whole group along.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal_group(Signal::KILL);
        }
    }
}

impl AsyncRead for ChildProcess {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdout).poll_read(cx, buffer)
    }
}

impl AsyncWrite for ChildProcess {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        let tool = folder.path().join("tool");
        fs::write(&plain, "").unwrap();
        fs::write(&tool, "").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let search = Some(folder.path().as_os_str());

        let by_name = |name: &str| find(OsStr::new(name), search);
        assert_eq!(by_name("tool").unwrap(), tool);
        assert_eq!(find(tool.as_os_str(), None).unwrap(), tool);
        assert!(matches!(
            by_name("plain"),
            Err(NotRunnable::NotExecutable(_))
        ));
        assert!(matches!(by_name("folder"), Err(NotRunnable::NotFound(..))));
        assert!(matches!(by_name("absent"), Err(NotRunnable::NotFound(..))));
        assert!(matches!(
            find(OsStr::new("tool"), None),
            Err(NotRunnable::NotFound(..))
        ));
        assert!(matches!(
            find(plain.as_os_str(), None),
            Err(NotRunnable::NotExecutable(_))
        ));
        let folder = folder.path().join("folder");
        assert!(matches!(
            find(folder.as_os_str(), None),
            Err(NotRunnable::NotExecutable(_))
        ));
    }
}
