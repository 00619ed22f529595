//! State of a page load: objects known, requested, finished.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http_stack::{Priority, RequestError};
use pac::Choice;
use page::{Kind, Object};
use record::ObjectRecord;
use tls::Security;
use tokio::sync::Notify;
use units::Time;

use super::Session;
use super::arrival::ResourceArrival;
use crate::plan::{HostStack, LoadPlan, Reveal, RoutedRequest};
use crate::pool::{ConnectionNeeds, FoundConnection, PipelineSharing};
use crate::throttle::{Throttle, ThrottledRequest};
use crate::timeline::Timeline;

pub(super) struct PageLoad {
    pub(super) session: Rc<Session>,
    pub(super) plan: Arc<LoadPlan>,
    pub(super) started: Time,
    objects: RefCell<Vec<Progressing>>,
    /// True for each object that was in the browser's cache when the visit began. An object that a page requests
    /// twice in one visit was requested twice when it was recorded.
    cached: Vec<bool>,
    /// The scheduler that holds requests back, if the policy has one.
    throttle: Option<Rc<Throttle>>,
    /// A factor on each object's compute, from the noise model.
    compute_factors: Vec<f64>,
    /// Unfinished objects: those that the load event waits for, and all.
    blocking: Cell<usize>,
    remaining: Cell<usize>,
    loaded: Cell<Option<Time>>,
    finished: Notify,
    /// Why the browser's PAC file gave no answer, if there was such a request.
    unanswered: RefCell<Option<String>>,
    /// True once the load is given up.
    is_given_up: Cell<bool>,
    given_up: Notify,
}

/// State of one object.
struct Progressing {
    /// Number of dependencies that have not happened.
    waits: usize,
    /// Time at which the last completed dependency is processed.
    ready: Time,
    /// The object whose arrival led to that, and when it had arrived.
    revealed: Option<(usize, Time)>,
    timeline: Option<Timeline>,
    finished: bool,
}

/// Attempts per request: a reused connection may close as a request is sent on it, and the request is retried on
/// another. A connection that was opened for the request and closes without an answer is the server's answer
/// (Chromium's `HttpNetworkTransaction::ShouldResendRequest`).
const ATTEMPTS: u32 = 3;

/// State of the connection at the request: new or reused.
#[derive(Clone, Copy)]
enum ConnectionUse {
    Fresh,
    Used,
}

impl PageLoad {
    /// Navigates: discovers the document now, or all of a transfer.
    pub(super) fn start(session: Rc<Session>, plan: Arc<LoadPlan>) -> Rc<PageLoad> {
        let now = world::now();
        let page = &plan.page;
        let objects = page.objects.iter().map(|object| Progressing {
            waits: object.waits_for.len(),
            ready: now,
            revealed: None,
            timeline: None,
            finished: false,
        });
        let mut stream = world::stream("loader/compute");
        let spread = session.browser.compute_spread;
        let load = Rc::new(PageLoad {
            cached: page.objects.iter().map(|o| session.cache.holds(&o.url)).collect(),
            objects: RefCell::new(objects.collect()),
            compute_factors: page.objects.iter().map(|_| 1.0 + spread * stream.normal()).collect(),
            blocking: Cell::new(page.objects.iter().filter(|o| o.blocks_load).count()),
            remaining: Cell::new(page.objects.len()),
            loaded: Cell::new(None),
            throttle: session.browser.policy.delayable.map(|limits| Rc::new(Throttle::new(limits))),
            finished: Notify::new(),
            unanswered: RefCell::default(),
            is_given_up: Cell::new(false),
            given_up: Notify::new(),
            started: now,
            session,
            plan,
        });
        for root in load.plan.page.roots() {
            Rc::clone(&load).discover_at(root.0 as usize, now);
        }
        load
    }

    /// Waits until every object is finished, those that the load event does not wait for included.
    pub(super) async fn finished(&self) {
        while self.remaining.get() > 0 {
            self.finished.notified().await;
        }
    }

    /// Gives up everything that has not arrived: requests in flight are dropped with their connections.
    pub(super) fn give_up(&self) {
        self.is_given_up.set(true);
        self.given_up.notify_waiters();
    }

    /// Runs `work` until the load is given up.
    async fn unless_given_up(&self, work: impl Future<Output = ()>) {
        let (mut given_up, mut work) = (pin!(self.given_up.notified()), pin!(work));
        poll_fn(|cx| match self.is_given_up.get() || given_up.as_mut().poll(cx).is_ready() {
            true => Poll::Ready(()),
            false => work.as_mut().poll(cx),
        })
        .await;
    }

    /// The span to the load event, or why there was none.
    pub(super) fn outcome(&self) -> Result<Duration, String> {
        // No outcome for a load with a request of unknown route.
        if let Some(error) = &*self.unanswered.borrow() {
            return Err(error.clone());
        }
        if let Some(error) = self.document_error() {
            return Err(error);
        }
        let loaded = self.loaded.get().ok_or_else(|| {
            let waited = world::now().since(self.started).as_secs();
            format!("the page had not loaded after {waited} s")
        })?;
        Ok(loaded.since(self.started))
    }

    /// Why the page has no document, after any redirects.
    fn document_error(&self) -> Option<String> {
        let objects = self.objects.borrow();
        let mut index = 0;
        loop {
            if let Some(error) = objects[index].timeline.as_ref().and_then(|t| t.error.as_ref()) {
                return Some(format!("the document did not arrive: {error}"));
            }
            let redirect = self.plan.page.objects[index].kind == Kind::Redirect;
            match self.plan.reveals[index].head.first().filter(|_| redirect) {
                Some(next) => index = next.object,
                None => return None,
            }
        }
    }

    /// Signals that a dependency of `reveal.object` has happened, at `at` (now or later): its bytes of `leader` had arrived at `arrived`.
    pub(super) fn reveal(self: &Rc<Self>, reveal: Reveal, leader: usize, arrived: Time, at: Time) {
        let device = &self.session.browser.device;
        let parsing = device.work(Kind::Document, reveal.parsed_bytes);
        let compute = device.recorded(reveal.compute) + parsing;
        let at = at + compute.mul_f64(self.compute_factors[reveal.object].max(0.0));
        let ready = {
            let mut objects = self.objects.borrow_mut();
            let object = &mut objects[reveal.object];
            object.waits -= 1;
            if at > object.ready || object.revealed.is_none() {
                (object.ready, object.revealed) = (at, Some((leader, arrived)));
            }
            if object.waits > 0 || object.finished {
                return;
            }
            object.ready
        };
        Rc::clone(self).discover_at(reveal.object, ready);
    }

    fn discover_at(self: Rc<Self>, object: usize, at: Time) {
        world::spawn(async move { self.unless_given_up(self.load_at(object, at)).await });
    }

    /// Discovers, fetches and processes one object.
    async fn load_at(self: &Rc<Self>, object: usize, at: Time) {
        if at > world::now() {
            world::sleep_until(at).await;
        }
        if self.objects.borrow()[object].finished {
            return;
        }
        let revealed = self.objects.borrow()[object].revealed;
        self.on_timeline(object, |slot| *slot = Some(Timeline::new(world::now(), revealed)));
        match self.fetch(object).await {
            Ok(done) => {
                if done > world::now() {
                    world::sleep_until(done).await;
                }
                self.timeline(object, |t| t.done = Some(world::now()));
                self.finish(object);
            }
            Err(error) => {
                self.timeline(object, |t| {
                    t.error = Some(error);
                    t.ended = Some(world::now());
                });
                self.abandon(object);
            }
        }
    }

    /// Fetches one object; returns the time at which the client's work on it is done.
    async fn fetch(self: &Rc<Self>, object: usize) -> Result<Time, String> {
        let arm = self.plan.arm(object);
        let spec = &self.plan.page.objects[object];
        if arm.blocked {
            return Err("its host is blocked".to_owned());
        }
        if self.cached[object] {
            return Ok(ResourceArrival::from_cache(self, object));
        }
        let host = self.plan.page.host_of(spec).name.clone();
        let _pass = match &self.throttle {
            Some(throttle) => {
                let level = self.plan.precedences[object].level;
                Some(throttle.pass(ask(spec, level, arm)).await)
            }
            None => None,
        };
        for attempt in 1.. {
            match self.attempt(object, &host).await? {
                Ok(done) => return Ok(done),
                Err((RequestError::Unanswered(_), ConnectionUse::Used)) if attempt < ATTEMPTS => {
                    self.timeline(object, Timeline::start_over);
                }
                Err((failure, _)) => return Err(failure.to_string()),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Sends one request on one connection.
    async fn attempt(
        self: &Rc<Self>,
        object: usize,
        host: &str,
    ) -> Result<Result<Time, (RequestError, ConnectionUse)>, String> {
        let spec = &self.plan.page.objects[object];
        let pool = &self.session.pool;
        let precedence = self.plan.precedences[object];
        let needs =
            ConnectionNeeds { priority: precedence.level, sharing_mode: sharing_mode(spec) };
        let asked = self.asked(object, host);
        let RoutedRequest { arm, request } = asked.inspect_err(|error| {
            self.unanswered.borrow_mut().get_or_insert_with(|| error.clone());
        })?;
        let found = pool.find(host, arm, needs).await?;
        let FoundConnection { arm, mut lease } = found;
        self.timeline(object, |t| {
            t.assigned = Some(world::now());
            t.opened = lease.opened;
            t.connection = Some(lease.id);
            t.protocol = arm.protocol.name();
        });
        let connection =
            if lease.opened.is_some() { ConnectionUse::Fresh } else { ConnectionUse::Used };
        let mut arrival = ResourceArrival::new(self, object, arm.security != Security::None);
        match lease.connection.fetch(request, precedence, &mut arrival).await {
            Ok(()) => {
                let done = arrival.end();
                pool.give_back(lease);
                let done = done?;
                if spec.cacheable {
                    self.session.cache.keep(&spec.url);
                }
                Ok(Ok(done))
            }
            Err(failure) => {
                pool.discard(lease);
                Ok(Err((failure, connection)))
            }
        }
    }

    /// Request for an object, and its route this time.
    fn asked(&self, object: usize, host: &str) -> Result<RoutedRequest<'_>, String> {
        let plan = &self.plan;
        let usual = RoutedRequest { arm: plan.arm(object), request: &plan.requests[object] };
        let Some(chooser) = &self.session.chooser else { return Ok(usual) };
        let url = usual.request.uri().to_string();
        match chooser.choose(&url, host)? {
            Choice::Proxy(at) => Ok(RoutedRequest { arm: usual.arm.on_port(at.port), ..usual }),
            Choice::Direct => plan.past_proxy(object).ok_or_else(|| {
                format!("the PAC file says DIRECT of {url}, which it did not say of anything when the load was prepared")
            }),
        }
    }

    /// Marks the object as received and processed.
    fn finish(&self, object: usize) {
        {
            let mut objects = self.objects.borrow_mut();
            if std::mem::replace(&mut objects[object].finished, true) {
                return;
            }
        }
        if self.plan.page.objects[object].blocks_load {
            self.blocking.set(self.blocking.get() - 1);
        }
        if self.blocking.get() == 0 && self.loaded.get().is_none() {
            self.loaded.set(Some(world::now()));
        }
        self.remaining.set(self.remaining.get() - 1);
        if self.remaining.get() == 0 {
            self.finished.notify_one();
        }
    }

    /// Gives up the object and everything that it would have revealed. The page loads without.
    fn abandon(self: &Rc<Self>, object: usize) {
        let reveals = &self.plan.reveals[object];
        let bytes = reveals.bytes.iter().map(|(_, reveal)| reveal);
        let children: Vec<usize> =
            reveals.head.iter().chain(bytes).chain(&reveals.end).map(|r| r.object).collect();
        self.finish(object);
        for child in children {
            let unknown = {
                let objects = self.objects.borrow();
                objects[child].timeline.is_none() && !objects[child].finished
            };
            if unknown {
                self.abandon(child);
            }
        }
    }

    /// Returns true if it is the navigated document, after redirects.
    pub(super) fn is_document(&self, object: usize) -> bool {
        let objects = &self.plan.page.objects;
        objects[object].kind != Kind::Redirect
            && objects[..object].iter().all(|before| before.kind == Kind::Redirect)
    }

    pub(super) fn compute_factor(&self, object: usize) -> f64 {
        self.compute_factors[object].max(0.0)
    }

    /// Updates an object's timeline.
    pub(super) fn timeline(&self, object: usize, write: impl FnOnce(&mut Timeline)) {
        self.on_timeline(object, |slot| {
            write(slot.as_mut().expect("an object has a timeline once it is discovered"));
        });
    }

    fn on_timeline(&self, object: usize, write: impl FnOnce(&mut Option<Timeline>)) {
        write(&mut self.objects.borrow_mut()[object].timeline);
    }

    /// The records of all discovered objects, and the time to the first byte.
    pub(super) fn records(&self) -> (Vec<ObjectRecord>, Option<Duration>) {
        let now = world::now();
        let objects = self.objects.borrow();
        let known = objects.iter().enumerate().filter_map(|(i, o)| Some((i, o.timeline.as_ref()?)));
        let records =
            known.clone().map(|(i, t)| t.record(i, &self.plan.page.objects[i], now)).collect();
        let ttfb = known
            .filter(|(i, _)| self.plan.page.objects[*i].kind != Kind::Redirect)
            .find_map(|(_, t)| Some(t.head?.since(self.started)));
        (records, ttfb)
    }
}

/// Requests that are never pipelined: those that may not be sent twice, and documents, on which everything else
/// depends (Chromium 26 `http_stream_factory_impl_job.cc`: neither main frames nor frames).
fn sharing_mode(object: &Object) -> PipelineSharing {
    let is_safe =
        ["GET", "HEAD"].contains(&object.method.as_str()) && object.request_body_bytes == 0;
    match object.kind {
        Kind::Document | Kind::Redirect => PipelineSharing::Alone,
        _ if is_safe => PipelineSharing::Shared,
        _ => PipelineSharing::Alone,
    }
}

/// Properties of a request that decide whether it is held back.
fn ask(object: &Object, priority: Priority, arm: HostStack) -> ThrottledRequest {
    let (host, kind) = (object.host.0, object.kind);
    ThrottledRequest { host, kind, priority, is_told_priorities: arm.multiplexes() }
}
