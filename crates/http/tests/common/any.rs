//! Servers and clients of any protocol, over loopback or simulated.
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use farlink_http::client::{self, ClientConnection, ConnectStage, Opening};
use farlink_http::h2::FlowMeter;
use farlink_http::server::{Acceptor, Served};
use farlink_http::{Handler, Priority, RequestError};
use http::Request;
use tls::Protocol;
use tokio::sync::mpsc;
use world::TcpListener;

use super::Seen;

/// A server that reports how each of its connections ended.
pub struct AnyServer {
    pub address: SocketAddr,
    pub meter: Rc<FlowMeter>,
    ended: std::cell::RefCell<mpsc::UnboundedReceiver<Served>>,
}

impl AnyServer {
    /// The end of the next connection.
    pub async fn ended(&self) -> Served {
        std::future::poll_fn(|cx| self.ended.borrow_mut().poll_recv(cx)).await.unwrap()
    }
}

/// Starts a server on `address`.
pub fn listen_on<H: Handler>(address: SocketAddr, handler: H, acceptor: Acceptor) -> AnyServer {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    let (handler, meter) = (Rc::new(handler), Rc::new(FlowMeter::default()));
    let (tell, ended) = mpsc::unbounded_channel();
    let of_server = Rc::clone(&meter);
    drop(world::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (handler, tell, acceptor) = (Rc::clone(&handler), tell.clone(), acceptor.clone());
            let meter = Rc::clone(&of_server);
            drop(world::spawn(async move {
                drop(tell.send(acceptor.serve_metered(stream, handler, &meter).await));
            }));
        }
    }));
    AnyServer { address, meter, ended: ended.into() }
}

/// Starts a server on a free port of loopback.
pub fn listen<H: Handler>(handler: H, acceptor: Acceptor) -> AnyServer {
    listen_on("127.0.0.1:0".parse().unwrap(), handler, acceptor)
}

/// Opens a connection.
pub async fn open(opening: Opening) -> ClientConnection {
    let mut stages = Vec::new();
    let secured = opening.security.is_secure();
    let is_quic = opening.protocol == Protocol::H3;
    let connection = client::open(opening, &mut |stage| stages.push(stage)).await.unwrap();
    let all = [ConnectStage::Reached, ConnectStage::Connected, ConnectStage::Secured];
    assert_eq!(stages, all[usize::from(is_quic)..if secured { 3 } else { 2 }]);
    connection
}

/// `GET https://any.farlink.test/TARGET`.
pub fn get(target: &str) -> Request<Bytes> {
    Request::builder().uri(format!("https://any.farlink.test{target}")).body(Bytes::new()).unwrap()
}

/// `POST https://any.farlink.test/TARGET`.
pub fn post(target: &str, body: Vec<u8>) -> Request<Bytes> {
    let request =
        Request::builder().method("POST").uri(format!("https://any.farlink.test{target}"));
    request.body(body.into()).unwrap()
}

/// Sends `request` on a new connection or a shared one, and gathers its response.
pub async fn fetch(
    connection: &mut ClientConnection,
    request: &Request<Bytes>,
) -> Result<Seen, RequestError> {
    let mut seen = Seen::default();
    connection.fetch(request, Priority::Medium, &mut seen).await?;
    Ok(seen)
}

/// Sends all requests at once; returns their responses in order.
pub async fn fetch_all(
    connection: &ClientConnection,
    requests: Vec<Request<Bytes>>,
) -> Vec<Result<Seen, RequestError>> {
    let tasks: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let mut connection = connection.share().expect("it can be shared");
            world::spawn(async move { fetch(&mut connection, &request).await })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await);
    }
    seen
}
