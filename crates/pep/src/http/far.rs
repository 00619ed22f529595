//! The far end's part: fetching on behalf of clients, scanning, pushing; and its limits.

mod jar;
mod page;
mod priority_semaphore;
mod upstream;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use http::{Request, Response, StatusCode};
use url::Url;

use crate::admin::Counters;
use crate::http::message::{self, LegDeflater};
use crate::remote::Reach;

use self::jar::CookieJar;
use self::page::PageTransfer;
use self::priority_semaphore::PrioritySemaphore;
use self::upstream::{RelayedResponse, ServerConnections, ServerResponse, fail, to_server};

/// Limits of prefetching. Memory: at most `at_once` objects of `object_bytes`, and for each page that passes at most `page_bytes` of an
/// unfinished construct (a tag, a script).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchSettings {
    /// Depth of discovery: 0 fetches nothing unasked, 1 the objects of a page, 2 those of its style sheets, too.
    pub depth: u32,
    /// Objects of one page.
    pub objects: usize,
    /// The largest object.
    pub object_bytes: usize,
    /// Maximum bytes of a page to scan, unpacked; the rest passes unread.
    pub page_bytes: usize,
    /// Objects being fetched at once, of all pages.
    pub at_once: usize,
    /// Compression for the leg of text that the server has not compressed.
    pub compression: PageCompression,
}

/// Compression of bodies for the leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCompression {
    /// Deflate, if it is likely to help.
    Deflate,
    /// Bodies cross the leg as servers send them.
    None,
}

impl Default for PrefetchSettings {
    /// Two levels; 100 objects a page of 2 MiB at most, 16 at once: 32 MiB.
    fn default() -> PrefetchSettings {
        PrefetchSettings {
            depth: 2,
            objects: 100,
            object_bytes: 2 << 20,
            page_bytes: 1 << 20,
            at_once: 16,
            compression: PageCompression::Deflate,
        }
    }
}

/// Maximum number of hosts' addresses remembered.
const MOST_KNOWN: usize = 4_096;

/// Fetches on behalf of clients.
pub(crate) struct Fetcher {
    settings: PrefetchSettings,
    reach: Reach,
    /// Timeout for connecting to a server.
    patience: Duration,
    upstream: ServerConnections,
    jar: RefCell<CookieJar>,
    /// Addresses that clients connected to, by host and port: fetches go nowhere else.
    known: RefCell<BTreeMap<(IpAddr, String), SocketAddr>>,
    /// Turns of unsolicited fetches.
    fetch_permits: PrioritySemaphore,
    counters: Rc<Counters>,
}

impl Fetcher {
    pub(crate) fn new(
        settings: PrefetchSettings,
        reach: Reach,
        patience: Duration,
        counters: Rc<Counters>,
    ) -> Rc<Fetcher> {
        let fetch_permits = PrioritySemaphore::new(settings.at_once);
        let (upstream, jar, known) = Default::default();
        Rc::new(Fetcher {
            settings,
            reach,
            patience,
            upstream,
            jar,
            known,
            fetch_permits,
            counters,
        })
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
        let inform = &mut |mut head: Response<()>| {
            message::strip_hop(head.headers_mut());
            // A near end that is gone misses nothing.
            let _ = respond.send_informational(head);
        };
        let request = to_server(request);
        let fetching = self.upstream.fetch(target, &request, self.patience, inform);
        let Ok(fetched) = fetching.await else {
            return fail(&mut respond, StatusCode::BAD_GATEWAY);
        };
        self.jar.borrow_mut().received(client, &authority, fetched.head.headers());
        self.counters.fetched.add(1);
        if self.settings.depth > 0 && is_page(&fetched.head) {
            PageTransfer::new(self, client, base, usual, respond).send(fetched).await;
        } else {
            self.pass(fetched, &mut respond).await;
        }
    }

    fn learn(&self, client: IpAddr, authority: &str, target: SocketAddr) {
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.pop_first();
        }
        known.insert((client, with_port(authority)), target);
    }

    /// The address that `client` connected to for `url`; `None` if it never did.
    fn target(&self, client: IpAddr, url: &Url) -> Option<SocketAddr> {
        let host = format!("{}:{}", url.host_str()?, url.port_or_known_default()?);
        self.known.borrow().get(&(client, host)).copied().filter(|at| self.reach.allows(*at))
    }

    /// Returns true if a response's body is to be compressed for the leg.
    fn compresses(&self, head: &Response<()>) -> bool {
        self.settings.compression == PageCompression::Deflate
            && message::is_compressible(head.headers())
    }

    /// Forwards a response as it arrives.
    async fn pass(&self, mut fetched: ServerResponse, respond: &mut SendResponse<Bytes>) {
        let deflater = self.compresses(&fetched.head).then(LegDeflater::new);
        let begun = RelayedResponse::begin(respond, &fetched, deflater, &self.counters);
        let Some(mut outgoing) = begun else { return };
        if pass_body(&mut fetched, &mut outgoing).await.is_some() {
            outgoing.end();
            fetched.finish();
        } else {
            outgoing.break_off();
        }
    }
}

/// Forwards the body; `None` if either side broke.
async fn pass_body(fetched: &mut ServerResponse, outgoing: &mut RelayedResponse<'_>) -> Option<()> {
    while let Some(piece) = fetched.next().await.ok()? {
        outgoing.piece(piece).await?;
    }
    outgoing.body_end().await
}

/// Returns true if the response is a page to scan.
fn is_page(head: &Response<()>) -> bool {
    head.status() == StatusCode::OK
        && ["text/html", "application/xhtml+xml"].contains(&&*message::media_type(head.headers()))
}

/// A host with its port, the form in which URLs are compared.
fn with_port(authority: &str) -> String {
    let host = authority.to_ascii_lowercase();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host } else { format!("{host}:80") }
}
