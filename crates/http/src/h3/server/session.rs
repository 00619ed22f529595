//! A connection after its handshake: accepts requests until either end shuts down.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use ::h3::error::{Code, ConnectionError};
use ::h3::server::RequestResolver;
use bytes::Bytes;
use quinn::VarInt;

use super::answer::Answering;
use super::open::Open;
use crate::Handler;
use crate::h3::{adapter, settings};
use crate::server::{Standing, Verdict, Vigil};

/// Serves a connection to its end.
pub(super) async fn serve<H: Handler>(
    connection: adapter::Connection,
    settings: &settings::Server,
    answering: Answering<H>,
) -> Result<(), ConnectionError> {
    let requests = connection.requests();
    let mut connection = ::h3::server::builder()
        .max_field_section_size(settings.header_list_bytes)
        .send_grease(false)
        .build(connection)
        .await?;
    let mut drain = answering.common.watch();
    let mut vigil = Vigil::over(&answering.common);
    let answering = Rc::new(answering);
    let mut leaving: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    loop {
        let step = {
            let mut accept = pin!(connection.accept());
            poll_fn(|cx| {
                if drain.poll_begun(cx).is_ready() {
                    return Poll::Ready(Step::Leave);
                }
                match vigil.poll(|| answering.standing(), cx) {
                    Verdict::Wait => {}
                    Verdict::Leave => return Poll::Ready(Step::Leave),
                    Verdict::End => return Poll::Ready(Step::End),
                }
                match leaving.as_mut().map(|leaving| leaving.as_mut().poll(cx)) {
                    Some(Poll::Ready(())) => Poll::Ready(Step::Accepted(Ok(None))),
                    _ => accept.as_mut().poll(cx).map(Step::Accepted),
                }
            })
            .await
        };
        match step {
            Step::Leave => {
                // Later requests are refused, so that the client may send them elsewhere (RFC 9114 section 5.2).
                requests.refuse();
                connection.shutdown(1).await?;
                leaving = Some(Box::pin(Rc::clone(&answering.open).over()));
            }
            Step::End => {
                // It was told to leave, and still neither reads nor sends.
                close(&answering.client, Code::H3_EXCESSIVE_LOAD);
                return Ok(());
            }
            Step::Accepted(request) => {
                let Some(request) = request? else { return Ok(()) };
                let (answering, task) = (Rc::clone(&answering), Open::request(&answering.open));
                drop(world::spawn(async move {
                    // An aborted request is its client's to notice.
                    let _ = answering.answer(request).await;
                    drop(task);
                }));
            }
        }
    }
}

/// The next step of a connection.
#[expect(clippy::large_enum_variant, reason = "looked at once, where it is made")]
enum Step {
    Accepted(Result<Option<RequestResolver<adapter::Connection, Bytes>>, ConnectionError>),
    Leave,
    End,
}

impl<H> Answering<H> {
    fn standing(&self) -> Standing {
        Standing {
            progress: self.tally.borrow().progress(),
            is_ours: self.open.is_ours(),
            is_tunnelling: self.open.is_tunnelling(),
        }
    }
}

/// Closes `client`'s connection at once.
pub(super) fn close(client: &quinn::Connection, code: Code) {
    let code = VarInt::from_u64(code.value()).expect("HTTP/3's codes are small");
    client.close(code, b"");
}
