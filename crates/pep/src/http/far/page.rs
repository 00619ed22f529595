//! Fetching on behalf of clients: the page that was asked for, and what it embeds.
//!
//! A page's stream stays open until all that was promised on it is on its way: HTTP/2 takes promises on open streams only (RFC 9113 section
//! 6.6). Its client does not wait for that: the near end knows the body's length.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{SendPushedResponse, SendResponse};
use h2::{Reason, SendStream};
use http::header::{ACCEPT, COOKIE, HOST, REFERER};
use http::{HeaderMap, Request, Response, StatusCode};
use tokio::sync::Semaphore;
use url::Url;

use super::jar::Jar;
use super::turns::Turns;
use super::upstream::{Fetched, Upstream};
use super::{Compression, Settings};
use crate::counters::Counters;
use crate::http::coding::{self, Deflater};
use crate::http::discover::{Embedded, Kind, discover};
use crate::http::message;
use crate::leg::PIECE_BYTES;
use crate::rules::Reach;
use crate::split::room;

/// As many addresses of hosts are remembered.
const MOST_KNOWN: usize = 4_096;

/// Fetches on behalf of clients.
pub(crate) struct Fetcher {
    settings: Settings,
    reach: Reach,
    patience: Duration,
    upstream: Upstream,
    jar: RefCell<Jar>,
    /// Where clients connected to for a host and port: nothing is ever fetched from anywhere else.
    known: RefCell<BTreeMap<(IpAddr, String), SocketAddr>>,
    in_hand: Rc<Semaphore>,
    counters: Rc<Counters>,
}

/// What goes on for one page.
struct Page {
    fetcher: Rc<Fetcher>,
    client: IpAddr,
    /// What promises are made on.
    respond: RefCell<SendResponse<Bytes>>,
    promised: RefCell<Vec<Url>>,
    turns: Turns,
    /// The fields that the client sends with every request, from the one that is known.
    usual: HeaderMap,
}

impl Fetcher {
    pub(crate) fn new(
        settings: Settings,
        reach: Reach,
        patience: Duration,
        counters: Rc<Counters>,
    ) -> Rc<Fetcher> {
        let in_hand = Rc::new(Semaphore::new(settings.at_once));
        let (upstream, jar, known) = Default::default();
        Rc::new(Fetcher { settings, reach, patience, upstream, jar, known, in_hand, counters })
    }

    /// Answers `request` of `client`, which wanted it to go to `target`.
    pub(crate) async fn serve(
        self: Rc<Fetcher>,
        target: SocketAddr,
        client: IpAddr,
        request: Request<()>,
        mut respond: SendResponse<Bytes>,
    ) {
        let authority = request.uri().authority().map_or("", |a| a.as_str()).to_owned();
        self.learn(client, &authority, target);
        self.jar.borrow_mut().sent(client, &authority, request.headers());
        let Ok(base) = Url::parse(&request.uri().to_string()) else {
            return fail(&mut respond, StatusCode::BAD_REQUEST);
        };
        let usual = request.headers().clone();
        let Ok(fetched) = self.upstream.fetch(target, &to_server(request), self.patience).await
        else {
            return fail(&mut respond, StatusCode::BAD_GATEWAY);
        };
        self.jar.borrow_mut().received(client, &authority, fetched.head.headers());
        self.counters.fetched.add(1);
        if self.settings.depth == 0 || !is_page(&fetched.head) {
            return self.pass(fetched, &mut respond).await;
        }
        let gathered = gather(fetched, self.settings.page_bytes).await;
        let (head, body) = match gathered {
            Gathered::Whole(head, body) => (head, body),
            Gathered::TooLarge(fetched, begun) => {
                return self.pass_behind(begun, fetched, &mut respond).await;
            }
            Gathered::Broken => return fail(&mut respond, StatusCode::BAD_GATEWAY),
        };
        let (promised, turns) = Default::default();
        let respond = RefCell::new(respond);
        let page = Rc::new(Page { fetcher: self, client, respond, promised, turns, usual });
        page.send(&base, head, body).await;
    }

    fn learn(&self, client: IpAddr, authority: &str, target: SocketAddr) {
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.pop_first();
        }
        known.insert((client, with_port(authority)), target);
    }

    /// Where `client` connected to for `url`; nowhere if it never did.
    fn target(&self, client: IpAddr, url: &Url) -> Option<SocketAddr> {
        let host = format!("{}:{}", url.host_str()?, url.port_or_known_default()?);
        self.known.borrow().get(&(client, host)).copied().filter(|at| self.reach.allows(*at))
    }

    /// Whether a response's body is compressed for the leg.
    fn compresses(&self, head: &Response<()>) -> bool {
        self.settings.compression == Compression::Deflate
            && message::is_compressible(head.headers())
    }

    /// Passes a response on as it comes.
    async fn pass(&self, fetched: Fetched, respond: &mut SendResponse<Bytes>) {
        self.pass_behind(Vec::new(), fetched, respond).await;
    }

    /// The same, behind what has come already.
    async fn pass_behind(
        &self,
        begun: Vec<u8>,
        mut fetched: Fetched,
        respond: &mut SendResponse<Bytes>,
    ) {
        let is_compressible = self.compresses(&fetched.head);
        let head = to_client(&fetched.head, fetched.length, is_compressible);
        let Ok(mut stream) = respond.send_response(head, false) else { return };
        let mut deflater = is_compressible.then(Deflater::new);
        let mut next = Ok(Some(Bytes::from(begun)));
        let whole = loop {
            match next {
                Ok(Some(piece)) => {
                    let plain_bytes = piece.len() as u64;
                    let coded = deflater.as_mut().map_or(Ok(piece.clone()), |d| d.piece(&piece));
                    let Ok(coded) = coded else { break false };
                    self.counters.saved_bytes.add(plain_bytes.saturating_sub(coded.len() as u64));
                    if send(&mut stream, coded).await.is_none() {
                        break false;
                    }
                }
                Ok(None) => break true,
                Err(_) => break false,
            }
            next = fetched.next().await;
        };
        let end = deflater.map_or(Ok(Bytes::new()), Deflater::end);
        if whole
            && let Ok(end) = end
            && send(&mut stream, end).await.is_some()
        {
            drop(stream.send_data(Bytes::new(), true));
            fetched.finish();
        } else {
            stream.send_reset(Reason::INTERNAL_ERROR);
        }
    }
}

impl Page {
    /// Promises what the page embeds, sends the page, then what it embeds.
    async fn send(self: Rc<Page>, base: &Url, head: Response<()>, body: Bytes) {
        let promises = self.promise(base, &head, &body);
        let (head, body) = self.pack(&head, body);
        let stream = self.respond.borrow_mut().send_response(head, false);
        let Ok(mut stream) = stream else { return };
        if send(&mut stream, body).await.is_none() {
            return;
        }
        let depth = self.fetcher.settings.depth;
        Rc::clone(&self).keep_all(promises, depth).await;
        // Nothing more can be promised.
        drop(stream.send_data(Bytes::new(), true));
    }

    /// Keeps `promises`, and those that come of them, `depth` levels down.
    async fn keep_all(self: Rc<Page>, promises: Vec<Promise>, depth: u32) {
        let keeping: Vec<_> = promises
            .into_iter()
            .map(|promise| world::spawn(Rc::clone(&self).keep(promise, depth)))
            .collect();
        for promise in keeping {
            promise.await;
        }
    }

    /// Promises what a document embeds, as far as it may be fetched: the most urgent first.
    fn promise(&self, base: &Url, head: &Response<()>, body: &[u8]) -> Vec<Promise> {
        let media_type = message::media_type(head.headers());
        let Some(text) = coding::readable(head.headers(), body) else { return Vec::new() };
        let mut found = discover(&media_type, base, &String::from_utf8_lossy(&text));
        found.sort_by_key(|embedded| embedded.kind);
        found.into_iter().map_while(|embedded| self.promise_one(base, embedded)).flatten().collect()
    }

    /// A promise; `Some(None)` if this object is none to be promised, and nothing if no more may be.
    fn promise_one(&self, base: &Url, embedded: Embedded) -> Option<Option<Promise>> {
        let Embedded { url, kind } = embedded;
        if self.promised.borrow().len() >= self.fetcher.settings.objects {
            return None;
        }
        let Some(target) = self.fetcher.target(self.client, &url) else { return Some(None) };
        if self.promised.borrow().contains(&url) || url == *base {
            return Some(None);
        }
        let host = url[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        let cookie = self.fetcher.jar.borrow().cookie(self.client, &host);
        let mut request = Request::get(url.as_str());
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie);
        }
        let Ok(request) = request.body(()) else { return Some(None) };
        let mut asked = request.clone();
        for (name, value) in &self.usual {
            if ![ACCEPT, COOKIE, HOST, REFERER].contains(name) {
                asked.headers_mut().append(name, value.clone());
            }
        }
        if let Ok(referrer) = base.as_str().parse() {
            asked.headers_mut().insert(REFERER, referrer);
        }
        asked.headers_mut().insert(ACCEPT, http::HeaderValue::from_static("*/*"));
        let respond = self.respond.borrow_mut().push_request(request).ok()?;
        self.promised.borrow_mut().push(url.clone());
        self.fetcher.counters.promised.add(1);
        Some(Some(Promise { url, kind, target, request: asked, respond }))
    }

    /// Fetches what was promised, and sends it when it is its turn.
    async fn keep(self: Rc<Page>, mut promise: Promise, depth: u32) {
        let Fetcher { upstream, settings, patience, in_hand, jar, .. } = &*self.fetcher;
        let _in_hand = in_hand.acquire().await;
        let fetched = upstream.fetch(promise.target, &to_server(promise.request), *patience).await;
        let gathered = match fetched {
            Ok(fetched) => gather(fetched, settings.object_bytes).await,
            Err(_) => Gathered::Broken,
        };
        let Gathered::Whole(head, body) = gathered else {
            // The near end asks for it itself.
            return promise.respond.send_reset(Reason::CANCEL);
        };
        let host = promise.url[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        jar.borrow_mut().received(self.client, &host, head.headers());
        let deeper = if depth > 1 { self.promise(&promise.url, &head, &body) } else { Vec::new() };
        let deeper = world::spawn(boxed(Rc::clone(&self).keep_all(deeper, depth - 1)));
        let (head, body) = self.pack(&head, body);
        let turn = self.turns.take(promise.kind).await;
        if let Ok(mut stream) = promise.respond.send_response(head, false)
            && send(&mut stream, body).await.is_some()
        {
            drop(stream.send_data(Bytes::new(), true));
        }
        drop((turn, _in_hand));
        deeper.await;
    }

    /// A response as it crosses the leg.
    fn pack(&self, head: &Response<()>, body: Bytes) -> (Response<()>, Bytes) {
        let plain_bytes = body.len() as u64;
        let coded = self.fetcher.compresses(head).then(|| Deflater::whole(&body).ok());
        match coded.flatten().filter(|coded| coded.len() < body.len()) {
            Some(coded) => {
                self.fetcher.counters.saved_bytes.add(plain_bytes - coded.len() as u64);
                (to_client(head, Some(plain_bytes), true), coded)
            }
            None => (to_client(head, Some(plain_bytes), false), body),
        }
    }
}

/// An object that the near end was told of.
struct Promise {
    url: Url,
    kind: Kind,
    target: SocketAddr,
    request: Request<()>,
    respond: SendPushedResponse<Bytes>,
}

/// Futures that contain their like need a box.
fn boxed<F: Future<Output = ()> + 'static>(
    future: F,
) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(future)
}

/// A response of at most so many bytes.
#[expect(clippy::large_enum_variant, reason = "handed over once, at once")]
enum Gathered {
    Whole(Response<()>, Bytes),
    TooLarge(Fetched, Vec<u8>),
    Broken,
}

async fn gather(mut fetched: Fetched, most: usize) -> Gathered {
    let mut body = Vec::new();
    if fetched.length.is_some_and(|length| length > most as u64) {
        return Gathered::TooLarge(fetched, body);
    }
    loop {
        match fetched.next().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => {
                let head = fetched.head.clone();
                fetched.finish();
                return Gathered::Whole(head, body.into());
            }
            Err(_) => return Gathered::Broken,
        }
        if body.len() > most {
            return Gathered::TooLarge(fetched, body);
        }
    }
}

/// Sends all of `data` as the stream's window allows; nothing if the stream broke.
async fn send(stream: &mut SendStream<Bytes>, mut data: Bytes) -> Option<()> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len().min(PIECE_BYTES));
        let room = poll_fn(|cx| room(stream, cx)).await?;
        let piece = data.split_to(room.min(data.len()));
        stream.send_data(piece, false).ok()?;
    }
    Some(())
}

/// Tells the near end that it must see to this itself.
fn fail(respond: &mut SendResponse<Bytes>, status: StatusCode) {
    let mut response = Response::new(());
    *response.status_mut() = status;
    // Without this field it would be the server's own answer.
    response.headers_mut().insert(message::FAILED, http::HeaderValue::from_static("1"));
    drop(respond.send_response(response, true));
}

/// A client's request as a server gets it: in origin form, to the host that was asked for.
fn to_server(mut request: Request<()>) -> Request<()> {
    message::strip_hop(request.headers_mut());
    *request.version_mut() = http::Version::HTTP_11;
    request
}

/// A server's response as it crosses the leg.
fn to_client(head: &Response<()>, length: Option<u64>, is_coded: bool) -> Response<()> {
    let mut head = head.clone();
    message::strip_hop(head.headers_mut());
    *head.version_mut() = http::Version::HTTP_2;
    let fields = head.headers_mut();
    if let Some(length) = length {
        fields.insert(message::LENGTH, length.into());
    }
    if is_coded {
        fields.insert(message::CODING, message::DEFLATE);
    }
    head
}

/// Whether it is a page to look through.
fn is_page(head: &Response<()>) -> bool {
    head.status() == StatusCode::OK
        && ["text/html", "application/xhtml+xml"].contains(&&*message::media_type(head.headers()))
}

/// A host with its port, as URLs are compared by.
fn with_port(authority: &str) -> String {
    let host = authority.to_ascii_lowercase();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host } else { format!("{host}:80") }
}
