//! Authentication of SOCKS clients, before their requests.

use std::net::SocketAddr;
use std::rc::Rc;

use http::HeaderValue;
use http_stack::socks::Version;
use http_stack::socks::server::{Guard, Verdict};
use tls::Protocol;

use super::entrance::Proxy;
use super::reception::refuse;
use super::refusal::Refused;
use crate::journal::{Entry, Note};

/// Placeholder target of clients refused before their request.
const NO_TARGET: &str = "-";

impl Proxy {
    /// Returns true if clients must authenticate.
    pub(crate) fn knows_users(&self) -> bool {
        self.settings.access.users.is_some()
    }
}

impl Guard for Proxy {
    /// Refused clients are noted here, since no request follows. Admitted ones are recalled with their request.
    fn admits(self: Rc<Self>, claim: HeaderValue, peer: Option<SocketAddr>) -> Verdict {
        let proxy = self;
        Box::pin(async move {
            let access = &proxy.settings.access;
            let is_served = peer.is_none_or(|peer| access.clients.permit(peer.ip()));
            if is_served && proxy.verify(claim.as_bytes().to_owned()).await.is_some() {
                return true;
            }
            let entry = Entry::new(peer, "CONNECT", NO_TARGET.to_owned(), Protocol::H1);
            let entry = Entry { socks: Some(Version::V5), ..entry };
            let mut note = Note::new(entry, &proxy.journal);
            let refused = match is_served {
                true => Refused::unknown_user(),
                false => Refused::unserved_client(),
            };
            drop(refuse(&mut note, &refused));
            false
        })
    }
}
