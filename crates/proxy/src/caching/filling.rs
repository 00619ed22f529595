//! A response's body on its way into the cache, while it passes to the client.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use cache::{OwnedKey, Storable, Ticket};
use http::StatusCode;

use super::flights::Flight;
use super::store::Store;

/// A response that is stored when all of it has passed. One that breaks off, or grows too large, is forgotten.
pub struct Filling {
    /// `None` once there is nothing to be stored any more.
    pending: Option<Pending>,
}

struct Pending {
    store: Arc<Store>,
    key: OwnedKey,
    ticket: Ticket,
    status: StatusCode,
    storable: Storable,
    body: BytesMut,
    /// Others wait for this one.
    flight: Option<Flight>,
}

impl Filling {
    /// Of a response that is not to be stored.
    pub fn nothing() -> Filling {
        Filling { pending: None }
    }

    /// Of the response to a request for `key`.
    pub fn new(
        store: &Arc<Store>,
        key: OwnedKey,
        ticket: Ticket,
        status: StatusCode,
        storable: Storable,
        flight: Option<Flight>,
    ) -> Filling {
        let (store, body) = (Arc::clone(store), BytesMut::new());
        Filling { pending: Some(Pending { store, key, ticket, status, storable, body, flight }) }
    }

    /// The next piece has passed.
    pub fn add(&mut self, piece: &[u8]) {
        let Some(pending) = &mut self.pending else { return };
        pending.body.extend_from_slice(piece);
        if !pending.store.has_room(Some(pending.body.len() as u64)) {
            pending.store.hit_for_miss().remember(pending.ticket, pending.store.now());
            self.pending = None;
        }
    }

    /// All of it has passed.
    pub fn finish(&mut self) {
        if let Some(Pending { store, key, ticket, status, storable, body, flight }) =
            self.pending.take()
        {
            // Copied to its size: what grew piece by piece holds more.
            let body = Bytes::copy_from_slice(&body);
            store.insert(&key.borrow(), ticket, status, storable, body);
            drop(flight);
        }
    }
}
