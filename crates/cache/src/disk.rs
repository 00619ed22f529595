//! The disk tier: stored responses that survive a restart. For the real world only; it blocks.
//!
//! Responses are appended to segments, files of at most 64 MiB; removals are records, too. An index in memory says where each response lies. When all
//! segments together would exceed the bound, the oldest is removed: first in, first out, which costs the disk one sequential write.
//! Responses in frequent use are in the memory tier anyway.
//!
//! The index has a bound of its own, by the same rule: many small responses fill it before they fill the disk.
//!
//! **Recovery.** All segments are read in order at startup and every record's checksum is verified; each read verifies it again.
//! A process killed at any point leaves at most a torn record at the end of the last segment, which is truncated. **Syncing.** A
//! segment is synced when the next one is begun, and after each removal before that is reported done: a power loss may lose the
//! latest responses, never a removal. A damaged record anywhere else means a faulty disk: the record and everything stored before
//! it is dropped, since a removal might be among the lost records.
//!
//! **Disk full.** A failed write is undone by truncating the segment; the tier goes on serving, and stores nothing for a minute
//! ([`Disk::suspended`]). A removal that cannot be written empties the tier.
//!
//! The file format is our own because the crates considered do not fit: `cacache` has a file per object and an index that is never compacted, `redb`
//! syncs each transaction and rewrites pages, `foyer` brings an asynchronous runtime. None bounds its size by dropping the oldest objects, which is
//! all that a cache needs.

mod index;
mod segments;

use std::io;

use http::Method;

pub use segments::{Directory, Files};

use crate::date::Date;
use crate::entry::{CacheEntry, StoredResponse};
use crate::fields::{FieldLines, Section};
use crate::key::CacheKey;
use crate::memory::Purge;
use crate::request::CacheRequest;
use crate::storing::StoragePolicy;
use crate::storing::{Storable, storable};
use crate::terms::ExchangeTimes;
use index::{Index, RecordLocation};
use segments::{ReadOutcome, Record, ResponseRecord};

/// Limits of a disk tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Bytes in all segments together.
    pub bytes: u64,
    /// Bytes per response, as a record.
    pub entry_bytes: u64,
    /// Bytes of memory for the index of the segments: a response takes 200 and its address.
    pub index_bytes: u64,
}

/// Result of recovery at startup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskRecovery {
    /// Responses that can be served.
    pub entries: u64,
    /// Bytes in segments.
    pub bytes: u64,
    /// Bytes truncated or dropped as torn or damaged.
    pub dropped: u64,
}

/// Reason for not writing something.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// Larger than the limit for a response, or a partial response: those are for the memory tier.
    #[error("the response is a part, or larger than the limit of {0} bytes on disk")]
    Unfit(u64),
    /// Storing is suspended after a failed write.
    #[error("storing is suspended after a failed write")]
    Suspended,
    /// I/O error.
    #[error("failed to write to the disk cache (is the disk full?): {0}")]
    Io(#[from] io::Error),
}

/// Stored responses on disk.
#[derive(Debug)]
pub struct Disk<F> {
    files: F,
    limits: DiskLimits,
    segment_bytes: u64,
    /// Every segment and its length; the last is appended to.
    segments: Vec<(u64, u64)>,
    /// The number of the next segment; numbers are never reused.
    next: u64,
    index: Index,
    suspended_until: Option<Date>,
    /// True if the last segment has more bytes than counted, left by a failed write that could not be undone.
    torn: bool,
}

const SEGMENT_BYTES: u64 = 64 << 20;
/// Minimum number of segments even in a small tier, so that the removal of one does not empty it.
const SEGMENTS: u64 = 8;
const PAUSE_MILLIS: u64 = 60_000;

impl<F: Files> Disk<F> {
    /// Opens the tier and reads the segments. The secret keys the index.
    pub fn open(
        files: F,
        limits: DiskLimits,
        secret: (u64, u64),
    ) -> io::Result<(Disk<F>, DiskRecovery)> {
        // A record takes more bytes on disk than in the index, so the index, too, has room for several segments.
        let indexed = (limits.index_bytes / SEGMENTS).max(limits.entry_bytes);
        let segment_bytes = SEGMENT_BYTES.min(limits.bytes / SEGMENTS).min(indexed);
        let index = Index::new(secret);
        let mut disk = Disk {
            files,
            limits,
            segment_bytes,
            segments: Vec::new(),
            next: 0,
            index,
            suspended_until: None,
            torn: false,
        };
        let dropped = disk.recover()?;
        let recovery = DiskRecovery { entries: disk.index.len(), bytes: disk.bytes(), dropped };
        Ok((disk, recovery))
    }

    fn recover(&mut self) -> io::Result<u64> {
        let numbers = self.files.list()?;
        let mut dropped = 0;
        self.next = numbers.last().map_or(0, |last| last + 1);
        for number in &numbers {
            let bytes = self.files.read(*number)?;
            let sound = self.scan(*number, &bytes);
            let lost = bytes.len() as u64 - sound;
            if lost > 0 {
                self.files.truncate(*number, sound)?;
                dropped += lost;
                if Some(number) != numbers.last() {
                    dropped += sound + self.forget_all()?;
                    self.files.remove(*number)?;
                    continue;
                }
            }
            self.segments.push((*number, sound));
        }
        // The bound may be smaller than last time.
        while self.bytes() > self.limits.bytes || self.index.weight() > self.limits.index_bytes {
            self.remove_oldest()?;
        }
        Ok(dropped)
    }

    /// Indexes a segment's records. Returns the number of intact bytes.
    fn scan(&mut self, segment: u64, bytes: &[u8]) -> u64 {
        let mut at = 0;
        while let ReadOutcome::Record(record, length) = Record::read(&bytes[at..]) {
            let location = RecordLocation { segment, at: at as u64, length: length as u32 };
            match &record {
                Record::Response(response) => {
                    self.index.insert(&response.key.borrow(), &response.chosen_by, location)
                }
                gone => _ = self.index.remove(gone),
            }
            at += length;
        }
        at as u64
    }

    fn forget_all(&mut self) -> io::Result<u64> {
        let bytes = self.bytes();
        self.index.remove(&Record::AllGone);
        for (number, _) in std::mem::take(&mut self.segments) {
            self.files.remove(number)?;
        }
        Ok(bytes)
    }

    /// Looks up a request: returns an entry as it was stored, to be judged - and put into the memory tier - by the caller. A record that has
    /// become unreadable is dropped from the index.
    pub fn get<Q: FieldLines + ?Sized>(
        &mut self,
        key: &CacheKey<'_>,
        request: &CacheRequest<'_, Q>,
        policy: &StoragePolicy,
    ) -> Option<CacheEntry<StoredResponse>> {
        for location in self.index.candidates(key) {
            match self.read(location) {
                None => self.index.forget(key, location),
                Some(response) if !response.key.is(key) => {}
                Some(response) => {
                    let entry = response.entry(policy);
                    if let Some(entry) =
                        entry.filter(|entry| entry.vary().matches(request.fields()))
                    {
                        return Some(entry);
                    }
                }
            }
        }
        None
    }

    fn read(&self, location: RecordLocation) -> Option<ResponseRecord> {
        let bytes =
            self.files.read_at(location.segment, location.at, location.length as usize).ok()?;
        match Record::read(&bytes) {
            ReadOutcome::Record(Record::Response(response), _) => Some(*response),
            _ => None,
        }
    }

    /// Stores an entry, replacing one with the same key and choosing fields.
    pub fn put(&mut self, entry: &CacheEntry<StoredResponse>, now: Date) -> Result<(), DiskError> {
        if self.suspended(now) {
            return Err(DiskError::Suspended);
        }
        let limit = self.limits.entry_bytes.min(self.segment_bytes);
        let response = ResponseRecord::of(entry);
        let (key, chosen_by) = (entry.key().borrow(), response.chosen_by.clone());
        let whole = entry.terms().content_range().is_none();
        let bytes = Record::Response(Box::new(response)).encode();
        let fits = bytes.filter(|bytes| whole && bytes.len() as u64 <= limit);
        let location = self.append(&fits.ok_or(DiskError::Unfit(limit))?, now)?;
        self.index.insert(&key, &chosen_by, location);
        Ok(())
    }

    /// Removes responses durably: once it returns, no crash brings them back. Returns the number removed.
    pub fn purge(&mut self, purge: &Purge<'_>, now: Date) -> Result<u64, DiskError> {
        let gone = match *purge {
            Purge::Key(key) => Record::KeyGone(Box::new(key.to_owned())),
            Purge::Prefix(partition, prefix) => Record::Gone(partition, prefix.to_owned()),
            Purge::Partition(partition) => Record::PartitionGone(partition),
            Purge::All => Record::AllGone,
        };
        let count = self.index.remove(&gone);
        // A removal that matched nothing needs no record; most invalidations are such.
        if count > 0 && self.write_down(&gone, now).is_err() {
            // A restart must not undo a removal that could not be written: drop everything.
            self.forget_all()?;
        }
        Ok(count)
    }

    fn write_down(&mut self, gone: &Record, now: Date) -> Result<(), DiskError> {
        let record = gone.encode().ok_or(DiskError::Unfit(u64::from(u32::MAX)))?;
        let location = self.append(&record, now)?;
        Ok(self.files.sync(location.segment)?)
    }

    /// Returns true while storing is suspended after a failed write.
    pub fn suspended(&self, now: Date) -> bool {
        self.suspended_until.is_some_and(|until| now < until)
    }

    /// Bytes in segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, length)| length).sum()
    }

    /// Responses that can be served.
    pub fn entries(&self) -> u64 {
        self.index.len()
    }

    fn append(&mut self, record: &[u8], now: Date) -> Result<RecordLocation, DiskError> {
        self.try_append(record).map_err(|error| {
            self.suspended_until = Some(now.plus_millis(PAUSE_MILLIS));
            DiskError::Io(error)
        })
    }

    fn try_append(&mut self, record: &[u8]) -> io::Result<RecordLocation> {
        self.truncate_torn()?;
        let length = record.len() as u64;
        self.make_room(length)?;
        let Some(last) = self.segments.last_mut() else {
            return Err(io::Error::other("there is no segment"));
        };
        let (segment, at) = *last;
        let written = self.files.write_at(segment, at, record);
        if written.is_err() {
            self.torn = true;
            self.truncate_torn()?;
        }
        written?;
        last_mut(&mut self.segments).1 = at + length;
        Ok(RecordLocation { segment, at, length: length as u32 })
    }

    /// Truncates the remains of a failed write.
    fn truncate_torn(&mut self) -> io::Result<()> {
        if let (true, Some((segment, length))) = (self.torn, self.segments.last().copied()) {
            self.files.truncate(segment, length)?;
        }
        self.torn = false;
        Ok(())
    }

    /// Ensures that the last segment has room for `length` more bytes and that the bound holds.
    fn make_room(&mut self, length: u64) -> io::Result<()> {
        while !self.segments.is_empty()
            && (self.bytes() + length > self.limits.bytes
                || self.index.weight() > self.limits.index_bytes)
        {
            self.remove_oldest()?;
        }
        let last = self.segments.last().copied();
        if last.is_none_or(|(_, used)| used + length > self.segment_bytes) {
            if let Some((segment, _)) = last {
                self.files.sync(segment)?;
            }
            self.segments.push((self.next, 0));
            self.next += 1;
        }
        Ok(())
    }

    fn remove_oldest(&mut self) -> io::Result<()> {
        let (oldest, _) = self.segments[0];
        self.files.remove(oldest)?;
        self.segments.remove(0);
        self.index.remove_segment(oldest);
        Ok(())
    }
}

fn last_mut(segments: &mut [(u64, u64)]) -> &mut (u64, u64) {
    segments.last_mut().expect("a segment was just written to")
}

impl ResponseRecord {
    fn of(entry: &CacheEntry<StoredResponse>) -> ResponseRecord {
        let (terms, value) = (entry.terms(), entry.value());
        ResponseRecord {
            key: entry.key().clone(),
            received: terms.exchange().received,
            age: terms.age(terms.exchange().received),
            status: value.status,
            chosen_by: Section::of(&entry.vary().chosen_by()[..]),
            fields: value.fields.clone(),
            body: value.body.clone(),
        }
    }

    /// The entry as it was, judged again under the current policy.
    fn entry(&self, policy: &StoragePolicy) -> Option<CacheEntry<StoredResponse>> {
        let request = CacheRequest::new(&Method::GET, &self.chosen_by);
        let exchange = ExchangeTimes { sent: self.received, received: self.received };
        let mut lines = vec![("age".to_owned(), self.age.to_string().into_bytes())];
        self.fields.each(|name, value| lines.push((name.to_owned(), value.to_vec())));
        let storable: Storable =
            storable(&request, self.status, &lines[..], exchange, policy).ok()?;
        let stored = StoredResponse {
            status: self.status,
            fields: storable.fields.clone(),
            body: self.body.clone(),
        };
        Some(CacheEntry::new(&self.key.borrow(), storable, stored))
    }
}
