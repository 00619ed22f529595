//! Kind and priority of an entry: from the tool's own type, the media type, the URL's ending.

use super::entry::Entry;
use crate::{Kind, Priority};

/// Kind of the response.
pub(super) fn kind(entry: &Entry) -> Kind {
    if is_redirect(entry) {
        return Kind::Redirect;
    }
    entry
        .resource_type
        .as_deref()
        .and_then(from_resource_type)
        .or_else(|| from_mime(&entry.mime))
        .or_else(|| entry.url.as_ref().and_then(|url| from_path(url.path())))
        .unwrap_or(Kind::Other)
}

/// Returns true if the load event may wait for the kind: scripts' fetches, beacons, event streams and preflights
/// never hold it up (HTML standard, "delay the load event").
pub(super) fn can_block_load(entry: &Entry, kind: Kind) -> bool {
    let word = entry.resource_type.as_deref().unwrap_or_default();
    let beside = matches!(word, "ping" | "beacon" | "eventsource" | "preflight" | "prefetch");
    !beside && kind != Kind::Data && entry.method != "OPTIONS" && entry.mime != "text/event-stream"
}

/// Priority that the tool states, or Chrome's default for the kind.
pub(super) fn priority(entry: &Entry, kind: Kind) -> Priority {
    entry.priority.as_deref().and_then(stated).unwrap_or(by_kind(kind))
}

fn is_redirect(entry: &Entry) -> bool {
    // RFC 9110 section 15.4; 300 and 304 do not redirect.
    matches!(entry.status, 301 | 302 | 303 | 307 | 308)
        && (entry.redirect_url.is_some() || entry.response_headers.get("location").is_some())
}

fn from_resource_type(word: &str) -> Option<Kind> {
    Some(match word {
        "document" => Kind::Document,
        "stylesheet" => Kind::Stylesheet,
        "script" => Kind::Script,
        "image" => Kind::Image,
        "font" => Kind::Font,
        "media" | "texttrack" => Kind::Media,
        "xhr" | "fetch" | "eventsource" | "ping" | "beacon" | "preflight" | "json" => Kind::Data,
        _ => return None,
    })
}

fn from_mime(mime: &str) -> Option<Kind> {
    Some(match mime {
        "text/html" | "application/xhtml+xml" => Kind::Document,
        "text/css" => Kind::Stylesheet,
        "application/json" | "application/xml" | "text/xml" | "text/event-stream" => Kind::Data,
        "application/vnd.ms-fontobject" => Kind::Font,
        _ if mime.contains("javascript") || mime.contains("ecmascript") => Kind::Script,
        _ if mime.starts_with("image/") => Kind::Image,
        _ if mime.starts_with("font/") || mime.contains("font-") => Kind::Font,
        _ if mime.starts_with("video/") || mime.starts_with("audio/") => Kind::Media,
        _ if mime.ends_with("+json") || mime.ends_with("+xml") => Kind::Data,
        _ => return None,
    })
}

fn from_path(path: &str) -> Option<Kind> {
    if path == "/" {
        return Some(Kind::Document);
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let (_, ending) = file.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" | "php" | "aspx" | "jsp" => Kind::Document,
        "css" => Kind::Stylesheet,
        "js" | "mjs" => Kind::Script,
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "svg" | "ico" | "bmp" => Kind::Image,
        "woff" | "woff2" | "ttf" | "otf" | "eot" => Kind::Font,
        "mp4" | "webm" | "mp3" | "m4a" | "ogg" | "ts" | "m3u8" => Kind::Media,
        "json" | "xml" => Kind::Data,
        _ => return None,
    })
}

/// DevTools shows Blink's names (`VeryHigh` ... `VeryLow`), WebPageTest the network stack's
/// (`HIGHEST` ... `IDLE`). Both are five levels in the same order.
fn stated(word: &str) -> Option<Priority> {
    Some(match word {
        "VeryHigh" | "HIGHEST" => Priority::Highest,
        "High" | "MEDIUM" => Priority::High,
        "Medium" | "LOW" => Priority::Medium,
        "Low" | "LOWEST" => Priority::Low,
        "VeryLow" | "IDLE" | "THROTTLED" => Priority::Lowest,
        _ => return None,
    })
}

/// Chrome's defaults (`third_party/blink/.../resource_fetcher.cc`, TypeToPriority, 2021).
pub(crate) fn by_kind(kind: Kind) -> Priority {
    match kind {
        Kind::Document | Kind::Stylesheet | Kind::Font | Kind::Redirect => Priority::Highest,
        Kind::Script | Kind::Data => Priority::High,
        Kind::Image | Kind::Media | Kind::Other => Priority::Low,
    }
}
