//! Connections: limited by host and in all, bound late, as in Chromium's socket pools.
//!
//! A request takes an idle connection if there is one. Else it queues by priority, and connections
//! are opened while more requests wait than connections are coming and the limits allow. Whichever
//! comes free first - a new one or a used one - goes to the most urgent that waits (late binding).
//! HTTP/2 and HTTP/3 have one connection a host, shared by all. With pipelining a request goes to the connection with the fewest that has room,
//! and a new one is opened only where none has (Chromium 26 `http_stream_factory_impl_job.cc`). At the limit in all, an idle connection of another
//! host makes room. It leaves out preconnects and Chromium's backup job after 250 ms.

mod capability;
mod discovery;
mod group;
mod session;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use http_stack::Priority;
use http_stack::client::{self, Connection, Protocol, Stage};
use http_stack::tls::Security;
use tokio::sync::oneshot;
use units::Time;

use self::discovery::Attempts;
pub(crate) use self::discovery::{Carrier, Found, Wish};
use self::group::{Group, Waiter};
pub(crate) use self::session::Company;
use crate::loader::Browser;
use crate::names::Names;
use crate::plan::Arm;
use crate::thread::Thread;
use crate::timeline::Opened;

/// What connections are grouped by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Origin {
    pub(crate) host: String,
    pub(crate) secure: bool,
    pub(crate) carrier: Carrier,
}

/// A connection that this browser has opened, for the record.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    pub(crate) host: String,
    pub(crate) arm: Arm,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) opened: Opened,
    pub(crate) closed: Option<Time>,
    pub(crate) requests: u32,
}

/// A connection in the hands of one request.
pub(crate) struct Lease {
    pub(crate) connection: Connection,
    pub(crate) id: u32,
    /// When it was opened, if this request is the first on it.
    pub(crate) opened: Option<Opened>,
}

/// A browser's connections.
pub(crate) struct Pool {
    browser: Rc<Browser>,
    names: Rc<Names>,
    network_thread: Rc<Thread>,
    inner: RefCell<Inner>,
    attempts: Attempts,
}

#[derive(Default)]
struct Inner {
    pipeline_depth: usize,
    groups: BTreeMap<Origin, Group>,
    /// Connections open or coming, all groups together.
    total: usize,
    used: Vec<Used>,
    asked: u64,
}

impl Pool {
    pub(crate) fn new(browser: Rc<Browser>, names: Rc<Names>, network_thread: Rc<Thread>) -> Pool {
        let pipeline_depth = browser.policy.pipeline_depth;
        let inner = RefCell::new(Inner { pipeline_depth, ..Inner::default() });
        Pool { browser, names, network_thread, inner, attempts: Attempts::default() }
    }

    /// A connection for one request; waits for one if it must.
    ///
    /// # Errors
    /// One sentence, if none can be had.
    pub(crate) async fn lease(
        self: &Rc<Self>,
        origin: &Origin,
        arm: Arm,
        priority: Priority,
        company: Company,
    ) -> Result<Lease, String> {
        let waiting = {
            let mut inner = self.inner.borrow_mut();
            inner.asked += 1;
            let turn = (priority, inner.asked);
            match inner.ready(origin, arm, company) {
                Some(lease) => return Ok(inner.count(lease)),
                None => {
                    let (grant, granted) = oneshot::channel();
                    inner.group(origin).waiting.insert(turn, Waiter { grant, company });
                    granted
                }
            }
        };
        self.open_more(origin);
        let lease = waiting.await.unwrap_or_else(|_| Err("the pool was dropped".to_owned()))?;
        Ok(self.inner.borrow_mut().count(lease))
    }

    /// Gives back a connection, to be used again if it can be.
    pub(crate) fn give_back(self: &Rc<Self>, origin: &Origin, mut lease: Lease) {
        {
            let mut inner = self.inner.borrow_mut();
            if lease.connection.is_shared() {
                inner.give_back_share(origin, &mut lease);
            } else if lease.connection.is_reusable() {
                inner.group(origin).hand_over(Lease { opened: None, ..lease });
            } else {
                inner.lose(origin, lease.id);
            }
        }
        self.open_where_waiting();
    }

    /// Drops a connection under which a request failed. A shared one that is still good stays: only
    /// that request was refused.
    pub(crate) fn discard(self: &Rc<Self>, origin: &Origin, mut lease: Lease) {
        {
            let mut inner = self.inner.borrow_mut();
            if lease.connection.is_shared() {
                inner.group(origin).capability.note_failure();
                inner.leave_share(origin, &mut lease);
            } else {
                inner.lose(origin, lease.id);
            }
        }
        drop(lease);
        self.open_where_waiting();
    }

    /// All connections opened so far.
    pub(crate) fn used(&self) -> Vec<Used> {
        self.inner.borrow().used.clone()
    }

    /// Opens what is wanted and has become possible, for the most urgent first.
    fn open_where_waiting(self: &Rc<Self>) {
        let mut waiting: Vec<_> = {
            let inner = self.inner.borrow();
            let short =
                |(origin, group): (&Origin, &Group)| Some((group.shortage()?, origin.clone()));
            inner.groups.iter().filter_map(short).collect()
        };
        waiting.sort();
        for (_, origin) in waiting {
            self.open_more(&origin);
        }
    }

    /// Opens as many connections to `origin` as are wanted and allowed.
    fn open_more(self: &Rc<Self>, origin: &Origin) {
        loop {
            let id = {
                let mut inner = self.inner.borrow_mut();
                let group = inner.group(origin);
                let limit = match group.arm.protocol {
                    Protocol::H10 | Protocol::H1 => self.browser.policy.connections_per_host,
                    Protocol::H2 | Protocol::Spdy(_) | Protocol::H3 => 1,
                };
                if !group.is_short() || group.open >= limit {
                    return;
                }
                let full = inner.total >= self.browser.policy.connections_total;
                if full && !inner.close_an_idle_one() {
                    return;
                }
                inner.begin(origin)
            };
            let pool = Rc::clone(self);
            let origin = origin.clone();
            world::spawn(async move { pool.open(origin, id).await });
        }
    }

    /// Opens one connection and hands it to whoever waits.
    async fn open(self: Rc<Self>, origin: Origin, id: u32) {
        let arm = self.inner.borrow_mut().group(&origin).arm;
        let mut opened = Opened { started: world::now(), ..Opened::default() };
        let result = self.connect(&origin, arm, &mut opened).await;
        {
            let mut inner = self.inner.borrow_mut();
            inner.group(&origin).coming -= 1;
            match result {
                Ok(connection) => {
                    let used = &mut inner.used[id as usize];
                    used.local = connection.local_addr();
                    used.opened = opened;
                    let lease = Lease { connection, id, opened: Some(opened) };
                    inner.group(&origin).hand_over(lease);
                }
                Err(reason) => {
                    inner.lose(&origin, id);
                    inner.group(&origin).fail_one(reason);
                }
            }
        }
        self.open_where_waiting();
    }

    async fn connect(
        &self,
        origin: &Origin,
        arm: Arm,
        opened: &mut Opened,
    ) -> Result<Connection, String> {
        let address = self.names.address(&origin.host).await?;
        opened.resolved = world::now();
        let address = SocketAddr::new(address, arm.port);
        let opening = self.browser.opening(address, &origin.host, arm);
        let mut stage = |stage: Stage| match stage {
            Stage::Connected => opened.connected = world::now(),
            Stage::Secured => opened.secured = world::now(),
        };
        let connection = client::open(opening, &mut stage)
            .await
            .map_err(|error| format!("failed to connect to {}: {error}", origin.host))?;
        let cost = self.browser.device.connection(origin.secure);
        let done = self.network_thread.queue(world::now(), cost);
        if done > world::now() {
            world::sleep_until(done).await;
        }
        opened.secured = done;
        if arm.security == Security::None {
            opened.connected = done;
        }
        Ok(connection)
    }
}

impl Inner {
    fn group(&mut self, origin: &Origin) -> &mut Group {
        self.groups.get_mut(origin).expect("a group lives as long as the pool")
    }

    /// A connection to `origin` that can be used at once.
    fn ready(&mut self, origin: &Origin, arm: Arm, company: Company) -> Option<Lease> {
        let mut closed = Vec::new();
        let pipeline_depth = self.pipeline_depth;
        let group =
            self.groups.entry(origin.clone()).or_insert_with(|| Group::new(arm, pipeline_depth));
        let ready = group.ready(company, &mut closed);
        for id in closed {
            self.lose(origin, id);
        }
        ready
    }

    /// A request on a shared connection is over, and went well.
    fn give_back_share(&mut self, origin: &Origin, lease: &mut Lease) {
        let capability = &mut self.group(origin).capability;
        match lease.connection.is_reusable() {
            true => capability.note_success(),
            false => capability.note_failure(),
        }
        self.leave_share(origin, lease);
    }

    /// A request on a shared connection is over. A connection that is not good any more is gone for all.
    fn leave_share(&mut self, origin: &Origin, lease: &mut Lease) {
        let group = self.group(origin);
        let is_lost = !lease.connection.is_reusable() && group.forget_session(lease.id);
        group.release(lease.id);
        if is_lost {
            self.lose(origin, lease.id);
        }
    }

    /// Counts a connection as coming.
    fn begin(&mut self, origin: &Origin) -> u32 {
        self.total += 1;
        let group = self.group(origin);
        group.open += 1;
        group.coming += 1;
        let (host, arm) = (origin.host.clone(), group.arm);
        let opened = Opened { started: world::now(), ..Opened::default() };
        self.used.push(Used { host, arm, local: None, opened, closed: None, requests: 0 });
        (self.used.len() - 1) as u32
    }

    /// Counts a connection as gone.
    fn lose(&mut self, origin: &Origin, id: u32) {
        self.total -= 1;
        self.group(origin).open -= 1;
        self.used[id as usize].closed = Some(world::now());
    }

    fn count(&mut self, lease: Lease) -> Lease {
        self.used[lease.id as usize].requests += 1;
        lease
    }

    /// Makes room below the limit in all; false if every connection is at work.
    fn close_an_idle_one(&mut self) -> bool {
        let mut idle = self.groups.iter_mut().filter(|(_, group)| group.waiting.is_empty());
        let Some((origin, lease)) =
            idle.find_map(|(origin, group)| Some((origin.clone(), group.take_idle()?)))
        else {
            return false;
        };
        self.lose(&origin, lease.id);
        true
    }
}
