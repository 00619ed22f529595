//! An HTTP/2 server's connection.
//!
//! A client's cost is bounded: h2 bounds memory, `FrameRates` work, and `Patience` time (RFC 9113 section 10.5).
//!
//! One future per connection does everything - reads, calls the handler, schedules responses, writes - so that nothing
//! is spawned and every wake-up is the connection's own. It hands h2 one chunk at a time, and the next when TLS or TCP
//! has accepted that: data still here can be reordered.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use thiserror::Error;
use units::Time;

use super::metering::FlowMeter;
use super::settings;
use super::wire::observer::ControlFrames;
use crate::server::{Body, BodyError, RequestBody, SharedServerState};
use crate::{Handler, Transport};

mod reply;
mod session;

use session::H2Session;

/// The reason that a connection ended prematurely.
#[derive(Debug, Error)]
#[error("the HTTP/2 connection failed: {0}")]
pub struct H2ServerError(#[from] ::h2::Error);

/// Serves the connection on `stream` until the client closes it. `meter` tells, at any time, how long flow control limited it.
///
/// # Errors
/// If the stream fails or the client breaks the protocol.
pub async fn serve<S, H>(
    stream: S,
    handler: Rc<H>,
    settings: &settings::Server,
    meter: &FlowMeter,
) -> Result<(), H2ServerError>
where
    S: Transport,
    H: Handler,
{
    serve_in(&SharedServerState::default(), stream, handler, settings, meter).await
}

/// The same, for a connection that shares `common`.
///
/// # Errors
/// As [`serve`]; also if the client is too slow for `common`'s patience.
pub fn serve_in<S, H>(
    common: &SharedServerState,
    stream: S,
    handler: Rc<H>,
    settings: &settings::Server,
    meter: &FlowMeter,
) -> impl Future<Output = Result<(), H2ServerError>>
where
    S: Transport,
    H: Handler,
{
    // Boxed here, so that the connection does not keep the memory of its setup for its whole life.
    let begun = Box::pin(H2Session::begin(common, stream, handler, settings, meter));
    async move {
        let mut session = begun.await?;
        let ended = std::future::poll_fn(|cx| session.poll(cx)).await;
        session.finish().await;
        session.end();
        Ok(ended?)
    }
}

/// The client's bytes on a stream. Consuming them opens the window again.
struct H2RequestBody {
    stream: RecvStream,
    demand: BodyWanted,
}

/// True once a body is wanted.
type BodyWanted = Rc<Cell<bool>>;

/// The body that follows `head`; it notes in `demand` that it is wanted.
fn body_of(head: &Parts, stream: RecvStream, demand: &BodyWanted) -> RequestBody {
    let length =
        head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let demand = Rc::clone(demand);
    RequestBody::new(Box::new(H2RequestBody { stream, demand }), length)
}

impl Body for H2RequestBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let H2RequestBody { stream, demand } = self;
        let next = stream.poll_data(cx);
        if next.is_pending() {
            demand.set(true);
        }
        let piece = match ready!(next) {
            // Trailers are read because they mark the end, and discarded.
            None => ready!(stream.poll_trailers(cx)).map(|_| None),
            Some(piece) => piece.and_then(|piece| {
                stream.flow_control().release_capacity(piece.len())?;
                Ok(Some(piece))
            }),
        };
        Poll::Ready(piece.map_err(broken).transpose())
    }
}

fn broken(error: ::h2::Error) -> BodyError {
    if error.is_reset() || error.is_go_away() {
        return BodyError::GivenUp(error.to_string());
    }
    match error.into_io() {
        Some(error) => BodyError::Broken(error),
        None => BodyError::Malformed("HTTP/2 protocol violation".to_owned()),
    }
}

// Rate limits on frames that cost their sender nothing: buckets that refill.
//
// h2 bounds the memory that a client can claim; the work that it can cause is bounded here. A request that is reset as
// soon as it was passed on has cost an upstream its work (CVE-2023-44487); PING and SETTINGS each cost an answer,
// PRIORITY and PRIORITY_UPDATE a new order of the responses.

/// Time in which an empty bucket refills.
const REFILL: Duration = Duration::from_secs(4);

/// A burst of a bucket's size, then at its refill rate (the generic cell rate algorithm).
#[derive(Clone, Copy, Debug)]
struct RateLimit {
    interval: Duration,
    full_at: Time,
}

impl RateLimit {
    const fn new(limit: u32) -> RateLimit {
        RateLimit {
            interval: REFILL.checked_div(limit).expect("a limit is not 0"),
            full_at: Time::ZERO,
        }
    }

    /// Takes `count`; returns false if there are too few.
    fn draw(&mut self, now: Time, count: u32) -> bool {
        self.full_at = self.full_at.max(now) + self.interval * count;
        self.full_at <= now + REFILL
    }
}

/// The buckets of one connection, with SPDY's sizes: see `spdy::Limits::SERVER`.
#[derive(Debug)]
pub(super) struct FrameRates {
    /// A browser that leaves a page resets its open streams: up to 100.
    resets: RateLimit,
    pings: RateLimit,
    settings: RateLimit,
    /// Chromium sends one or two for each picture that the user scrolls to, Firefox five with each connection.
    priorities: RateLimit,
    counted: ControlFrames,
}

impl Default for FrameRates {
    fn default() -> FrameRates {
        FrameRates {
            resets: RateLimit::new(200),
            pings: RateLimit::new(100),
            settings: RateLimit::new(40),
            priorities: RateLimit::new(1_000),
            counted: ControlFrames::default(),
        }
    }
}

impl FrameRates {
    /// Returns true if the frames received so far exceed any legitimate use.
    pub(super) fn is_flood(&mut self, received: ControlFrames, now: impl FnOnce() -> Time) -> bool {
        let before = std::mem::replace(&mut self.counted, received);
        if before == received {
            return false;
        }
        let now = now();
        let is_taken = self.resets.draw(now, received.resets - before.resets)
            & self.pings.draw(now, received.pings - before.pings)
            & self.settings.draw(now, received.settings - before.settings)
            & self.priorities.draw(now, received.priorities - before.priorities);
        !is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_its_limit_at_once_and_a_quarter_a_second() {
        let mut floods = FrameRates::default();
        let resets = |resets| ControlFrames { resets, ..ControlFrames::default() };
        let at = Time::from_millis;
        assert!(!floods.is_flood(resets(200), || at(10_000)));
        assert!(!floods.is_flood(resets(250), || at(11_000)));
        assert!(!floods.is_flood(resets(250), || at(11_100)));
        assert!(floods.is_flood(resets(260), || at(11_100)));
        let mut floods = FrameRates::default();
        let full = ControlFrames { pings: 100, settings: 40, resets: 0, priorities: 1_000 };
        assert!(!floods.is_flood(full, || at(0)));
        assert!(floods.is_flood(ControlFrames { settings: 41, ..full }, || at(0)));
        let mut floods = FrameRates::default();
        assert!(!floods.is_flood(full, || at(0)));
        assert!(floods.is_flood(ControlFrames { priorities: 1_001, ..full }, || at(0)));
    }
}
