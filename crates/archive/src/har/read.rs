//! A HAR with content as recorded loads, one for each page.
//!
//! Only what a replay needs is read: messages with their bodies, times, and who answered. A field of an unexpected type is a
//! damaged file; a missing one has its default.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thiserror::Error;

use crate::{
    Exchange, ExchangePhases, Fields, RecordedCertificate, RecordedLoad, RecordedRequest,
    RecordedResponse,
};

/// A file that is no HAR.
#[derive(Debug, Error)]
pub enum HarError {
    /// It is not JSON, or has other fields than a HAR.
    #[error("not a HAR file: {0}")]
    Json(#[from] serde_json::Error),
    /// A body is not base64.
    #[error("entry {entry} ({url}): its content says base64, but is not: {problem}")]
    Base64 {
        /// Number of the entry, from 1.
        entry: usize,
        /// Its URL.
        url: String,
        /// The problem.
        problem: base64::DecodeError,
    },
}

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    #[serde(default)]
    browser: Option<Program>,
    #[serde(default)]
    pages: Vec<Page>,
    entries: Vec<Entry>,
    #[serde(default, rename = "_certificates")]
    certificates: Vec<RecordedCertificate>,
}

#[derive(Default, Deserialize)]
struct Program {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    id: String,
    #[serde(default)]
    started_date_time: String,
    #[serde(default)]
    title: String,
    #[serde(default, rename = "_documentTitle")]
    document_title: Option<String>,
    #[serde(default)]
    page_timings: PageTimings,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageTimings {
    #[serde(default, deserialize_with = "span")]
    on_content_load: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    on_load: Option<Duration>,
    #[serde(default, rename = "_firstContentfulPaint", deserialize_with = "span")]
    first_contentful_paint: Option<Duration>,
    #[serde(default, rename = "_largestContentfulPaint", deserialize_with = "span")]
    largest_contentful_paint: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    pageref: Option<String>,
    #[serde(default)]
    started_date_time: String,
    request: Request,
    response: Response,
    #[serde(default)]
    timings: Timings,
    #[serde(default, rename = "serverIPAddress")]
    server: Option<String>,
    #[serde(default)]
    connection: Option<String>,
    #[serde(default, rename = "_initiator")]
    initiator: Value,
    #[serde(default, rename = "_priority")]
    priority: Option<String>,
    #[serde(default, rename = "_resourceType")]
    resource_type: Option<String>,
    #[serde(default, rename = "_fromCache")]
    from_cache: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(default)]
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default)]
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    /// 0 or less: there was none.
    #[serde(default)]
    status: i64,
    #[serde(default)]
    status_text: String,
    #[serde(default)]
    http_version: String,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    headers_size: Option<i64>,
    #[serde(default)]
    body_size: Option<i64>,
    #[serde(default, rename = "_transferSize")]
    transfer_size: Option<i64>,
    #[serde(default, rename = "_error")]
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    size: i64,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

#[derive(Default, Deserialize)]
struct Timings {
    #[serde(default, deserialize_with = "span")]
    blocked: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    dns: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    connect: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    ssl: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    send: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    wait: Option<Duration>,
    #[serde(default, deserialize_with = "span")]
    receive: Option<Duration>,
}

/// Milliseconds as a span; HAR writes -1 where there is none.
fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let millis = Option::<f64>::deserialize(deserializer)?;
    Ok(millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok()))
}

/// Reads the loads of a HAR file's pages that have entries, at least one. An entry without a page is the first one's.
///
/// # Errors
/// If it is no HAR file.
pub fn read(file: &[u8]) -> Result<Vec<RecordedLoad>, HarError> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut log = serde_json::from_slice::<File>(file)?.log;
    if log.pages.is_empty() {
        log.pages.push(Page::default());
    }
    let page_of = |entry: &Entry| {
        let named = |page: &Page| entry.pageref.as_ref() == Some(&page.id);
        log.pages.iter().position(named).unwrap_or_default()
    };
    let mut loads = Vec::new();
    for (at, page) in log.pages.iter().enumerate() {
        let numbered = log.entries.iter().enumerate();
        let own: Vec<(usize, &Entry)> =
            numbered.filter(|(_, entry)| page_of(entry) == at).collect();
        if !own.is_empty() || log.entries.is_empty() && at == 0 {
            loads.push(load(&log, page, &own)?);
        }
    }
    loads.sort_by_key(|load| load.began);
    Ok(loads)
}

/// The load of a page with its entries and their numbers.
fn load(log: &Log, page: &Page, entries: &[(usize, &Entry)]) -> Result<RecordedLoad, HarError> {
    let first = entries.iter().filter_map(|(_, entry)| instant(&entry.started_date_time)).min();
    let began = instant(&page.started_date_time).or(first).unwrap_or_default();
    let exchanges = entries.iter().map(|(at, entry)| exchange(entry, at + 1, began));
    let url = entries.first().map(|(_, entry)| entry.request.url.clone()).unwrap_or_default();
    let browser = log.browser.as_ref();
    let browser = browser.map(|it| format!("{}/{}", it.name, it.version));
    let timings = &page.page_timings;
    Ok(RecordedLoad {
        url: without_fragment(&url).to_owned(),
        browser: browser.unwrap_or_default(),
        title: page.document_title.as_ref().unwrap_or(&page.title).clone(),
        began,
        content_loaded: timings.on_content_load,
        loaded: timings.on_load,
        first_contentful_paint: timings.first_contentful_paint,
        largest_contentful_paint: timings.largest_contentful_paint,
        exchanges: exchanges.collect::<Result<_, _>>()?,
        certificates: log.certificates.clone(),
    })
}

fn instant(date: &str) -> Option<Duration> {
    let at = date.parse::<Timestamp>().ok()?;
    at.as_duration().try_into().ok()
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

fn exchange(entry: &Entry, number: usize, began: Duration) -> Result<Exchange, HarError> {
    let Entry { request, timings, .. } = entry;
    let started = instant(&entry.started_date_time).unwrap_or(began).saturating_sub(began);
    let body = request.post_data.as_ref().map(|data| data.text.clone().into_bytes());
    let tls = timings.ssl;
    Ok(Exchange {
        request: RecordedRequest {
            method: request.method.clone(),
            url: without_fragment(&request.url).to_owned(),
            fields: fields(&request.headers),
            body: body.unwrap_or_default(),
        },
        response: response(entry, number)?,
        started,
        phases: ExchangePhases {
            blocked: timings.blocked.unwrap_or_default(),
            dns: timings.dns,
            // HAR counts TLS's handshake into the connection's.
            connect: timings.connect.map(|connect| connect.saturating_sub(tls.unwrap_or_default())),
            tls,
            send: timings.send.unwrap_or_default(),
            wait: timings.wait.unwrap_or_default(),
            receive: timings.receive.unwrap_or_default(),
        },
        resource_type: entry.resource_type.clone().unwrap_or_default(),
        priority: entry.priority.clone().unwrap_or_default(),
        initiator: entry.initiator.clone(),
        connection: entry.connection.as_ref().and_then(|number| number.parse().ok()),
        from_cache: entry.from_cache.is_some(),
        error: entry.response.error.clone(),
    })
}

fn response(entry: &Entry, number: usize) -> Result<Option<RecordedResponse>, HarError> {
    let Response { status, content, .. } = &entry.response;
    let Some(status) = u16::try_from(*status).ok().filter(|status| *status > 0) else {
        return Ok(None);
    };
    let decode = |text: &str| {
        STANDARD.decode(text).map_err(|problem| {
            let url = entry.request.url.clone();
            HarError::Base64 { entry: number, url, problem }
        })
    };
    let body = match (&content.text, &content.encoding) {
        (Some(text), Some(encoding)) if encoding == "base64" => Some(decode(text)?),
        (Some(text), _) => Some(text.clone().into_bytes()),
        // Without text an empty body looks like one that was left out.
        (None, _) => (content.size <= 0).then(Vec::new),
    };
    let size = |bytes: Option<i64>| bytes.and_then(|bytes| u64::try_from(bytes).ok());
    let head_bytes = size(entry.response.headers_size);
    let body_bytes = size(entry.response.body_size);
    let transferred = size(entry.response.transfer_size).filter(|bytes| *bytes > 0);
    let transferred = transferred.or_else(|| Some(head_bytes.unwrap_or_default() + body_bytes?));
    Ok(Some(RecordedResponse {
        status,
        reason: entry.response.status_text.clone(),
        protocol: entry.response.http_version.to_lowercase(),
        fields: fields(&entry.response.headers),
        media_type: media_type(&content.mime_type),
        body,
        // Of HTTP/2 and HTTP/3 the file states the body's size alone.
        head_bytes: head_bytes.or_else(|| transferred?.checked_sub(body_bytes?)),
        transferred_bytes: transferred.unwrap_or_default(),
        server: entry.server.as_ref().map(|it| it.trim_matches(['[', ']']).to_owned()),
    }))
}

fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_lowercase()
}

/// Fields without pseudo-fields. DevTools joins several values by line breaks.
fn fields(fields: &[Field]) -> Fields {
    let fields = fields.iter().filter(|field| !field.name.starts_with(':'));
    let values = fields.flat_map(|field| {
        field.value.split('\n').map(|value| (field.name.clone(), value.to_owned()))
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_of_other_pages_and_programs_are_read() {
        let entry = |page: &str, url: &str| {
            json!({
                "pageref": page, "startedDateTime": "2026-01-01T00:00:01.000Z",
                "request": {"method": "GET", "url": url, "headers": [{"name": ":authority", "value": "a"}]},
                "response": {"status": 200, "content": {"size": 3, "mimeType": "text/HTML; charset=x"}},
            })
        };
        let file = json!({"log": {
            "pages": [{"id": "1", "startedDateTime": "2026-01-01T00:00:00Z"}, {"id": "2"}],
            "entries": [entry("1", "https://a.test/#top"), entry("2", "https://b.test/")],
        }});
        let loads = read(file.to_string().as_bytes()).unwrap();
        let urls: Vec<&str> = loads.iter().map(|load| load.url.as_str()).collect();
        assert_eq!(urls, ["https://a.test/", "https://b.test/"]);
        let load = &loads[0];
        assert_eq!(load.exchanges.len(), 1);
        let exchange = &load.exchanges[0];
        assert_eq!(exchange.started, Duration::from_secs(1));
        assert!(exchange.request.fields.is_empty());
        let response = exchange.response.as_ref().unwrap();
        assert_eq!((response.media_type.as_str(), &response.body), ("text/html", &None));
    }

    #[test]
    fn other_files_are_refused() {
        let refused = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(refused("{}").contains("missing field `log`"), "{}", refused("{}"));
        let content = json!({"text": "?", "encoding": "base64"});
        let entry = json!({
            "request": {"url": "http://a.test/"}, "response": {"status": 200, "content": content},
        });
        let said = refused(&json!({"log": {"entries": [entry]}}).to_string());
        assert!(said.starts_with("entry 1 (http://a.test/): its content says base64"), "{said}");
    }

    proptest! {
        #[test]
        fn any_file_is_survived(text in ".{0,200}") {
            let _ = read(text.as_bytes());
            let _ = read(format!(r#"{{"log":{{"entries":[{{"request":{{"url":{text:?}}},"response":{{}}}}]}}}}"#).as_bytes());
        }
    }
}
