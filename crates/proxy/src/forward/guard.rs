//! Users who come by SOCKS: their names and passwords are asked for before they say what they want.

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

/// What stands for the target of who never got to say it.
const NO_TARGET: &str = "-";

impl Proxy {
    /// Whether only users are served who have a name and a password.
    pub(crate) fn knows_users(&self) -> bool {
        self.settings.access.users.is_some()
    }
}

impl Guard for Proxy {
    /// Who is not known is noted here, since it comes to no request. Who is can be recalled when the request comes.
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
