//! The disk tier at work: one thread performs all disk operations, in the order of the requests for them.
//!
//! Requests look it up after a miss in memory, before they go to the origin, and wait at most [`PATIENCE`]: a slow disk costs hits, not time.
//! Stored responses are written as well, unless too many bytes wait to be written already. A removal waits until it is durable.
//!
//! The order keeps invalidated responses from coming back. A response is written only if its ticket is still current at its turn; an
//! invalidation first makes tickets void and then has its turn. Entries that a reader took from the disk between the two are removed from
//! memory a second time ([`CacheStore::forget`](super::Store::forget)).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use std::{io, thread};

use cache::{
    CacheEntry, Date, Directory, Disk, DiskError, DiskLimits, DiskRecovery, EntryValue,
    InsertTicket, OwnedKey, Purge, Section, StoragePolicy, StoredResponse,
};
use http::Method;
use tokio::sync::oneshot;

use super::responses::PreparedResponse;
use super::store::CacheStore;

/// Time that a request waits for the disk before it goes to its origin.
const PATIENCE: Duration = Duration::from_millis(100);

/// Maximum number of lookups waiting for the disk, abandoned ones included: no more are sent to a disk that hangs.
const WAITING_LOOKUPS: u64 = 1_000;

/// Maximum bytes of bodies waiting to be written: they are in memory twice if their entries leave meanwhile. A larger
/// body waits alone.
const WAITING_BYTES: u64 = 16 << 20;

/// Location and limits of the disk tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSettings {
    /// A dedicated directory.
    pub path: PathBuf,
    /// Its limits.
    pub limits: DiskLimits,
}

/// The disk tier. Its thread ends when it is dropped.
#[derive(Debug)]
pub struct DiskTier {
    orders: Sender<DiskOperation>,
    counters: Arc<DiskCounters>,
}

/// A disk operation.
enum DiskOperation {
    Find {
        key: OwnedKey,
        asked: Section,
        policy: StoragePolicy,
        answer: oneshot::Sender<Option<CacheEntry<StoredResponse>>>,
    },
    Put(DiskWrite),
    Remove {
        what: Removal,
        now: Date,
        answer: oneshot::Sender<Result<u64, DiskError>>,
    },
    Finish(oneshot::Sender<()>),
}

/// A response to be written.
pub(super) struct DiskWrite {
    pub(super) store: Arc<CacheStore>,
    pub(super) ticket: InsertTicket,
    pub(super) now: Date,
    pub(super) entry: Arc<CacheEntry<PreparedResponse>>,
}

/// Scope of a removal.
#[derive(Clone, Debug)]
pub(super) enum Removal {
    Key(OwnedKey),
    Prefix(cache::Partition, String),
    All,
}

/// Counters of the disk tier, and its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskTally {
    /// Requests that found an entry there.
    pub found: u64,
    /// Requests that found none.
    pub missed: u64,
    /// Requests that gave up waiting for the disk.
    pub late: u64,
    /// Responses written.
    pub written: u64,
    /// Responses not written: too many were waiting, or storing was suspended.
    pub skipped: u64,
    /// Writes that failed.
    pub failed: u64,
    /// Responses held.
    pub entries: u64,
    /// Bytes in files.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct DiskCounters {
    found: AtomicU64,
    missed: AtomicU64,
    late: AtomicU64,
    written: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    entries: AtomicU64,
    bytes: AtomicU64,
    /// Bytes of bodies waiting to be written.
    waiting: AtomicU64,
    /// Lookups waiting for their turn.
    lookups: AtomicU64,
}

impl DiskTier {
    /// Opens the tier and begins to serve it. The secret keys the index. `warn` is called on failed writes; after one, storing is
    /// suspended for a minute.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn open(
        settings: &DiskSettings,
        secret: (u64, u64),
        warn: impl Fn(&DiskError) + Send + 'static,
    ) -> io::Result<(DiskTier, DiskRecovery)> {
        let (disk, recovery) =
            Disk::open(Directory::open(&settings.path)?, settings.limits, secret)?;
        let (orders, taken) = channel();
        let counters = Arc::<DiskCounters>::default();
        let mut keeper = DiskWorker { disk, counters: Arc::clone(&counters), warn };
        keeper.publish_contents();
        thread::Builder::new().name("disk-cache".to_owned()).spawn(move || keeper.work(&taken))?;
        Ok((DiskTier { orders, counters }, recovery))
    }

    /// Its counters so far.
    pub fn tally(&self) -> DiskTally {
        let DiskCounters { found, missed, late, written, skipped, failed, entries, bytes, .. } =
            &*self.counters;
        let [found, missed, late, written, skipped, failed, entries, bytes] =
            [found, missed, late, written, skipped, failed, entries, bytes]
                .map(|counter| counter.load(Ordering::Relaxed));
        DiskTally { found, missed, late, written, skipped, failed, entries, bytes }
    }

    /// Blocks until all pending writes are done; for a thread that serves no requests.
    pub fn finish(&self) {
        let (answer, finished) = oneshot::channel();
        self.order(DiskOperation::Finish(answer));
        let _ = finished.blocking_recv();
    }

    /// Looks up a request with the fields `asked`; gives up after [`PATIENCE`].
    pub(super) async fn find(
        &self,
        key: OwnedKey,
        asked: Section,
        policy: StoragePolicy,
    ) -> Option<CacheEntry<StoredResponse>> {
        let lookups = &self.counters.lookups;
        if lookups.fetch_add(1, Ordering::Relaxed) >= WAITING_LOOKUPS {
            lookups.fetch_sub(1, Ordering::Relaxed);
            add(&self.counters.late);
            return None;
        }
        let (answer, found) = oneshot::channel();
        self.order(DiskOperation::Find { key, asked, policy, answer });
        let Ok(found) = world::timeout(PATIENCE, found).await else {
            add(&self.counters.late);
            return None;
        };
        let found = found.ok().flatten();
        add(if found.is_some() { &self.counters.found } else { &self.counters.missed });
        found
    }

    /// Queues a response for writing, unless too much is queued.
    pub(super) fn put(&self, put: DiskWrite) {
        let length = put.entry.value().body_length();
        let waiting = self.counters.waiting.fetch_add(length, Ordering::Relaxed);
        if waiting > 0 && waiting + length > WAITING_BYTES {
            self.counters.waiting.fetch_sub(length, Ordering::Relaxed);
            add(&self.counters.skipped);
            return;
        }
        self.order(DiskOperation::Put(put));
    }

    /// Removes responses, and waits until that is durable. Returns the number removed.
    pub(super) async fn remove(&self, what: Removal, now: Date) -> Result<u64, DiskError> {
        let (answer, removed) = oneshot::channel();
        self.order(DiskOperation::Remove { what, now, answer });
        removed.await.unwrap_or(Err(DiskError::Io(io::Error::other("the disk thread has ended"))))
    }

    fn order(&self, order: DiskOperation) {
        // Without its thread the tier is empty: the receiver of an answer sees that there is none.
        let _ = self.orders.send(order);
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Removal {
    fn purge(&self) -> Purge<'_> {
        match self {
            Removal::Key(key) => Purge::Key(key.borrow()),
            Removal::Prefix(partition, prefix) => Purge::Prefix(*partition, prefix),
            Removal::All => Purge::All,
        }
    }
}

/// The disk's own thread.
struct DiskWorker<W> {
    disk: Disk<Directory>,
    counters: Arc<DiskCounters>,
    warn: W,
}

impl<W: Fn(&DiskError)> DiskWorker<W> {
    fn work(&mut self, orders: &Receiver<DiskOperation>) {
        while let Ok(order) = orders.recv() {
            match order {
                DiskOperation::Find { key, asked, policy, answer } => {
                    self.counters.lookups.fetch_sub(1, Ordering::Relaxed);
                    // Skip a lookup whose request has given up.
                    if !answer.is_closed() {
                        let request = cache::CacheRequest::new(&Method::GET, &asked);
                        let _ = answer.send(self.disk.get(&key.borrow(), &request, &policy));
                    }
                }
                DiskOperation::Put(put) => self.put(&put),
                DiskOperation::Remove { what, now, answer } => {
                    let removed = self.disk.purge(&what.purge(), now);
                    self.report_failure(removed.as_ref().err());
                    let _ = answer.send(removed);
                }
                DiskOperation::Finish(answer) => drop(answer.send(())),
            }
            self.publish_contents();
        }
    }

    fn put(&mut self, DiskWrite { store, ticket, now, entry }: &DiskWrite) {
        self.counters.waiting.fetch_sub(entry.value().body_length(), Ordering::Relaxed);
        if !store.memory().is_current(*ticket) {
            return;
        }
        match self.disk.put(&entry.converted(PreparedResponse::stored), *now) {
            Ok(()) => add(&self.counters.written),
            Err(error) => {
                add(&self.counters.skipped);
                self.report_failure(Some(&error));
            }
        }
    }

    fn report_failure(&self, error: Option<&DiskError>) {
        if let Some(error @ DiskError::Io(_)) = error {
            add(&self.counters.failed);
            (self.warn)(error);
        }
    }

    fn publish_contents(&self) {
        self.counters.entries.store(self.disk.entries(), Ordering::Relaxed);
        self.counters.bytes.store(self.disk.bytes(), Ordering::Relaxed);
    }
}
