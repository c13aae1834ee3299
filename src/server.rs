//! Accepting, and the HTTP of one connection. Each connection is one task; what its
//! requests mean is the business of whoever [`Answers`].

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::answer;
use crate::connection::{AnswerBody, Connections, Permit, RefusedBecause};
use crate::drain::{Drain, Stage};
use crate::listen::Listener;
use crate::logic::address::Hop;
use crate::request::Gateway;

/// Longest request head. Also what one connection buffers of what is not yet read.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Most header fields of a request.
const FIELDS_MAX: usize = 64;
/// The first and the longest pause after an accept that failed: such errors repeat at once.
const ACCEPT_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

type AnyError = Box<dyn Error + Send + Sync>;

/// Who answers the requests of a listener's connections.
pub trait Answers: Send + Sync + 'static {
    /// The bodies of its answers.
    type Body: Body<Data = Bytes, Error: Into<AnyError>> + Send + 'static;

    /// One request of the connection that `permit` is for, one answer. Its first byte came at `began_at`.
    ///
    /// Cancel-safe: dropping it is what a client does that hangs up.
    fn answer(
        &self,
        permit: &Permit,
        peer: Hop,
        began_at: Instant,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// A head that HTTP could not read, and refused by itself.
    fn unread(&self, peer: Hop, error: &hyper::Error);

    /// How far its own shutdown has come.
    fn drain(&self) -> &Drain;
}

impl Answers for Gateway {
    type Body = AnswerBody;

    async fn answer(
        &self,
        permit: &Permit,
        peer: Hop,
        began_at: Instant,
        request: Request<Incoming>,
    ) -> Response<AnswerBody> {
        let response = self.answer(peer, began_at, request).await;
        let is_last = answer::closes(&response);
        response.map(|bytes| permit.answer_body(bytes, is_last))
    }

    fn unread(&self, peer: Hop, error: &hyper::Error) {
        self.unread(peer, error);
    }

    fn drain(&self) -> &Drain {
        self.drain()
    }
}

/// There is nobody to answer any more.
#[derive(Debug, thiserror::Error)]
#[error("the client left before its answer")]
struct ClientLeft;

/// Accepts until the drain begins. Each connection is a task of its own; one that was
/// accepted gets its permit even then.
pub async fn accept<A: Answers>(
    answers: Arc<A>,
    connections: Arc<Connections>,
    listener: Listener,
) {
    let mut pause = ACCEPT_PAUSES.0;
    let drain = answers.drain().clone();
    let mut draining = pin!(drain.reached(Stage::Draining));
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut draining => return,
            accepted = accept_one(&listener) => accepted,
        };
        match accepted {
            Ok(accepted) => {
                pause = ACCEPT_PAUSES.0;
                let permit = connections.permit().await;
                let answers = Arc::clone(&answers);
                tokio::spawn(async move {
                    match accepted {
                        Accepted::Tcp(mut stream, peer) => {
                            if serve(answers, permit, &mut stream, peer).await == Ended::Cut {
                                // The kernel forgets what it holds for somebody who does not take it.
                                let _ = set_socket_linger(&stream, Some(Duration::ZERO));
                            }
                        }
                        Accepted::Unix(stream) => {
                            serve(answers, permit, stream, Hop::Unix).await;
                        }
                    }
                });
            }
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                connections.refuse(RefusedBecause::AcceptFailed);
                tokio::select! {
                    () = &mut draining => return,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(ACCEPT_PAUSES.1);
            }
        }
    }
}

enum Accepted {
    Tcp(TcpStream, Hop),
    Unix(UnixStream),
}

/// Cancel-safe.
async fn accept_one(listener: &Listener) -> io::Result<Accepted> {
    match listener {
        Listener::Tcp(listener, _) => {
            let (stream, peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok(Accepted::Tcp(stream, Hop::new(peer.ip())))
        }
        Listener::Unix(listener, _) => {
            let (stream, _) = listener.accept().await?;
            Ok(Accepted::Unix(stream))
        }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All that was answered went out, or its client left.
    Done,
    /// Its client did not take its answer: it was closed for that.
    Cut,
}

/// Serves one connection to its end: the client's, a deadline's, or the drain's.
pub async fn serve<A, S>(answers: Arc<A>, permit: Permit, stream: S, peer: Hop) -> Ended
where
    A: Answers,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = permit.watch(TokioIo::new(stream));
    let hang_up = stream.hang_up();
    let (permit, answers, hang_up) = (&permit, &answers, &hang_up);
    let service = service_fn(move |request| async move {
        let began_at = permit.request_begun();
        tokio::select! {
            biased;
            response = answers.answer(permit, peer, began_at, request) => Ok(response),
            () = hang_up.happened() => Err(ClientLeft),
        }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(FIELDS_MAX)
            .serve_connection(stream, service)
    );
    let mut must_close = pin!(permit.must_close());
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = &mut must_close => None,
        // Until then a request may be on its way, and its answer closes the connection.
        () = answers.drain().reached(Stage::Refusing) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                biased;
                ended = connection => Some(ended),
                () = must_close => None,
            }
        }
    };
    if let Some(Err(error)) = ended {
        debug!(%peer, %error, "a connection ended badly");
        if error.is_parse() {
            answers.unread(peer, &error);
        }
    }
    if permit.was_cut() {
        Ended::Cut
    } else {
        Ended::Done
    }
}
