//! Segments of the disk tier: the format of their records, and their files.
//!
//! A record has a checksum over all of it: `"FLc1"`, the payload's length (4 bytes, little endian like all numbers), the first 16 bytes of
//! its BLAKE3 digest, the payload: a kind (1 byte) and what that kind has. Texts have their length (4) before them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::StatusCode;

use crate::date::{Date, DeltaSeconds};
use crate::fields::Section;
use crate::key::{CacheKey, OwnedKey, Partition, Scheme};

const MAGIC: &[u8; 4] = b"FLc1";
const DIGEST: usize = 16;
pub(super) const HEADER: usize = MAGIC.len() + 4 + DIGEST;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Response(Box<ResponseRecord>),
    /// All responses of a partition whose URI has this prefix are gone.
    Gone(Partition, String),
    /// One key's responses are gone.
    KeyGone(Box<OwnedKey>),
    /// A partition's responses are gone.
    PartitionGone(Partition),
    AllGone,
}

/// A stored response with the data needed to judge it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseRecord {
    pub key: OwnedKey,
    pub received: Date,
    /// Its age when it was received: `Age` itself is not among the stored fields.
    pub age: DeltaSeconds,
    pub status: StatusCode,
    /// The request's fields that selected it.
    pub chosen_by: Section,
    pub fields: Section,
    pub body: Bytes,
}

/// Outcome of reading at an offset in a segment.
pub(super) enum ReadOutcome {
    /// A record, and its length including the header.
    Record(Record, usize),
    /// The end.
    End,
    /// No whole record: torn while it was written, or damaged since.
    Damaged,
}

impl Record {
    /// Encodes the record with its header; `None` if it is too long.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut out = vec![0; HEADER];
        match self {
            Record::Response(response) => response.encode(&mut out)?,
            Record::Gone(partition, prefix) => tagged(&mut out, 2, *partition, prefix.as_bytes())?,
            Record::KeyGone(key) => {
                out.push(3);
                push_key(&mut out, &key.borrow())?;
            }
            Record::PartitionGone(partition) => tagged(&mut out, 4, *partition, b"")?,
            Record::AllGone => tagged(&mut out, 5, Partition(0), b"")?,
        }
        let length = u32::try_from(out.len() - HEADER).ok()?;
        let digest = blake3::hash(&out[HEADER..]);
        out[..4].copy_from_slice(MAGIC);
        out[4..8].copy_from_slice(&length.to_le_bytes());
        out[8..HEADER].copy_from_slice(&digest.as_bytes()[..DIGEST]);
        Some(out)
    }

    /// Reads the record at the beginning of `bytes`.
    pub fn read(bytes: &[u8]) -> ReadOutcome {
        if bytes.is_empty() {
            return ReadOutcome::End;
        }
        Record::checked(bytes)
            .map_or(ReadOutcome::Damaged, |(record, length)| ReadOutcome::Record(record, length))
    }

    fn checked(bytes: &[u8]) -> Option<(Record, usize)> {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        let length = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
        let payload = rest.get(..length)?;
        let sound =
            &header[..4] == MAGIC && blake3::hash(payload).as_bytes()[..DIGEST] == header[8..];
        if !sound {
            return None;
        }
        Some((decode(&mut PayloadReader(payload))?, HEADER + length))
    }
}

impl ResponseRecord {
    fn encode(&self, out: &mut Vec<u8>) -> Option<()> {
        out.push(1);
        push_key(out, &self.key.borrow())?;
        out.extend(self.received.unix_millis().to_le_bytes());
        out.extend(self.age.get().to_le_bytes());
        out.extend(self.status.as_u16().to_le_bytes());
        for text in [self.chosen_by.text(), self.fields.text(), &self.body] {
            push_text(out, text)?;
        }
        Some(())
    }

    fn decode(cursor: &mut PayloadReader<'_>) -> Option<ResponseRecord> {
        let key = cursor.key()?;
        let received = Date::from_unix_millis(u64::from_le_bytes(cursor.array()?));
        let age = DeltaSeconds::new(u64::from(u32::from_le_bytes(cursor.array()?)));
        let status = StatusCode::from_u16(u16::from_le_bytes(cursor.array()?)).ok()?;
        let chosen_by = Section::from_text(Bytes::copy_from_slice(cursor.text()?))?;
        let fields = Section::from_text(Bytes::copy_from_slice(cursor.text()?))?;
        let body = Bytes::copy_from_slice(cursor.text()?);
        Some(ResponseRecord { key, received, age, status, chosen_by, fields, body })
    }
}

fn tagged(out: &mut Vec<u8>, kind: u8, partition: Partition, text: &[u8]) -> Option<()> {
    out.push(kind);
    out.extend(partition.0.to_le_bytes());
    push_text(out, text)
}

fn push_key(out: &mut Vec<u8>, key: &CacheKey<'_>) -> Option<()> {
    out.extend(key.partition().0.to_le_bytes());
    out.push(u8::from(key.scheme() == Scheme::Https));
    push_text(out, key.authority().as_bytes())?;
    push_text(out, key.target().as_bytes())
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    out.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
    out.extend_from_slice(text);
    Some(())
}

fn decode(cursor: &mut PayloadReader<'_>) -> Option<Record> {
    let [kind] = cursor.array()?;
    Some(match kind {
        1 => Record::Response(Box::new(ResponseRecord::decode(cursor)?)),
        2 => Record::Gone(cursor.partition()?, cursor.string()?),
        3 => Record::KeyGone(Box::new(cursor.key()?)),
        4 => Record::PartitionGone(cursor.partition()?),
        5 => Record::AllGone,
        _ => return None,
    })
}

/// The unread rest of a payload.
struct PayloadReader<'a>(&'a [u8]);

impl<'a> PayloadReader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn partition(&mut self) -> Option<Partition> {
        Some(Partition(u32::from_le_bytes(self.array()?)))
    }

    fn key(&mut self) -> Option<OwnedKey> {
        let partition = self.partition()?;
        let scheme = if self.array::<1>()?[0] == 1 { Scheme::Https } else { Scheme::Http };
        let (authority, target) = (self.string()?, self.string()?);
        Some(CacheKey::new(partition, scheme, &authority, &target).to_owned())
    }

    fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }
}

/// File operations on segments: numbered files, appended to and read at any offset. A trait, so that tests can simulate power loss or a
/// full disk.
pub trait Files {
    /// The numbers of all segments, in ascending order.
    fn list(&self) -> io::Result<Vec<u64>>;
    /// Reads a whole segment.
    fn read(&self, segment: u64) -> io::Result<Vec<u8>>;
    /// Reads `length` bytes of a segment.
    fn read_at(&self, segment: u64, at: u64, length: usize) -> io::Result<Vec<u8>>;
    /// Writes at an offset, the segment's end; creates the segment if it does not exist.
    fn write_at(&mut self, segment: u64, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates a segment.
    fn truncate(&mut self, segment: u64, length: u64) -> io::Result<()>;
    /// Returns once the segment would survive a power loss.
    fn sync(&mut self, segment: u64) -> io::Result<()>;
    /// Removes a segment.
    fn remove(&mut self, segment: u64) -> io::Result<()>;
}

/// Segments in a dedicated directory, held by one process at a time.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Lock held while the file is open; the kernel releases it when the process ends, however it ends.
    _lock: File,
}

const SUFFIX: &str = ".segment";

impl Directory {
    /// Locks a directory, creating it if it does not exist.
    pub fn open(path: &Path) -> io::Result<Directory> {
        std::fs::create_dir_all(path)?;
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Directory { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let text = format!(
                    "{} is held by another process: give each proxy a directory of its own",
                    path.display()
                );
                Err(io::Error::new(io::ErrorKind::ResourceBusy, text))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn file(&self, segment: u64) -> PathBuf {
        self.path.join(format!("{segment:016x}{SUFFIX}"))
    }

    fn writable(&self, segment: u64) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.file(segment))
    }
}

impl Files for Directory {
    fn list(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for file in std::fs::read_dir(&self.path)? {
            let name = file?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            numbers.extend(number.and_then(|number| u64::from_str_radix(number, 16).ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn read(&self, segment: u64) -> io::Result<Vec<u8>> {
        std::fs::read(self.file(segment))
    }

    fn read_at(&self, segment: u64, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.file(segment))?;
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&mut self, segment: u64, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.writable(segment)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    fn truncate(&mut self, segment: u64, length: u64) -> io::Result<()> {
        self.writable(segment)?.set_len(length)
    }

    fn sync(&mut self, segment: u64) -> io::Result<()> {
        File::open(self.file(segment))?.sync_data()?;
        // Sync the directory too, so that the file's name survives.
        File::open(&self.path)?.sync_all()
    }

    fn remove(&mut self, segment: u64) -> io::Result<()> {
        std::fs::remove_file(self.file(segment))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> OwnedKey {
        CacheKey::new(Partition(7), Scheme::Https, "a.test", "/x?y").to_owned()
    }

    fn response(body: Vec<u8>) -> Record {
        Record::Response(Box::new(ResponseRecord {
            key: key(),
            received: Date::from_unix_millis(1_234_567_890_123),
            age: DeltaSeconds::new(5),
            status: StatusCode::OK,
            chosen_by: Section::of(&[("accept-language", "de")][..]),
            fields: Section::of(&[("etag", "\"a\""), ("x", "")][..]),
            body: body.into(),
        }))
    }

    proptest! {
        #[test]
        fn records_come_back(body in prop::collection::vec(any::<u8>(), 0..200), prefix in "[a-z:/]{0,20}") {
            for record in [response(body), Record::Gone(Partition(1), prefix), Record::KeyGone(Box::new(key())),
                Record::PartitionGone(Partition(2)), Record::AllGone] {
                let mut bytes = record.encode().unwrap();
                let length = bytes.len();
                bytes.extend(b"more");
                let ReadOutcome::Record(back, end) = Record::read(&bytes) else { panic!("damaged") };
                prop_assert_eq!((back, end), (record, length));
            }
        }

        #[test]
        fn no_flipped_or_missing_byte_goes_unseen(body in prop::collection::vec(any::<u8>(), 0..50), at: prop::sample::Index, flip in 1u8..) {
            let good = response(body).encode().unwrap();
            let mut bad = good.clone();
            bad[at.index(good.len())] ^= flip;
            prop_assert!(matches!(Record::read(&bad), ReadOutcome::Damaged));
            let cut = at.index(good.len());
            prop_assert!(matches!(Record::read(&good[..cut]), ReadOutcome::Damaged | ReadOutcome::End));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            Record::read(&bytes);
            decode(&mut PayloadReader(&bytes));
        }
    }
}
