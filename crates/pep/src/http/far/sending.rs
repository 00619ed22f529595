//! Responses on their way from a server to the leg.

use std::future::poll_fn;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{Request, Response, StatusCode};

use super::upstream::Fetched;
use crate::counters::Counters;
use crate::http::coding::Deflater;
use crate::http::message;
use crate::leg::PIECE_BYTES;
use crate::split::room;

/// A response that is sent as it arrives.
pub(super) struct Outgoing<'a> {
    stream: SendStream<Bytes>,
    deflater: Option<Deflater>,
    counters: &'a Counters,
}

impl<'a> Outgoing<'a> {
    /// Sends the head of a fetched response. `None` if the near end is gone.
    pub(super) fn begin(
        respond: &mut SendResponse<Bytes>,
        fetched: &Fetched,
        deflater: Option<Deflater>,
        counters: &'a Counters,
    ) -> Option<Outgoing<'a>> {
        let head = to_client(&fetched.head, fetched.length, deflater.is_some());
        let stream = respond.send_response(head, false).ok()?;
        Some(Outgoing { stream, deflater, counters })
    }

    /// Sends the next piece of the body. `None` if the near end is gone.
    pub(super) async fn piece(&mut self, piece: Bytes) -> Option<()> {
        let plain_bytes = piece.len() as u64;
        let coded = match &mut self.deflater {
            Some(deflater) => deflater.piece(&piece).ok()?,
            None => piece,
        };
        self.counters.saved_bytes.add(plain_bytes.saturating_sub(coded.len() as u64));
        send(&mut self.stream, coded).await
    }

    /// Ends the body; the stream may stay open behind it.
    pub(super) async fn body_end(&mut self) -> Option<()> {
        match self.deflater.take() {
            Some(deflater) => send(&mut self.stream, deflater.end().ok()?).await,
            None => Some(()),
        }
    }

    /// Ends the stream.
    pub(super) fn end(mut self) {
        drop(self.stream.send_data(Bytes::new(), true));
    }

    /// Resets the stream: a truncated response must not look complete.
    pub(super) fn break_off(mut self) {
        self.stream.send_reset(Reason::INTERNAL_ERROR);
    }
}

/// Outcome of gathering a whole response.
pub(super) enum Gathered {
    Whole(Response<()>, Bytes),
    /// It is too large, or broke off.
    Not,
}

/// Gathers a response of at most `most` bytes.
pub(super) async fn gather(mut fetched: Fetched, most: usize) -> Gathered {
    let mut body = Vec::new();
    if fetched.length.is_some_and(|length| length > most as u64) {
        return Gathered::Not;
    }
    loop {
        match fetched.next().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => {
                let head = fetched.head.clone();
                fetched.finish();
                return Gathered::Whole(head, body.into());
            }
            Err(_) => return Gathered::Not,
        }
        if body.len() > most {
            return Gathered::Not;
        }
    }
}

/// Sends all of `data` as the stream's window allows; `None` if the stream broke.
pub(super) async fn send(stream: &mut SendStream<Bytes>, mut data: Bytes) -> Option<()> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len().min(PIECE_BYTES));
        let room = poll_fn(|cx| room(stream, cx)).await?;
        let piece = data.split_to(room.min(data.len()));
        stream.send_data(piece, false).ok()?;
    }
    Some(())
}

/// Tells the near end that it must handle this itself.
pub(super) fn fail(respond: &mut SendResponse<Bytes>, status: StatusCode) {
    let mut response = Response::new(());
    *response.status_mut() = status;
    // Without this field it would look like the server's own answer.
    response.headers_mut().insert(message::FAILED, http::HeaderValue::from_static("1"));
    drop(respond.send_response(response, true));
}

/// A client's request in the form for a server: origin form, to the requested host.
pub(super) fn to_server(mut request: Request<()>) -> Request<()> {
    message::strip_hop(request.headers_mut());
    *request.version_mut() = http::Version::HTTP_11;
    request
}

/// A server's response in its form for the leg.
pub(super) fn to_client(
    head: &Response<()>,
    length: Option<u64>,
    is_deflated: bool,
) -> Response<()> {
    let mut head = head.clone();
    message::strip_hop(head.headers_mut());
    *head.version_mut() = http::Version::HTTP_2;
    let fields = head.headers_mut();
    if let Some(length) = length {
        fields.insert(message::LENGTH, length.into());
    }
    if is_deflated {
        fields.insert(message::CODING, message::DEFLATE);
    }
    head
}
