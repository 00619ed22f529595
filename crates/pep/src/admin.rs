//! The operator's port: `/metrics` for Prometheus, `/health`. Not for clients: access is not authenticated.

use std::rc::Rc;

use ::http::header::{CONTENT_TYPE, HeaderValue};
use ::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use http_stack::server::Acceptor;
use http_stack::{Answer, Handler, Reply, RequestHead};
use tls::Security;
use world::TcpListener;

use crate::counters::Counters;

/// Answers the operator on `listener`, for ever. `is_well` returns true if the other end is there, as far as this one can
/// tell.
pub async fn tell(
    listener: TcpListener,
    counters: Rc<Counters>,
    is_well: impl Fn() -> bool + 'static,
) {
    let (acceptor, admin) = (Acceptor::new(Security::None), Rc::new(Admin { counters, is_well }));
    loop {
        if let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, admin) = (acceptor.clone(), Rc::clone(&admin));
            drop(world::spawn(async move { drop(acceptor.serve(tcp, admin).await) }));
        }
    }
}

struct Admin<W> {
    counters: Rc<Counters>,
    is_well: W,
}

impl<W: Fn() -> bool + 'static> Handler for Admin<W> {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        Answer::Ready(match (request.method, request.target) {
            ("GET", "/metrics") => text(StatusCode::OK, self.counters.text()),
            ("GET", "/health") if (self.is_well)() => text(StatusCode::OK, "ok\n".to_owned()),
            // Clients are still served, past the proxy.
            ("GET", "/health") => {
                text(StatusCode::SERVICE_UNAVAILABLE, "the far end is gone\n".to_owned())
            }
            _ => text(StatusCode::NOT_FOUND, "there are /metrics and /health\n".to_owned()),
        })
    }
}

fn text(status: StatusCode, text: String) -> Reply {
    let mut fields = HeaderMap::new();
    let plain = "text/plain; version=0.0.4; charset=utf-8";
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(plain));
    Reply::new(status, fields, Bytes::from(text))
}
