//! Why the gateway does not start, and the exit code of it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::engine::process::NotRunnable;
use crate::engine::supervisor::Ended;
use crate::settings::ListenAt;
use crate::simulate::SimulateError;
use crate::static_files::ReadError;
use crate::systemd::Unusable;

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Options that contradict each other; all of them.
    #[error("{}", .0.join("\nkidoban: "))]
    Contradictions(Vec<String>),
    /// No engine.
    #[error("{0}. `kidoban demo` needs none")]
    Engine(#[from] NotRunnable),
    /// The engine is there, and turned out to be no program.
    #[error("{0}. `kidoban demo` needs none")]
    NeverRan(Ended),
    /// The static files.
    #[error("--static: {0}")]
    Static(#[from] ReadError),
    /// What systemd has passed.
    #[error(transparent)]
    Systemd(#[from] Unusable),
    /// A socket.
    #[error("cannot listen on {0}: {1}")]
    Listen(ListenAt, io::Error),
    /// The port file.
    #[error("--port-file: cannot write {0:?}: {1}")]
    PortFile(PathBuf, io::Error),
    /// Everything else that the operating system refuses.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
    /// `simulate` has nothing to show.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// `RUST_LOG`.
    #[error("{0}")]
    Log(String),
}

impl StartError {
    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::NeverRan(Ended::Illegal(_))
            | Self::Static(_)
            | Self::Systemd(Unusable::Socket { .. })
            | Self::Listen(..)
            | Self::PortFile(..)
            | Self::System(..)
            | Self::Simulate(SimulateError::Stdout(_)) => 1,
            Self::Contradictions(_)
            | Self::Log(_)
            | Self::Simulate(_)
            | Self::Systemd(Unusable::Variable { .. }) => 2,
            Self::Engine(NotRunnable::NotFound(..)) => 127,
            Self::Engine(NotRunnable::NotExecutable(_)) => 126,
            Self::NeverRan(Ended::NeverRan { code, .. }) => *code,
        })
    }
}
