//! Recorded loads as WARC records, and back.
//!
//! Each exchange is a `request`, a `response` and a `metadata` record, in this order; the last has as JSON what HTTP
//! messages lack ([`ExchangeNotes`]). A `metadata` record of the page describes a load ([`LoadNotes`]). An exchange belongs to
//! the last load that began before it. Records of other recorders have no such metadata: then responses follow each other
//! at the times of their records, and how long they took is unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::load::millis;
use crate::warc::{self, WarcRecord};
use crate::{
    Exchange, ExchangePhases, RecordedCertificate, RecordedLoad, RecordedResponse, message,
};

/// Beginnings of our metadata's targets; the URL follows. Under the URL itself players would find the metadata in
/// place of the response.
const LOAD_OF: &str = "urn:farlink:load:";
const EXCHANGE_OF: &str = "urn:farlink:exchange:";

/// Media types of our metadata.
const LOAD: &str = "application/vnd.farlink.load+json";
const EXCHANGE: &str = "application/vnd.farlink.exchange+json";

/// Content of a metadata record about a load.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadNotes {
    browser: String,
    title: String,
    content_loaded_ms: Option<f64>,
    loaded_ms: Option<f64>,
    first_contentful_paint_ms: Option<f64>,
    largest_contentful_paint_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    certificates: Vec<RecordedCertificate>,
}

/// Content of a metadata record about an exchange; times in milliseconds since the load's start, and spans.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExchangeNotes {
    /// Absent from a recording that did not know its load yet: the record's date tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_ms: Option<f64>,
    blocked_ms: f64,
    dns_ms: Option<f64>,
    connect_ms: Option<f64>,
    tls_ms: Option<f64>,
    send_ms: f64,
    wait_ms: f64,
    receive_ms: f64,
    resource_type: String,
    priority: String,
    initiator: Value,
    connection: Option<u64>,
    from_cache: bool,
    error: Option<String>,
    /// Bytes as transferred; absent without a response.
    head_bytes: Option<u64>,
    transferred_bytes: Option<u64>,
    /// True if the body could not be had.
    #[serde(default)]
    is_body_missing: bool,
}

/// The records of loads. `software` is the recorder's name and version.
pub fn of_loads(loads: &[RecordedLoad], software: &str) -> Vec<WarcRecord> {
    let began = loads.first().map(|load| load.began).unwrap_or_default();
    let records = loads.iter().flat_map(|load| {
        let exchanges = load.exchanges.iter().flat_map(|exchange| of_exchange(load, exchange));
        [of_page(load)].into_iter().chain(exchanges)
    });
    [info(software, began)].into_iter().chain(records).collect()
}

/// The first record of a file.
pub(crate) fn info(software: &str, began: Duration) -> WarcRecord {
    let info = format!("software: {software}\r\nformat: WARC File Format 1.1\r\n");
    let fields = [("Content-Type", "application/warc-fields")];
    WarcRecord::new("warcinfo", &date(began), &fields, info.into())
}

/// The record that describes a load.
pub(crate) fn of_page(load: &RecordedLoad) -> WarcRecord {
    let notes = LoadNotes {
        browser: load.browser.clone(),
        title: load.title.clone(),
        content_loaded_ms: load.content_loaded.map(millis),
        loaded_ms: load.loaded.map(millis),
        first_contentful_paint_ms: load.first_contentful_paint.map(millis),
        largest_contentful_paint_ms: load.largest_contentful_paint.map(millis),
        certificates: load.certificates.clone(),
    };
    let target = format!("{LOAD_OF}{}", load.url);
    let fields = [("WARC-Target-URI", target.as_str()), ("Content-Type", LOAD)];
    WarcRecord::new("metadata", &date(load.began), &fields, json(&notes))
}

fn of_exchange(load: &RecordedLoad, exchange: &Exchange) -> Vec<WarcRecord> {
    let response = exchange.response.as_ref().map(|response| {
        let digest = warc::digest(response.body.as_deref().unwrap_or_default());
        (message::of_response(response), digest)
    });
    let notes = notes(exchange, Some(exchange.started));
    let records = ExchangeRecords::new(exchange, load.began + exchange.started, response, &notes);
    let ExchangeRecords { request, response, metadata } = records;
    [Some(request), response, Some(metadata)].into_iter().flatten().collect()
}

/// The records of an exchange, in the order of the file.
pub(crate) struct ExchangeRecords {
    pub(crate) request: WarcRecord,
    pub(crate) response: Option<WarcRecord>,
    pub(crate) metadata: WarcRecord,
}

impl ExchangeRecords {
    /// The records of an exchange of which only the heads are in memory; the blocks go on with the bodies. `body` has the
    /// size and digest of the response's. The load is not known yet.
    pub(crate) fn of_heads(
        exchange: &Exchange,
        began: Duration,
        body: Option<(u64, String)>,
    ) -> ExchangeRecords {
        let notes = ExchangeNotes { is_body_missing: false, ..notes(exchange, None) };
        let response =
            exchange.response.as_ref().zip(body).map(|(response, (bytes, digest))| {
                (message::head_of_coded(response, bytes), digest)
            });
        ExchangeRecords::new(exchange, began, response, &notes)
    }

    /// `response` is the block of its record and the digest of its body.
    fn new(
        exchange: &Exchange,
        began: Duration,
        response: Option<(Vec<u8>, String)>,
        notes: &ExchangeNotes,
    ) -> ExchangeRecords {
        let date = date(began);
        let url = exchange.request.url.as_str();
        let response = exchange.response.as_ref().zip(response).map(|(told, (block, digest))| {
            let mut fields = vec![
                ("WARC-Target-URI", url),
                ("Content-Type", "application/http; msgtype=response"),
                ("WARC-Payload-Digest", &digest),
            ];
            fields.extend(told.server.as_deref().map(|server| ("WARC-IP-Address", server)));
            if !told.protocol.is_empty() {
                fields.push(("WARC-Protocol", &told.protocol));
            }
            if url.starts_with("https:") && !told.protocol.starts_with("h3") {
                fields.push(("WARC-Protocol", "tls"));
            }
            WarcRecord::new("response", &date, &fields, block)
        });
        let id = response.as_ref().map(|response| response.id().to_owned());
        let beside = |target, kind| -> Vec<(&str, &str)> {
            let id = id.as_deref().map(|id| ("WARC-Concurrent-To", id));
            [("WARC-Target-URI", target), ("Content-Type", kind)].into_iter().chain(id).collect()
        };
        let request = beside(url, "application/http; msgtype=request");
        let block = message::of_request(&exchange.request);
        let notes_of = format!("{EXCHANGE_OF}{url}");
        let beside = beside(&notes_of, EXCHANGE);
        ExchangeRecords {
            request: WarcRecord::new("request", &date, &request, block),
            metadata: WarcRecord::new("metadata", &date, &beside, json(notes)),
            response,
        }
    }
}

/// `started` is the exchange's, since the start of its load.
fn notes(exchange: &Exchange, started: Option<Duration>) -> ExchangeNotes {
    let phases = &exchange.phases;
    let response = exchange.response.as_ref();
    ExchangeNotes {
        started_ms: started.map(millis),
        blocked_ms: millis(phases.blocked),
        dns_ms: phases.dns.map(millis),
        connect_ms: phases.connect.map(millis),
        tls_ms: phases.tls.map(millis),
        send_ms: millis(phases.send),
        wait_ms: millis(phases.wait),
        receive_ms: millis(phases.receive),
        resource_type: exchange.resource_type.clone(),
        priority: exchange.priority.clone(),
        initiator: exchange.initiator.clone(),
        connection: exchange.connection,
        from_cache: exchange.from_cache,
        error: exchange.error.clone(),
        head_bytes: response.and_then(|response| response.head_bytes),
        transferred_bytes: response.map(|response| response.transferred_bytes),
        is_body_missing: response.is_some_and(|response| response.body.is_none()),
    }
}

/// Builds loads from records in the order of their file.
#[derive(Default)]
pub struct LoadReader {
    /// Loads that records describe, without their exchanges.
    loads: Vec<RecordedLoad>,
    /// Exchanges so far, in the order of the file.
    exchanges: Vec<ReadExchange>,
    /// Place of the exchange with this response.
    by_response: BTreeMap<String, usize>,
    /// A request whose response has not come yet.
    request: Option<WarcRecord>,
    /// Bytes of all blocks and decoded bodies so far.
    pub(crate) bytes: u64,
    /// Name and version of the recorder, if it is told.
    pub software: Option<String>,
    /// Records that are no HTTP messages, by their type.
    pub skipped: BTreeMap<String, usize>,
}

#[derive(Default)]
struct ReadExchange {
    exchange: Exchange,
    /// Date of its records, since 1970.
    at: Duration,
    has_notes: bool,
    /// True if its notes tell its start.
    is_placed: bool,
}

impl LoadReader {
    /// Adds a record.
    pub fn add(&mut self, record: WarcRecord) {
        self.bytes += record.block.len() as u64;
        let content = record.field("Content-Type").unwrap_or_default().to_owned();
        match record.kind() {
            "metadata" if content == LOAD => self.page(&record),
            "metadata" if content == EXCHANGE => self.exchange_notes(&record),
            "response" if content.starts_with("application/http") => self.response(&record),
            "request" => self.request(record),
            "warcinfo" => {
                let info = String::from_utf8_lossy(&record.block);
                let software = info.lines().find_map(|line| line.strip_prefix("software:"));
                self.software = software.map(|name| name.trim().to_owned());
            }
            other => *self.skipped.entry(other.to_owned()).or_default() += 1,
        }
    }

    /// The loads of all records, at least one.
    pub fn finish(mut self) -> Vec<RecordedLoad> {
        if self.loads.is_empty() {
            return vec![self.only_load()];
        }
        self.loads.sort_by_key(|load| load.began);
        // The last ones of a torn file lack their times.
        self.exchanges.retain(|read| read.has_notes);
        if self.exchanges.iter().any(|read| !read.is_placed) {
            self.exchanges.sort_by_key(|read| read.at);
        }
        for ReadExchange { mut exchange, at, is_placed, .. } in self.exchanges {
            let begun = self.loads.partition_point(|load| load.began <= at);
            let load = &mut self.loads[begun.saturating_sub(1)];
            if !is_placed {
                exchange.started = at.saturating_sub(load.began);
            }
            load.exchanges.push(exchange);
        }
        self.loads
    }

    /// The load of records that describe none.
    fn only_load(self) -> RecordedLoad {
        let mut read = self.exchanges;
        let began = read.first().map(|first| first.at).unwrap_or_default();
        let document = read.iter().find(|read| is_document(&read.exchange));
        let url = document.map(|read| read.exchange.request.url.clone()).unwrap_or_default();
        // The document comes first, whenever its record was written.
        read.sort_by_key(|read| read.at);
        let is_first = |read: &ReadExchange| read.exchange.request.url == url;
        let document = read.iter().position(is_first);
        if let Some(at) = document {
            read[..=at].rotate_right(1);
        }
        let mut exchanges: Vec<Exchange> = Vec::new();
        for ReadExchange { mut exchange, at, .. } in read {
            exchange.started = match exchanges.is_empty() && document.is_some() {
                true => Duration::ZERO,
                false => at.saturating_sub(began),
            };
            exchanges.push(exchange);
        }
        RecordedLoad { url, began, exchanges, ..RecordedLoad::default() }
    }

    fn page(&mut self, record: &WarcRecord) {
        let Ok(notes) = serde_json::from_slice::<LoadNotes>(&record.block) else { return };
        let url = record.target().and_then(|it| it.strip_prefix(LOAD_OF)).unwrap_or_default();
        let load = RecordedLoad {
            url: url.to_owned(),
            browser: notes.browser,
            title: notes.title,
            began: instant(record).unwrap_or_default(),
            content_loaded: notes.content_loaded_ms.map(span),
            loaded: notes.loaded_ms.map(span),
            first_contentful_paint: notes.first_contentful_paint_ms.map(span),
            largest_contentful_paint: notes.largest_contentful_paint_ms.map(span),
            exchanges: Vec::new(),
            certificates: notes.certificates,
        };
        // A recorder that knows more at its end describes a load again.
        let known = |it: &&mut RecordedLoad| it.url == load.url && it.began == load.began;
        match self.loads.iter_mut().find(known) {
            Some(known) => *known = load,
            None => self.loads.push(load),
        }
    }

    fn response(&mut self, record: &WarcRecord) {
        let Some(url) = record.target().filter(|url| url.starts_with("http")) else { return };
        let Some(mut response) = message::response(&record.block) else {
            *self.skipped.entry("response that is not HTTP".to_owned()).or_default() += 1;
            return;
        };
        self.bytes += response.body.as_ref().map_or(0, |body| body.len() as u64);
        response.server = record.field("WARC-IP-Address").map(str::to_owned);
        let is_protocol = |(name, value): &&(String, String)| {
            name.eq_ignore_ascii_case("WARC-Protocol") && !value.starts_with("tls")
        };
        let protocol = record.fields.iter().find(is_protocol).map(|(_, value)| value.clone());
        response.protocol = protocol.unwrap_or_default();
        let mut exchange = Exchange { response: Some(response), ..Exchange::default() };
        exchange.request.url = url.to_owned();
        exchange.request.method = "GET".to_owned();
        // A request may come before its response, or after it.
        if let Some(request) = self.request.take()
            && request.target() == Some(url)
            && let Some(request) = message::request(&request.block, url)
        {
            exchange.request = request;
        }
        self.by_response.insert(record.id().to_owned(), self.exchanges.len());
        let at = instant(record).unwrap_or_default();
        self.exchanges.push(ReadExchange { exchange, at, ..ReadExchange::default() });
    }

    fn request(&mut self, record: WarcRecord) {
        let concurrent = record.field("WARC-Concurrent-To");
        let of = concurrent.and_then(|id| self.by_response.get(id)).copied();
        if let (Some(at), Some(url)) = (of, record.target().map(str::to_owned))
            && let Some(request) = message::request(&record.block, &url)
        {
            self.exchanges[at].exchange.request = request;
            return;
        }
        self.request = Some(record);
    }

    fn exchange_notes(&mut self, record: &WarcRecord) {
        let Ok(notes) = serde_json::from_slice::<ExchangeNotes>(&record.block) else { return };
        let concurrent = record.field("WARC-Concurrent-To");
        let at = match concurrent.and_then(|id| self.by_response.get(id)) {
            Some(at) => *at,
            // It had no response.
            None => {
                let Some(request) = self.request.take() else { return };
                let url = request.target().unwrap_or_default();
                let Some(request) = message::request(&request.block, url) else { return };
                let exchange = Exchange { request, ..Exchange::default() };
                let at = instant(record).unwrap_or_default();
                self.exchanges.push(ReadExchange { exchange, at, ..ReadExchange::default() });
                self.exchanges.len() - 1
            }
        };
        let read = &mut self.exchanges[at];
        (read.has_notes, read.is_placed) = (true, notes.started_ms.is_some());
        let exchange = &mut read.exchange;
        if let Some(response) = &mut exchange.response {
            note_response(response, &notes);
        }
        exchange.started = notes.started_ms.map(span).unwrap_or_default();
        exchange.phases = ExchangePhases {
            blocked: span(notes.blocked_ms),
            dns: notes.dns_ms.map(span),
            connect: notes.connect_ms.map(span),
            tls: notes.tls_ms.map(span),
            send: span(notes.send_ms),
            wait: span(notes.wait_ms),
            receive: span(notes.receive_ms),
        };
        exchange.resource_type = notes.resource_type;
        exchange.priority = notes.priority;
        exchange.initiator = notes.initiator;
        exchange.connection = notes.connection;
        exchange.from_cache = notes.from_cache;
        exchange.error = notes.error;
    }
}

fn note_response(response: &mut RecordedResponse, notes: &ExchangeNotes) {
    response.head_bytes = notes.head_bytes;
    response.transferred_bytes = notes.transferred_bytes.unwrap_or_default();
    if notes.is_body_missing {
        response.body = None;
    }
}

/// True for a page, as opposed to what it refers to.
pub(crate) fn is_document(exchange: &Exchange) -> bool {
    let response = exchange.response.as_ref();
    response.is_some_and(|it| it.status < 300 && it.media_type.contains("html"))
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data serialises")
}

/// A span of milliseconds; zero if it is no span.
fn span(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default()
}

/// An instant since 1970 as WARC 1.1 writes it, to the microsecond.
pub(crate) fn date(since_1970: Duration) -> String {
    let span = SignedDuration::try_from(since_1970).unwrap_or_default();
    format!("{:.6}", Timestamp::from_duration(span).unwrap_or_default())
}

/// The date of a record, since 1970.
fn instant(record: &WarcRecord) -> Option<Duration> {
    let at = record.field("WARC-Date")?.parse::<Timestamp>().ok()?;
    at.as_duration().try_into().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::RecordedRequest;

    fn load() -> RecordedLoad {
        let ms = Duration::from_millis;
        let request = |method: &str, url: &str| RecordedRequest {
            method: method.to_owned(),
            url: url.to_owned(),
            fields: vec![("host".to_owned(), "a.test".to_owned())],
            body: if method == "POST" { b"x=1".to_vec() } else { Vec::new() },
        };
        let response = |media_type: &str, body: &[u8]| RecordedResponse {
            status: 200,
            reason: "OK".to_owned(),
            protocol: "http/1.1".to_owned(),
            fields: vec![("content-type".to_owned(), media_type.to_owned())],
            media_type: media_type.to_owned(),
            body: Some(body.to_vec()),
            head_bytes: Some(120),
            transferred_bytes: 500,
            server: Some("127.0.0.1".to_owned()),
        };
        let phases = ExchangePhases {
            blocked: ms(1),
            dns: Some(ms(2)),
            connect: Some(ms(20)),
            tls: None,
            send: ms(1),
            wait: ms(30),
            receive: ms(5),
        };
        let page = Exchange {
            request: request("GET", "http://a.test/"),
            response: Some(response("text/html", b"<p>hello")),
            phases,
            resource_type: "Document".to_owned(),
            priority: "VeryHigh".to_owned(),
            initiator: json!({"type": "other"}),
            connection: Some(7),
            ..Exchange::default()
        };
        let posted = Exchange {
            request: request("POST", "http://a.test/order"),
            response: Some(RecordedResponse { body: None, ..response("text/plain", b"") }),
            started: ms(80),
            ..page.clone()
        };
        let failed = Exchange {
            request: request("GET", "http://a.test/gone"),
            response: None,
            started: ms(90),
            error: Some("net::ERR_FAILED".to_owned()),
            ..page.clone()
        };
        RecordedLoad {
            url: "http://a.test/".to_owned(),
            browser: "Chrome/156".to_owned(),
            title: "Hello".to_owned(),
            began: Duration::from_micros(1_700_000_000_123_456),
            content_loaded: Some(ms(70)),
            loaded: Some(ms(100)),
            first_contentful_paint: Some(ms(60)),
            largest_contentful_paint: None,
            exchanges: vec![page, posted, failed],
            certificates: vec![RecordedCertificate {
                host: "b.test:8443".to_owned(),
                names: vec!["b.test".to_owned(), "*.b.test".to_owned()],
                chain_bytes: 3_100,
            }],
        }
    }

    fn read(records: impl IntoIterator<Item = WarcRecord>) -> LoadReader {
        let mut reader = LoadReader::default();
        records.into_iter().for_each(|record| reader.add(record));
        reader
    }

    #[test]
    fn a_load_is_read_as_written() {
        let records = of_loads(&[load()], "farlink 0.1.0");
        assert_eq!(read(records.clone()).finish(), [load()]);
        assert_eq!(of_loads(&[load()], "farlink 0.1.0"), records);
    }

    #[test]
    fn exchanges_belong_to_the_load_that_began_before_them() {
        let later = load().began + Duration::from_secs(5);
        let loads =
            [load(), RecordedLoad { url: "http://a.test/2".into(), began: later, ..load() }];
        assert_eq!(read(of_loads(&loads, "farlink 0.1.0")).finish(), loads);
    }

    #[test]
    fn records_of_other_recorders_make_a_load() {
        let record = |kind: &str, date: &str, url: &str, block: &str| {
            let fields = [("WARC-Target-URI", url), ("Content-Type", "application/http")];
            WarcRecord::new(kind, date, &fields, block.as_bytes().to_vec())
        };
        let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<img src=b.png>";
        let png = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nx";
        let reader = read([
            record("response", "2018-01-01T00:00:02Z", "http://a.test/b.png", png),
            record("response", "2018-01-01T00:00:03Z", "http://a.test/", html),
            record("request", "2018-01-01T00:00:03Z", "http://a.test/", "GET / HTTP/1.1\r\n\r\n"),
            record("revisit", "2018-01-01T00:00:03Z", "http://a.test/c", ""),
            record("response", "2018-01-01T00:00:04Z", "http://a.test/d", "nonsense"),
        ]);
        assert_eq!(reader.skipped["revisit"], 1);
        assert_eq!(reader.skipped["response that is not HTTP"], 1);
        let loads = reader.finish();
        let load = &loads[0];
        assert_eq!(load.url, "http://a.test/");
        let urls: Vec<&str> = load.exchanges.iter().map(|it| it.request.url.as_str()).collect();
        assert_eq!(urls, ["http://a.test/", "http://a.test/b.png"]);
        assert_eq!(
            load.exchanges[0].response.as_ref().unwrap().body.as_deref(),
            Some(&b"<img src=b.png>"[..])
        );
    }
}
