//! Shared parts of the tests of HTTP over loopback.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod any;
pub mod hostile;
pub mod streams;

use std::future::Future;
use std::net::SocketAddr;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use farlink_http::h1::client::{self, Connection};
use farlink_http::h1::server::{Core, Ended, Settings, serve};
use farlink_http::timer_wheel::Wheel;
use farlink_http::{Answer, Handler, Priority, Progress, Reply, RequestError, RequestHead};
use http::{HeaderMap, Request, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use world::{TcpListener, TcpStream};

/// Runs a test in the real world, for at most half a minute.
pub fn in_world(test: impl Future<Output = ()>) {
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, world::timeout(Duration::from_secs(30), test))
        .expect("a runtime")
        .expect("the test hangs");
}

/// `/N` is answered with N bytes, `/later/N` after a moment, `/status/S` with that status, `/body`
/// with the size of the request's body.
pub struct Echo;

impl Handler for Echo {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let reply = |status, body: Vec<u8>| {
            let status = StatusCode::from_u16(status).unwrap();
            Reply::new(status, HeaderMap::new(), Bytes::from(body))
        };
        let sized = |size: &str| reply(200, vec![b'x'; size.parse().unwrap_or(0)]);
        match request.target.rsplit_once('/').unwrap_or_default() {
            (_, "body") => Answer::Ready(reply(200, request.body_bytes.to_string().into_bytes())),
            ("/status", status) => Answer::Ready(reply(status.parse().unwrap(), Vec::new())),
            ("/later", size) => {
                let reply = sized(size);
                Answer::later(async move {
                    world::sleep(Duration::from_millis(2)).await;
                    reply
                })
            }
            (_, size) => Answer::Ready(sized(size)),
        }
    }
}

/// `/K/N` is answered with N bytes that depend on K and their position.
pub struct Patterns;

pub fn pattern(key: usize, size: usize) -> Vec<u8> {
    (0..size)
        .map(|at| (key.wrapping_mul(131) ^ (at.wrapping_mul(2_654_435_761) >> 13)) as u8)
        .collect()
}

impl Handler for Patterns {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let mut parts = request.target.split('/').skip(1).map(|part| part.parse().unwrap());
        let body = pattern(parts.next().unwrap(), parts.next().unwrap());
        Answer::Ready(Reply::new(StatusCode::OK, HeaderMap::new(), body.into()))
    }
}

/// Checks that `every_arm` gives the same result again, here and in another process, which prints it in the ignored
/// test `printer`.
pub fn assert_repeats(printer: &str, every_arm: fn() -> String) {
    let arms = every_arm();
    assert_eq!(arms, every_arm());
    let this = std::env::current_exe().unwrap();
    let other =
        Command::new(this).args(["--exact", printer, "--ignored", "--nocapture"]).output().unwrap();
    let other = String::from_utf8(other.stdout).unwrap();
    assert!(other.contains(&arms), "here:\n{arms}\nthere:\n{other}");
    println!("{arms}");
}

/// A server on a free port, which reports how each of its connections ended.
pub struct Server {
    pub address: SocketAddr,
    ended: std::cell::RefCell<mpsc::UnboundedReceiver<Ended>>,
}

impl Server {
    /// A client's connection to it.
    pub async fn client(&self) -> Connection<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        Connection::new(stream, client::Settings::default())
    }

    /// The end of the next connection.
    pub async fn ended(&self) -> Ended {
        std::future::poll_fn(|cx| self.ended.borrow_mut().poll_recv(cx)).await.unwrap()
    }
}

fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Starts a server.
pub fn listen<H: Handler>(handler: H, settings: Settings) -> Server {
    let listener = bind();
    let address = listener.local_addr().unwrap();
    let (handler, core) = (Rc::new(handler), Rc::new(Core::new(settings, Wheel::new())));
    let (tell, ended) = mpsc::unbounded_channel();
    drop(world::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (handler, core, tell) = (Rc::clone(&handler), Rc::clone(&core), tell.clone());
            drop(world::spawn(async move {
                drop(tell.send(serve(stream, handler, &core).await));
            }));
        }
    }));
    Server { address, ended: ended.into() }
}

/// A client whose server sends `answer` to the first request, whatever it is, and closes.
pub async fn scripted(answer: &'static str) -> Connection<TcpStream> {
    let listener = bind();
    let address = listener.local_addr().unwrap();
    drop(world::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0, "a request comes");
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        // Until the client closes: dropping at once might reset the connection.
        drop(stream.read(&mut [0; 1]).await);
    }));
    Connection::new(TcpStream::connect(address).await.unwrap(), client::Settings::default())
}

/// The progress reported for a request.
#[derive(Debug, Default)]
pub struct Seen {
    pub sent_head: u64,
    pub sent_body: u64,
    pub status: u16,
    pub head_bytes: u64,
    pub body: Vec<u8>,
}

impl Progress for Seen {
    fn sent(&mut self, head_bytes: u64, body_bytes: u64) {
        (self.sent_head, self.sent_body) = (head_bytes, body_bytes);
    }
    fn head(&mut self, status: u16, head_bytes: u64) {
        (self.status, self.head_bytes) = (status, head_bytes);
    }
    fn data(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

/// Sends `request` and gathers its response.
pub async fn fetch(
    client: &mut Connection<TcpStream>,
    request: &Request<Bytes>,
) -> Result<Seen, RequestError> {
    let mut seen = Seen::default();
    client.fetch(request, Priority::Medium, &mut seen).await?;
    Ok(seen)
}
