//! Mahimahi's recordings: a folder with a file for each exchange, a message of protocol buffers.
//!
//! Source: `src/protobufs/http_record.proto` of Mahimahi (Netravali et al., USENIX ATC 2015).

use std::path::Path;

use prost::Message;

use super::ForeignError;
use crate::{Exchange, RecordedLoad, message};

#[derive(Clone, PartialEq, Message)]
struct RequestResponse {
    #[prost(string, optional, tag = "1")]
    ip: Option<String>,
    #[prost(uint32, optional, tag = "2")]
    port: Option<u32>,
    /// 1: http, 2: https.
    #[prost(int32, optional, tag = "3")]
    scheme: Option<i32>,
    #[prost(message, optional, tag = "4")]
    request: Option<HttpMessage>,
    #[prost(message, optional, tag = "5")]
    response: Option<HttpMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct HttpMessage {
    #[prost(bytes = "vec", optional, tag = "1")]
    first_line: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "2")]
    header: Vec<HttpHeader>,
    #[prost(bytes = "vec", optional, tag = "3")]
    body: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct HttpHeader {
    #[prost(bytes = "vec", optional, tag = "1")]
    key: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    value: Option<Vec<u8>>,
}

const HTTPS: i32 = 2;

impl HttpMessage {
    /// The message as HTTP/1.1 text.
    fn text(&self) -> Vec<u8> {
        let mut text = self.first_line.clone().unwrap_or_default();
        text.extend(b"\r\n");
        for field in &self.header {
            for part in [field.key.as_deref(), Some(b": "), field.value.as_deref(), Some(b"\r\n")] {
                text.extend(part.unwrap_or_default());
            }
        }
        text.extend(b"\r\n");
        text.extend(self.body.iter().flatten());
        text
    }

    fn field(&self, name: &str) -> Option<String> {
        let is_it = |field: &&HttpHeader| {
            field.key.as_ref().is_some_and(|key| key.eq_ignore_ascii_case(name.as_bytes()))
        };
        let value = self.header.iter().find(is_it)?.value.as_ref()?;
        Some(String::from_utf8_lossy(value).trim().to_owned())
    }
}

/// Reads a folder.
///
/// # Errors
/// If a file in it cannot be read, or is none of Mahimahi's.
pub fn read(folder: &Path) -> Result<RecordedLoad, ForeignError> {
    let entries: Vec<_> = folder.read_dir()?.collect::<Result<_, _>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    let exchanges = files.iter().map(|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        exchange(&std::fs::read(path)?).map_err(|problem| ForeignError::Mahimahi { file, problem })
    });
    super::load(exchanges.collect::<Result<_, _>>()?)
}

/// Reads the record of one file.
fn exchange(file: &[u8]) -> Result<Exchange, String> {
    let record = RequestResponse::decode(file).map_err(|error| error.to_string())?;
    let request = record.request.ok_or("it has no request")?;
    let host = request.field("host").or_else(|| record.ip.clone()).ok_or("it names no host")?;
    let line =
        String::from_utf8_lossy(request.first_line.as_deref().unwrap_or_default()).into_owned();
    let target = line.split(' ').nth(1).ok_or_else(|| format!("`{line}` is no request line"))?;
    let scheme = if record.scheme == Some(HTTPS) { "https" } else { "http" };
    let url = match target.contains("://") {
        true => target.to_owned(),
        false => format!("{scheme}://{host}{target}"),
    };
    let request = message::request(&request.text(), &url).ok_or("its request is not HTTP")?;
    let response = match record.response {
        Some(response) => {
            Some(message::response(&response.text()).ok_or("its response is not HTTP")?)
        }
        None => None,
    };
    let response = response.map(|mut response| {
        response.server = record.ip;
        response.protocol = "http/1.1".to_owned();
        response
    });
    Ok(Exchange { request, response, ..Exchange::default() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(first_line: &str, fields: &[(&str, &str)], body: &str) -> HttpMessage {
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let header =
            fields.iter().map(|(key, value)| HttpHeader { key: bytes(key), value: bytes(value) });
        HttpMessage { first_line: bytes(first_line), header: header.collect(), body: bytes(body) }
    }

    fn record(path: &str, media_type: &str, body: &str) -> Vec<u8> {
        let request = message(&format!("GET {path} HTTP/1.1"), &[("Host", "a.test")], "");
        let response = message("HTTP/1.1 200 OK", &[("Content-Type", media_type)], body);
        let record = RequestResponse {
            ip: Some("192.0.2.1".to_owned()),
            port: Some(443),
            scheme: Some(HTTPS),
            request: Some(request),
            response: Some(response),
        };
        record.encode_to_vec()
    }

    #[test]
    fn a_folder_is_a_load() {
        let folder = tempfile::tempdir().unwrap();
        let put =
            |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        put("save.1", &record("/a.png", "image/png", "x"));
        put("save.2", &record("/", "text/html", "<img src=a.png>"));
        let load = read(folder.path()).unwrap();
        assert_eq!(load.url, "https://a.test/");
        let response = load.exchanges[0].response.as_ref().unwrap();
        assert_eq!(response.body.as_deref(), Some(&b"<img src=a.png>"[..]));
        assert_eq!(response.server.as_deref(), Some("192.0.2.1"));
        assert_eq!(load.exchanges[1].request.url, "https://a.test/a.png");
        put("notes.txt", b"hello");
        let refused = read(folder.path()).unwrap_err().to_string();
        assert!(refused.starts_with("notes.txt: not one of Mahimahi's records"), "{refused}");
    }

    proptest! {
        #[test]
        fn any_file_is_survived(file in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = exchange(&file);
        }
    }
}
