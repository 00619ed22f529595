//! Arrival of a response: reveals, and the client's work on it.
//!
//! Bytes pass the network thread (decryption) and then the main thread. A document is processed as it arrives, so
//! references early in it are found early; anything else once it is complete.

use std::io;
use std::rc::Rc;

use http_stack::Progress;
use page::{BodyCoding, Kind};
use units::Time;

use super::decoder::Decoder;
use super::load::PageLoad;
use crate::{BodyTiming, H3Discovery};

/// Decoding of a body that was compressed on the way.
enum Decoding {
    /// The body is what the page states.
    None,
    By(Decoder),
    Failed(io::Error),
}

pub(super) struct ResourceArrival<'a> {
    load: &'a Rc<PageLoad>,
    object: usize,
    secure: bool,
    /// Bytes of the body on the wire.
    body_bytes: u64,
    /// Bytes of the body as the page states them: without a coding that was applied on the way.
    page_bytes: u64,
    decoding: Decoding,
    /// Time at which the latest bytes left the network thread.
    available: Time,
    /// Time at which the received part of a document was processed; for anything else, its arrival.
    known: Time,
    /// Number of byte-wise reveals that have happened.
    revealed: usize,
    /// Digest of the body so far, if requested.
    digest: Option<Box<blake3::Hasher>>,
}

impl<'a> ResourceArrival<'a> {
    pub(super) fn new(load: &'a Rc<PageLoad>, object: usize, secure: bool) -> ResourceArrival<'a> {
        let now = world::now();
        let digest = load.session.browser.bodies.as_ref().map(|_| Box::default());
        ResourceArrival {
            load,
            object,
            secure,
            body_bytes: 0,
            page_bytes: 0,
            decoding: Decoding::None,
            available: now,
            known: now,
            revealed: 0,
            digest,
        }
    }

    /// A cache hit: available at once, and processed like any other response.
    pub(super) fn from_cache(load: &'a Rc<PageLoad>, object: usize) -> Time {
        let now = world::now();
        let spec = &load.plan.page.objects[object];
        load.timeline(object, |t| {
            t.protocol = "cache";
            t.status = spec.status;
            t.assigned = Some(now);
            t.sent = Some(now);
            t.head = Some(now);
        });
        let mut arrival =
            ResourceArrival { digest: None, ..ResourceArrival::new(load, object, false) };
        arrival.reveal_head(now);
        arrival.take(spec.body_bytes);
        let done = arrival.processed();
        load.timeline(object, |t| t.body_bytes = 0);
        done
    }

    /// The response is complete; returns the time at which the client's work on it is done.
    ///
    /// # Errors
    /// If its body could not be decoded.
    pub(super) fn end(mut self) -> Result<Time, String> {
        match std::mem::replace(&mut self.decoding, Decoding::None) {
            Decoding::Failed(error) => Err(format!("its body cannot be decoded: {error}")),
            Decoding::None | Decoding::By(_) => Ok(self.processed()),
        }
    }

    /// The time at which the client's work on the complete response is done.
    fn processed(mut self) -> Time {
        self.reveal_bytes(u64::MAX, self.known.max(self.available));
        self.keep_digest();
        let session = &self.load.session;
        let device = &session.browser.device;
        let mut cost = device.object();
        if !self.is_incremental() {
            cost += device.work(self.kind(), self.page_bytes);
        }
        let cost = cost.mul_f64(self.load.compute_factor(self.object));
        let done = session.main_thread.queue(self.available, cost);
        self.load.timeline(self.object, |t| {
            t.ended = Some(self.available);
            t.body_bytes = self.body_bytes;
        });
        for reveal in &self.load.plan.reveals[self.object].end {
            self.load.reveal(*reveal, self.object, self.available, done);
        }
        done
    }

    fn keep_digest(&self) {
        if let (Some(bodies), Some(digest)) = (&self.load.session.browser.bodies, &self.digest) {
            bodies.keep(BodyTiming {
                visit: self.load.started,
                object: self.object as u32,
                bytes: self.page_bytes,
                digest: digest.finalize().into(),
            });
        }
    }

    fn kind(&self) -> Kind {
        self.load.plan.page.objects[self.object].kind
    }

    fn is_incremental(&self) -> bool {
        self.kind() == Kind::Document
    }

    fn reveal_head(&self, at: Time) {
        for reveal in &self.load.plan.reveals[self.object].head {
            self.load.reveal(*reveal, self.object, at, at);
        }
    }

    fn take(&mut self, bytes: u64) {
        self.page_bytes += bytes;
        let session = &self.load.session;
        self.known = if self.is_incremental() {
            let cost = session.browser.device.work(self.kind(), bytes);
            let cost = cost.mul_f64(self.load.compute_factor(self.object));
            session.main_thread.queue(self.available, cost)
        } else {
            self.available
        };
        self.reveal_bytes(self.page_bytes, self.known);
    }

    fn take_content(&mut self, piece: &[u8]) {
        if let Some(digest) = &mut self.digest {
            digest.update(piece);
        }
        self.take(piece.len() as u64);
    }

    fn reveal_bytes(&mut self, arrived: u64, at: Time) {
        let points = &self.load.plan.reveals[self.object].bytes;
        while let Some((_, reveal)) = points.get(self.revealed).filter(|(b, _)| *b <= arrived) {
            self.revealed += 1;
            self.load.reveal(*reveal, self.object, self.available, at);
        }
    }
}

impl Progress for ResourceArrival<'_> {
    fn admitted(&mut self) {
        // Until now the connection had no stream for it: that counts as waiting for a connection.
        self.load.timeline(self.object, |t| t.assigned = Some(world::now()));
    }

    fn sent(&mut self, head_bytes: u64, body_bytes: u64) {
        self.load.timeline(self.object, |t| {
            t.sent = Some(world::now());
            t.request_head_bytes = head_bytes;
            t.request_body_bytes = body_bytes;
        });
    }

    fn head(&mut self, status: u16, head_bytes: u64) {
        let now = world::now();
        self.available = now;
        if self.load.is_document(self.object) {
            let session = &self.load.session;
            session.main_thread.queue(now, session.browser.device.navigation());
            session.names.see(self.load.plan.named_hosts(self.object));
        }
        self.load.timeline(self.object, |t| {
            t.head = Some(now);
            t.status = status;
            t.response_head_bytes = head_bytes;
        });
        self.reveal_head(now);
    }

    fn alternatives(&mut self, field: &str) {
        let (plan, browser) = (&self.load.plan, &self.load.session.browser);
        let arm = plan.arm(self.object);
        // Chromium honours it over TLS alone (`HttpNetworkTransaction`, `ProcessAlternativeServices`).
        if browser.discovery == H3Discovery::AltSvc && arm.security.is_secure() {
            let host = &plan.page.host_of(&plan.page.objects[self.object]).name;
            browser.alternatives.learn(host, arm.port, field, world::now());
        }
    }

    fn content_coding(&mut self, field: &[u8]) {
        // Places in a body that its origin compresses are counted as it was recorded: compressed.
        let object = &self.load.plan.page.objects[self.object];
        if !matches!(object.coding, BodyCoding::Compressed { .. }) {
            self.decoding = match Decoder::named(field) {
                Ok(decoder) => decoder.map_or(Decoding::None, Decoding::By),
                Err(error) => Decoding::Failed(error),
            };
        }
    }

    fn data(&mut self, piece: &[u8]) {
        let session = &self.load.session;
        self.body_bytes += piece.len() as u64;
        self.available = world::now();
        if self.secure {
            let cost = session.browser.device.decrypt(piece.len());
            self.available = session.network_thread.queue(self.available, cost);
        }
        match &mut self.decoding {
            Decoding::None => self.take_content(piece),
            Decoding::By(decoder) => match decoder.decode(piece) {
                Ok(decoded) => self.take_content(&decoded),
                Err(error) => self.decoding = Decoding::Failed(error),
            },
            Decoding::Failed(_) => {}
        }
    }
}
