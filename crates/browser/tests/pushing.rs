//! Pages whose servers push, in virtual time.

mod support;

use std::rc::Rc;
use std::time::Duration;

use farlink_browser::{Browser, Policy, Pushes, Visited};
use http_stack::client::Protocol;
use http_stack::spdy::Version;
use page::{Kind, ObjectPriority, Page};
use proxy::PushPolicy;
use support::{Stage, device, page};

const NETWORK: &str = "rtt=100ms,down=100mbit,up=100mbit,queue=1000pkt";
const RTT: Duration = Duration::from_millis(100);
const PROTOCOLS: [Protocol; 2] = [Protocol::H2, Protocol::Spdy(Version::V31)];

fn browser(pushes: Pushes) -> Rc<Browser> {
    let policy = Policy::named("chrome").unwrap();
    Rc::new(Browser::new(policy, device("zero"), 0.0).with_pushes(pushes))
}

/// A page whose only object beside the document is a style sheet of 5 KB.
fn styled() -> Page {
    let mut page = page("synthetic:1x5KB");
    (page.objects[1].kind, page.objects[1].priority) = (Kind::Stylesheet, ObjectPriority::Highest);
    page
}

fn load(page: &Page, protocol: Protocol, push: PushPolicy, pushes: Pushes) -> Visited {
    Stage::pushing(page, NETWORK, protocol, push).visit(browser(pushes))
}

fn bytes(visited: &Visited) -> Vec<u64> {
    visited.objects.iter().map(|object| object.body_bytes).collect()
}

#[test]
fn a_pushed_style_sheet_saves_its_round_trip() {
    for protocol in PROTOCOLS {
        let asked = load(&styled(), protocol, PushPolicy::None, Pushes::Taken);
        let pushed = load(&styled(), protocol, PushPolicy::Stylesheets, Pushes::Taken);
        let saved = asked.plt.clone().unwrap() - pushed.plt.clone().unwrap();
        assert!(saved > RTT * 9 / 10 && saved < RTT * 11 / 10, "{protocol}: {saved:?}");
        assert_eq!(bytes(&pushed), bytes(&asked), "{protocol}");
        let sheet = &pushed.objects[1];
        assert_eq!((sheet.request_header_bytes, sheet.status), (0, 200), "{protocol}");
        assert!(sheet.response_header_bytes > 0, "{protocol}");
    }
}

#[test]
fn a_browser_that_refuses_pushes_loads_as_if_there_were_none() {
    for protocol in PROTOCOLS {
        let plain = load(&styled(), protocol, PushPolicy::None, Pushes::Refused);
        let refused = load(&styled(), protocol, PushPolicy::All, Pushes::Refused);
        assert_eq!(refused.plt, plain.plt, "{protocol}");
        assert!(refused.objects.iter().all(|object| object.request_header_bytes > 0));
    }
}

#[test]
fn what_is_cached_is_cancelled_and_every_object_comes_once() {
    let mut page = page("synthetic:30x20KB");
    // It is requested again, and everything else promised again.
    page.objects[0].cacheable = false;
    for protocol in PROTOCOLS {
        let stage = Stage::pushing(&page, NETWORK, protocol, PushPolicy::All);
        let visits = stage.visits(browser(Pushes::Taken), 2);
        let [cold, warm] = visits.as_slice() else { panic!("there are two visits") };
        assert!(cold.objects[1..].iter().all(|object| object.request_header_bytes == 0));
        assert_eq!(
            bytes(cold).iter().sum::<u64>(),
            page.objects.iter().map(|o| o.body_bytes).sum::<u64>()
        );
        assert!(warm.plt.is_ok() && warm.objects.iter().all(|object| object.error.is_none()));
        assert_eq!(warm.objects[0].status, 200);
        assert!(warm.objects[0].request_header_bytes > 0, "{protocol}");
        assert!(warm.objects[1..].iter().all(|object| object.protocol == "cache"), "{protocol}");
    }
}
