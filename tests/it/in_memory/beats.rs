//! The supervisor's signs of life, which systemd's watchdog is fed by: there whatever the
//! engine does, and not when something does not end that must.

use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use std::time::Duration;

use kidoban::engine::process::Process;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;

use super::told_by_mark;
use super::world::{Ends, World, settled};

#[tokio::test(start_paused = true)]
async fn whatever_an_engine_does_its_supervisor_answers() {
    let options = ["--reply-timeout", "1h", "--restart-delay-max", "1h"];
    let world = World::up(&options, told_by_mark).await;
    for _ in 0..100 {
        assert!(world.beats().await, "idle");
        sleep(Duration::from_mins(1)).await;
    }
    let hangs = world.ask("hang");
    for _ in 0..58 {
        sleep(Duration::from_mins(1)).await;
        assert!(world.beats().await, "in a long turn");
    }
    assert_eq!(hangs.await.unwrap().code(), "engine_timeout");
    assert!(world.beats().await, "replaced");

    let dies = World::new(&options, |ends: Ends| async move { drop(ends) });
    while dies.starts().len() < 12 {
        assert!(dies.beats().await, "down, after {:?}", dies.starts().len());
        sleep(Duration::from_millis(50)).await;
    }
}

/// Reads nothing, says nothing, and cannot be killed: it hangs inside the kernel.
struct Unkillable;

impl Process for Unkillable {
    fn poll_exited(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn unread_bytes(&self) -> u64 {
        0
    }

    fn unread_by_engine(&self) -> u64 {
        0
    }

    fn signal_group(&self, _: Signal) {}

    fn reap(&mut self) -> io::Result<ExitStatus> {
        unreachable!("it never exits")
    }
}

impl AsyncRead for Unkillable {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Unkillable {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A gateway that cannot get rid of its engine is no use to anybody: a fresh one is.
#[tokio::test(start_paused = true)]
async fn an_engine_that_cannot_be_killed_ends_the_signs_of_life() {
    let options = ["--reply-timeout", "2s"];
    let world = World::of(&options, || Box::new(Unkillable));
    settled().await;
    let hangs = world.ask("anything").await.unwrap();
    assert_eq!(hangs.code(), "engine_timeout");
    for _ in 0..29 {
        assert!(world.beats().await, "it may take its time");
        sleep(Duration::from_secs(1)).await;
    }
    sleep(Duration::from_secs(2)).await;
    assert!(!world.beats().await);
    sleep(Duration::from_hours(1)).await;
    assert!(!world.beats().await);
}
