//! Inlining of small objects into their parents: images as `data:` URLs (RFC 2397), sheets and scripts as elements.

use super::remove;
use crate::{After, Kind, Object, ObjectId, Page};

/// Length of `data:image/png;base64,`.
const DATA_URL_BYTES: u64 = 22;

/// Inlines objects of at most `most` bytes, later ones first, so that an inlined sheet already contains its own
/// references.
pub(super) fn inline(page: &mut Page, most: u64) -> String {
    let mut inlined = vec![false; page.objects.len()];
    for index in (1..page.objects.len()).rev() {
        if let Some(place) = inline_position(page, index, most) {
            write_into(page, index, place, &inlined);
            inlined[index] = true;
        }
    }
    remove(page, &inlined);
    let count = inlined.iter().filter(|inlined| **inlined).count();
    format!("{count} objects of at most {most} bytes inlined")
}

/// InlinePosition to write an object into: the parent, and the number of its bytes before.
#[derive(Clone, Copy)]
struct InlinePosition {
    parent: ObjectId,
    at: u64,
}

/// InlinePosition of an object that can be inlined.
fn inline_position(page: &Page, index: usize, most: u64) -> Option<InlinePosition> {
    let object = &page.objects[index];
    let [edge] = object.waits_for.as_slice() else { return None };
    let parent = &page.objects[edge.object.0 as usize];
    let fits = match parent.kind {
        Kind::Document => {
            matches!(object.kind, Kind::Image | Kind::Stylesheet | Kind::Script)
        }
        Kind::Stylesheet => object.kind == Kind::Image,
        _ => false,
    };
    let at = match edge.after {
        After::Head => return None,
        After::Bytes(at) => at.min(parent.body_bytes),
        After::End => parent.body_bytes,
    };
    let is_plain = object.method == "GET" && object.status == 200 && object.body_bytes <= most;
    (fits && is_plain).then_some(InlinePosition { parent: edge.object, at })
}

/// Bytes that it takes there.
fn written_bytes(object: &Object) -> u64 {
    match object.kind {
        Kind::Image => DATA_URL_BYTES + object.body_bytes.div_ceil(3) * 4,
        _ => object.body_bytes,
    }
}

/// Writes the object into its parent: references behind it move back; its own references are known once it has arrived.
fn write_into(page: &mut Page, index: usize, place: InlinePosition, gone: &[bool]) {
    let bytes = written_bytes(&page.objects[index]);
    page.objects[place.parent.0 as usize].body_bytes += bytes;
    for (other, object) in page.objects.iter_mut().enumerate() {
        if other == index || gone[other] {
            continue;
        }
        for edge in &mut object.waits_for {
            if edge.object.0 as usize == index {
                (edge.object, edge.after) = (place.parent, After::Bytes(place.at + bytes));
            } else if edge.object == place.parent
                && let After::Bytes(at) = &mut edge.after
                && (*at, other) > (place.at, index)
            {
                *at += bytes;
            }
        }
    }
}
