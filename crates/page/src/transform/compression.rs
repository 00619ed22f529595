//! Compression of text by servers (RFC 9110 section 8.4), and its absence.

use crate::{After, BodyCoding, Kind, Object, Page};

/// Length of `Content-Encoding: gzip` with its line end.
const FIELD_BYTES: u32 = 24;

/// Reduces documents, sheets, scripts and data, and the places in them, to `share` of their bytes.
pub(super) fn gzip(page: &mut Page, share: f64) -> String {
    resize(page, |object| {
        let kind = object.kind;
        let is_text = matches!(kind, Kind::Document | Kind::Stylesheet | Kind::Script | Kind::Data);
        let bytes = (object.body_bytes as f64 * share).ceil() as u64;
        let decoded_bytes = object.body_bytes;
        is_text.then_some((bytes, BodyCoding::Compressed { decoded_bytes }))
    });
    format!("text compressed to {} %", share * 100.0)
}

/// Gives every body that was recorded compressed its decoded size.
pub(super) fn uncompress(page: &mut Page) -> String {
    let count = resize(page, |object| match object.coding {
        BodyCoding::Compressed { decoded_bytes } => {
            let compressed_bytes = object.body_bytes;
            Some((decoded_bytes, BodyCoding::Uncompressed { compressed_bytes }))
        }
        BodyCoding::Identity | BodyCoding::Uncompressed { .. } => None,
    });
    format!("{count} compressed bodies sent decoded")
}

/// Gives the bodies that `of` resizes their new size and coding, and moves the places in them. Returns their number.
fn resize(page: &mut Page, of: impl Fn(&Object) -> Option<(u64, BodyCoding)>) -> usize {
    let before: Vec<Option<u64>> = page
        .objects
        .iter_mut()
        .map(|object| {
            let (bytes, coding) = of(object).filter(|_| object.body_bytes > 0)?;
            object.response_header_bytes = match coding {
                BodyCoding::Compressed { .. } => object.response_header_bytes + FIELD_BYTES,
                _ => object.response_header_bytes.saturating_sub(FIELD_BYTES),
            };
            object.coding = coding;
            Some(std::mem::replace(&mut object.body_bytes, bytes))
        })
        .collect();
    let after: Vec<u64> = page.objects.iter().map(|object| object.body_bytes).collect();
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        let parent = edge.object.0 as usize;
        if let (After::Bytes(at), Some(before)) = (&mut edge.after, before[parent]) {
            let place = *at as f64 / before as f64;
            *at = (place * after[parent] as f64).ceil() as u64;
        }
    }
    before.iter().flatten().count()
}
