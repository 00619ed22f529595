//! WARC 1.1: records of an archive, each compressed by itself.
//!
//! Source: ISO 28500:2017, <https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/>; one gzip
//! member for each record, annex D. The reader takes what crawlers write: WARC 1.0, too, and files without compression.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::Fields;
use crate::load::first;

/// The largest block that is read; a longer one is an error.
const MOST_BLOCK_BYTES: u64 = 2 << 30;

/// The longest head of a record.
const MOST_HEAD_BYTES: usize = 1 << 20;

const VERSION: &str = "WARC/1.1";

/// A record: its named fields and its block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcRecord {
    /// Fields in their order, without `Content-Length`.
    pub fields: Fields,
    /// The block.
    pub block: Vec<u8>,
}

/// Why a record cannot be read.
#[derive(Debug, Error)]
pub enum WarcError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no WARC file.
    #[error("not a WARC file: it begins with {0:?}, not with WARC/1.0 or WARC/1.1")]
    NotWarc(String),
    /// Its records hold more than is read.
    #[error("more than {0} bytes of records and bodies, too many for a page")]
    TooLarge(u64),
    /// It ends, or is damaged, after some whole records.
    #[error("damaged after {records} whole records: {problem}")]
    Damaged {
        /// Number of records before the damage.
        records: usize,
        /// The damage.
        problem: String,
    },
}

impl WarcRecord {
    /// A record of this type; its id is derived from its content, so that equal recordings make equal archives.
    pub fn new(kind: &str, date: &str, fields: &[(&str, &str)], block: Vec<u8>) -> WarcRecord {
        let mut hash = Sha256::new();
        for part in [kind, date].into_iter().chain(fields.iter().flat_map(|(n, v)| [*n, *v])) {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.update(&block);
        let id = uuid(&hash.finalize());
        let own = [("WARC-Type", kind), ("WARC-Record-ID", &id), ("WARC-Date", date)];
        let fields = own.iter().chain(fields).map(|(name, value)| {
            // A line break would end the field.
            ((*name).to_owned(), value.replace(['\r', '\n'], " "))
        });
        WarcRecord { fields: fields.collect(), block }
    }

    /// First value of a field; names have no case.
    pub fn field(&self, name: &str) -> Option<&str> {
        first(&self.fields, name)
    }

    /// `response`, `request`, `metadata`, ...
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// The URL that it is about. Some writers put it in brackets.
    pub fn target(&self) -> Option<&str> {
        let target = self.field("WARC-Target-URI")?;
        Some(target.strip_prefix('<').and_then(|it| it.strip_suffix('>')).unwrap_or(target))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.field("WARC-Record-ID").unwrap_or_default()
    }

    /// Writes it as one gzip member; returns the member's length.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<u64> {
        self.write_before(&mut io::empty(), 0, out)
    }

    /// Writes it as one gzip member whose block goes on with `rest_bytes` of `rest`; returns the member's length.
    ///
    /// # Errors
    /// If `out` or `rest` fails, or `rest` is shorter.
    pub(crate) fn write_before(
        &self,
        rest: &mut impl Read,
        rest_bytes: u64,
        out: &mut impl Write,
    ) -> io::Result<u64> {
        let mut member = GzEncoder::new(CountedWrite { out, bytes: 0 }, Compression::default());
        write!(member, "{VERSION}\r\n")?;
        for (name, value) in &self.fields {
            write!(member, "{name}: {value}\r\n")?;
        }
        write!(member, "Content-Length: {}\r\n\r\n", self.block.len() as u64 + rest_bytes)?;
        member.write_all(&self.block)?;
        if io::copy(&mut rest.take(rest_bytes), &mut member)? < rest_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        member.write_all(b"\r\n\r\n")?;
        Ok(member.finish()?.bytes)
    }
}

/// Counts the bytes that pass to `out`.
struct CountedWrite<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<W: Write> Write for CountedWrite<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A digest as WACZ and WARC files state it.
pub fn digest(bytes: &[u8]) -> String {
    digest_of(Sha256::new_with_prefix(bytes))
}

/// The digest of all that `hash` was given.
pub fn digest_of(hash: Sha256) -> String {
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// A UUID of version 8 (RFC 9562 section 5.8) from a hash.
fn uuid(hash: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let version = [0x80 | hash[6] & 0x0f, hash[7]];
    let variant = [0x80 | hash[8] & 0x3f, hash[9]];
    let [a, b, c, d, e] =
        [hex(&hash[..4]), hex(&hash[4..6]), hex(&version), hex(&variant), hex(&hash[10..16])];
    format!("<urn:uuid:{a}-{b}-{c}-{d}-{e}>")
}

/// Records of a file, one after the other; after an error there are no more.
pub struct WarcReader<R: Read> {
    input: Option<WarcInput<R>>,
    records: usize,
}

enum WarcInput<R: Read> {
    Plain(BufReader<R>),
    /// Members are decoded one at a time, so that a damaged one does not hide those before it.
    Gzip(Box<BufReader<GzDecoder<BufReader<R>>>>),
}

impl<R: Read> WarcInput<R> {
    fn gzip(input: BufReader<R>) -> WarcInput<R> {
        WarcInput::Gzip(Box::new(BufReader::new(GzDecoder::new(input))))
    }
}

impl<R: Read> WarcReader<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// If `input` fails at once.
    pub fn new(input: R) -> io::Result<WarcReader<R>> {
        let mut input = BufReader::new(input);
        let is_gzip = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let input = match is_gzip {
            true => WarcInput::gzip(input),
            false => WarcInput::Plain(input),
        };
        Ok(WarcReader { input: Some(input), records: 0 })
    }

    fn read(&mut self) -> Result<Option<WarcRecord>, WarcError> {
        loop {
            let record = match self.input.as_mut() {
                None => return Ok(None),
                Some(WarcInput::Plain(input)) => record(input),
                Some(WarcInput::Gzip(input)) => record(&mut **input),
            };
            match record {
                Ok(None) if self.next_member()? => {}
                Ok(found) => {
                    self.records += usize::from(found.is_some());
                    return Ok(found);
                }
                Err(RecordFault::NotWarc(start)) if self.records == 0 => {
                    return Err(WarcError::NotWarc(start));
                }
                Err(fault) => {
                    let problem = fault.to_string();
                    return Err(WarcError::Damaged { records: self.records, problem });
                }
            }
        }
    }

    /// Goes on to the next gzip member, if there is one.
    fn next_member(&mut self) -> Result<bool, WarcError> {
        let Some(WarcInput::Gzip(member)) = self.input.take() else { return Ok(false) };
        let mut rest = member.into_inner().into_inner();
        let is_left = !rest.fill_buf()?.is_empty();
        self.input = is_left.then(|| WarcInput::gzip(rest));
        Ok(is_left)
    }
}

impl<R: Read> Iterator for WarcReader<R> {
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.read().transpose();
        if !matches!(record, Some(Ok(_))) {
            self.input = None;
        }
        record
    }
}

#[derive(Debug, Error)]
enum RecordFault {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("a record begins with {0:?}")]
    NotWarc(String),
    #[error("{0}")]
    Head(String),
}

/// The next record; `None` at the end of the input.
fn record(input: &mut impl BufRead) -> Result<Option<WarcRecord>, RecordFault> {
    if !begins(input)? {
        return Ok(None);
    }
    let mut fields = Fields::new();
    let mut head_bytes = 0;
    loop {
        let line = line(input)?;
        head_bytes += line.len();
        if line.is_empty() {
            break;
        }
        if head_bytes > MOST_HEAD_BYTES {
            return Err(RecordFault::Head(format!("a head of more than {MOST_HEAD_BYTES} bytes")));
        }
        // A line that begins with a blank continues the last value.
        match (line.split_once(':'), fields.last_mut()) {
            (_, Some((_, value))) if line.starts_with([' ', '\t']) => {
                *value = format!("{value} {}", line.trim());
            }
            (Some((name, value)), _) => fields.push((name.to_owned(), value.trim().to_owned())),
            (None, _) => return Err(RecordFault::Head(format!("no field: {line:?}"))),
        }
    }
    let is_length = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
    let length = fields.iter().find(|field| is_length(field)).and_then(|(_, it)| it.parse().ok());
    let length: u64 =
        length.ok_or_else(|| RecordFault::Head("a record without Content-Length".to_owned()))?;
    if length > MOST_BLOCK_BYTES {
        return Err(RecordFault::Head(format!("a block of {length} bytes")));
    }
    fields.retain(|field| !is_length(field));
    let mut block = Vec::new();
    input.take(length).read_to_end(&mut block)?;
    if block.len() as u64 != length {
        let problem = format!("a block of {length} bytes ends after {}", block.len());
        return Err(RecordFault::Head(problem));
    }
    Ok(Some(WarcRecord { fields, block }))
}

/// Reads the line that begins a record, after the blank lines that end the last one; false at the end of the input.
fn begins(input: &mut impl BufRead) -> Result<bool, RecordFault> {
    loop {
        let start = input.fill_buf()?;
        if start.is_empty() {
            return Ok(false);
        }
        let is_blank = start.starts_with(b"\r") || start.starts_with(b"\n");
        if !is_blank && !start.iter().zip(b"WARC/1.").all(|(is, should)| is == should) {
            let start = String::from_utf8_lossy(&start[..start.len().min(20)]);
            return Err(RecordFault::NotWarc(start.into_owned()));
        }
        let line = line(input)?;
        if !line.is_empty() {
            return Ok(true);
        }
    }
}

/// A line without its end.
fn line(input: &mut impl BufRead) -> Result<String, RecordFault> {
    let mut line = Vec::new();
    input.take(MOST_HEAD_BYTES as u64).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(RecordFault::Head("the file ends within a record's head".to_owned()));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DATE: &str = "2026-11-27T12:00:00Z";

    fn records() -> Vec<WarcRecord> {
        let target = |url| [("WARC-Target-URI", url), ("Content-Type", "application/http")];
        vec![
            WarcRecord::new("warcinfo", DATE, &[], b"software: farlink\r\n".to_vec()),
            WarcRecord::new("response", DATE, &target("http://a.test/"), vec![0; 3000]),
            WarcRecord::new("metadata", DATE, &target("http://b.test/"), Vec::new()),
        ]
    }

    fn written(records: &[WarcRecord]) -> Vec<u8> {
        let mut file = Vec::new();
        for record in records {
            record.write(&mut file).unwrap();
        }
        file
    }

    fn read(file: &[u8]) -> (Vec<WarcRecord>, Option<String>) {
        let (mut records, mut problem) = (Vec::new(), None);
        for record in WarcReader::new(file).unwrap() {
            match record {
                Ok(record) => records.push(record),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        (records, problem)
    }

    #[test]
    fn records_are_read_as_written() {
        let written = written(&records());
        assert_eq!(read(&written), (records(), None));
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(&written[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(read(&plain), (records(), None));
        assert!(records()[1].id().starts_with("<urn:uuid:") && records()[1].id().len() == 47);
        assert_ne!(records()[1].id(), records()[2].id());
    }

    #[test]
    fn what_comes_before_the_damage_is_read() {
        let whole = written(&records());
        let first = written(&records()[..1]).len();
        let (before, problem) = read(&whole[..first + 40]);
        assert_eq!(before, records()[..1]);
        assert!(problem.unwrap().starts_with("damaged after 1 whole records"));
        let mut broken = whole.clone();
        broken[first + 60] ^= 0xff;
        let (before, problem) = read(&broken);
        assert_eq!((before.len(), problem.is_some()), (1, true));
        let (none, problem) = read(b"PK\x03\x04 a zip\n");
        assert_eq!(none, []);
        assert!(problem.unwrap().starts_with("not a WARC file"));
        assert_eq!(read(b""), (Vec::new(), None));
    }

    #[test]
    fn other_writers_are_understood() {
        let file = b"WARC/1.0\nwarc-type: resource\nWARC-Target-URI: <http://a.test/>\n\
            X-Long: a\n b\nContent-Length: 2\n\nhi\n\n";
        let (records, problem) = read(file);
        assert_eq!(problem, None);
        assert_eq!((records[0].kind(), records[0].target()), ("resource", Some("http://a.test/")));
        assert_eq!((records[0].field("x-long"), &records[0].block[..]), (Some("a b"), &b"hi"[..]));
    }

    #[test]
    fn blocks_and_heads_that_lie_are_refused() {
        let refused = |file: &[u8]| read(file).1.unwrap();
        assert!(refused(b"WARC/1.1\r\nContent-Length: 9\r\n\r\nhi").contains("ends after 2"));
        assert!(refused(b"WARC/1.1\r\nContent-Length: 99999999999\r\n\r\n").contains("bytes"));
        assert!(refused(b"WARC/1.1\r\nA: b\r\n\r\n").contains("without Content-Length"));
        assert!(refused(b"WARC/1.1\r\nnonsense\r\n\r\n").contains("no field"));
        assert!(refused(b"WARC/1.1\r\nA: b").contains("ends within"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(file in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&file);
            read(&[b"WARC/1.1\r\n", &file[..]].concat());
            read(&[&[0x1f, 0x8b, 8, 0][..], &file[..]].concat());
        }

        #[test]
        fn any_block_round_trips(block in prop::collection::vec(any::<u8>(), 0..300)) {
            let record = WarcRecord::new("resource", DATE, &[("A", "b")], block);
            prop_assert_eq!(read(&written(std::slice::from_ref(&record))).0, [record]);
        }
    }
}
