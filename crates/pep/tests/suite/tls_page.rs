//! Effect of splitting on an encrypted page's first byte (RTT 620 ms): TCP's round trip is gone, TLS's and HTTP's remain.

use crate::common;

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use common::{LEGS, Leg, RTT, SERVER, Sky, at};
use farlink_pep as _;
use http::{HeaderMap, Request, StatusCode};
use http_stack::h1::client::{self, Connection};
use http_stack::server::Acceptor;
use http_stack::{Answer, Handler, Priority, Progress, Reply, RequestHead};
use tls::{ClientSessions, Protocol, Security, Version};
use world::{TcpListener, TcpStream};

struct Page;

impl Handler for Page {
    fn handle(&self, _request: RequestHead<'_>) -> Answer {
        Answer::Ready(Reply::new(StatusCode::OK, HeaderMap::new(), Bytes::from_static(b"a page")))
    }
}

async fn serve(security: Security) {
    let listener = TcpListener::bind(at(SERVER, 443)).unwrap();
    let acceptor = Acceptor::new(security);
    loop {
        let (tcp, _) = listener.accept().await.unwrap();
        let acceptor = acceptor.clone();
        drop(world::spawn(async move { drop(acceptor.serve(tcp, Rc::new(Page)).await) }));
    }
}

/// Arrival of the response's head.
#[derive(Default)]
struct FirstByte(Option<units::Time>);

impl Progress for FirstByte {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, _status: u16, _head_bytes: u64) {
        self.0 = Some(world::now());
    }
    fn data(&mut self, _piece: &[u8]) {}
}

fn first_byte(leg: Leg, to: SocketAddr, security: Security, version: Version) -> Duration {
    let sky = Sky::over(leg, 1, "").with_pep().with_server(serve(security));
    sky.run(async move {
        let began = world::now();
        let tcp = TcpStream::connect(to).await.unwrap();
        let sessions = ClientSessions::default();
        let tls = sessions.connect(tcp, "a.example", version, Protocol::H1).await.unwrap();
        let mut connection = Connection::new(tls, client::Settings::default());
        let request = Request::get("https://a.example/").body(Bytes::new()).unwrap();
        let mut progress = FirstByte::default();
        connection.fetch(&request, Priority::Medium, &mut progress).await.unwrap();
        progress.0.unwrap().since(began)
    })
}

/// Asserts a number of round trips, with a margin for sending some 4 KB over the links.
fn assert_trips(took: Duration, trips: u32) {
    let bounds = trips * RTT..trips * RTT + Duration::from_millis(150);
    assert!(bounds.contains(&took), "{took:?} is not {trips} round trips of {RTT:?}");
}

#[test]
fn splitting_saves_one_round_trip_of_three_with_tls_13() {
    for leg in LEGS {
        let (security, version) = (Security::Tls13, Version::Tls13);
        assert_trips(first_byte(leg, at(SERVER, 443), security, version), 3);
        assert_trips(first_byte(leg, at("10.0.0.2", 443), security, version), 2);
    }
}

#[test]
fn splitting_saves_one_round_trip_of_four_with_tls_12() {
    for leg in LEGS {
        let (security, version) = (Security::Tls12, Version::Tls12);
        assert_trips(first_byte(leg, at(SERVER, 443), security, version), 4);
        assert_trips(first_byte(leg, at("10.0.0.2", 443), security, version), 3);
    }
}
