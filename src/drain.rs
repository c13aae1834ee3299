//! Signals, and how far a shutdown has come. Decides when; what ends then is each
//! task's own doing.

use std::io;
use std::process::ExitCode;

use nix::sys::signal::SigSet;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No shutdown.
    Running,
    /// No connection is accepted any more; what comes on those that were is answered, and
    /// then they close. A turn that is on its way at this moment is not lost.
    Draining,
    /// New turns are refused, and idle connections closed; turns that were taken are answered.
    Refusing,
    /// What is still open gets its 503 now.
    TimeUp,
}

/// The stage, to look at and to wait for.
#[derive(Clone, Debug)]
pub struct Drain {
    stage: watch::Sender<Stage>,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            stage: watch::channel(Stage::Running).0,
        }
    }
}

impl Drain {
    /// Moves on; never back.
    pub fn reach(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let moves = *now < stage;
            *now = stage.max(*now);
            moves
        });
    }

    /// Has a shutdown begun?
    pub fn has_begun(&self) -> bool {
        *self.stage.borrow() > Stage::Running
    }

    /// Are new turns refused?
    pub fn refuses(&self) -> bool {
        *self.stage.borrow() >= Stage::Refusing
    }

    /// Ready when `stage` is reached. Cancel-safe.
    pub async fn reached(&self, stage: Stage) {
        let mut receiver = self.stage.subscribe();
        // An error means that the sender is gone, and `self` is one.
        let _ = receiver.wait_for(|now| *now >= stage).await;
    }
}

/// Signals that end the gateway, and the one that reloads.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Shut down; when asked again, at once and with this exit code.
    ShutDown(u8),
    /// Read again what can be read again.
    Reload,
}

impl Signals {
    /// Catches SIGTERM, SIGINT and SIGHUP from here on, also where the gateway was started
    /// with signals blocked: it would hear none of them, nor of a child that has ended.
    ///
    /// # Errors
    /// The operating system's.
    pub fn catch() -> io::Result<Self> {
        SigSet::empty().thread_set_mask()?;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one. Cancel-safe.
    pub async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::ShutDown(143),
            _ = self.interrupt.recv() => Asked::ShutDown(130),
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }

    /// Ready at the next signal that asks to shut down. Cancel-safe.
    pub async fn shut_down(&mut self) -> ExitCode {
        loop {
            if let Asked::ShutDown(code) = self.next().await {
                return ExitCode::from(code);
            }
        }
    }
}
