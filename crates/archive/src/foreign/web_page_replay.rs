//! Web Page Replay's archives: compressed JSON, in which requests and responses lie as HTTP/1.1 text.
//!
//! Source: `webpagereplay/archive.go` of Catapult's `web_page_replay_go`.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde::Deserialize;

use super::ForeignError;
use crate::{Exchange, RecordedLoad, message};

/// The largest archive once it is decompressed.
const MOST_BYTES: u64 = 1 << 30;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    /// By host, then by URL.
    requests: BTreeMap<String, BTreeMap<String, Vec<ArchivedRequest>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ArchivedRequest {
    /// Base64, as Go writes bytes.
    #[serde(default)]
    serialized_request: Option<String>,
    #[serde(default)]
    serialized_response: Option<String>,
    /// ALPN name.
    #[serde(default)]
    proto: Option<String>,
}

/// Its beginning, once it is decompressed: Go writes fields in their order.
const START: &[u8] = b"{\"Requests\":";

/// True if the file looks like one.
pub fn is_archive(file: &[u8]) -> bool {
    let mut start = [0; START.len()];
    let read = GzDecoder::new(file).read_exact(&mut start);
    read.is_ok() && start == START
}

/// Reads an archive.
///
/// # Errors
/// If it is none.
pub fn read(file: &[u8]) -> Result<RecordedLoad, ForeignError> {
    let mut text = Vec::new();
    GzDecoder::new(file).take(MOST_BYTES).read_to_end(&mut text)?;
    let file: File = serde_json::from_slice(&text)?;
    let by_url = file.requests.into_values().flatten();
    let archived = by_url.flat_map(|(url, requests)| {
        requests.into_iter().map(move |request| (url.clone(), request))
    });
    super::load(archived.filter_map(|(url, request)| exchange(&url, &request)).collect())
}

/// The exchange of a request; `None` if it is not HTTP.
fn exchange(url: &str, archived: &ArchivedRequest) -> Option<Exchange> {
    let decoded = |text: &Option<String>| STANDARD.decode(text.as_deref().unwrap_or_default()).ok();
    let request = message::request(&decoded(&archived.serialized_request)?, url)?;
    let mut response = message::response(&decoded(&archived.serialized_response)?);
    if let Some(response) = &mut response {
        let protocol = archived.proto.as_deref().filter(|proto| !proto.is_empty());
        response.protocol = protocol.unwrap_or("http/1.1").to_owned();
    }
    Some(Exchange { request, response, ..Exchange::default() })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn compressed(text: &str) -> Vec<u8> {
        let mut coder = GzEncoder::new(Vec::new(), Compression::fast());
        coder.write_all(text.as_bytes()).unwrap();
        coder.finish().unwrap()
    }

    fn archived(path: &str, media_type: &str, body: &str) -> Value {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let response = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n\r\n{body}");
        json!([{
            "SerializedRequest": STANDARD.encode(request), "SerializedResponse": STANDARD.encode(response), "Proto": "h2",
        }])
    }

    #[test]
    fn an_archive_is_a_load() {
        let requests = json!({"a.test": {
            "https://a.test/b.css": archived("/b.css", "text/css", "p {}"),
            "https://a.test/c": archived("/c", "text/html", "<link rel=stylesheet href=b.css>"),
        }});
        let file = compressed(&format!("{{\"Requests\":{requests},\"Certs\":{{}}}}"));
        assert!(is_archive(&file) && !is_archive(b"{}"));
        assert!(
            !is_archive(&compressed("WARC/1.0\r\n")) && !is_archive(&compressed("{\"log\": {}}"))
        );
        let load = read(&file).unwrap();
        assert_eq!((load.url.as_str(), load.exchanges.len()), ("https://a.test/c", 2));
        let sheet = load.exchanges[1].response.as_ref().unwrap();
        assert_eq!((sheet.protocol.as_str(), sheet.body.as_deref()), ("h2", Some(&b"p {}"[..])));
        let refused = |text: &str| read(&compressed(text)).unwrap_err().to_string();
        assert!(refused("{}").contains("missing field `Requests`"), "{}", refused("{}"));
        assert_eq!(refused("{\"Requests\": {}}"), "no HTTP response in it");
    }

    proptest! {
        #[test]
        fn any_file_is_survived(text in ".{0,80}", message in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&compressed(&text));
            let _ = read(text.as_bytes());
            let request = json!([{"SerializedRequest": STANDARD.encode(&message), "SerializedResponse": STANDARD.encode(&message)}]);
            let _ = read(&compressed(&json!({"Requests": {"a": {"http://a/": request}}}).to_string()));
        }
    }
}
