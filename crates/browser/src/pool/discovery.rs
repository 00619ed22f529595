//! Choice of the transport to a server: HTTP/2 until its alternative is known, then QUIC racing TCP.
//!
//! A request goes to the QUIC connection of its host if there is one. Else, if HTTP/3 was offered by `Alt-Svc` or
//! by DNS, QUIC is tried and TCP follows after the [head start](crate::alternative_services), or as soon as QUIC has
//! failed; if an HTTP/2 connection is open already the request takes it at once, and the attempt at QUIC continues
//! for later requests. The first connection gets the request; the other stays open for the next.
//! Source: Chromium's `net/http/http_stream_factory_job_controller.cc`: an alternative job beside the main job,
//! which waits (`MaybeSetWaitTimeForMainJob`) unless it can have a session at once. Several requests share one
//! attempt at QUIC, and its failure.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use http_stack::Priority;
use http_stack::client::{ClientConnection, Protocol};
use tls::Security;
use tokio::sync::{Notify, mpsc, watch};

use super::{Lease, PipelineSharing, Pool, PoolOrigin};
use crate::alternative_services::H3Discovery;
use crate::plan::HostStack;

/// Transport of a connection, below HTTP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Transport {
    Tcp,
    Quic,
}

impl PoolOrigin {
    /// Group of the connections for requests to `host` by this arm. `request` is the request's number, by which a
    /// proxy's ports take turns.
    pub(crate) fn of_request(host: &str, arm: HostStack, request: usize) -> PoolOrigin {
        // Over HTTP/1 each host has separate connections though all lead to the proxy.
        let host = if arm.multiplexes() { arm.peer(host) } else { host };
        let proxy = arm.proxy().map(|proxy| proxy.of_request(request));
        PoolOrigin { proxy, ..PoolOrigin::new(host, arm) }
    }

    /// Group of the connections to `host` by this arm.
    pub(crate) fn new(host: &str, arm: HostStack) -> PoolOrigin {
        let transport = match arm.protocol {
            Protocol::H3 => Transport::Quic,
            Protocol::H10 | Protocol::H1 | Protocol::H2 | Protocol::Spdy(_) => Transport::Tcp,
        };
        let secure = arm.security != Security::None;
        // A proxy that is asked for resources has one group for all of a host's ports, and with a multiplexing
        // protocol one for all hosts.
        let port = if arm.asks_proxy() { 0 } else { arm.port };
        PoolOrigin { host: host.to_owned(), port, proxy: None, secure, transport }
    }
}

/// Requirements of a request on its connection.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionNeeds {
    pub(crate) priority: Priority,
    pub(crate) sharing_mode: PipelineSharing,
}

/// A connection for a request, and its arm.
pub(crate) struct FoundConnection {
    pub(crate) arm: HostStack,
    pub(crate) lease: Lease,
}

/// Attempts at QUIC by host: the outcome, once known.
#[derive(Default)]
pub(super) struct Attempts(RefCell<BTreeMap<String, watch::Receiver<Option<bool>>>>);

/// Channel for the results of a race's runners.
type Finish = mpsc::UnboundedSender<Result<FoundConnection, String>>;

impl Pool {
    /// A connection to `host` for one request, chosen by this browser's knowledge of it.
    ///
    /// # Errors
    /// One sentence, if none can be had.
    pub(crate) async fn find(
        self: &Rc<Self>,
        host: &str,
        arm: HostStack,
        needs: ConnectionNeeds,
    ) -> Result<FoundConnection, String> {
        let browser = &self.browser;
        if arm.protocol != Protocol::H3 || browser.discovery == H3Discovery::PriorKnowledge {
            return self.take(host, arm, needs).await;
        }
        if self.has_session(&PoolOrigin::new(host, arm)) {
            return self.take(host, arm, needs).await;
        }
        let over_tcp = HostStack { protocol: Protocol::H2, ..arm };
        let asked = world::now();
        let is_offered = self.is_offered(host).await;
        let told = world::now();
        let mut found = match is_offered {
            true => self.race(host, arm, over_tcp, needs).await?,
            false => self.take(host, over_tcp, needs).await?,
        };
        // If DNS was asked first, opening the connection began with that.
        if let Some(opened) = found.lease.opened.as_mut().filter(|it| it.started == told) {
            opened.started = asked;
        }
        Ok(found)
    }

    /// Returns true if this browser knows, or finds out, that `host` speaks HTTP/3.
    ///
    /// Chromium's rule for records: a job for QUIC and the main job begin together and both wait for DNS; without `h3` in the record the former
    /// is over (`dns_alpn_h3_job_` in `net/http/http_stream_factory_job_controller.cc`).
    async fn is_offered(&self, host: &str) -> bool {
        let alternatives = &self.browser.alternatives;
        match self.browser.discovery {
            H3Discovery::PriorKnowledge => true,
            H3Discovery::AltSvc => alternatives.are_offered(host, world::now()),
            H3Discovery::HttpsRecord => {
                self.names.speaks_h3(host).await && !alternatives.are_broken(host, world::now())
            }
        }
    }

    async fn take(
        self: &Rc<Self>,
        host: &str,
        arm: HostStack,
        needs: ConnectionNeeds,
    ) -> Result<FoundConnection, String> {
        let request = {
            let mut inner = self.inner.borrow_mut();
            inner.dealt += 1;
            inner.dealt - 1
        };
        let origin = Rc::new(PoolOrigin::of_request(host, arm, request));
        let lease = self.lease(&origin, arm, needs.priority, needs.sharing_mode).await?;
        Ok(FoundConnection { arm, lease })
    }

    /// Returns true if a shared connection is open.
    fn has_session(&self, origin: &PoolOrigin) -> bool {
        let inner = self.inner.borrow();
        let Some(group) = inner.groups.get(origin) else { return false };
        let joined = group.joined.as_ref().and_then(|host| inner.groups.get(host));
        joined.unwrap_or(group).has_session()
    }

    async fn race(
        self: &Rc<Self>,
        host: &str,
        over_quic: HostStack,
        over_tcp: HostStack,
        needs: ConnectionNeeds,
    ) -> Result<FoundConnection, String> {
        let head_start = match self.has_session(&PoolOrigin::new(host, over_tcp)) {
            true => Duration::ZERO,
            false => self.browser.alternatives.head_start(host),
        };
        let (finish, mut finished) = mpsc::unbounded_channel();
        let quic_failed = Rc::new(Notify::new());
        let (pool, failed, goal) = (Rc::clone(self), Rc::clone(&quic_failed), finish.clone());
        let name = host.to_owned();
        drop(world::spawn(async move {
            let found = pool.try_quic(&name, over_quic, needs).await;
            if found.is_err() {
                failed.notify_one();
            }
            pool.arrive(&goal, found);
        }));
        let (pool, name) = (Rc::clone(self), host.to_owned());
        drop(world::spawn(async move {
            if !head_start.is_zero() {
                // In either case it is TCP's turn.
                let _ = world::timeout(head_start, quic_failed.notified()).await;
            }
            if !finish.is_closed() {
                let found = pool.take(&name, over_tcp, needs).await;
                pool.arrive(&finish, found);
            }
        }));
        let mut reasons = Vec::new();
        while let Some(arrived) = finished.recv().await {
            match arrived {
                Ok(first) => {
                    finished.close();
                    while let Ok(Ok(second)) = finished.try_recv() {
                        self.put_back(second);
                    }
                    return Ok(first);
                }
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    /// Reports a runner's result; if it is no longer wanted, the connection is returned to the pool.
    fn arrive(self: &Rc<Self>, finish: &Finish, found: Result<FoundConnection, String>) {
        if let Err(mpsc::error::SendError(Ok(late))) = finish.send(found) {
            self.put_back(late);
        }
    }

    /// Returns a connection without requests.
    fn put_back(self: &Rc<Self>, unused: FoundConnection) {
        self.inner.borrow_mut().used[unused.lease.id as usize].requests -= 1;
        self.give_back(unused.lease);
    }

    /// A QUIC connection to `host`: a new one, or one that is already being opened.
    async fn try_quic(
        self: &Rc<Self>,
        host: &str,
        over_quic: HostStack,
        needs: ConnectionNeeds,
    ) -> Result<FoundConnection, String> {
        let under_way = self.attempts.0.borrow().get(host).cloned();
        if let Some(mut attempt) = under_way {
            let came_about =
                attempt.wait_for(Option::is_some).await.is_ok_and(|r| *r == Some(true));
            return match came_about {
                true => self.take(host, over_quic, needs).await,
                false => Err(format!("QUIC did not come about with {host}")),
            };
        }
        let (tell, told) = watch::channel(None);
        self.attempts.0.borrow_mut().insert(host.to_owned(), told);
        let found = self.take(host, over_quic, needs).await;
        self.attempts.0.borrow_mut().remove(host);
        let alternatives = &self.browser.alternatives;
        match &found {
            Ok(found) => {
                if let ClientConnection::H3(handle) = &found.lease.connection
                    && let Some(rtt) = handle.rtt()
                {
                    alternatives.note_success(host, rtt);
                }
            }
            Err(_) => alternatives.note_failure(host, world::now()),
        }
        tell.send_replace(Some(found.is_ok()));
        found
    }
}
