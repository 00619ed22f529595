//! HTTP/1.1 pipelining in virtual time: a round trip for many requests, order, and the requests left by a broken connection.

use crate::common;

use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::{Echo, Seen};
use farlink_http::h1::client::Settings;
use farlink_http::h1::pipeline::Pipeline;
use farlink_http::h1::server::{self, Core, serve};
use farlink_http::timer_wheel::Wheel;
use farlink_http::{Priority, RequestError};
use http::Request;
use net::Network;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use units::Time;
use world::sim::SimPlan;
use world::{TcpListener, TcpStream};

const SERVER: &str = "10.0.0.2:80";
const RTT: Duration = Duration::from_millis(100);

/// Runs a client and a server 100 ms apart. `server` gets each connection.
fn simulate<C, S>(client: C, mut server: impl FnMut(TcpStream) -> S + 'static) -> C::Output
where
    C: Future + 'static,
    S: Future<Output = ()> + 'static,
{
    let network = Network::parse("rtt=100ms,down=100mbit,up=100mbit,queue=1000pkt").unwrap();
    let mut plan = SimPlan::new(chance::RandomSource::new(1, 0));
    let tcp = Arc::new(tcp::Config::default());
    let address: SocketAddr = SERVER.parse().unwrap();
    let near = plan.node("10.0.0.1".parse().unwrap(), Arc::clone(&tcp));
    let far = plan.node(address.ip(), tcp);
    let (up, down) = (plan.link("up", network.up), plan.link("down", network.down));
    plan.route(near, far, &[up]);
    plan.route(far, near, &[down]);
    plan.spawn(far, async move {
        let listener = TcpListener::bind(address).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            drop(world::spawn(server(stream)));
        }
    });
    plan.run(near, client).unwrap()
}

async fn echo(stream: TcpStream) {
    let core = Core::new(server::Settings::default(), Wheel::new());
    drop(serve(stream, Rc::new(Echo), &core).await);
}

async fn connect() -> Pipeline<TcpStream> {
    let stream = TcpStream::connect(SERVER.parse().unwrap()).await.unwrap();
    Pipeline::new(stream, Settings::default())
}

/// Fetches all at once; returns each response and its completion time.
async fn fetch_all(
    pipeline: &Pipeline<TcpStream>,
    targets: &[&str],
) -> Vec<(Result<Seen, RequestError>, Time)> {
    let fetch = |target: &&str| {
        let request = Request::get(format!("http://a{target}")).body(Bytes::new()).unwrap();
        let pipeline = pipeline.clone();
        world::spawn(async move {
            let mut seen = Seen::default();
            let result = pipeline.fetch(&request, Priority::Medium, &mut seen).await;
            (result.map(|()| seen), world::now())
        })
    };
    let tasks: Vec<_> = targets.iter().map(fetch).collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await);
    }
    all
}

#[test]
fn many_requests_take_one_round_trip() {
    let (began, answers) = simulate(
        async {
            let pipeline = connect().await;
            let began = world::now();
            let answers = fetch_all(&pipeline, &["/1000", "/2", "/status/304", "/0", "/50"]).await;
            assert!(pipeline.is_usable());
            (began, answers)
        },
        echo,
    );
    let bodies: Vec<usize> =
        answers.iter().map(|(seen, _)| seen.as_ref().unwrap().body.len()).collect();
    assert_eq!(bodies, [1000, 2, 0, 0, 50]);
    let last = answers[4].1.since(began);
    assert!((RTT..RTT + Duration::from_millis(5)).contains(&last), "{last:?}");
}

/// The server takes two milliseconds for `/later`, which delays the requests after it.
#[test]
fn a_slow_response_holds_up_those_behind_it() {
    let answers =
        simulate(async { fetch_all(&connect().await, &["/1", "/later/1", "/1"]).await }, echo);
    let at = |index: usize| answers[index].1;
    assert!(at(1).since(at(0)) >= Duration::from_millis(2));
    assert!(at(2) >= at(1));
}

const SMALL: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A server that sends this when the first bytes come, and closes.
async fn scripted(mut stream: TcpStream, answer: &str) {
    assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0, "a request comes");
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    while !matches!(stream.read(&mut [0; 4096]).await, Ok(0) | Err(_)) {}
}

/// The outcomes of three requests: `ok`, or the failure.
fn fates(answer: String) -> (Vec<&'static str>, bool) {
    let fate = |(result, _): &(Result<Seen, RequestError>, Time)| match result {
        Ok(_) => "ok",
        Err(RequestError::Unanswered(_)) => "unanswered",
        Err(RequestError::Broken(_)) => "broken",
        Err(RequestError::Protocol(_)) => "protocol",
        Err(_) => "other",
    };
    simulate(
        async move {
            let pipeline = connect().await;
            let answers = fetch_all(&pipeline, &["/a", "/b", "/c"]).await;
            (answers.iter().map(fate).collect(), pipeline.is_usable())
        },
        move |stream| {
            let answer = answer.clone();
            async move { scripted(stream, &answer).await }
        },
    )
}

#[test]
fn what_a_server_does_not_answer_may_be_asked_again() {
    let unanswered = ["ok", "unanswered", "unanswered"];
    assert_eq!(fates(SMALL.to_owned()), (unanswered.to_vec(), false), "it closes after one");
    let closing = SMALL.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    assert_eq!(fates(closing.clone()), (unanswered.to_vec(), false), "it says so");
    // RFC 9112 section 9.6: bytes after such a response are not an answer.
    assert_eq!(fates(closing + SMALL).0, unanswered, "it goes on all the same");
    let cut = SMALL.replace("length: 2", "length: 9");
    assert_eq!(fates(format!("{SMALL}{cut}")).0, ["ok", "broken", "unanswered"]);
    assert_eq!(fates(format!("{SMALL}nonsense\r\n\r\n")).0, ["ok", "protocol", "unanswered"]);
    let more = SMALL.repeat(4);
    assert_eq!(fates(more), (vec!["ok"; 3], false), "bytes that nobody asked for");
}

#[test]
fn a_request_that_is_given_up_ends_the_connection_for_those_behind() {
    let fate = simulate(
        async {
            let pipeline = connect().await;
            let ask = |target: &str| {
                let request = Request::get(format!("http://a{target}")).body(Bytes::new()).unwrap();
                let pipeline = pipeline.clone();
                async move { pipeline.fetch(&request, Priority::Medium, &mut Seen::default()).await }
            };
            let first = world::timeout(RTT / 2, ask("/1"));
            let behind = world::spawn(ask("/1"));
            assert!(first.await.is_err(), "it was to be given up");
            let behind = behind.await;
            (matches!(behind, Err(RequestError::Unanswered(_))), pipeline.is_usable())
        },
        echo,
    );
    assert_eq!(fate, (true, false));
}
