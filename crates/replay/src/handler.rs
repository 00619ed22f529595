//! The handler of all hosts: finds the response to a request, and takes the time that its server took.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use archive::matching::{AskedRequest, RecordedMatch, RecordedRequests};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_stack::server::{Answer, Handler, Reply, RequestBody, RequestHead};

use crate::journal::{ReplayJournal, RequestOutcome};

/// The largest body of a request that is compared with the recorded ones; of a longer one the beginning is.
const MOST_BODY_BYTES: usize = 1 << 20;

/// Handler of all hosts.
pub(crate) struct ReplayHandler {
    pub(crate) requests: RefCell<RecordedRequests>,
    /// By exchange.
    pub(crate) replies: Vec<Option<Reply>>,
    /// Time that each answer takes.
    pub(crate) think: Vec<Duration>,
    pub(crate) journal: Arc<Mutex<ReplayJournal>>,
}

impl ReplayHandler {
    /// The reply to a request, and the time that it takes.
    fn find(&self, asked: AskedRequest<'_>) -> (Reply, Duration) {
        let found = self.requests.borrow_mut().find(asked);
        let exchange = found.exchange();
        let reply = exchange.and_then(|at| self.replies[at].clone());
        let outcome = match found {
            // A status that no response can have.
            _ if reply.is_none() => RequestOutcome::Missing,
            RecordedMatch::Exact(_) => RequestOutcome::Exact,
            RecordedMatch::Inexact(_, difference) => RequestOutcome::differs(difference),
            RecordedMatch::Missing => RequestOutcome::Missing,
        };
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.note(outcome, || format!("{} {}", asked.method, asked.url));
        drop(journal);
        let think = exchange.and_then(|at| self.think.get(at).copied()).unwrap_or_default();
        (reply.unwrap_or_else(not_recorded), think)
    }

    fn answer(&self, asked: AskedRequest<'_>) -> Answer {
        let (reply, think) = self.find(asked);
        match think.is_zero() {
            true => Answer::Ready(reply),
            false => Answer::later(after(think, reply)),
        }
    }
}

async fn after(think: Duration, reply: Reply) -> Reply {
    world::sleep(think).await;
    reply
}

fn not_recorded() -> Reply {
    let body = Bytes::from_static(b"This request was not recorded.\n");
    Reply::new(StatusCode::NOT_FOUND, HeaderMap::new(), body)
}

fn url(request: RequestHead<'_>) -> String {
    // A proxy's client asks for a whole URL.
    match request.target.contains("://") {
        true => request.target.to_owned(),
        false => format!("{}://{}{}", request.scheme, request.authority, request.target),
    }
}

fn range(request: RequestHead<'_>) -> Option<&str> {
    std::str::from_utf8(request.fields.get("range")?).ok()
}

/// A handler that tasks of its answers share.
#[derive(Clone)]
pub(crate) struct SharedHandler(pub(crate) Rc<ReplayHandler>);

impl Handler for SharedHandler {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let url = url(request);
        let range = range(request);
        self.0.answer(AskedRequest { method: request.method, url: &url, range, body: &[] })
    }

    fn receive(
        &self,
        request: RequestHead<'_>,
        mut body: RequestBody,
    ) -> Result<Answer, RequestBody> {
        let (url, method) = (url(request), request.method.to_owned());
        let range = range(request).map(str::to_owned);
        let handler = Rc::clone(&self.0);
        Ok(Answer::later(async move {
            let mut whole = Vec::new();
            // A body that breaks off is compared as far as it came: its client is gone.
            while let Some(Ok(piece)) = body.next().await {
                let room = MOST_BODY_BYTES.saturating_sub(whole.len()).min(piece.len());
                whole.extend_from_slice(&piece[..room]);
            }
            let asked =
                AskedRequest { method: &method, url: &url, range: range.as_deref(), body: &whole };
            let (reply, think) = handler.find(asked);
            world::sleep(think).await;
            reply
        }))
    }
}
