//! An HTTP/1.1 server's timeouts in virtual time.

use crate::common;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::{Echo, fetch};
use farlink_http::h1::client::{self, Connection};
use farlink_http::h1::server::{Core, Settings, serve};
use farlink_http::timer_wheel::Wheel;
use http::Request;
use net::Network;
use units::Time;
use world::sim::SimPlan;
use world::{TcpListener, TcpStream};

#[test]
fn an_idle_connection_is_closed_in_its_time_and_not_before() {
    let network = Network::parse("rtt=100ms,down=10mbit,up=5mbit,queue=100pkt").unwrap();
    let mut plan = SimPlan::new(chance::RandomSource::new(1, 0));
    let tcp = Arc::new(tcp::Config::default());
    let address: SocketAddr = "10.0.0.2:80".parse().unwrap();
    let client = plan.node("10.0.0.1".parse().unwrap(), Arc::clone(&tcp));
    let server = plan.node(address.ip(), tcp);
    let (up, down) = (plan.link("up", network.up), plan.link("down", network.down));
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    plan.spawn(server, async move {
        let listener = TcpListener::bind(address).unwrap();
        let core = Core::new(Settings::default(), Wheel::new());
        while let Ok((stream, _)) = listener.accept().await {
            drop(serve(stream, Rc::new(Echo), &core).await);
        }
    });
    let closed_after = plan.run(client, async move {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut connection = Connection::new(stream, client::Settings::default());
        let request = Request::get("http://a/1000").body(Bytes::new()).unwrap();
        let mut last = Time::ZERO;
        for pause in [0, 1, 30, 70] {
            world::sleep(Duration::from_secs(pause)).await;
            assert!(connection.is_reusable(), "after {pause} s");
            fetch(&mut connection, &request).await.unwrap();
            last = world::now();
        }
        while connection.is_reusable() {
            world::sleep(Duration::from_millis(10)).await;
        }
        world::now().since(last)
    });
    // 75 s from the response's departure, up to two ticks more, plus or minus half a round trip.
    let closed_after = closed_after.unwrap();
    let expected = Duration::from_millis(75_000)..Duration::from_millis(75_220);
    assert!(expected.contains(&closed_after), "{closed_after:?}");
}
