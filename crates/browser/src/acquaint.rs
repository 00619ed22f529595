//! An earlier visit's handshakes: they leave TLS sessions behind, which later connections resume.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_stack::client;
use http_stack::{Priority, Progress};

use crate::{Browser, LoadPlan};

/// No page has it.
const PATH: &str = "/.well-known/farlink-acquaintance";

impl Browser {
    /// Opens one connection to each host of the page, in turn, asks for something that is not there and closes it. With the answer the
    /// server's tickets have come, too. A host that is not reached stays unknown: its visit will say why.
    pub async fn acquaint(&self, plan: &LoadPlan) {
        for (host, arm) in plan.page.hosts.iter().zip(plan.arms()) {
            if arm.blocked {
                continue;
            }
            let Ok(address) = world::resolve(&host.name) else { continue };
            let opening = self.opening(SocketAddr::new(address, arm.port), &host.name, *arm);
            let scheme = if arm.security.is_secure() { "https" } else { "http" };
            let request = Request::get(format!("{scheme}://{}{PATH}", host.name));
            let (Ok(request), Ok(mut connection)) =
                (request.body(Bytes::new()), client::open(opening, &mut |_| ()).await)
            else {
                continue;
            };
            // Whatever the answer is, nobody looks at it.
            let _ = connection.fetch(&request, Priority::Lowest, &mut Unwatched).await;
        }
    }
}

struct Unwatched;

impl Progress for Unwatched {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, _status: u16, _head_bytes: u64) {}
    fn data(&mut self, _piece: &[u8]) {}
}
