//! Server push over HTTP/2 and SPDY, client against server, over the kernel's loopback.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::any::{fetch, get, listen, open};
use common::{Echo, in_world};
use farlink_http::client::{Opening, Protocol};
use farlink_http::server::Acceptor;
use farlink_http::spdy::{PushedHead, Version};
use farlink_http::{Answer, Handler, Priority, Push, PushFilter, RequestHead};
use tls::Security;

const PROTOCOLS: [Protocol; 4] = [
    Protocol::H2,
    Protocol::Spdy(Version::V31),
    Protocol::Spdy(Version::V3),
    Protocol::Spdy(Version::V2),
];

const PUSHED: [&str; 3] = ["/a/20000", "/later/300000", "/c/0"];

/// Pushes with `/1000`; notes the requests received.
#[derive(Clone, Default)]
struct Pushing(Rc<RefCell<Vec<String>>>);

impl Handler for Pushing {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        assert_eq!(request.authority, "any.farlink.test");
        self.0.borrow_mut().push(request.target.to_owned());
        Echo.handle(request)
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        let push = |path: &str| Push { path: path.to_owned(), priority: Priority::High };
        if request.target == "/1000" { PUSHED.map(push).into() } else { Vec::new() }
    }
}

impl Pushing {
    /// Number of requests for each of the pushed resources.
    fn asked(&self) -> [usize; 3] {
        let asked = self.0.borrow();
        PUSHED.map(|path| asked.iter().filter(|target| *target == path).count())
    }
}

/// Loads a document and then the pushed resources; returns whether a request was sent for each, and the number of
/// requests at the server.
fn load(
    protocol: Protocol,
    security: Security,
    wanted: Option<PushFilter>,
) -> ([bool; 3], [usize; 3]) {
    load_from(Acceptor::new(security), protocol, security, wanted)
}

/// The same from this `acceptor`.
fn load_from(
    mut acceptor: Acceptor,
    protocol: Protocol,
    security: Security,
    wanted: Option<PushFilter>,
) -> ([bool; 3], [usize; 3]) {
    let (pushing, requested) = (Pushing::default(), Rc::new(RefCell::new([false; 3])));
    let (handler, told) = (pushing.clone(), Rc::clone(&requested));
    in_world(async move {
        if let Protocol::Spdy(version) = protocol {
            acceptor.spdy_in_clear = Some(version);
        }
        let server = listen(handler, acceptor);
        let opening = Opening::new(server.address, "any.farlink.test", security, protocol);
        let mut connection = open(Opening { wanted, ..opening }).await;
        let document = fetch(&mut connection, &get("/1000")).await.unwrap();
        assert_eq!(document.body, vec![b'x'; 1_000]);
        for (index, path) in PUSHED.into_iter().enumerate() {
            let seen = fetch(&mut connection, &get(path)).await.unwrap();
            let size: usize = path.rsplit_once('/').unwrap().1.parse().unwrap();
            assert_eq!((seen.status, seen.body), (200, vec![b'x'; size]), "{protocol} {path}");
            assert!(seen.head_bytes > 0, "{protocol} {path}");
            told.borrow_mut()[index] = seen.sent_head > 0;
        }
        // Claimed once: another request goes to the server.
        let again = fetch(&mut connection, &get(PUSHED[0])).await.unwrap();
        assert!(again.sent_head > 0 && again.body.len() == 20_000);
    });
    (*requested.borrow(), pushing.asked())
}

#[test]
fn what_is_pushed_is_not_asked_for() {
    for protocol in PROTOCOLS {
        for security in [Security::None, Security::Tls13] {
            let loaded = load(protocol, security, Some(PushFilter::new(|_| true)));
            assert_eq!(loaded, ([false; 3], [2, 1, 1]), "{protocol} {security}");
        }
    }
}

#[test]
fn a_promise_of_spdy_may_hold_the_answer() {
    for version in Version::ALL {
        let mut acceptor = Acceptor::new(Security::Tls13);
        acceptor.spdy.pushed_head = PushedHead::Joined;
        let (protocol, wanted) = (Protocol::Spdy(version), Some(PushFilter::new(|_| true)));
        let loaded = load_from(acceptor, protocol, Security::Tls13, wanted);
        assert_eq!(loaded, ([false; 3], [2, 1, 1]), "{protocol}");
    }
}

#[test]
fn a_client_that_refuses_pushes_is_promised_nothing() {
    for protocol in PROTOCOLS {
        let loaded = load(protocol, Security::Tls13, None);
        assert_eq!(loaded, ([true; 3], [2, 1, 1]), "{protocol}");
    }
}

#[test]
fn what_is_not_wanted_is_cancelled_and_can_be_asked_for() {
    for protocol in PROTOCOLS {
        let wanted = PushFilter::new(|uri| !uri.path().starts_with("/later"));
        let loaded = load(protocol, Security::Tls13, Some(wanted));
        assert_eq!(loaded, ([false, true, false], [2, 2, 1]), "{protocol}");
    }
}
