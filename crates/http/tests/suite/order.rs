//! The order of responses over HTTP/2 and HTTP/3: clients' signals, and servers' use of them, in virtual time.

use crate::common;

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use common::Echo;
use common::any::{get, listen_on, open};
use farlink_http::client::{Opening, Protocol};
use farlink_http::h2::{DependencyShape, settings};
use farlink_http::server::Acceptor;
use farlink_http::{Priority, Progress, Scheduler};
use net::{LinkConfig, QueueLimit};
use tls::Security;
use units::{BitsPerSec, Time};
use world::sim::SimPlan;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)), 443);

/// Runs `page` over 2 Mbit/s and 100 ms against a server with this acceptor.
fn simulate<T: 'static>(
    acceptor: impl FnOnce() -> Acceptor + 'static,
    page: impl Future<Output = T> + 'static,
) -> T {
    let mut plan = SimPlan::new(chance::RandomSource::new(7, 0));
    let tcp = Arc::new(tcp::Config::default());
    let (client, server) = (plan.node(CLIENT, Arc::clone(&tcp)), plan.node(SERVER.ip(), tcp));
    let half = Duration::from_millis(50);
    let link = LinkConfig::new(BitsPerSec::mbit(2), half, QueueLimit::Packets(500));
    let (up, down) = (plan.link("up", link.clone()), plan.link("down", link));
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    plan.spawn(server, async move {
        listen_on(SERVER, Echo, acceptor());
        std::future::pending().await
    });
    plan.run(client, page).unwrap()
}

/// Notes the completion time of a response.
struct Whole(Option<Time>);

impl Progress for Whole {
    fn sent(&mut self, _: u64, _: u64) {}
    fn head(&mut self, _: u16, _: u64) {}
    fn data(&mut self, _: &[u8]) {
        self.0 = Some(world::now());
    }
}

/// Completion time of a style sheet requested after 50 images of 20 KB; the client signals its tree and, by fields, its urgencies.
fn style_sheet(
    scheduler: Scheduler,
    dependencies: Option<DependencyShape>,
    fields: [&'static str; 2],
) -> f64 {
    let acceptor = move || {
        let acceptor = Acceptor::new(Security::None);
        Acceptor { h2: settings::Server { scheduler, ..acceptor.h2 }, ..acceptor }
    };
    let request = |field: &str| {
        let mut request = get("/20000");
        if !field.is_empty() {
            request.headers_mut().insert("priority", field.parse().unwrap());
        }
        request
    };
    let [image, sheet] = fields.map(request);
    simulate(acceptor, async move {
        let opening = Opening::new(SERVER, "any.farlink.test", Security::None, Protocol::H2);
        let h2 = settings::Client { dependencies, ..settings::Client::CHROME };
        let mut connection = open(Opening { h2, ..opening }).await;
        for _ in 0..50 {
            let (mut share, image) = (connection.share().unwrap(), image.clone());
            drop(world::spawn(async move {
                let mut whole = Whole(None);
                share.fetch(&image, Priority::Low, &mut whole).await.unwrap();
            }));
        }
        // The images' requests go first.
        world::sleep(Duration::from_millis(1)).await;
        let mut whole = Whole(None);
        connection.fetch(&sheet, Priority::Highest, &mut whole).await.unwrap();
        whole.0.unwrap().as_secs_f64()
    })
}

const SAID: [&str; 2] = ["i", "u=0"];
const UNSAID: [&str; 2] = ["", ""];

#[test]
fn what_is_said_is_heeded_by_who_reads_it() {
    let first = [
        (Scheduler::Strict, None, SAID),
        (Scheduler::Rfc9218, None, SAID),
        (Scheduler::Tree, Some(DependencyShape::Chain), UNSAID),
    ];
    for (scheduler, tree, fields) in first {
        let at = style_sheet(scheduler, tree, fields);
        assert!(at < 1.0, "{scheduler:?}: {at:.2} s");
    }
    // 1 MB takes 4 s. Schedulers that ignore signals, and those that get none, do not prefer the sheet.
    let last = [
        (Scheduler::Fifo, Some(DependencyShape::Chain), SAID),
        (Scheduler::RoundRobin, Some(DependencyShape::Chain), SAID),
        (Scheduler::Strict, Some(DependencyShape::Chain), UNSAID),
        (Scheduler::Rfc9218, Some(DependencyShape::Chain), UNSAID),
        (Scheduler::Tree, None, SAID),
    ];
    for (scheduler, tree, fields) in last {
        let at = style_sheet(scheduler, tree, fields);
        assert!(at > 3.5, "{scheduler:?}: {at:.2} s");
    }
}

#[test]
fn a_weight_is_a_share() {
    // All share: the sheet's weight is 256 beside 50 images' of 147, so it has about 1/30 of the link until its 20 KB,
    // or all images, are complete.
    let shared = style_sheet(Scheduler::Tree, Some(DependencyShape::Flat), UNSAID);
    let chained = style_sheet(Scheduler::Tree, Some(DependencyShape::Chain), UNSAID);
    assert!(shared > chained + 1.0, "{shared:.2} s and {chained:.2} s");
}
