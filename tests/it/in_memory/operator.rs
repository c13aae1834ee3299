//! The operator's event stream and its time: who takes nothing is let go, and who
//! takes little stays.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use kidoban::admin;
use kidoban::clock;
use kidoban::connection::Connections;
use kidoban::logic::address::Hop;
use kidoban::server;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::steady;
use super::world::World;

/// What a connection holds in each direction: a few events.
const SOCKET_BYTES: usize = 8 * 1024;

/// A stream that was asked for, and the task that serves it.
async fn stream(world: &World) -> (DuplexStream, JoinHandle<()>) {
    let (mut ours, theirs) = duplex(SOCKET_BYTES);
    let connections = Arc::new(Connections::new(admin::LIMITS));
    let admin = Arc::new(world.admin());
    let peer = Hop::new(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let served = tokio::spawn(async move {
        let permit = connections.permit().await;
        server::serve(admin, permit, theirs, peer).await;
    });
    let request =
        b"GET /status.json HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    ours.write_all(request).await.unwrap();
    (ours, served)
}

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_of_a_stream_is_let_go() {
    let world = World::up(&[], |ends| steady(ends, Duration::ZERO)).await;
    let began = clock::now();
    let (unread, served) = stream(&world).await;
    let limit = admin::LIMITS.write_timeout;
    timeout(10 * limit, served).await.expect("let go").unwrap();
    let after = clock::now() - began;
    assert!(after >= limit && after < 3 * limit, "after {after:?}");
    drop(unread);
}

#[tokio::test(start_paused = true)]
async fn who_takes_little_of_a_stream_stays() {
    let world = World::up(&[], |ends| steady(ends, Duration::ZERO)).await;
    let (mut ours, served) = stream(&world).await;
    let mut chunk = vec![0; SOCKET_BYTES];
    for _ in 0..100 {
        sleep(admin::LIMITS.write_timeout / 3).await;
        assert!(ours.read(&mut chunk).await.unwrap() > 0);
        assert!(!served.is_finished());
    }
    drop(ours);
    timeout(admin::LIMITS.write_timeout, served)
        .await
        .expect("who leaves is gone")
        .unwrap();
}
