//! An HTTP/2 server's connection.
//!
//! A client's cost is bounded: h2 bounds memory, `Floods` work, and `Patience` time (RFC 9113 section 10.5).
//!
//! One future per connection does everything - reads, calls the handler, schedules responses, writes - so that nothing
//! is spawned and every wake-up is the connection's own. It hands h2 one chunk at a time, and the next when TLS or TCP
//! has accepted that: data still here can be reordered.

mod reply;
mod request;
mod session;

use std::rc::Rc;

use thiserror::Error;

use self::session::Session;
use super::flow::FlowMeter;
use super::settings;
use crate::server::Common;
use crate::{Handler, Transport};

/// The reason that a connection ended prematurely.
#[derive(Debug, Error)]
#[error("the HTTP/2 connection failed: {0}")]
pub struct Broken(#[from] ::h2::Error);

/// Serves the connection on `stream` until the client closes it. `meter` tells, at any time, how long flow control limited it.
///
/// # Errors
/// If the stream fails or the client breaks the protocol.
pub async fn serve<S, H>(
    stream: S,
    handler: Rc<H>,
    settings: &settings::Server,
    meter: &FlowMeter,
) -> Result<(), Broken>
where
    S: Transport,
    H: Handler,
{
    serve_in(&Common::default(), stream, handler, settings, meter).await
}

/// The same, for a connection that shares `common`.
///
/// # Errors
/// As [`serve`]; also if the client is too slow for `common`'s patience.
pub fn serve_in<S, H>(
    common: &Common,
    stream: S,
    handler: Rc<H>,
    settings: &settings::Server,
    meter: &FlowMeter,
) -> impl Future<Output = Result<(), Broken>>
where
    S: Transport,
    H: Handler,
{
    // Boxed here, so that the connection does not keep the memory of its setup for its whole life.
    let begun = Box::pin(Session::begin(common, stream, handler, settings, meter));
    async move {
        let mut session = begun.await?;
        let ended = std::future::poll_fn(|cx| session.poll(cx)).await;
        session.finish().await;
        session.end();
        Ok(ended?)
    }
}
