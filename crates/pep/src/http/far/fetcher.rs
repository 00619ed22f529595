//! Fetching on behalf of clients.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use http::{Request, Response, StatusCode};
use url::Url;

use super::jar::Jar;
use super::page::Page;
use super::sending::{Outgoing, fail, to_server};
use super::turns::Turns;
use super::upstream::{Fetched, Upstream};
use super::{Compression, Settings};
use crate::counters::Counters;
use crate::http::coding::Deflater;
use crate::http::message;
use crate::rules::Reach;

/// Maximum number of hosts' addresses remembered.
const MOST_KNOWN: usize = 4_096;

/// Fetches on behalf of clients.
pub(crate) struct Fetcher {
    pub(super) settings: Settings,
    reach: Reach,
    /// Timeout for connecting to a server.
    pub(super) patience: Duration,
    pub(super) upstream: Upstream,
    pub(super) jar: RefCell<Jar>,
    /// Addresses that clients connected to, by host and port: fetches go nowhere else.
    known: RefCell<BTreeMap<(IpAddr, String), SocketAddr>>,
    /// Turns of unsolicited fetches.
    pub(super) in_hand: Turns,
    pub(super) counters: Rc<Counters>,
}

impl Fetcher {
    pub(crate) fn new(
        settings: Settings,
        reach: Reach,
        patience: Duration,
        counters: Rc<Counters>,
    ) -> Rc<Fetcher> {
        let in_hand = Turns::new(settings.at_once);
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
            Page::new(self, client, base, usual, respond).send(fetched).await;
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
    pub(super) fn target(&self, client: IpAddr, url: &Url) -> Option<SocketAddr> {
        let host = format!("{}:{}", url.host_str()?, url.port_or_known_default()?);
        self.known.borrow().get(&(client, host)).copied().filter(|at| self.reach.allows(*at))
    }

    /// Returns true if a response's body is to be compressed for the leg.
    pub(super) fn compresses(&self, head: &Response<()>) -> bool {
        self.settings.compression == Compression::Deflate
            && message::is_compressible(head.headers())
    }

    /// Forwards a response as it arrives.
    async fn pass(&self, mut fetched: Fetched, respond: &mut SendResponse<Bytes>) {
        let deflater = self.compresses(&fetched.head).then(Deflater::new);
        let begun = Outgoing::begin(respond, &fetched, deflater, &self.counters);
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
async fn pass_body(fetched: &mut Fetched, outgoing: &mut Outgoing<'_>) -> Option<()> {
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
