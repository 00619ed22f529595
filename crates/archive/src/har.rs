//! Recorded loads as a HAR with content, in the dialect of Chromium's DevTools.
//!
//! Source: <http://www.softwareishard.com/blog/har-12-spec/>, and DevTools' `HARLog.ts` for the fields with `_`.

mod read;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::load::{first, millis};
use crate::records::date;
use crate::{
    Exchange, ExchangePhases, Fields, RecordedCertificate, RecordedLoad, RecordedRequest,
    RecordedResponse,
};

pub use self::read::{HarError, read};

/// The file's text. `creator` is the name and version of the recorder.
pub fn text(loads: &[RecordedLoad], (name, version): (&str, &str)) -> String {
    let browser = loads.first().map_or("", |load| &load.browser);
    let (browser, browser_version) = browser.split_once('/').unwrap_or((browser, ""));
    let mut certificates: Vec<&RecordedCertificate> = Vec::new();
    for certificate in loads.iter().flat_map(|load| &load.certificates) {
        if !certificates.contains(&certificate) {
            certificates.push(certificate);
        }
    }
    let numbered = || loads.iter().enumerate();
    let entries = numbered().flat_map(|(at, load)| {
        load.exchanges.iter().map(move |exchange| entry(load, &page_id(at), exchange))
    });
    let har = json!({"log": {
        "version": "1.2",
        "creator": {"name": name, "version": version},
        "browser": {"name": browser, "version": browser_version},
        "pages": numbered().map(|(at, load)| page(load, &page_id(at))).collect::<Vec<_>>(),
        "_certificates": certificates,
        "entries": entries.collect::<Vec<_>>(),
    }});
    serde_json::to_string_pretty(&har).expect("JSON values serialise")
}

fn page_id(at: usize) -> String {
    format!("page_{}", at + 1)
}

fn page(load: &RecordedLoad, id: &str) -> Value {
    let ms = |span: Option<Duration>| span.map_or(-1.0, millis);
    json!({
        "startedDateTime": date(load.began),
        "id": id,
        "title": load.url,
        "_documentTitle": load.title,
        "pageTimings": {
            "onContentLoad": ms(load.content_loaded),
            "onLoad": ms(load.loaded),
            "_firstContentfulPaint": ms(load.first_contentful_paint),
            "_largestContentfulPaint": ms(load.largest_contentful_paint),
        },
    })
}

fn entry(load: &RecordedLoad, page: &str, exchange: &Exchange) -> Value {
    let phases = &exchange.phases;
    let optional = |span: Option<Duration>| span.map_or(-1.0, millis);
    // Of other recorders' loads no span is known.
    let is_timed = *phases != ExchangePhases::default();
    let span = |span: Duration| if is_timed { millis(span) } else { -1.0 };
    // HAR counts TLS's handshake into the connection's.
    let connect = phases.connect.map(|connect| connect + phases.tls.unwrap_or_default());
    let protocol = exchange.response.as_ref().map_or("", |response| &response.protocol);
    let mut entry = json!({
        "pageref": page,
        "startedDateTime": date(load.began + exchange.started),
        "time": millis(phases.total()),
        "request": request(&exchange.request, protocol),
        "response": response(exchange),
        "cache": {},
        "timings": {
            "blocked": span(phases.blocked),
            "dns": optional(phases.dns),
            "connect": optional(connect),
            "ssl": optional(phases.tls),
            "send": span(phases.send),
            "wait": span(phases.wait),
            "receive": span(phases.receive),
        },
        "_initiator": exchange.initiator,
        "_priority": exchange.priority,
        "_resourceType": exchange.resource_type.to_lowercase(),
    });
    if let Some(connection) = exchange.connection {
        entry["connection"] = connection.to_string().into();
    }
    if let Some(server) = exchange.response.as_ref().and_then(|it| it.server.as_ref()) {
        entry["serverIPAddress"] = server.as_str().into();
    }
    if exchange.from_cache {
        entry["_fromCache"] = "memory".into();
    }
    entry
}

fn request(request: &RecordedRequest, protocol: &str) -> Value {
    let query = request.url.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"name": name, "value": value})
    };
    let mut value = json!({
        "method": request.method,
        "url": request.url,
        "httpVersion": protocol,
        "cookies": [],
        "headers": fields(&request.fields),
        "queryString": pairs.map(pair).collect::<Vec<_>>(),
        "headersSize": -1,
        "bodySize": request.body.len(),
    });
    if !request.body.is_empty() {
        let media_type = first(&request.fields, "content-type").unwrap_or_default();
        value["postData"] =
            json!({"mimeType": media_type, "text": String::from_utf8_lossy(&request.body)});
    }
    value
}

fn response(exchange: &Exchange) -> Value {
    let nothing = RecordedResponse::default();
    let response = exchange.response.as_ref().unwrap_or(&nothing);
    let head = response.head_bytes.map(|head| head.min(response.transferred_bytes));
    let body_bytes = head.map(|head| response.transferred_bytes - head);
    // HTTP/2 and HTTP/3 have no head as text.
    let is_text = response.protocol.starts_with("http/1");
    let mut value = json!({
        "status": response.status,
        "statusText": response.reason,
        "httpVersion": response.protocol,
        "cookies": [],
        "headers": fields(&response.fields),
        "content": content(response),
        "redirectURL": first(&response.fields, "location").unwrap_or_default(),
        "headersSize": head.filter(|_| is_text).map_or(-1, |bytes| bytes as i64),
        "bodySize": body_bytes.map_or(-1, |bytes| bytes as i64),
        "_transferSize": response.transferred_bytes,
    });
    if let Some(error) = &exchange.error {
        value["_error"] = error.as_str().into();
    }
    value
}

fn content(response: &RecordedResponse) -> Value {
    let media_type = &response.media_type;
    match response.body.as_deref() {
        None => json!({"size": 0, "mimeType": media_type}),
        Some(body) => match std::str::from_utf8(body) {
            Ok(text) => json!({"size": body.len(), "mimeType": media_type, "text": text}),
            Err(_) => json!({
                "size": body.len(), "mimeType": media_type,
                "text": STANDARD.encode(body), "encoding": "base64",
            }),
        },
    }
}

fn fields(fields: &Fields) -> Vec<Value> {
    fields.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> RecordedLoad {
        let ms = Duration::from_millis;
        let response = RecordedResponse {
            status: 200,
            protocol: "h2".to_owned(),
            media_type: "image/png".to_owned(),
            body: Some(vec![0xff, 0xd8]),
            head_bytes: Some(30),
            transferred_bytes: 41,
            ..RecordedResponse::default()
        };
        let exchange = Exchange {
            request: RecordedRequest {
                method: "POST".to_owned(),
                url: "https://a.test/?a=1&b".to_owned(),
                fields: vec![("content-type".to_owned(), "text/plain".to_owned())],
                body: b"hello".to_vec(),
            },
            response: Some(response),
            started: ms(1500),
            phases: ExchangePhases {
                connect: Some(ms(20)),
                tls: Some(ms(25)),
                wait: ms(30),
                ..ExchangePhases::default()
            },
            initiator: json!({"type": "other"}),
            ..Exchange::default()
        };
        RecordedLoad {
            url: "https://a.test/".to_owned(),
            browser: "Chrome/156.0".to_owned(),
            began: Duration::from_secs(1_700_000_000),
            loaded: Some(ms(1600)),
            exchanges: vec![exchange],
            certificates: vec![RecordedCertificate {
                host: "a.test".to_owned(),
                names: vec!["a.test".to_owned()],
                chain_bytes: 3_100,
            }],
            ..RecordedLoad::default()
        }
    }

    #[test]
    fn a_load_is_read_as_written() {
        let mut written = load();
        written.exchanges[0].request.url = "https://a.test/".to_owned();
        let began = written.began + Duration::from_secs(9);
        let loads = [written.clone(), RecordedLoad { began, ..written }];
        assert_eq!(read(text(&loads, ("farlink", "0.1.0")).as_bytes()).unwrap(), loads);
    }

    #[test]
    fn a_load_is_written_in_devtools_dialect() {
        let har: Value = serde_json::from_str(&text(&[load()], ("farlink", "0.1.0"))).unwrap();
        let log = &har["log"];
        assert_eq!(log["browser"], json!({"name": "Chrome", "version": "156.0"}));
        assert_eq!(log["pages"][0]["pageTimings"]["onLoad"], 1600.0);
        assert_eq!(log["pages"][0]["pageTimings"]["onContentLoad"], -1.0);
        let entry = &log["entries"][0];
        assert_eq!(entry["startedDateTime"], "2023-11-14T22:13:21.500000Z");
        assert_eq!(entry["time"], 75.0);
        assert_eq!(entry["timings"]["connect"], 45.0, "with TLS");
        assert_eq!(entry["timings"]["ssl"], 25.0);
        assert_eq!(entry["request"]["queryString"][0], json!({"name": "a", "value": "1"}));
        assert_eq!(
            entry["request"]["postData"],
            json!({"mimeType": "text/plain", "text": "hello"})
        );
        assert_eq!(entry["response"]["bodySize"], 11);
        assert_eq!(entry["response"]["headersSize"], -1);
        let content = &entry["response"]["content"];
        assert_eq!((&content["text"], &content["encoding"]), (&json!("/9g="), &json!("base64")));
    }
}
