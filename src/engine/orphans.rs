//! Processes that engines leave behind. The gateway adopts them, so that the last member
//! of a dead engine's group is reaped too, and no zombie is left of one that had gone its
//! own way. Never reaps an engine itself: its exit status is its unit's to read.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The engines that are not to be taken for orphans.
#[derive(Debug, Default)]
pub struct Orphans {
    engines: Mutex<BTreeSet<i32>>,
}

impl Orphans {
    /// From here on, processes whose parent ends become children of this one
    /// (`PR_SET_CHILD_SUBREAPER`), and none ends unnoticed: [`Orphans::reap`] wants what is told here.
    ///
    /// # Errors
    /// The operating system's.
    pub fn adopt() -> io::Result<(Self, Signal)> {
        set_child_subreaper(Some(getpid()))?;
        Ok((Self::default(), signal(SignalKind::child())?))
    }

    /// This child is an engine.
    pub(super) fn leave_alone(&self, engine: Pid) {
        self.engines().insert(engine.as_raw_pid());
    }

    /// This engine is reaped.
    pub(super) fn may_go(&self, engine: Pid) {
        self.engines().remove(&engine.as_raw_pid());
    }

    /// Reaps them as they end.
    pub async fn reap(&self, mut child_ended: Signal) -> Infallible {
        loop {
            child_ended.recv().await;
            for child in children() {
                if !self.engines().contains(&child.as_raw_pid()) {
                    // Still running: nothing happens. Gone: nothing is left to do.
                    let _ = waitpid(Some(child), WaitOptions::NOHANG);
                }
            }
        }
    }

    fn engines(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All children. They are the first thread's: it starts the engines, and the kernel gives orphans to it.
fn children() -> Vec<Pid> {
    let list = fs::read_to_string(format!(
        "/proc/self/task/{}/children",
        getpid().as_raw_pid()
    ));
    let list = list.unwrap_or_default();
    let ids = list.split_whitespace();
    ids.filter_map(|id| Pid::from_raw(id.parse().ok()?))
        .collect()
}
