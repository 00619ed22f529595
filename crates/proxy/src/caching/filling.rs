//! A response's body on its way into the cache, while it passes to the client.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use cache::{OwnedKey, Storable, InsertTicket};
use http::StatusCode;

use super::flights::Flight;
use super::store::Store;

/// A response that is stored when all of it has passed. It is dropped if it breaks off, grows too large, or if too many bytes are
/// on their way into the cache.
pub struct Filling {
    /// `None` once there is nothing left to store.
    pending: Option<Pending>,
}

struct Pending {
    store: Arc<Store>,
    key: OwnedKey,
    ticket: InsertTicket,
    status: StatusCode,
    storable: Storable,
    body: BytesMut,
    /// Memory reserved for `body`.
    held: Held,
    /// The flight that other requests wait for.
    flight: Option<Flight>,
}

/// Memory reserved for a body on its way.
struct Held {
    store: Arc<Store>,
    bytes: u64,
}

impl Held {
    /// Reserves more memory; returns false if there is none.
    fn grow(&mut self, bytes: u64) -> bool {
        let has_room = self.store.begin_filling(bytes);
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.store.end_filling(self.bytes);
    }
}

impl Filling {
    /// For a response that is not to be stored.
    pub fn nothing() -> Filling {
        Filling { pending: None }
    }

    /// For the response to a request for `key`.
    pub fn new(
        store: &Arc<Store>,
        key: OwnedKey,
        ticket: InsertTicket,
        status: StatusCode,
        storable: Storable,
        flight: Option<Flight>,
    ) -> Filling {
        let (held, body) = (Held { store: Arc::clone(store), bytes: 0 }, BytesMut::new());
        let store = Arc::clone(store);
        let pending = Pending { store, key, ticket, status, storable, body, held, flight };
        Filling { pending: Some(pending) }
    }

    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        let Some(pending) = &mut self.pending else { return };
        if !pending.held.grow(piece.len() as u64) {
            self.pending = None;
            return;
        }
        pending.body.extend_from_slice(piece);
        let bytes = Some(pending.body.len() as u64);
        if !pending.store.has_room(&pending.key, &pending.storable, bytes) {
            pending.store.hit_for_miss().remember(pending.ticket, pending.store.now());
            self.pending = None;
        }
    }

    /// Stores the response: all of it has passed.
    pub fn finish(&mut self) {
        if let Some(Pending { store, key, ticket, status, storable, body, held, flight }) =
            self.pending.take()
        {
            // Copied to its size: a buffer that grew piece by piece holds more.
            let body = Bytes::copy_from_slice(&body);
            store.insert(&key.borrow(), ticket, status, storable, body);
            drop(held);
            drop(flight);
        }
    }
}
