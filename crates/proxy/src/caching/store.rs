//! Stored responses, shared by all cores, and adapters that show requests to the cache.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cache::{
    CacheEntry, CacheKey, CacheRequest, Date, DiskError, ExchangeTimes, InsertTicket, Memory,
    MemoryLimits, NotStored, OwnedKey, Partition, Purge, Scheme, Section, Storable, StoragePolicy,
};
use http::{HeaderMap, Method, StatusCode};
use http_stack::server::Fields;
use ring::rand::{SecureRandom, SystemRandom};
use units::Time;
use url::{Position, Url};

use super::collapsed_forwarding::{Flights, HitForMiss};
use super::disk::{DiskTally, DiskTier, DiskWrite, Removal};
use super::responses::PreparedResponse;
use crate::fields::OF_CLIENTS;

/// Limits and policy of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Bytes in memory, bookkeeping included.
    pub limits: MemoryLimits,
    /// Storage policy, as far as RFC 9111 leaves it open.
    pub policy: StoragePolicy,
}

/// Stored responses, and the settings for storing.
#[derive(Debug)]
pub struct CacheStore {
    settings: CacheSettings,
    /// Policy for other parties' origins: targeted fields are meant for caches that belong to the origin, such as a reverse
    /// proxy's.
    for_others: StoragePolicy,
    memory: Memory<PreparedResponse>,
    disk: Option<Arc<DiskTier>>,
    /// Requests under way whose answers may be stored.
    flights: Flights,
    /// Objects that could not be stored recently.
    hit_for_miss: HitForMiss,
    /// Bytes of bodies on their way into the cache.
    filling: AtomicU64,
    /// Unix time at which the world's clock started.
    start: Duration,
}

impl CacheStore {
    /// An empty store in memory. The secret must not be known outside. `start` is the Unix time at which the world's clock started.
    pub fn new(settings: CacheSettings, secret: (u64, u64), start: Duration) -> Arc<CacheStore> {
        Arc::new(CacheStore::of(settings, secret, None, start))
    }

    /// A store with an empty memory tier in front of a disk tier.
    pub fn with_disk(
        settings: CacheSettings,
        secret: (u64, u64),
        disk: Arc<DiskTier>,
        start: Duration,
    ) -> Arc<CacheStore> {
        Arc::new(CacheStore::of(settings, secret, Some(disk), start))
    }

    fn of(
        settings: CacheSettings,
        secret: (u64, u64),
        disk: Option<Arc<DiskTier>>,
        start: Duration,
    ) -> CacheStore {
        let memory = Memory::new(settings.limits, secret);
        let for_others = StoragePolicy { targets: Vec::new(), ..settings.policy.clone() };
        let (flights, hit_for_miss) = (Flights::default(), HitForMiss::default());
        let filling = AtomicU64::new(0);
        CacheStore { settings, for_others, memory, disk, flights, hit_for_miss, filling, start }
    }

    /// Storage policy of a partition.
    fn policy(&self, part: Partition) -> &StoragePolicy {
        if part == Partition::default() { &self.for_others } else { &self.settings.policy }
    }

    /// A random secret from the system.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn secret() -> Result<(u64, u64), ring::error::Unspecified> {
        let (mut first, mut second) = ([0; 8], [0; 8]);
        SystemRandom::new().fill(&mut first)?;
        SystemRandom::new().fill(&mut second)?;
        Ok((u64::from_le_bytes(first), u64::from_le_bytes(second)))
    }

    /// Its limits and policy.
    pub fn settings(&self) -> &CacheSettings {
        &self.settings
    }

    /// The memory tier.
    pub fn memory(&self) -> &Memory<PreparedResponse> {
        &self.memory
    }

    /// Requests under way whose answers may be stored.
    pub fn flights(&self) -> &Flights {
        &self.flights
    }

    /// Objects that could not be stored recently.
    pub fn hit_for_miss(&self) -> &HitForMiss {
        &self.hit_for_miss
    }

    /// Returns true if other requests wait for the answer to `request` for `key`: if it may be stored as a whole, or
    /// confirms for all the response that is `held`, and the last answer could be stored.
    pub fn is_collapsible(
        &self,
        key: &CacheKey<'_>,
        request: &CacheRequest<'_, ClientFields<'_>>,
        held: bool,
    ) -> bool {
        let fills = !request.conditional()
            && request.range().is_none()
            && !request.authorized()
            && !request.directives().no_store;
        *request.method() == Method::GET
            && (fills || held)
            && !self.hit_for_miss.knows(self.memory.ticket(key), self.now())
    }

    /// Counters and contents of the disk tier, if there is one.
    pub fn disk_tally(&self) -> Option<DiskTally> {
        self.disk.as_ref().map(|disk| disk.tally())
    }

    /// Returns true if there is a disk tier.
    pub fn has_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// The date at an instant of the world's clock.
    pub fn date(&self, at: Time) -> Date {
        Date::after_epoch(self.start + at.since(Time::ZERO))
    }

    /// The date now.
    pub fn now(&self) -> Date {
        self.date(world::now())
    }

    /// The storable parts of a response under `key` to `request`, which was sent at `sent` and answered now.
    ///
    /// # Errors
    /// The reason for not storing it.
    pub fn storable(
        &self,
        key: &OwnedKey,
        request: &ClientFields<'_>,
        status: StatusCode,
        response: &HeaderMap,
        sent: Time,
    ) -> Result<Storable, NotStored> {
        let exchange = ExchangeTimes { sent: self.date(sent), received: self.now() };
        let request = CacheRequest::new(&Method::GET, request);
        cache::storable(&request, status, response, exchange, self.policy(key.partition()))
    }

    /// Returns true if a `storable` response under `key` fits with a body of this length, if that is known.
    pub fn has_room(&self, key: &OwnedKey, storable: &Storable, length: Option<u64>) -> bool {
        let body_bytes = usize::try_from(length.unwrap_or(0)).unwrap_or(usize::MAX);
        let value_bytes = PreparedResponse::weight_of(&storable.fields, body_bytes) as u64;
        self.memory.has_room(key, storable, value_bytes)
    }

    /// Reserves memory for more of a body on its way in, beside the stored responses: all bodies together may have a quarter of
    /// the memory, or the size of the largest object if that is more.
    pub fn begin_filling(&self, bytes: u64) -> bool {
        let most = (self.settings.limits.bytes / 4).max(self.settings.limits.entry_bytes);
        let has_room = self.filling.fetch_add(bytes, Ordering::Relaxed) + bytes <= most;
        if !has_room {
            self.end_filling(bytes);
        }
        has_room
    }

    /// Releases reserved memory: the bytes were stored or given up.
    pub fn end_filling(&self, bytes: u64) {
        self.filling.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Inserts a response. One that does not fit, or was invalidated meanwhile, is not kept, which costs another fetch.
    pub fn insert(
        self: &Arc<CacheStore>,
        key: &CacheKey<'_>,
        ticket: InsertTicket,
        status: StatusCode,
        storable: Storable,
        body: Bytes,
    ) -> Option<Arc<CacheEntry<PreparedResponse>>> {
        let entry = self.insert_in_memory(key, ticket, status, storable, body)?;
        self.write(ticket, &entry);
        Some(entry)
    }

    /// Inserts a response that an origin has confirmed. It is not rewritten to disk if it must be validated before each use: so must
    /// the copy on disk.
    pub fn insert_confirmed(
        self: &Arc<CacheStore>,
        before: &CacheEntry<PreparedResponse>,
        ticket: InsertTicket,
        status: StatusCode,
        storable: Storable,
    ) -> Option<Arc<CacheEntry<PreparedResponse>>> {
        let body = before.value().body().clone();
        let key = before.key().borrow();
        let entry = self.insert_in_memory(&key, ticket, status, storable, body)?;
        if [before.terms(), entry.terms()].iter().any(|terms| terms.is_ever_fresh()) {
            self.write(ticket, &entry);
        }
        Some(entry)
    }

    fn insert_in_memory(
        &self,
        key: &CacheKey<'_>,
        ticket: InsertTicket,
        status: StatusCode,
        storable: Storable,
        body: Bytes,
    ) -> Option<Arc<CacheEntry<PreparedResponse>>> {
        let prepared = PreparedResponse::new(status, storable.fields.to_map(), body);
        self.memory.insert(ticket, CacheEntry::new(key, storable, prepared)).ok()
    }

    fn write(
        self: &Arc<CacheStore>,
        ticket: InsertTicket,
        entry: &Arc<CacheEntry<PreparedResponse>>,
    ) {
        if let Some(disk) = &self.disk {
            let (store, entry, now) = (Arc::clone(self), Arc::clone(entry), self.now());
            disk.put(DiskWrite { store, ticket, now, entry });
        }
    }

    /// Loads the disk tier's response to a request for `key` with the fields `asked` into memory.
    pub async fn recall(&self, key: &OwnedKey, asked: &ClientFields<'_>) {
        let Some(disk) = &self.disk else { return };
        let ticket = self.memory.ticket(&key.borrow());
        let found =
            disk.find(key.clone(), Section::of(asked), self.policy(key.partition()).clone()).await;
        if let Some(entry) = found {
            // An entry that was invalidated meanwhile is not kept, and not found.
            let _ = self.memory.insert(ticket, entry.converted(PreparedResponse::of_stored));
        }
    }

    /// Removes everything under a key (RFC 9111 section 4.4).
    pub async fn forget(&self, key: &CacheKey<'_>) {
        // The disk tier reports its own failures; an entry that it cannot remove is no longer found either.
        let _ = self.remove(&Purge::Key(*key), || Removal::Key(key.to_owned())).await;
    }

    /// Removes everything under a key in a partition.
    ///
    /// # Errors
    /// If the disk fails: the responses may be back after a restart.
    pub async fn purge_key(&self, key: &CacheKey<'_>) -> Result<PurgeCount, DiskError> {
        self.remove(&Purge::Key(*key), || Removal::Key(key.to_owned())).await
    }

    /// Removes everything in a partition whose URI has this prefix.
    ///
    /// # Errors
    /// If the disk fails, as for a key.
    pub async fn purge_prefix(
        &self,
        part: Partition,
        prefix: &str,
    ) -> Result<PurgeCount, DiskError> {
        let removal = || Removal::Prefix(part, prefix.to_owned());
        self.remove(&Purge::Prefix(part, prefix), removal).await
    }

    /// Removes everything.
    ///
    /// # Errors
    /// If the disk fails, as for a key.
    pub async fn purge_all(&self) -> Result<PurgeCount, DiskError> {
        self.remove(&Purge::All, || Removal::All).await
    }

    async fn remove(
        &self,
        purge: &Purge<'_>,
        removal: impl FnOnce() -> Removal,
    ) -> Result<PurgeCount, DiskError> {
        let memory = self.memory.purge(purge) as u64;
        let Some(disk) = &self.disk else { return Ok(PurgeCount { memory, disk: None }) };
        let removed = disk.remove(removal(), self.now()).await;
        // Again, for entries brought from the disk while the removal waited for its turn.
        self.memory.purge(purge);
        Ok(PurgeCount { memory, disk: Some(removed?) })
    }
}

/// The key of a URL of the scheme `http` or `https`.
pub fn key_of_url(part: Partition, url: &Url) -> CacheKey<'_> {
    let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let path = &url[Position::BeforePath..Position::AfterQuery];
    CacheKey::new(part, scheme, authority, path)
}

/// Number of responses removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeCount {
    /// From memory.
    pub memory: u64,
    /// From disk, if there is one.
    pub disk: Option<u64>,
}

impl AddAssign for PurgeCount {
    fn add_assign(&mut self, other: PurgeCount) {
        self.memory += other.memory;
        self.disk = match (self.disk, other.disk) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
    }
}

/// A request's fields, without a copy.
#[derive(Clone, Copy, Debug)]
pub struct RequestFields<'a>(pub Fields<'a>);

impl cache::FieldLines for RequestFields<'_> {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self.0.iter() {
            see(name, value);
        }
    }
}

/// The fields of a prepared request, as far as its client chose them. Fields in which the proxy describes the client are covered by
/// the key (host, scheme) or beyond anyone's control, so they do not prevent storing.
#[derive(Clone, Copy, Debug)]
pub struct ClientFields<'a> {
    /// All fields.
    pub fields: &'a HeaderMap,
    /// True if those that describe the client are the proxy's own.
    pub own_disclosure: bool,
}

impl cache::FieldLines for ClientFields<'_> {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self.fields {
            if !(self.own_disclosure && OF_CLIENTS.contains(name)) {
                see(name.as_str(), value.as_bytes());
            }
        }
    }
}
