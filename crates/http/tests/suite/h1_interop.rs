//! Interoperability of our HTTP/1.1 with hyper's client and server, and curl.

use crate::common;

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::process::Command;
use std::task::{Context, Poll};

use bytes::Bytes;
use common::{Echo, fetch, in_world, listen};
use farlink_http::h1::client::{Connection, Settings};
use farlink_http::h1::server;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper_util::rt::TokioIo;
use world::{TcpListener, TcpStream};

/// A body of unannounced length, which hyper must send in chunks.
struct Chunks(std::array::IntoIter<&'static str, 3>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|text| Ok(Frame::data(Bytes::from(text)))))
    }
}

/// The answer of hyper's server: `/chunked` in three chunks, else the number of bytes received.
async fn hyper_answer(
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let path = request.uri().path().to_owned();
    let received = request.into_body().collect().await.expect("the body arrives").to_bytes();
    let mut response = Response::new(match &*path {
        "/chunked" => Chunks(["one", "two", "three"].into_iter()).boxed(),
        _ => Full::from(received.len().to_string()).boxed(),
    });
    if path == "/close" {
        response.headers_mut().insert("connection", "close".parse().unwrap());
    }
    Ok(response)
}

/// Our client on a hyper server.
async fn client_of_hyper() -> Connection<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    drop(world::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = hyper::service::service_fn(hyper_answer);
        let server = hyper::server::conn::http1::Builder::new();
        server
            .serve_connection(TokioIo::new(stream), service)
            .await
            .expect("the connection ends well");
    }));
    Connection::new(TcpStream::connect(address).await.unwrap(), Settings::default())
}

#[test]
fn our_client_understands_hypers_server() {
    in_world(async {
        let mut client = client_of_hyper().await;
        let get = |path: &str| Request::get(format!("http://a{path}")).body(Bytes::new()).unwrap();
        assert_eq!(fetch(&mut client, &get("/")).await.unwrap().body, b"0");
        assert_eq!(fetch(&mut client, &get("/chunked")).await.unwrap().body, b"onetwothree");
        let post = Request::post("http://a/").body(Bytes::from(vec![b'y'; 200_000])).unwrap();
        assert_eq!(fetch(&mut client, &post).await.unwrap().body, b"200000");
        let head = Request::head("http://a/chunked").body(Bytes::new()).unwrap();
        assert_eq!(fetch(&mut client, &head).await.unwrap().body, b"");
        assert!(client.is_reusable());
        assert_eq!(fetch(&mut client, &get("/close")).await.unwrap().status, 200);
        assert!(!client.is_reusable());
    });
}

#[test]
fn hypers_client_understands_our_server() {
    in_world(async {
        let server = listen(Echo, server::Settings::default());
        let stream = TcpStream::connect(server.address).await.unwrap();
        let (mut client, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        drop(world::spawn(connection));
        for (path, size) in [("/0", 0), ("/1024", 1024), ("/later/9", 9), ("/1000000", 1_000_000)] {
            let request = Request::get(path).header("host", "a").body(Full::<Bytes>::default());
            poll_fn(|cx| client.poll_ready(cx)).await.unwrap();
            let response = client.send_request(request.unwrap()).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), size);
        }
        let body = Full::from(vec![b'y'; 300_000]);
        let request = Request::post("/body").header("host", "a").body(body).unwrap();
        poll_fn(|cx| client.poll_ready(cx)).await.unwrap();
        let response = client.send_request(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "300000");
    });
}

/// Runs curl on another thread; returns its output.
async fn curl(arguments: Vec<String>) -> String {
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let output =
            Command::new("curl").args(["-sS", "--max-time", "20"]).args(arguments).output();
        drop(tell.send(output.expect("curl runs")));
    });
    let output = told.await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn curl_understands_our_server() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("skipped: curl absent");
        return;
    }
    in_world(async {
        let server = listen(Echo, server::Settings::default());
        let url = |path: &str| format!("http://{}{path}", server.address);
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();

        // Two on one connection: curl prints the number of connections it opened for each.
        let say = ["-w", "%{http_code} %{size_download} %{num_connects};", "-o", "/dev/null"];
        let mut two = words(&say);
        two.extend([url("/1024"), "-o".to_owned(), "/dev/null".to_owned(), url("/later/50000")]);
        assert_eq!(curl(two).await, "200 1024 1;200 50000 0;");

        // With `Expect: 100-continue`, chunked, and as HTTP/1.0.
        let big = "y".repeat(100_000);
        for extra in [
            &["-H", "Expect: 100-continue"][..],
            &["-H", "Transfer-Encoding: chunked"],
            &["--http1.0"],
        ] {
            let mut post = words(&["--data-binary", &big]);
            post.extend(words(extra));
            post.push(url("/body"));
            assert_eq!(curl(post).await, "100000", "{extra:?}");
        }
        let head = curl(vec!["-I".to_owned(), url("/77")]).await;
        assert_eq!(head, "HTTP/1.1 200 OK\r\ncontent-length: 77\r\n\r\n");
    });
}
