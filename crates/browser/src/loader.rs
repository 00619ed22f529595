//! Browser and visits: a visit lasts from navigation to the load event; handshakes of earlier visits leave TLS sessions
//! behind, which later connections resume.

mod arrival;
mod decoder;
mod load;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_stack::client::{self, Opening};
use http_stack::h1::codec::encode::AbsoluteForm;
use http_stack::h2::{self, DependencyShape};
use http_stack::{Priority, Progress, PushFilter, h3, spdy};
use page::PageHost;
use record::ObjectRecord;
use tls::{ClientSessions, Security};
use units::Time;

use crate::alternative_services::{Alternatives, H3Discovery};
use crate::cache::BrowserCache;
use crate::device::Thread;
use crate::name_cache::{NameCache, Naming};
use crate::plan::{HostStack, LoadPlan};
use crate::pool::{Pool, Used};
use crate::proxy::{AutoConfig, Chooser};
use crate::{Bodies, Device, Policy};

use self::load::PageLoad;

/// A browser's configuration and lasting state.
pub struct Browser {
    /// Connection rules.
    pub policy: Policy,
    /// CPU costs.
    pub device: Device,
    /// Noise of its compute: the standard deviation of a factor on each object's compute (0.05 for 5 %, 0 for none).
    pub compute_spread: f64,
    /// TLS sessions that it may resume.
    sessions: RefCell<ClientSessions>,
    /// HTTP/2 settings.
    h2: h2::settings::Client,
    /// SPDY settings.
    spdy: spdy::Config,
    /// Lookup table of SPDY's header blocks.
    recall: Option<spdy::Recall>,
    /// HTTP/3 settings.
    h3: h3::settings::Client,
    /// Source of addresses.
    naming: Naming,
    /// Discovery of HTTP/3.
    pub(crate) discovery: H3Discovery,
    /// Alternative services learnt in all visits.
    pub(crate) alternatives: Alternatives,
    /// Destination of the digests of received bodies, if requested.
    pub(crate) bodies: Option<Rc<Bodies>>,
    pushes: Pushes,
    /// PAC file that chooses a proxy for each request, if there is one.
    auto_config: Option<AutoConfig>,
}

/// Treatment of responses that a server pushes over HTTP/2 or SPDY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pushes {
    /// Push is disabled, as in Chrome since version 106.
    #[default]
    Refused,
    /// Pushed responses are accepted unless cached, and not requested again.
    Taken,
}

impl Browser {
    /// A browser without TLS sessions.
    pub fn new(policy: Policy, device: Device, compute_spread: f64) -> Browser {
        Browser {
            policy,
            device,
            compute_spread,
            sessions: RefCell::default(),
            h2: h2::settings::Client::CHROME,
            spdy: spdy::Config::CLIENT,
            recall: None,
            h3: h3::settings::Client::default(),
            naming: Naming::default(),
            discovery: H3Discovery::PriorKnowledge,
            alternatives: Alternatives::default(),
            bodies: None,
            pushes: Pushes::Refused,
            auto_config: None,
        }
    }

    /// Its TLS sessions.
    pub fn sessions(&self) -> ClientSessions {
        self.sessions.borrow().clone()
    }

    /// Forgets its TLS sessions, and the alternative services of servers.
    fn forget_servers(&self) {
        let fresh = self.sessions.borrow().without_sessions();
        self.sessions.replace(fresh);
        self.alternatives.forget();
    }

    /// The same browser with other TLS sessions, and their settings.
    #[must_use]
    pub fn with_sessions(self, sessions: ClientSessions) -> Browser {
        Browser { sessions: RefCell::new(sessions), ..self }
    }

    /// The same browser with these HTTP/2 settings.
    #[must_use]
    pub fn with_h2(self, h2: h2::settings::Client) -> Browser {
        Browser { h2, ..self }
    }

    /// The same browser with these SPDY settings.
    #[must_use]
    pub fn with_spdy(self, spdy: spdy::Config) -> Browser {
        Browser { spdy, ..self }
    }

    /// The same browser, simulated beside others that speak SPDY: compressed header blocks are looked up in `recall`.
    #[must_use]
    pub fn with_recall(self, recall: spdy::Recall) -> Browser {
        Browser { recall: Some(recall), ..self }
    }

    /// The same browser with these dependencies between requests over HTTP/2.
    #[must_use]
    pub fn with_dependencies(self, dependencies: Option<DependencyShape>) -> Browser {
        Browser { h2: h2::settings::Client { dependencies, ..self.h2 }, ..self }
    }

    /// The same browser with this treatment of pushed responses.
    #[must_use]
    pub fn with_pushes(self, pushes: Pushes) -> Browser {
        Browser { pushes, ..self }
    }

    /// The same browser with these HTTP/3 settings.
    #[must_use]
    pub fn with_h3(self, h3: h3::settings::Client) -> Browser {
        Browser { h3, ..self }
    }

    /// The same browser with this source of addresses.
    #[must_use]
    pub fn with_naming(self, naming: Naming) -> Browser {
        Browser { naming, ..self }
    }

    /// The same browser with this discovery of HTTP/3.
    #[must_use]
    pub fn with_discovery(self, discovery: H3Discovery) -> Browser {
        Browser { discovery, ..self }
    }

    /// The same browser with a PAC file for each request, if there is one.
    #[must_use]
    pub fn with_auto_config(self, auto_config: Option<AutoConfig>) -> Browser {
        Browser { auto_config, ..self }
    }

    /// The same browser, which digests received bodies.
    #[must_use]
    pub fn with_bodies(self, bodies: Rc<Bodies>) -> Browser {
        Browser { bodies: Some(bodies), ..self }
    }

    /// The pushes that it accepts from a server, given its cache.
    pub(crate) fn wanted(&self, cache: &Rc<BrowserCache>) -> Option<PushFilter> {
        let cache = Rc::clone(cache);
        (self.pushes == Pushes::Taken).then(|| PushFilter::new(move |uri| !cache.holds_either(uri)))
    }

    /// A connection for requests to `host`: to `address`, which is the proxy's if there is one on the path.
    pub(crate) fn opening(&self, address: SocketAddr, host: &str, arm: HostStack) -> Opening {
        let opening = Opening::new(address, arm.peer(host), arm.security, arm.protocol);
        Opening {
            tunnel: arm.tunnel(host),
            h2: self.h2,
            spdy: self.spdy,
            recall: self.recall.clone(),
            h3: self.h3.clone(),
            pipelined: arm.pipelined,
            ..opening.sessions(&self.sessions.borrow())
        }
    }
}

/// A running browser: state that outlives a visit.
pub struct Session {
    browser: Rc<Browser>,
    pool: Rc<Pool>,
    pub(crate) cache: Rc<BrowserCache>,
    pub(crate) names: Rc<NameCache>,
    main_thread: Thread,
    network_thread: Rc<Thread>,
    chooser: Option<Chooser>,
    /// True if a page was given up before all of it had arrived.
    has_given_up: Cell<bool>,
}

/// Result of a visit.
pub struct Visited {
    /// Navigation start.
    pub started: Time,
    /// Time from there to the load event, or why there was none.
    pub plt: Result<Duration, String>,
    /// Time from there to the first byte of the first response that is not a redirect.
    pub ttfb: Option<Duration>,
    /// One per request made, in the page's order.
    pub objects: Vec<ObjectRecord>,
    /// The connections that this visit used or opened, with keys to the world's record of them.
    pub connections: Vec<ConnectionUse>,
}

/// A connection from the browser's point of view.
#[derive(Clone, Debug)]
pub struct ConnectionUse {
    /// The name connected to.
    pub host: String,
    /// Protocol, security and path.
    pub arm: HostStack,
    /// The client's address, if the connection was established.
    pub local: Option<SocketAddr>,
    /// Time of its first packet: its host's address was known.
    pub started: Time,
    /// End of the transport's handshake.
    pub connected: Option<Time>,
    /// End of the TLS handshake.
    pub secured: Option<Time>,
    /// Time at which the browser released it.
    pub closed: Option<Time>,
    /// Number of the visit's requests on it.
    pub requests: u32,
}

impl Session {
    /// A newly started browser, with the contents of its cache.
    pub fn new(browser: Rc<Browser>, cache: Rc<BrowserCache>) -> Session {
        let names = Rc::new(NameCache::new(browser.naming));
        Session::over(browser, cache, names)
    }

    /// The browser closed and started again: it keeps its cache and its knowledge of names and servers. Its
    /// connections close.
    #[must_use]
    pub fn restarted(&self) -> Session {
        let (browser, cache) = (Rc::clone(&self.browser), Rc::clone(&self.cache));
        Session::over(browser, cache, Rc::clone(&self.names))
    }

    fn over(browser: Rc<Browser>, cache: Rc<BrowserCache>, names: Rc<NameCache>) -> Session {
        let network_thread = Rc::new(Thread::default());
        let (known, stored) = (Rc::clone(&names), Rc::clone(&cache));
        let pool = Pool::new(Rc::clone(&browser), known, stored, Rc::clone(&network_thread));
        let pool = Rc::new(pool);
        let chooser = browser.auto_config.clone().map(Chooser::new);
        let (main_thread, has_given_up) = (Thread::default(), Cell::new(false));
        Session { browser, pool, cache, names, main_thread, network_thread, chooser, has_given_up }
    }

    /// Forgets its TLS sessions, and the alternative services of servers.
    pub fn forget_servers(&self) {
        self.browser.forget_servers();
    }

    /// Empties its cache.
    pub fn empty_cache(&self) {
        self.cache.empty();
    }

    /// Forgets the addresses of hosts. Open connections stay.
    pub fn forget_names(&self) {
        self.names.forget();
    }

    /// Returns true if a page was given up before all of it had arrived: then connections are in a state in which
    /// no browser would reuse them.
    pub fn has_given_up(&self) -> bool {
        self.has_given_up.get()
    }

    /// Loads a page; gives up after `limit`.
    pub async fn visit(self: &Rc<Self>, plan: &Arc<LoadPlan>, limit: Duration) -> Visited {
        let started = world::now();
        let carried = self.pool.used().iter().map(|used| used.requests).collect();
        let load = PageLoad::start(Rc::clone(self), Arc::clone(plan));
        // Past the limit the visit ends as it stands: loaded objects count, and nothing more loads.
        if world::timeout(limit, load.finished()).await.is_err() {
            self.has_given_up.set(true);
            load.give_up();
        }
        let plt = load.outcome();
        let (objects, ttfb) = load.records();
        let mut visited = Visited { started, plt, ttfb, objects, connections: Vec::new() };
        visited.take_connections(self.pool.used(), carried);
        visited
    }
}

impl Visited {
    /// Stores the connections that this visit used, and points its objects at them. Existing ones had `carried`
    /// this many requests before.
    fn take_connections(&mut self, used: Vec<Used>, carried: Vec<u32>) {
        let mut position = vec![None; used.len()];
        let before = carried.into_iter().chain(std::iter::repeat(0));
        for ((id, mut used), before) in used.into_iter().enumerate().zip(before) {
            if used.is_void {
                continue;
            }
            used.requests = used.requests.saturating_sub(before);
            let carried = self.objects.iter().any(|o| o.connection == Some(id as u32));
            if carried || used.opened.started >= self.started {
                position[id] = Some(self.connections.len() as u32);
                self.connections.push(ConnectionUse::from(used));
            }
        }
        for object in &mut self.objects {
            object.connection = object.connection.and_then(|id| position[id as usize]);
        }
    }
}

impl From<Used> for ConnectionUse {
    fn from(used: Used) -> ConnectionUse {
        let came = used.local.is_some();
        let secure = used.arm.security != Security::None;
        ConnectionUse {
            host: used.host,
            arm: used.arm,
            local: used.local,
            started: used.opened.started.max(used.opened.resolved),
            connected: came.then_some(used.opened.connected),
            secured: (came && secure).then_some(used.opened.secured),
            closed: used.closed,
            requests: used.requests,
        }
    }
}

/// A path that no page has.
const PATH: &str = "/.well-known/farlink-acquaintance";

impl Browser {
    /// Opens one connection to each host of the page, in turn, or one to the proxy that handles all requests (and
    /// to each host as well, if requests may bypass it), requests a missing resource and closes the connection. The
    /// server's tickets come with the answer. An unreachable host stays unknown: its visit will say why.
    pub async fn acquaint(&self, plan: &LoadPlan) {
        let mut met = BTreeSet::new();
        let ways = [Some(plan.arms()), plan.past()].into_iter().flatten();
        for (host, arm) in ways.flat_map(|arms| plan.page.hosts.iter().zip(arms)) {
            let port = if arm.asks_proxy() { 0 } else { arm.port };
            if !arm.blocked && met.insert((arm.peer(&host.name), port)) {
                self.meet(host, *arm).await;
            }
        }
    }

    async fn meet(&self, host: &PageHost, arm: HostStack) {
        let address = match arm.proxy() {
            Some(proxy) => Ok(proxy.of_request(0)),
            None => world::resolve(&host.name).map(|address| SocketAddr::new(address, arm.port)),
        };
        let Ok(address) = address else { return };
        let opening = self.opening(address, &host.name, arm);
        let is_secure = arm.security.is_secure() && !arm.asks_proxy();
        let scheme = if is_secure { "https" } else { "http" };
        let authority = host.authority(scheme, arm.port);
        let request = Request::get(format!("{scheme}://{authority}{PATH}"));
        let (Ok(mut request), Ok(mut connection)) =
            (request.body(Bytes::new()), client::open(opening, &mut |_| ()).await)
        else {
            return;
        };
        if arm.asks_proxy() {
            request.extensions_mut().insert(AbsoluteForm);
        }
        // The answer itself is ignored.
        let _ = connection.fetch(&request, Priority::Lowest, &mut NoProgress).await;
    }
}

struct NoProgress;

impl Progress for NoProgress {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, _status: u16, _head_bytes: u64) {}
    fn data(&mut self, _piece: &[u8]) {}
}
