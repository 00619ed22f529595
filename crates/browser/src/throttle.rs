//! Requests held back in favour of others: Chromium's resource scheduler of 2014.
//!
//! Images and the like are *delayable* if their host cannot be sent priorities (HTTP/1): their number in flight is
//! limited, in total and by host, and before the document's `<body>` to hardly any, so that style sheets and
//! scripts of its head have the link to themselves.
//!
//! Source: Chromium 38 `content/browser/loader/resource_scheduler.cc`, `ShouldStartRequest`. A page's graph does
//! not say where the body begins: it is assumed to begin when for the first time an image is requested, or a
//! request ends, with no style sheet or script in flight.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use http_stack::Priority;
use page::Kind;
use tokio::sync::oneshot;

use crate::policy::Delayable;

/// Properties of a request before it is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThrottledRequest {
    pub(crate) host: u32,
    pub(crate) kind: Kind,
    pub(crate) priority: Priority,
    /// True if the host itself orders responses by priority: it is sent priorities, and no request to it is held back.
    pub(crate) is_told_priorities: bool,
}

impl ThrottledRequest {
    /// Chromium: below `net::LOW`.
    fn is_delayable(&self) -> bool {
        self.priority > Priority::Medium && !self.is_told_priorities
    }

    /// Returns true if the parser or rendering waits for it.
    fn is_of_head(&self) -> bool {
        matches!(self.kind, Kind::Stylesheet | Kind::Script) && !self.is_delayable()
    }
}

/// The requests of one tab.
pub(crate) struct Throttle(RefCell<ThrottleState>);

struct ThrottleState {
    limits: Delayable,
    delayable: usize,
    others: usize,
    /// Style sheets and scripts among the others.
    of_head: usize,
    by_host: BTreeMap<u32, usize>,
    has_body: bool,
    asked: u64,
    /// Held requests, by priority, then by arrival.
    held: BTreeMap<(Priority, u64), (ThrottledRequest, oneshot::Sender<()>)>,
}

/// Decision on a delayable request.
#[derive(Debug, PartialEq, Eq)]
enum StartDecision {
    Starts,
    /// Its host has enough requests.
    HostIsBusy,
    /// No delayable request may start.
    Held,
}

/// A request that was let through. It ends when this is dropped.
pub(crate) struct ThrottlePass {
    throttle: Rc<Throttle>,
    request: ThrottledRequest,
}

impl Throttle {
    pub(crate) fn new(limits: Delayable) -> Throttle {
        Throttle(RefCell::new(ThrottleState {
            limits,
            delayable: 0,
            others: 0,
            of_head: 0,
            by_host: BTreeMap::new(),
            has_body: false,
            asked: 0,
            held: BTreeMap::new(),
        }))
    }

    /// Waits until the request may start.
    pub(crate) async fn pass(self: &Rc<Self>, request: ThrottledRequest) -> ThrottlePass {
        let held = self.0.borrow_mut().ask(request);
        if let Some(let_through) = held {
            let_through.await.expect("a tab does not go before its requests");
        }
        ThrottlePass { throttle: Rc::clone(self), request }
    }
}

impl Drop for ThrottlePass {
    fn drop(&mut self) {
        self.throttle.0.borrow_mut().end(self.request);
    }
}

impl ThrottleState {
    /// Starts a request, or holds it back until the returned channel is signalled.
    fn ask(&mut self, request: ThrottledRequest) -> Option<oneshot::Receiver<()>> {
        self.asked += 1;
        if request.is_delayable() {
            self.has_body |= self.of_head == 0;
        }
        if !request.is_delayable() || self.decision(request) == StartDecision::Starts {
            self.start(request);
            return None;
        }
        let (tell, told) = oneshot::channel();
        self.held.insert((request.priority, self.asked), (request, tell));
        Some(told)
    }

    fn decision(&self, request: ThrottledRequest) -> StartDecision {
        let at_host = self.by_host.get(&request.host).copied().unwrap_or_default();
        if self.delayable >= self.limits.in_all {
            return StartDecision::Held;
        }
        if at_host >= self.limits.per_host {
            return StartDecision::HostIsBusy;
        }
        // Only one request beside the document is allowed.
        let is_crowded = self.others > 1 || self.delayable >= self.limits.in_head;
        if !self.has_body && is_crowded { StartDecision::Held } else { StartDecision::Starts }
    }

    fn start(&mut self, request: ThrottledRequest) {
        *self.by_host.entry(request.host).or_default() += 1;
        self.of_head += usize::from(request.is_of_head());
        match request.is_delayable() {
            true => self.delayable += 1,
            false => self.others += 1,
        }
    }

    fn end(&mut self, request: ThrottledRequest) {
        if let Some(count) = self.by_host.get_mut(&request.host) {
            *count -= 1;
        }
        self.of_head -= usize::from(request.is_of_head());
        match request.is_delayable() {
            true => self.delayable -= 1,
            false => self.others -= 1,
        }
        self.has_body |= self.of_head == 0 && request.is_of_head();
        self.start_held();
    }

    /// Starts the permitted requests, the most urgent first.
    fn start_held(&mut self) {
        let turns: Vec<_> = self.held.keys().copied().collect();
        for turn in turns {
            match self.decision(self.held[&turn].0) {
                StartDecision::Held => return,
                StartDecision::HostIsBusy => {}
                StartDecision::Starts => {
                    let (request, tell) = self.held.remove(&turn).expect("it was there");
                    // A request that has given up is skipped.
                    if tell.send(()).is_ok() {
                        self.start(request);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Delayable = Delayable { in_all: 10, per_host: 6, in_head: 1 };

    fn ask(host: u32, kind: Kind, priority: Priority) -> ThrottledRequest {
        ThrottledRequest { host, kind, priority, is_told_priorities: false }
    }

    fn image(host: u32) -> ThrottledRequest {
        ask(host, Kind::Image, Priority::Low)
    }

    type StartSignal = oneshot::Receiver<()>;

    /// Number of images, of `images` at `hosts`, that start at once, and the channels of the others.
    fn starting(state: &mut ThrottleState, hosts: u32, images: u32) -> (usize, Vec<StartSignal>) {
        let before = state.delayable;
        let held = (0..images).filter_map(|index| state.ask(image(index % hosts))).collect();
        (state.delayable - before, held)
    }

    fn state() -> ThrottleState {
        Throttle::new(LIMITS).0.into_inner()
    }

    #[test]
    fn images_are_limited_by_host_and_in_all() {
        assert_eq!(starting(&mut state(), 1, 20).0, 6);
        assert_eq!(starting(&mut state(), 2, 20).0, 10);
        let mut state = state();
        let told = ThrottledRequest { is_told_priorities: true, ..image(0) };
        for _ in 0..30 {
            assert!(state.ask(told).is_none());
        }
        assert_eq!((state.delayable, state.others), (0, 30));
    }

    #[test]
    fn the_head_comes_first() {
        let mut state = state();
        let document = ask(0, Kind::Document, Priority::Highest);
        let sheet = ask(0, Kind::Stylesheet, Priority::High);
        let script = ask(0, Kind::Script, Priority::Medium);
        for asked in [document, sheet, script] {
            assert!(state.ask(asked).is_none());
        }
        let (started, _held) = starting(&mut state, 1, 4);
        assert_eq!(started, 0, "the document and two more are in flight");
        state.end(sheet);
        assert_eq!(state.delayable, 0, "and one more");
        state.end(document);
        assert_eq!(state.delayable, 1, "beside a script alone");
        state.end(script);
        assert_eq!(state.delayable, 4, "the body has begun");
        assert!(state.ask(script).is_none());
        assert_eq!(starting(&mut state, 2, 1).0, 1, "a late script holds back nobody");
    }

    #[test]
    fn who_is_held_back_starts_when_another_has_ended() {
        let mut state = state();
        let (started, mut held) = starting(&mut state, 1, 9);
        assert_eq!((started, held.len()), (6, 3));
        // The first of them has given up.
        drop(held.remove(0));
        state.end(image(0));
        assert_eq!((state.delayable, state.held.len()), (6, 1));
        assert_eq!((held[0].try_recv(), held[1].try_recv().is_ok()), (Ok(()), false));
    }
}
