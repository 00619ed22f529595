//! A server that answers with bodies of fixed sizes, prepared once: the cost of a cache hit without the
//! lookup. `scripts/proxy-bench/run.sh` measures it beside other servers.
//!
//! Usage: `prepared_replies [ADDRESS [none|tls12|tls13]]` (default 127.0.0.1:8080, none)
//!
//! `/1`, `/10` and `/20` have bodies of as many KiB. HTTP/1.1, HTTP/2 and SPDY, by ALPN or by the client's first
//! bytes; one thread. The certificate is RSA, like those of the other servers in the comparison.

use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use farlink_proxy::origin;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_stack::server::{Acceptor, Answer, Handler, Reply, RequestHead};
use tls::{Identity, Security};

/// The bodies' sizes, which are their paths too.
const KIB: [usize; 3] = [1, 10, 20];

struct PreparedResponse {
    replies: Vec<(String, Reply)>,
    not_found: Reply,
}

impl PreparedResponse {
    fn new() -> PreparedResponse {
        let replies = KIB.map(|kib| (format!("/{kib}"), reply(StatusCode::OK, kib * 1024)));
        PreparedResponse { replies: replies.into(), not_found: reply(StatusCode::NOT_FOUND, 0) }
    }
}

impl Handler for PreparedResponse {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let found = self.replies.iter().find(|(path, _)| path == request.target);
        Answer::Ready(found.map_or(&self.not_found, |(_, reply)| reply).clone())
    }
}

/// The head is as long as that of the other servers' origin.
fn reply(status: StatusCode, bytes: usize) -> Reply {
    let mut fields = HeaderMap::new();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    fields.insert(header::DATE, HeaderValue::from_static("Sun, 22 Nov 2026 00:00:00 GMT"));
    Reply::new(status, fields, Bytes::from(vec![b'x'; bytes]))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let address: SocketAddr = argument(0, "127.0.0.1:8080").parse()?;
    let security = security(argument(1, "none"))?;
    let settings = tls::Settings { identity: Identity::Rsa2048, ..tls::Settings::default() };
    let acceptor = Acceptor::with_tls(security, &settings);
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, async {
        let listener = world::TcpListener::bind(address)?;
        origin::serve(listener, acceptor, Rc::new(PreparedResponse::new())).await
    })??;
    Ok(())
}

fn security(name: &str) -> Result<Security, String> {
    let known = [Security::None, Security::Tls12, Security::Tls13];
    known
        .into_iter()
        .find(|security| security.name() == name)
        .ok_or_else(|| format!("there is no security `{name}`; known: none, tls12, tls13"))
}
