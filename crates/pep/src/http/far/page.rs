//! A page, scanned as it passes, and the objects it embeds, fetched and sent unasked.
//!
//! ```text
//!   server -> piece -> looked through -> promises   before the client can know of what they promise
//!                   -> the piece                    in its turn, among the objects that have come
//! ```
//!
//! A page's stream stays open until everything promised on it is on its way: HTTP/2 allows promises on open streams only (RFC 9113 section
//! 6.6). The client does not wait for that: the near end knows the end of the body by its length or, if the server did not state it, by the
//! coding on the leg.

use std::cell::RefCell;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{SendPushedResponse, SendResponse};
use h2::{Reason, SendStream};
use http::header::{ACCEPT, COOKIE, HOST, REFERER};
use http::{HeaderMap, Request, Response};
use url::Url;
use world::JoinHandle;

use super::Fetcher;
use super::priority_semaphore::{ObjectUrgency, PrioritySemaphore, QueueRank};
use super::upstream::ServerResponse;
use super::upstream::{RelayedResponse, gather, send, to_client, to_server};
use crate::http::discover::{Embedded, discover};
use crate::http::html::HtmlScanner;
use crate::http::message::{self, ContentDecoder, LegDeflater};
use crate::leg::PIECE_BYTES;

/// Maximum time for which a piece of the page may hold up less urgent objects. A client may wait for one of these before it takes
/// more of the page.
const PAGE_FIRST: Duration = Duration::from_secs(1);

/// Maximum unpacked size of a style sheet to scan.
const STYLES_BYTES: usize = 8 << 20;

/// State of one page.
pub(super) struct PageTransfer {
    fetcher: Rc<Fetcher>,
    client: IpAddr,
    base: Url,
    /// The fields that the client sends with every request, from the one that is known.
    usual: HeaderMap,
    /// The stream that promises are made on.
    respond: RefCell<SendResponse<Bytes>>,
    promised: RefCell<Vec<Url>>,
    /// Turns of sending.
    send_permits: PrioritySemaphore,
}

/// An object promised to the near end.
struct Promise {
    url: Url,
    target: SocketAddr,
    request: Request<()>,
    respond: SendPushedResponse<Bytes>,
    /// Its place in the queue of fetches.
    to_fetch: QueueRank,
    /// Its place in the queue of sending.
    to_send: QueueRank,
}

impl PageTransfer {
    /// The page at `base`, which `client` requested with the fields `usual`.
    pub(super) fn new(
        fetcher: Rc<Fetcher>,
        client: IpAddr,
        base: Url,
        usual: HeaderMap,
        respond: SendResponse<Bytes>,
    ) -> Rc<PageTransfer> {
        let (respond, promised, send_permits) =
            (RefCell::new(respond), RefCell::default(), PrioritySemaphore::new(1));
        Rc::new(PageTransfer { fetcher, client, base, usual, respond, promised, send_permits })
    }

    /// Sends the page as it arrives, and the objects it embeds.
    pub(super) async fn send(self: Rc<PageTransfer>, mut fetched: ServerResponse) {
        let deflater = match fetched.length {
            _ if self.fetcher.compresses(&fetched.head) => Some(LegDeflater::new()),
            Some(_) => None,
            // Otherwise the client would wait for the stream's end.
            None => Some(LegDeflater::stored()),
        };
        let counters = &self.fetcher.counters;
        let begun =
            RelayedResponse::begin(&mut self.respond.borrow_mut(), &fetched, deflater, counters);
        let Some(mut outgoing) = begun else { return };
        let Some(fulfilling) = self.pass(&mut fetched, &mut outgoing).await else {
            return outgoing.break_off();
        };
        fetched.finish();
        for promise in fulfilling {
            promise.await;
        }
        // No more promises can be made.
        outgoing.end();
    }

    /// Forwards the page itself. Returns the promises being kept then; `None` if either side broke.
    async fn pass(
        self: &Rc<PageTransfer>,
        fetched: &mut ServerResponse,
        outgoing: &mut RelayedResponse<'_>,
    ) -> Option<Vec<JoinHandle<()>>> {
        let settings = self.fetcher.settings;
        let mut look = PageScanner::new(&self.base, fetched.head.headers(), settings.page_bytes);
        let mut fulfilling = Vec::new();
        let rank = self.send_permits.rank(ObjectUrgency::Page);
        while let Some(piece) = fetched.next().await.ok()? {
            let found = look.as_mut().map_or_else(Vec::new, |look| look.piece(&piece));
            fulfilling.extend(self.fulfil_all(self.promise(&self.base, found), settings.depth));
            self.send_piece(rank, outgoing, piece).await?;
        }
        let found = look.map_or_else(Vec::new, PageScanner::end);
        fulfilling.extend(self.fulfil_all(self.promise(&self.base, found), settings.depth));
        outgoing.body_end().await?;
        Some(fulfilling)
    }

    async fn send_piece(
        &self,
        rank: QueueRank,
        outgoing: &mut RelayedResponse<'_>,
        piece: Bytes,
    ) -> Option<()> {
        let turn = self.send_permits.take(rank).await;
        let mut sending = pin!(outgoing.piece(piece));
        match world::timeout(PAGE_FIRST, &mut sending).await {
            Ok(sent) => sent,
            Err(_) => {
                drop(turn);
                sending.await
            }
        }
    }

    /// Starts keeping `promises`, and those that follow from them, `depth` levels down.
    fn fulfil_all(
        self: &Rc<PageTransfer>,
        promises: Vec<Promise>,
        depth: u32,
    ) -> Vec<JoinHandle<()>> {
        let fulfil = |promise| world::spawn(Rc::clone(self).fulfil(promise, depth));
        promises.into_iter().map(fulfil).collect()
    }

    /// Promises the objects that the document at `base` embeds, as far as they may be fetched: the most urgent first.
    fn promise(&self, base: &Url, mut found: Vec<Embedded>) -> Vec<Promise> {
        found.sort_by_key(|embedded| embedded.kind);
        found.into_iter().map_while(|embedded| self.promise_one(base, embedded)).flatten().collect()
    }

    /// A promise; `Some(None)` if this object must not be promised, `None` if no more may be.
    fn promise_one(&self, base: &Url, embedded: Embedded) -> Option<Option<Promise>> {
        let Embedded { url, kind } = embedded;
        let PageTransfer { fetcher, client, send_permits, .. } = self;
        if self.promised.borrow().len() >= fetcher.settings.objects {
            return None;
        }
        let Some(target) = fetcher.target(*client, &url) else { return Some(None) };
        if self.promised.borrow().contains(&url) || url == *base {
            return Some(None);
        }
        let mut request = Request::get(url.as_str());
        if let Some(cookie) = fetcher.jar.borrow().cookie(*client, host(&url)) {
            request = request.header(COOKIE, cookie);
        }
        let Ok(request) = request.body(()) else { return Some(None) };
        let asked = self.as_client(base, request.clone());
        let respond = self.respond.borrow_mut().push_request(request).ok()?;
        self.promised.borrow_mut().push(url.clone());
        fetcher.counters.promised.add(1);
        let (to_fetch, to_send) =
            (fetcher.fetch_permits.rank(kind.into()), send_permits.rank(kind.into()));
        Some(Some(Promise { url, target, request: asked, respond, to_fetch, to_send }))
    }

    /// Adds the fields that the client would send to a request.
    fn as_client(&self, base: &Url, mut request: Request<()>) -> Request<()> {
        for (name, value) in &self.usual {
            if ![ACCEPT, COOKIE, HOST, REFERER].contains(name) {
                request.headers_mut().append(name, value.clone());
            }
        }
        if let Ok(referrer) = base.as_str().parse() {
            request.headers_mut().insert(REFERER, referrer);
        }
        request.headers_mut().insert(ACCEPT, http::HeaderValue::from_static("*/*"));
        request
    }

    /// Fetches the promised object, and sends it in its turn.
    async fn fulfil(self: Rc<PageTransfer>, mut promise: Promise, depth: u32) {
        let Fetcher { upstream, settings, patience, fetch_permits, jar, .. } = &*self.fetcher;
        let permit = fetch_permits.take(promise.to_fetch).await;
        let fetched = upstream
            .fetch(promise.target, &to_server(promise.request), *patience, &mut |_| {})
            .await;
        let gathered = match fetched {
            Ok(fetched) => gather(fetched, settings.object_bytes).await,
            Err(_) => None,
        };
        let Some((head, body)) = gathered else {
            // The near end then requests it itself.
            return promise.respond.send_reset(Reason::CANCEL);
        };
        jar.borrow_mut().received(self.client, host(&promise.url), head.headers());
        let deeper = if depth > 1 {
            self.promise(&promise.url, embedded(&promise.url, &head, &body))
        } else {
            Vec::new()
        };
        let deeper = boxed(Rc::clone(&self), deeper, depth - 1);
        let (head, body) = self.pack(&head, body);
        if let Ok(mut stream) = promise.respond.send_response(head, false)
            && self.send_in_turns(promise.to_send, &mut stream, body).await.is_some()
        {
            drop(stream.send_data(Bytes::new(), true));
        }
        drop(permit);
        deeper.await;
    }

    /// Sends `body` in pieces, letting more urgent objects go between them.
    async fn send_in_turns(
        &self,
        rank: QueueRank,
        stream: &mut SendStream<Bytes>,
        mut body: Bytes,
    ) -> Option<()> {
        while !body.is_empty() {
            let _turn = self.send_permits.take(rank).await;
            send(stream, body.split_to(body.len().min(PIECE_BYTES))).await?;
        }
        Some(())
    }

    /// A response in its form for the leg.
    fn pack(&self, head: &Response<()>, body: Bytes) -> (Response<()>, Bytes) {
        let plain_bytes = body.len() as u64;
        let coded = self.fetcher.compresses(head).then(|| LegDeflater::whole(&body).ok());
        match coded.flatten().filter(|coded| coded.len() < body.len()) {
            Some(coded) => {
                self.fetcher.counters.saved_bytes.add(plain_bytes - coded.len() as u64);
                (to_client(head, Some(plain_bytes), true), coded)
            }
            None => (to_client(head, Some(plain_bytes), false), body),
        }
    }
}

/// The objects that a complete object embeds.
fn embedded(url: &Url, head: &Response<()>, body: &[u8]) -> Vec<Embedded> {
    let Some(mut unpacker) = ContentDecoder::of(head.headers()) else { return Vec::new() };
    let text = unpacker.piece(body, STYLES_BYTES);
    discover(&message::media_type(head.headers()), url, &text)
}

/// Starts keeping `promises`. Boxed, since promises lead to promises.
fn boxed(
    page: Rc<PageTransfer>,
    promises: Vec<Promise>,
    depth: u32,
) -> Pin<Box<dyn Future<Output = ()>>> {
    let fulfilling = page.fulfil_all(promises, depth);
    Box::pin(async move {
        for promise in fulfilling {
            promise.await;
        }
    })
}

/// The host of `url`, with its port if that is given.
fn host(url: &Url) -> &str {
    &url[url::Position::BeforeHost..url::Position::AfterPort]
}

/// Discovery of embedded objects in a page as it passes.
struct PageScanner {
    unpacker: ContentDecoder,
    reading: HtmlScanner,
    /// Bytes still to be scanned.
    left_bytes: usize,
}

impl PageScanner {
    /// Scanner of the page at `base` with these fields, limited to `most_bytes`, unpacked. `None` if the server's compression is unknown here.
    fn new(base: &Url, fields: &HeaderMap, most_bytes: usize) -> Option<PageScanner> {
        let (unpacker, reading) = (ContentDecoder::of(fields)?, HtmlScanner::new(base));
        Some(PageScanner { unpacker, reading, left_bytes: most_bytes })
    }

    /// The objects found with `piece`.
    fn piece(&mut self, piece: &[u8]) -> Vec<Embedded> {
        if self.left_bytes == 0 {
            return Vec::new();
        }
        let plain = self.unpacker.piece(piece, self.left_bytes);
        self.left_bytes -= plain.len();
        self.reading.piece(&plain)
    }

    /// The objects found at the end.
    fn end(self) -> Vec<Embedded> {
        self.reading.end()
    }
}
