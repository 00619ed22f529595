//! Compression of text (RFC 9110 section 8.4.1.3).

use crate::{After, Kind, Page};

/// Length of `Content-Encoding: gzip` with its line end.
const FIELD_BYTES: u32 = 24;

/// Reduces documents, sheets, scripts and data, and the places in them, to `share` of their bytes.
pub(super) fn gzip(page: &mut Page, share: f64) -> String {
    let left = |bytes: u64| (bytes as f64 * share).ceil() as u64;
    let is_text: Vec<bool> = page
        .objects
        .iter()
        .map(|object| {
            let kind = object.kind;
            matches!(kind, Kind::Document | Kind::Stylesheet | Kind::Script | Kind::Data)
        })
        .collect();
    for (object, is_text) in page.objects.iter_mut().zip(&is_text) {
        if *is_text && object.body_bytes > 0 {
            object.body_bytes = left(object.body_bytes);
            object.response_header_bytes += FIELD_BYTES;
        }
    }
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        if let After::Bytes(at) = &mut edge.after
            && is_text[edge.object.0 as usize]
        {
            *at = left(*at);
        }
    }
    format!("text compressed to {} %", share * 100.0)
}
