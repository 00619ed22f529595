//! Handshakes of an earlier visit: they leave TLS sessions behind, which later connections resume.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_stack::client;
use http_stack::h1::codec::encode::AbsoluteForm;
use http_stack::{Priority, Progress};
use page::Host;

use crate::plan::Arm;
use crate::{Browser, LoadPlan};

/// A path that no page has.
const PATH: &str = "/.well-known/farlink-acquaintance";

impl Browser {
    /// Opens one connection to each host of the page, in turn, or one to the proxy that handles all requests (and
    /// to each host as well, if requests may bypass it), requests a missing resource and closes the connection. The
    /// server's tickets come with the answer. An unreachable host stays unknown: its visit will say why.
    pub async fn acquaint(&self, plan: &LoadPlan) {
        let mut met = BTreeSet::new();
        let ways = [Some(plan.arms()), plan.past()].into_iter().flatten();
        for (host, arm) in ways.flat_map(|arms| plan.page.hosts.iter().zip(arms)) {
            let port = if arm.asks_proxy() { 0 } else { arm.port };
            if !arm.blocked && met.insert((arm.peer(&host.name), port)) {
                self.meet(host, *arm).await;
            }
        }
    }

    async fn meet(&self, host: &Host, arm: Arm) {
        let address = match arm.proxy() {
            Some(proxy) => Ok(proxy.of_request(0)),
            None => world::resolve(&host.name).map(|address| SocketAddr::new(address, arm.port)),
        };
        let Ok(address) = address else { return };
        let opening = self.opening(address, &host.name, arm);
        let is_secure = arm.security.is_secure() && !arm.asks_proxy();
        let scheme = if is_secure { "https" } else { "http" };
        let authority = host.authority(scheme, arm.port);
        let request = Request::get(format!("{scheme}://{authority}{PATH}"));
        let (Ok(mut request), Ok(mut connection)) =
            (request.body(Bytes::new()), client::open(opening, &mut |_| ()).await)
        else {
            return;
        };
        if arm.asks_proxy() {
            request.extensions_mut().insert(AbsoluteForm);
        }
        // The answer itself is ignored.
        let _ = connection.fetch(&request, Priority::Lowest, &mut Unwatched).await;
    }
}

struct Unwatched;

impl Progress for Unwatched {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, _status: u16, _head_bytes: u64) {}
    fn data(&mut self, _piece: &[u8]) {}
}
