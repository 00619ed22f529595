//! A page as browsers until 2013 discovered it: without images that a preload scanner finds.
//!
//! A parser stops at a synchronous script until that and all style sheets before it have arrived. Meanwhile a preload scanner looks ahead.
//! WebKit's did not request images before there was something to draw (`CachedResourceLoader::preload` of 2010 to 2013: "Don't preload
//! subresources that can't block the parser before we have something to draw"), so images of a document waited for the scripts and
//! sheets of its head: a round trip and a handshake or more. Blink requests them at once.

use crate::{After, Edge, Kind, Object, ObjectId, Page};

impl Page {
    /// The same page, whose images are discovered by the parser alone.
    #[must_use]
    pub fn without_image_lookahead(&self) -> Page {
        let mut page = self.clone();
        for object in page.objects.iter_mut().filter(|object| object.kind == Kind::Image) {
            let [edge] = &object.waits_for[..] else { continue };
            let waits = self.blockers(edge).map(|blocker| Edge {
                object: blocker,
                after: After::End,
                ..edge.clone()
            });
            object.waits_for = waits.chain([edge.clone()]).collect();
        }
        page
    }

    /// Bytes of the document between the script or sheet on which `edge` of `object` depends, where the parser stopped, and `object`.
    pub fn parsed_after(&self, object: &Object, edge: &Edge) -> u64 {
        let blocker = &self.objects[edge.object.0 as usize];
        let place_in = |object: &Object| {
            object.waits_for.iter().find_map(|edge| match edge.after {
                After::Bytes(place) => Some((edge.object, place)),
                After::Head | After::End => None,
            })
        };
        match (place_in(object), place_in(blocker)) {
            (Some((document, end)), Some((other, start))) if document == other => {
                end.saturating_sub(start)
            }
            _ => 0,
        }
    }

    /// The scripts at which the parser stops before it reaches the place of `edge` in a document, and the sheets that these wait for.
    fn blockers<'a>(&'a self, edge: &'a Edge) -> impl Iterator<Item = ObjectId> + 'a {
        let before = move |object: &Object| match (&object.waits_for[..], edge.after) {
            ([own], After::Bytes(end)) if object.blocks_render && own.object == edge.object => {
                matches!(own.after, After::Bytes(place) if place <= end)
            }
            _ => false,
        };
        let blocking = move || self.objects.iter().enumerate().filter(move |(_, it)| before(it));
        let last_script = blocking().rfind(|(_, it)| it.kind == Kind::Script);
        let end = last_script.map_or(0, |(index, _)| index + 1);
        blocking()
            .map(|(index, _)| index)
            .take_while(move |index| *index < end)
            .map(|index| ObjectId(index as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(page: &Page, object: usize) -> Vec<u32> {
        page.objects[object].waits_for.iter().map(|edge| edge.object.0).collect()
    }

    #[test]
    fn images_wait_for_scripts_and_the_sheets_before_them() {
        let page = crate::open("bth2013").unwrap();
        let parsed = page.without_image_lookahead();
        assert_eq!(
            waits(&parsed, 5),
            [1, 2, 3, 4, 0],
            "two sheets, two scripts, and its place in the document"
        );
        assert_eq!(waits(&parsed, 35), [1, 2, 3, 4, 0]);
        assert_eq!(waits(&parsed, 4), waits(&page, 4), "the scripts are looked for ahead");
        assert_eq!(parsed.objects.len(), page.objects.len());
        let image = &parsed.objects[5];
        let bytes = image.waits_for.iter().map(|edge| parsed.parsed_after(image, edge));
        assert_eq!(
            bytes.collect::<Vec<_>>(),
            [4256, 3856, 3456, 3056, 0],
            "of the document, to 4656"
        );
    }

    #[test]
    fn sheets_alone_do_not_stop_the_parser() {
        let mut page = crate::open("bth2013").unwrap();
        page.objects[3].blocks_render = false;
        page.objects[4].blocks_render = false;
        assert_eq!(page.without_image_lookahead(), page);
    }
}
