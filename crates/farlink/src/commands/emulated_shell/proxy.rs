//! `farlink proxy` at the network's far end, between a replay's clients and its servers.
//!
//! It is the program of the same name with the operator's configuration, except for what the place determines: its port, who may use it,
//! where it leads, and the authority of its certificates, which is the replay's.

use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anstream::eprintln;
use archive::RecordedLoad;
use browser::Proxy;
use emu::Testbed;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_stack::h3::Steering;
use http_stack::server::{Answer, Handler, RequestHead, Response};
use proxy::access::Destinations;
use proxy::caching::CacheStore;
use proxy::config::{self, Access, Forward, Intercept, ListenerSettings, ProxyConfig};
use proxy::fields::{Disclosure, ViaPseudonym};
use proxy::forward::ProxyHandler;
use proxy::journal::Journal;
use proxy::serve::{PhaseReceiver, PhaseSender, PortError, Worker, WorkerParts, WorkerPhase};
use tls::{Authorities, Issuer, Protocol, PublicClient};
use world::real;

use crate::commands::proxy::refused;
use crate::commands::{secret, since_1970};
use crate::failure::CliError;

/// Its port: Squid's usual one.
const PROXY_PORT: u16 = 3128;

/// Limit of the time in which the requests of an earlier visitor end.
const PRIMING_LIMIT: Duration = Duration::from_secs(60);

/// Address of that visitor.
const EARLIER_VISITOR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// A proxy that does not run yet.
pub struct ShellProxy {
    settings: ProxyConfig,
    pseudonym: String,
    /// Requests of an earlier visitor.
    earlier: Vec<EarlierRequest>,
}

/// A request that was made before.
struct EarlierRequest {
    url: String,
    fields: HeaderMap,
}

impl ShellProxy {
    /// The proxy with the configuration of a file. If it is `primed`, another visitor has loaded the recorded page through it.
    pub fn open(path: &Path, load: &RecordedLoad, primed: bool) -> Result<ShellProxy, CliError> {
        let pseudonym = ViaPseudonym::random_pseudonym();
        let settings = config::load(path, &pseudonym).map_err(refused)?;
        let unsuited = [
            ("cache.disk", settings.disk.is_some(), "its cache is in memory and begins empty"),
            ("upstream.parent", !settings.upstream.parents.is_empty(), "no parent is there"),
            ("[[reverse]]", !settings.reverse.is_empty(), "it is the forward proxy of the browser"),
            ("clients.users", settings.access.users.is_some(), "the browser has no password"),
        ];
        if let Some((key, _, why)) = unsuited.iter().find(|(_, is_set, _)| *is_set) {
            let hint = format!("leave {key} out of {}", path.display());
            return Err(CliError::bad_input(format!(
                "--proxy {}: {key} is not for a proxy in the emulated network: {why}",
                path.display()
            ))
            .hint(hint));
        }
        if primed && settings.cache.is_none() {
            return Err(CliError::bad_input(format!(
                "--proxy-cache primed: {} has no [cache]",
                path.display()
            ))
            .hint("add [cache] with memory = \"256MiB\"".to_owned()));
        }
        let earlier = if primed { earlier(load) } else { Vec::new() };
        Ok(ShellProxy { settings, pseudonym, earlier })
    }

    /// Starts it for a replay with this authority and issuer; returns when it listens and earlier requests are done.
    pub fn start(
        self,
        testbed: &Testbed,
        issuer: Arc<Issuer>,
        authority: &str,
    ) -> Result<(), CliError> {
        let start = since_1970();
        let authorities = Authorities::of_pem(authority.as_bytes());
        let tls = authorities.and_then(|authorities| PublicClient::new(&authorities, start));
        let tls = tls.map_err(CliError::machine)?;
        let address = proxy_address();
        let certified = issuer.server(Proxy::NAME, start).map_err(CliError::machine)?;
        let listener = ListenerSettings {
            address,
            tls: Some(certified),
            http3: None,
            socks: false,
            balancers: Vec::new(),
        };
        let settings = Arc::new(ProxyConfig {
            listeners: vec![listener],
            access: Access::default(),
            forward: Some(Forward {
                destinations: Destinations::anything(),
                disclosure: Disclosure::Nothing,
            }),
            intercept: Some(Intercept { hosts: Vec::new(), issuer }),
            via: ViaPseudonym::new(&self.pseudonym),
            log: None,
            admin: None,
            ..self.settings
        });
        let secret_numbers = secret()?;
        let cache = settings.cache.clone();
        let store = cache.map(|cache| CacheStore::new(cache, secret_numbers, start));
        let (control, orders) = PhaseSender::new(WorkerPhase::Serve { settings, tls, store });
        let (seed, visit) = secret()?;
        let source = chance::RandomSource::new(seed, visit);
        let earlier = self.earlier;
        let (ready, readiness) = mpsc::channel();
        let serve = move || {
            // Without it the proxy would end.
            let _control = control;
            let ended = real::run(real::Config::new(source), async {
                match Worker::open(parts(orders, start), None) {
                    Err(error) => drop(ready.send(Err(error))),
                    Ok(worker) => {
                        let failed = prime(earlier, &worker.entrance(address)).await;
                        // Whoever waits is told of the end of the program in another way.
                        let _ = ready.send(Ok(failed));
                        worker.run().await;
                    }
                }
            });
            // A world that cannot begin drops `ready` unused, which is noticed below.
            drop(ended);
            Ok(())
        };
        testbed.proxy().spawn(serve).map_err(CliError::machine)?;
        let started = readiness.recv();
        let started = started.map_err(|_| CliError::machine("the proxy did not start"))?;
        let failed = started.map_err(CliError::machine)?;
        if failed > 0 {
            eprintln!("warning: {failed} requests of the proxy's earlier visitor failed");
        }
        Ok(())
    }
}

/// Its address.
pub fn proxy_address() -> SocketAddr {
    SocketAddr::new(Testbed::proxy_address(1), PROXY_PORT)
}

/// Its URL, for programs that take one from their environment.
pub fn proxy_url() -> String {
    format!("https://{}:{PROXY_PORT}", Proxy::NAME)
}

fn parts(orders: PhaseReceiver, start: Duration) -> WorkerParts {
    let complain = |complaint: &PortError| eprintln!("warning: {complaint}");
    let journal: Rc<dyn Journal> = Rc::new(());
    WorkerParts {
        orders,
        place: (0, 1),
        steering: Steering::new(1),
        complain,
        journal,
        metrics: Arc::default(),
        all_metrics: None,
        start,
    }
}

/// The requests of a visitor who loaded the recorded page. Its credentials were its own.
fn earlier(load: &RecordedLoad) -> Vec<EarlierRequest> {
    let requests = load.exchanges.iter().filter(|exchange| {
        exchange.request.method == "GET" && !exchange.from_cache && exchange.response.is_some()
    });
    requests
        .map(|exchange| {
            let fields = exchange.request.fields.iter().filter_map(|(name, value)| {
                let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
            });
            let mut fields: HeaderMap = fields
                .filter(|(name, _)| {
                    ![COOKIE, AUTHORIZATION].contains(name) && !is_conditional(name)
                })
                .collect();
            // Recorders that note no fields: browsers send this one.
            fields
                .entry(ACCEPT_ENCODING)
                .or_insert(HeaderValue::from_static("gzip, deflate, br, zstd"));
            EarlierRequest { url: exchange.request.url.clone(), fields }
        })
        .collect()
}

fn is_conditional(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("if-") || ["range", "host", "connection", "content-length"].contains(&name)
}

/// Makes the requests, all at once, at the proxy's entrance; returns the number of those that failed.
async fn prime(requests: Vec<EarlierRequest>, entrance: &Rc<ProxyHandler>) -> usize {
    let under_way: Vec<_> = requests
        .into_iter()
        .map(|request| world::spawn(ask(request, Rc::clone(entrance))))
        .collect();
    let mut failed = 0;
    for request in under_way {
        let done = world::timeout(PRIMING_LIMIT, request).await;
        failed += usize::from(!matches!(done, Ok(true)));
    }
    failed
}

/// Makes a request and takes in its answer; returns true if that came whole.
async fn ask(request: EarlierRequest, entrance: Rc<ProxyHandler>) -> bool {
    let EarlierRequest { url, fields } = request;
    let Ok(url) = url.parse::<Uri>() else { return false };
    let parts = (url.scheme_str(), url.authority(), url.path_and_query());
    let (Some(scheme), Some(host), Some(path)) = parts else { return false };
    let mut answer = entrance.handle(RequestHead {
        fields: (&fields).into(),
        protocol: Protocol::H2,
        scheme,
        peer: Some(EARLIER_VISITOR),
        ..RequestHead::new("GET", host.as_str(), path.as_str())
    });
    loop {
        let response = match answer {
            Answer::Ready(reply) => Response::from(reply),
            Answer::Later(response) => response.await,
        };
        match response {
            Response::Interim { then, .. } => answer = Answer::Later(then),
            Response::Streamed { mut body, .. } => loop {
                match poll_fn(|cx| body.poll_next(cx)).await {
                    Some(Ok(_)) => {}
                    Some(Err(_)) => return false,
                    None => return true,
                }
            },
            // The proxy's own, such as a refusal.
            Response::Whole(reply) => return reply.head.parts.status().is_success(),
            Response::Tunnel(_) | Response::Switched { .. } => return false,
        }
    }
}
