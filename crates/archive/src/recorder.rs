//! A recording that grows: each exchange goes to a WARC file when it ends.
//!
//! Memory holds one line of the index for each response, and no bodies. A recorder that is killed leaves a WARC file with all
//! exchanges that had ended; [`Recording::pack`] makes a WACZ file of it.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::SpooledTempFile;
use url::Url;

use crate::load::first;
use crate::records::{self, ExchangeRecords};
use crate::warc::WarcRecord;
use crate::{Exchange, RecordedCertificate, RecordedLoad, wacz, warc};

/// Redirects that are remembered until their document comes.
const MOST_REDIRECTS: usize = 64;

/// Bytes of a body that are kept in memory.
const SPOOL_BYTES: usize = 64 << 10;

/// A body that waits for the end of its exchange, with its content coding: in memory, or in a file without a name.
pub struct SpooledBody {
    file: SpooledTempFile,
    hash: Sha256,
    bytes: u64,
}

impl SpooledBody {
    /// An empty body; its file will be in `folder`.
    pub fn new(folder: &Path) -> SpooledBody {
        let file = tempfile::spooled_tempfile_in(SPOOL_BYTES, folder);
        SpooledBody { file, hash: Sha256::new(), bytes: 0 }
    }

    /// Number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the next bytes.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.hash.update(piece);
        self.bytes += piece.len() as u64;
        self.file.write_all(piece)
    }

    fn digest(&self) -> String {
        warc::digest_of(self.hash.clone())
    }
}

/// A recording under way. Loads are told apart by their documents.
pub struct Recording<W> {
    out: W,
    written: u64,
    index: Vec<String>,
    software: String,
    /// Loads so far, without their exchanges.
    loads: Vec<RecordedLoad>,
    /// Start and URL of the first exchange.
    first: Option<(Duration, String)>,
    redirects: VecDeque<Redirect>,
    certificates: Vec<RecordedCertificate>,
    exchanges: usize,
    failed: usize,
    failure: Option<String>,
}

struct Redirect {
    at: Duration,
    from: String,
    to: String,
}

impl<W: Write> Recording<W> {
    /// A recording in a new WARC file. `software` is the recorder's name and version; `began` is since 1970.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(out: W, software: &str, began: Duration) -> io::Result<Recording<W>> {
        let mut recording = Recording {
            out,
            written: 0,
            index: Vec::new(),
            software: software.to_owned(),
            loads: Vec::new(),
            first: None,
            redirects: VecDeque::new(),
            certificates: Vec::new(),
            exchanges: 0,
            failed: 0,
            failure: None,
        };
        recording.write(&records::info(software, began), None)?;
        Ok(recording)
    }

    /// Loads so far, without their exchanges.
    pub fn loads(&self) -> &[RecordedLoad] {
        &self.loads
    }

    /// Notes the certificate of a host.
    pub fn certificate(&mut self, certificate: RecordedCertificate) {
        if !self.certificates.iter().any(|known| known.host == certificate.host) {
            self.certificates.push(certificate);
        }
    }

    /// Writes an exchange that began at `began`, since 1970. `exchange` has no bodies; its response must have one in
    /// `response`.
    ///
    /// # Errors
    /// If the file or a body fails.
    pub fn add(
        &mut self,
        began: Duration,
        exchange: &Exchange,
        request: Option<SpooledBody>,
        response: Option<SpooledBody>,
    ) -> io::Result<()> {
        let body = response.as_ref().map(|body| (body.bytes, body.digest()));
        let records = ExchangeRecords::of_heads(exchange, began, body);
        self.write(&records.request, request)?;
        if let Some(record) = &records.response {
            let offset = self.written;
            let length = self.write(record, response)?;
            self.index.extend(wacz::index_line(record, offset, length));
        }
        self.write(&records.metadata, None)?;
        self.exchanges += 1;
        if let Some(problem) = &exchange.error {
            self.failed += 1;
            self.failure.get_or_insert_with(|| format!("{}: {problem}", exchange.request.url));
        }
        self.first.get_or_insert_with(|| (began, exchange.request.url.clone()));
        self.note_load(began, exchange)?;
        self.out.flush()
    }

    fn write(&mut self, record: &WarcRecord, body: Option<SpooledBody>) -> io::Result<u64> {
        let length = match body {
            Some(SpooledBody { mut file, bytes, .. }) => {
                file.rewind()?;
                record.write_before(&mut file, bytes, &mut self.out)?
            }
            None => record.write(&mut self.out)?,
        };
        self.written += length;
        Ok(length)
    }

    /// Begins a load if the exchange fetched a document.
    fn note_load(&mut self, began: Duration, exchange: &Exchange) -> io::Result<()> {
        let Some(response) = &exchange.response else { return Ok(()) };
        let url = &exchange.request.url;
        if (300..400).contains(&response.status) {
            let to = first(&response.fields, "location")
                .and_then(|location| Url::parse(url).ok()?.join(location).ok());
            if let Some(to) = to {
                let redirect = Redirect { at: began, from: url.clone(), to: to.into() };
                if self.redirects.len() == MOST_REDIRECTS {
                    self.redirects.pop_front();
                }
                self.redirects.push_back(redirect);
            }
            return Ok(());
        }
        match exchange.resource_type == "Document" && records::is_document(exchange) {
            true => self.begin_load(began, url.clone()),
            false => Ok(()),
        }
    }

    /// Begins a load at the first of the redirects that led to its document.
    fn begin_load(&mut self, mut began: Duration, mut url: String) -> io::Result<()> {
        for redirect in self.redirects.drain(..).rev() {
            if redirect.to == url && redirect.at <= began {
                (began, url) = (redirect.at, redirect.from);
            }
        }
        let certificates = self.certificates.clone();
        let load = RecordedLoad { url, began, certificates, ..RecordedLoad::default() };
        self.write(&records::of_page(&load), None)?;
        self.loads.push(load);
        Ok(())
    }

    /// Ends the recording: without a document, its first exchange stands for a load. Returns the file.
    ///
    /// # Errors
    /// If the file fails.
    pub fn finish(mut self) -> io::Result<FinishedRecording<W>> {
        if let (true, Some((began, url))) = (self.loads.is_empty(), self.first.take()) {
            self.begin_load(began, url)?;
        }
        // Most certificates came after the documents.
        for mut load in std::mem::take(&mut self.loads) {
            if load.certificates.len() < self.certificates.len() {
                load.certificates.clone_from(&self.certificates);
                self.write(&records::of_page(&load), None)?;
            }
            self.loads.push(load);
        }
        self.out.flush()?;
        self.loads.sort_by_key(|load| load.began);
        Ok(FinishedRecording(self))
    }
}

/// A recording whose WARC file is complete.
pub struct FinishedRecording<W>(Recording<W>);

impl<W> FinishedRecording<W> {
    /// The WARC file.
    pub fn file(&self) -> &W {
        &self.0.out
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.0.written
    }

    /// Number of exchanges.
    pub fn exchanges(&self) -> usize {
        self.0.exchanges
    }

    /// Number of those without a whole response, and the first of them with its problem.
    pub fn failed(&self) -> (usize, Option<&str>) {
        (self.0.failed, self.0.failure.as_deref())
    }

    /// The loads, without their exchanges.
    pub fn loads(&self) -> &[RecordedLoad] {
        &self.0.loads
    }

    /// Packs the WARC file, from its beginning in `records`, as a WACZ file.
    ///
    /// # Errors
    /// If a file fails.
    pub fn pack(self, records: &mut impl Read, out: impl Write + Seek) -> io::Result<()> {
        let Recording { written, index, software, loads, .. } = self.0;
        wacz::package(records, written, index, &loads, &software, out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{RecordedRequest, RecordedResponse};

    const SOFTWARE: &str = "farlink 0.1.0";

    fn exchange(url: &str, status: u16, fields: &[(&str, &str)], kind: &str) -> Exchange {
        let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Exchange {
            request: RecordedRequest {
                method: "GET".to_owned(),
                url: url.to_owned(),
                ..RecordedRequest::default()
            },
            response: Some(RecordedResponse {
                status,
                protocol: "http/1.1".to_owned(),
                fields: fields.collect(),
                media_type: "text/html".to_owned(),
                transferred_bytes: 100,
                head_bytes: Some(90),
                ..RecordedResponse::default()
            }),
            resource_type: kind.to_owned(),
            ..Exchange::default()
        }
    }

    fn body(bytes: &[u8]) -> SpooledBody {
        let mut body = SpooledBody::new(&std::env::temp_dir());
        body.add(bytes).unwrap();
        body
    }

    fn recorded() -> FinishedRecording<Vec<u8>> {
        let at = Duration::from_secs;
        let mut recording = Recording::new(Vec::new(), SOFTWARE, at(1_000)).unwrap();
        let location = [("location", "/start")];
        let mut add = |began, exchange: &Exchange, text: &[u8]| {
            recording.add(at(began), exchange, None, Some(body(text))).unwrap();
        };
        add(1_001, &exchange("http://a.test/", 302, &location, "Document"), b"");
        let html = [("transfer-encoding", "chunked"), ("content-type", "text/html")];
        add(1_002, &exchange("http://a.test/start", 200, &html, "Document"), b"<p>one");
        add(1_003, &exchange("http://a.test/frame", 200, &html, "Other"), b"<p>frame");
        add(1_010, &exchange("http://a.test/two", 200, &html, "Document"), b"<p>two");
        recording.certificate(RecordedCertificate {
            host: "cdn.test".to_owned(),
            names: vec!["*.test".to_owned()],
            chain_bytes: 2_000,
        });
        recording.finish().unwrap()
    }

    #[test]
    fn loads_begin_with_their_documents_or_the_redirects_to_them() {
        let recorded = recorded();
        let archive = wacz::read_warc(&recorded.file()[..]).unwrap();
        assert_eq!((archive.damage, archive.software.as_str()), (None, SOFTWARE));
        let of = |load: &RecordedLoad| {
            let exchanges = load.exchanges.iter();
            (load.url.clone(), exchanges.map(|it| it.started.as_secs()).collect::<Vec<_>>())
        };
        let loads: Vec<_> = archive.loads.iter().map(of).collect();
        let expected =
            [("http://a.test/".into(), vec![0, 1, 2]), ("http://a.test/two".into(), vec![0])];
        assert_eq!(loads, expected);
        let certificates = archive.loads.iter().map(|load| load.certificates.len());
        assert_eq!(certificates.collect::<Vec<_>>(), [1, 1], "those that came late, too");
        let response = archive.loads[0].exchanges[1].response.as_ref().unwrap();
        assert_eq!(response.body.as_deref(), Some(&b"<p>one"[..]));
        assert_eq!(response.fields[1], ("content-length".to_owned(), "6".to_owned()));
    }

    #[test]
    fn a_packed_recording_is_read_as_the_warc_file() {
        let recorded = recorded();
        let records = recorded.file().clone();
        let mut packed = Cursor::new(Vec::new());
        recorded.pack(&mut &records[..], &mut packed).unwrap();
        let loads = wacz::read(packed).unwrap().loads;
        assert_eq!(loads, wacz::read_warc(&records[..]).unwrap().loads);
    }

    #[test]
    fn a_recording_that_was_killed_has_what_had_ended() {
        let records = recorded().file().clone();
        let torn = |end: usize| wacz::read_warc(&records[..end]).unwrap();
        let (nearly, half) = (torn(records.len() - 40), torn(records.len() / 2));
        assert!(nearly.damage.is_some() && half.damage.is_some());
        assert_eq!((nearly.loads.len(), nearly.loads[0].exchanges.len()), (2, 3));
        assert_eq!((half.loads.len(), half.loads[0].exchanges.len()), (1, 2));
    }

    #[test]
    fn bodies_shorter_than_told_are_an_error() {
        let mut recording = Recording::new(Vec::new(), SOFTWARE, Duration::ZERO).unwrap();
        let short = SpooledBody { bytes: 9, ..body(b"x") };
        let added = exchange("http://a.test/", 200, &[], "Fetch");
        assert!(recording.add(Duration::ZERO, &added, None, Some(short)).is_err());
    }
}
