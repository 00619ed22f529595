//! The near end's part: trapping a client's GETs, and answering from pushed responses.

mod client;
mod store;

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::Response;

use crate::admin::Counters;
use crate::http::message::{self, LegInflater};
use crate::leg::{Leg, SharedStream, StreamLease};
use crate::split::StreamRequest;

use self::client::TrappedGet;
pub(crate) use self::client::{ClientConnection, ClientEvent};
pub(crate) use self::store::PushStore;
use self::store::PushedResponse;

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// It is answered; the next may come.
    Kept,
    /// It is answered, and the connection ends with it.
    Last,
    /// It is not, and nothing was sent: it may be answered otherwise.
    Not,
    /// It is answered in part: the connection must break off.
    Broken,
}

/// Context for answering a client's GETs.
pub(crate) struct GetContext<'a> {
    pub(crate) client: IpAddr,
    /// The address that the client connected to.
    pub(crate) target: SocketAddr,
    pub(crate) store: &'a Rc<PushStore>,
    pub(crate) leg: &'a Leg,
    /// Line shared by all of its requests.
    pub(crate) line: SharedStream,
    pub(crate) counters: &'a Counters,
    /// Timeout for a silent far end, and for a client that reads nothing.
    pub(crate) idle: Duration,
}

/// Answers `trapped` from the store, or through the far end.
pub(crate) async fn answer(
    front: &mut ClientConnection,
    mut trapped: TrappedGet,
    context: &GetContext<'_>,
) -> Answered {
    let GetContext { client, store, leg, counters, idle, .. } = *context;
    let claimed = world::timeout(idle, store.claim(client, &trapped.request)).await;
    if let Ok(Some(whole)) = claimed {
        counters.fetched.add(1);
        counters.answered_early.add(1);
        counters.save_trips(1, leg.rtt());
        let sent = world::timeout(idle, send(front, whole, &mut trapped)).await;
        return ended(sent.map_err(io::Error::other).flatten(), &trapped);
    }
    let Some(lease) = leg.lease() else { return Answered::Not };
    let Some((response, promises)) = ask(lease, &trapped, context).await else {
        return Answered::Not;
    };
    let usual = trapped.request.headers().clone();
    drop(world::spawn(Rc::clone(store).gather(promises, client, usual)));
    let (mut response, _lease) = response;
    let response = loop {
        let came = poll_fn(|cx| match response.poll_informational(cx) {
            Poll::Ready(Some(Ok(head))) => Poll::Ready(ReceivedHead::Interim(head)),
            _ => Pin::new(&mut response).poll(cx).map(ReceivedHead::Response),
        });
        match world::timeout(idle, came).await {
            Ok(ReceivedHead::Interim(head)) => {
                let told = world::timeout(idle, front.interim(head, &trapped)).await;
                if !matches!(told, Ok(Ok(()))) {
                    return Answered::Broken;
                }
            }
            Ok(ReceivedHead::Response(response)) => break Ok(response),
            Err(late) => break Err(late),
        }
    };
    let response = match response {
        Ok(Ok(response)) if !response.headers().contains_key(message::FAILED) => response,
        Ok(_) => return Answered::Not,
        Err(_) => return Answered::Broken,
    };
    counters.fetched.add(1);
    let sent = pass(front, response, &mut trapped, context).await;
    ended(sent, &trapped)
}

async fn send(
    front: &mut ClientConnection,
    whole: PushedResponse,
    trapped: &mut TrappedGet,
) -> io::Result<()> {
    let length = Some(whole.body.len() as u64);
    let mut body = front.head(&whole.head, length, trapped).await?;
    body.piece(whole.body).await?;
    body.end().await
}

fn ended(sent: io::Result<()>, trapped: &TrappedGet) -> Answered {
    match sent {
        Ok(()) if trapped.persistent => Answered::Kept,
        Ok(()) => Answered::Last,
        Err(_) => Answered::Broken,
    }
}

/// A head received for a request.
enum ReceivedHead {
    Interim(Response<()>),
    Response(Result<Response<h2::RecvStream>, h2::Error>),
}

type SentRequest = ((h2::client::ResponseFuture, StreamLease), h2::client::PushPromises);

/// Sends the request over the leg.
async fn ask(
    lease: StreamLease,
    trapped: &TrappedGet,
    context: &GetContext<'_>,
) -> Option<SentRequest> {
    let GetContext { client, target, .. } = *context;
    let mut request = trapped.request.clone();
    message::strip_hop(request.headers_mut());
    // The URL includes it.
    request.headers_mut().remove(http::header::HOST);
    *request.version_mut() = http::Version::HTTP_2;
    let request = StreamRequest::Fetch { target, client, request }.into_request().ok()?;
    let mut sender = lease.sender_on(&context.line).await.ok()?;
    let (mut response, _) = sender.send_request(request, true).ok()?;
    let promises = response.push_promises();
    Some(((response, lease), promises))
}

/// Forwards a response to the client.
async fn pass(
    front: &mut ClientConnection,
    response: Response<h2::RecvStream>,
    trapped: &mut TrappedGet,
    context: &GetContext<'_>,
) -> io::Result<()> {
    let GetContext { counters, idle, .. } = *context;
    let (mut head, mut coming) = response.into_parts();
    let length = message::text(&head.headers, message::LENGTH).and_then(|text| text.parse().ok());
    let mut inflater = LegInflater::of(&head.headers);
    message::strip_hop(&mut head.headers);
    let mut body = front.head(&Response::from_parts(head, ()), length, trapped).await?;
    // The stream may stay open behind the body: see the far end's `page`.
    while body.left() != Some(0) && !inflater.is_over() {
        let piece = world::timeout(idle, coming.data()).await;
        let Some(piece) = piece.map_err(io::Error::other)? else { break };
        let piece: Bytes = piece.map_err(io::Error::other)?;
        counters.received_bytes.add(piece.len() as u64);
        let coded_bytes = piece.len();
        let plain = inflater.piece(piece)?;
        counters.saved_bytes.add((plain.len() as u64).saturating_sub(coded_bytes as u64));
        world::timeout(idle, body.piece(plain)).await.map_err(io::Error::other)??;
        coming.flow_control().release_capacity(coded_bytes).map_err(io::Error::other)?;
    }
    body.end().await
}
