//! The client: requests all paths at once if the protocol can share a connection, else one after the other.
//!
//! Prints for each response, in the order of the requests: status, size and SHA-256 of the body, path, and `pushed` if
//! it was not requested on the wire. Fails if one of them breaks.

use std::error::Error;

use bytes::Bytes;
use farlink_http::client::{self, ClientConnection, Opening};
use farlink_http::{Priority, Progress, PushFilter, RequestError};
use http::Request;
use ring::digest::{Context, SHA256};
use tls::ClientSessions;

use crate::options::Options;

/// Any name does: only the certificate is checked.
const HOST: &str = "any.farlink.test";

/// Fetches all paths.
pub async fn fetch(options: Options) -> Result<(), Box<dyn Error>> {
    let sessions = ClientSessions::default();
    let requests = options
        .paths
        .iter()
        .flat_map(|path| std::iter::repeat_n(path, options.times))
        .map(|path| request(path, &options))
        .collect::<Result<Vec<_>, _>>()?;
    for _ in 0..options.connections {
        let opening = opening(&options).sessions(&sessions);
        let connection = client::open(opening, &mut |_| {}).await?;
        let seen = if connection.is_shared() && !options.takes_pushes {
            at_once(&connection, &requests).await?
        } else {
            in_turn(connection, &requests).await?
        };
        for (seen, request) in seen.into_iter().zip(&requests) {
            let pushed = if seen.asked { "" } else { " pushed" };
            println!("{} {}{pushed}", seen.into_line(), request.uri().path());
        }
        // Anything that the server sends after its responses, above all tickets, has arrived by then.
        world::sleep(std::time::Duration::from_millis(50)).await;
    }
    Ok(())
}

fn opening(options: &Options) -> Opening {
    let mut opening = Opening::new(options.address, HOST, options.security, options.protocol);
    opening.pipelined = options.pipelined;
    opening.wanted = options.takes_pushes.then(|| PushFilter::new(|_| true));
    if let Some(bytes) = options.window {
        (opening.h2.stream_window_bytes, opening.h2.connection_window_bytes) = (bytes, bytes);
        (opening.spdy.stream_window_bytes, opening.spdy.session_window_bytes) = (bytes, bytes);
        opening.h3.transport.stream_window_bytes = bytes;
        opening.h3.transport.connection_window_bytes = Some(bytes);
    }
    opening
}

fn request(path: &str, options: &Options) -> Result<Request<Bytes>, http::Error> {
    let method = if options.post.is_some() { "POST" } else { "GET" };
    let mut request = Request::builder().method(method).uri(format!("https://{HOST}{path}"));
    if options.header > 0 {
        request = request.header("x-large", "x".repeat(options.header));
    }
    request.body(vec![b'y'; options.post.unwrap_or(0)].into())
}

async fn at_once(
    connection: &ClientConnection,
    requests: &[Request<Bytes>],
) -> Result<Vec<Seen>, RequestError> {
    let tasks: Vec<_> = requests
        .iter()
        .map(|request| {
            let mut connection = connection.share().expect("it was said to be shared");
            let request = request.clone();
            world::spawn(async move { one(&mut connection, &request).await })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await?);
    }
    Ok(seen)
}

async fn in_turn(
    mut connection: ClientConnection,
    requests: &[Request<Bytes>],
) -> Result<Vec<Seen>, RequestError> {
    let mut seen = Vec::new();
    for request in requests {
        seen.push(one(&mut connection, request).await?);
    }
    Ok(seen)
}

async fn one(
    connection: &mut ClientConnection,
    request: &Request<Bytes>,
) -> Result<Seen, RequestError> {
    let mut seen = Seen { asked: false, status: 0, bytes: 0, digest: Context::new(&SHA256) };
    connection.fetch(request, Priority::Medium, &mut seen).await?;
    Ok(seen)
}

/// A response received.
struct Seen {
    /// True if a request was sent for it.
    asked: bool,
    status: u16,
    bytes: usize,
    digest: Context,
}

impl Seen {
    fn into_line(self) -> String {
        let digest = self.digest.finish();
        let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{} {} {digest}", self.status, self.bytes)
    }
}

impl Progress for Seen {
    fn sent(&mut self, head_bytes: u64, _: u64) {
        self.asked = head_bytes > 0;
    }
    fn head(&mut self, status: u16, _: u64) {
        self.status = status;
    }
    fn data(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        self.digest.update(piece);
    }
}
