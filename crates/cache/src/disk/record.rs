//! Record format of segments; each record has a checksum over all of it.
//!
//! `"FLc1"`, the payload's length (4 bytes, little endian like all numbers), the first 16 bytes of its BLAKE3 digest, the payload: a kind
//! (1 byte) and what that kind has. Texts have their length (4) before them.

use bytes::Bytes;
use http::StatusCode;

use crate::date::{Date, Seconds};
use crate::fields::Section;
use crate::key::{Key, OwnedKey, Partition, Scheme};

const MAGIC: &[u8; 4] = b"FLc1";
const DIGEST: usize = 16;
pub(super) const HEADER: usize = MAGIC.len() + 4 + DIGEST;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Response(Box<Response>),
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
pub(super) struct Response {
    pub key: OwnedKey,
    pub received: Date,
    /// Its age when it was received: `Age` itself is not among the stored fields.
    pub age: Seconds,
    pub status: StatusCode,
    /// The request's fields that selected it.
    pub chosen_by: Section,
    pub fields: Section,
    pub body: Bytes,
}

/// Outcome of reading at an offset in a segment.
pub(super) enum Read {
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
    pub fn read(bytes: &[u8]) -> Read {
        if bytes.is_empty() {
            return Read::End;
        }
        Record::checked(bytes)
            .map_or(Read::Damaged, |(record, length)| Read::Record(record, length))
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
        Some((decode(&mut Cursor(payload))?, HEADER + length))
    }
}

impl Response {
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

    fn decode(cursor: &mut Cursor<'_>) -> Option<Response> {
        let key = cursor.key()?;
        let received = Date::from_unix_millis(u64::from_le_bytes(cursor.array()?));
        let age = Seconds::new(u64::from(u32::from_le_bytes(cursor.array()?)));
        let status = StatusCode::from_u16(u16::from_le_bytes(cursor.array()?)).ok()?;
        let chosen_by = Section::from_text(Bytes::copy_from_slice(cursor.text()?))?;
        let fields = Section::from_text(Bytes::copy_from_slice(cursor.text()?))?;
        let body = Bytes::copy_from_slice(cursor.text()?);
        Some(Response { key, received, age, status, chosen_by, fields, body })
    }
}

fn tagged(out: &mut Vec<u8>, kind: u8, partition: Partition, text: &[u8]) -> Option<()> {
    out.push(kind);
    out.extend(partition.0.to_le_bytes());
    push_text(out, text)
}

fn push_key(out: &mut Vec<u8>, key: &Key<'_>) -> Option<()> {
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

fn decode(cursor: &mut Cursor<'_>) -> Option<Record> {
    let [kind] = cursor.array()?;
    Some(match kind {
        1 => Record::Response(Box::new(Response::decode(cursor)?)),
        2 => Record::Gone(cursor.partition()?, cursor.string()?),
        3 => Record::KeyGone(Box::new(cursor.key()?)),
        4 => Record::PartitionGone(cursor.partition()?),
        5 => Record::AllGone,
        _ => return None,
    })
}

/// The unread rest of a payload.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
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
        Some(Key::new(partition, scheme, &authority, &target).to_owned())
    }

    fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> OwnedKey {
        Key::new(Partition(7), Scheme::Https, "a.test", "/x?y").to_owned()
    }

    fn response(body: Vec<u8>) -> Record {
        Record::Response(Box::new(Response {
            key: key(),
            received: Date::from_unix_millis(1_234_567_890_123),
            age: Seconds::new(5),
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
                let Read::Record(back, end) = Record::read(&bytes) else { panic!("damaged") };
                prop_assert_eq!((back, end), (record, length));
            }
        }

        #[test]
        fn no_flipped_or_missing_byte_goes_unseen(body in prop::collection::vec(any::<u8>(), 0..50), at: prop::sample::Index, flip in 1u8..) {
            let good = response(body).encode().unwrap();
            let mut bad = good.clone();
            bad[at.index(good.len())] ^= flip;
            prop_assert!(matches!(Record::read(&bad), Read::Damaged));
            let cut = at.index(good.len());
            prop_assert!(matches!(Record::read(&good[..cut]), Read::Damaged | Read::End));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            Record::read(&bytes);
            decode(&mut Cursor(&bytes));
        }
    }
}
