//! Removal of objects from a page.

use crate::{ObjectId, Page};

/// Removes the marked objects. No object may wait for them any more.
pub(super) fn remove(page: &mut Page, marked: &[bool]) {
    let mut next = 0;
    let ids: Vec<u32> = marked
        .iter()
        .map(|marked| {
            let id = next;
            next += u32::from(!marked);
            id
        })
        .collect();
    let mut index = 0;
    page.objects.retain(|_| {
        index += 1;
        !marked[index - 1]
    });
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        edge.object = ObjectId(ids[edge.object.0 as usize]);
    }
}
