//! Initiator of an entry, as far as it is recorded.
//!
//! Chrome writes an object (`{type, url, lineNumber, stack}`, the stack with asynchronous parents);
//! chrome-har and WebPageTest write the URL as a string with the line beside it, chrome-har also the
//! whole object as text in `_initiator_detail`.

use serde_json::Value;

use super::json::{field, number, text};

/// Maximum number of asynchronous parents followed. Longer chains are timers that re-arm themselves.
const DEEPEST_STACK: usize = 32;

/// A place in a resource that caused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub url: String,
    /// Line in that resource, if stated.
    pub line: Option<u32>,
}

/// Recorded cause of an entry; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Initiator {
    /// Each resource that had to be loaded: one for a parser's request, each script on the stack for a script's.
    pub places: Vec<Place>,
    /// `_initiator_type` or `type`: `parser`, `script`, `preload`, `preflight`, `other`.
    pub kind: Option<String>,
}

/// Parses the initiator of an entry.
pub(super) fn read(entry: &Value) -> Initiator {
    let own = field(entry, "_initiator");
    let detail = text(field(entry, "_initiator_detail"))
        .and_then(|detail| serde_json::from_str::<Value>(detail).ok());
    if own.is_object() {
        return from_object(own);
    }
    let mut initiator = detail.as_ref().map(from_object).unwrap_or_default();
    if let Some(url) = text(own) {
        // WebPageTest and chrome-har count lines from 1 here; only the order matters.
        let line = line(field(entry, "_initiator_line"));
        add(&mut initiator.places, url, line);
    }
    if initiator.kind.is_none() {
        initiator.kind = text(field(entry, "_initiator_type")).map(str::to_lowercase);
    }
    initiator
}

fn from_object(object: &Value) -> Initiator {
    let mut places = Vec::new();
    if let Some(url) = text(field(object, "url")) {
        add(&mut places, url, line(field(object, "lineNumber")));
    }
    let mut stack = field(object, "stack");
    for _ in 0..DEEPEST_STACK {
        let frames = field(stack, "callFrames").as_array().map(Vec::as_slice).unwrap_or_default();
        for frame in frames {
            if let Some(url) = text(field(frame, "url")) {
                add(&mut places, url, line(field(frame, "lineNumber")));
            }
        }
        stack = field(stack, "parent");
    }
    Initiator { places, kind: text(field(object, "type")).map(str::to_lowercase) }
}

fn line(value: &Value) -> Option<u32> {
    number(value).filter(|n| (0.0..4e9).contains(n)).map(|n| n as u32)
}

/// Adds a place unless it is known; the first line stated for it is kept.
fn add(places: &mut Vec<Place>, url: &str, line: Option<u32>) {
    match places.iter_mut().find(|place| place.url == url) {
        Some(place) => place.line = place.line.or(line),
        None => places.push(Place { url: url.to_owned(), line }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(url: &str, line: Option<u32>) -> Place {
        Place { url: url.to_owned(), line }
    }

    #[test]
    fn reads_chromes_object_with_its_asynchronous_parents() {
        let entry = json!({"_initiator": {"type": "script", "stack": {
            "callFrames": [{"url": "http://a/lib.js", "lineNumber": 3}, {"url": "http://a/lib.js"}],
            "parent": {"callFrames": [{"url": "http://a/app.js", "lineNumber": 9}]}}}});
        let read = read(&entry);
        assert_eq!(read.kind.as_deref(), Some("script"));
        assert_eq!(
            read.places,
            [place("http://a/lib.js", Some(3)), place("http://a/app.js", Some(9))]
        );
    }

    #[test]
    fn reads_a_url_with_its_line_also_as_text() {
        let entry = json!({"_initiator": "http://a/", "_initiator_line": "12"});
        assert_eq!(read(&entry).places, [place("http://a/", Some(12))]);
        let detail = r#"{"type":"parser","url":"http://a/","lineNumber":11}"#;
        let entry = json!({"_initiator": "http://a/", "_initiator_line": 12,
            "_initiator_detail": detail});
        assert_eq!(read(&entry).places, [place("http://a/", Some(11))]);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(read(&json!({"_initiator": {"type": "other"}})).places, []);
        assert_eq!(read(&json!({"_initiator": ""})), Initiator::default());
    }
}
