//! The status as server-sent events: a small greeting at once, then the whole status, once a
//! second, until the shutdown begins. Made when it is asked for: a reader that is slow
//! gets fewer, never old ones, and nothing waits for it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;

use super::status::Sources;
use crate::clock;
use crate::drain::Stage;
use crate::metrics::{COMMIT, VERSION};

/// From one status to the next.
const EVERY: Duration = Duration::from_secs(1);
/// When a browser comes back after the stream has ended, in milliseconds.
const COME_BACK_MS: u32 = 2_000;

/// One stream. Whoever drops it frees its place.
pub struct Events {
    sources: Arc<Sources>,
    next: Next,
    draining: Pin<Box<dyn Future<Output = ()> + Send>>,
    _place: OwnedSemaphorePermit,
}

enum Next {
    /// Small: a compressing proxy sends it on at once, and the page knows that somebody is there.
    Hello,
    Status,
    Wait(Pin<Box<Sleep>>),
    End,
}

/// A stream in this place.
pub fn stream(sources: Arc<Sources>, place: OwnedSemaphorePermit) -> Events {
    let drain = sources.gateway.drain().clone();
    Events {
        sources,
        next: Next::Hello,
        draining: Box::pin(async move { drain.reached(Stage::Draining).await }),
        _place: place,
    }
}

impl Events {
    /// The status, and what comes after it: a wait, or the end where a shutdown has begun.
    fn status(&mut self) -> Bytes {
        let ends = self.sources.gateway.drain().has_begun();
        self.next = if ends {
            Next::End
        } else {
            Next::Wait(Box::pin(tokio::time::sleep_until(clock::now() + EVERY)))
        };
        let mut event = b"event: status\ndata: ".to_vec();
        event.extend_from_slice(&self.sources.status());
        event.extend_from_slice(b"\n\n");
        event.into()
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = match &mut self.next {
            Next::Hello => {
                self.next = Next::Status;
                format!(
                    "retry: {COME_BACK_MS}\nevent: hello\ndata: {{\"version\":\"{VERSION}\",\"commit\":\"{COMMIT}\"}}\n\n"
                )
                .into()
            }
            Next::Status => self.status(),
            Next::Wait(until) => {
                if until.as_mut().poll(cx).is_pending() {
                    ready!(self.draining.as_mut().poll(cx));
                }
                self.status()
            }
            Next::End => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(Frame::data(event))))
    }
}
