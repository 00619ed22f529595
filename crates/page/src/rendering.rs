//! Marks the objects that block the first paint of a page: style sheets and synchronous scripts before the content of
//! the main document, and imports of such sheets.
//!
//! Browsers paint nothing before a style sheet of the head has arrived (HTML standard, section 4.2.4.3, "implicitly
//! potentially render-blocking"), and their parser stops at a script without `async` or `defer` (section 4.12.1). Not
//! blocking are: objects inserted by scripts, requests of frames, sheets of another medium, scripts and sheets after
//! content, and objects that the load event does not wait for.
//!
//! The text of a document, if available, tells which references block. Otherwise the order of references and their
//! priorities do: Chromium requests a synchronous script of the head with High, a deferred or inserted one with Low,
//! a sheet of another medium with VeryLow (`third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc`).

use crate::{After, Edge, Kind, Object, ObjectId, ObjectPriority, Page};

/// Maximum number of images in a head, as preloads. Content begins with the next one.
const PRELOADED_IMAGES: usize = 2;

/// Known values of whether each object blocks the first paint.
pub(crate) type StatedBlocking = [Option<bool>];

/// Marks the objects of `page`; `stated` has one entry per object, or none at all.
pub(crate) fn mark(page: &mut Page, stated: &StatedBlocking) {
    let order = DocumentOrder::of(page, stated);
    for index in 1..page.objects.len() {
        let object = &page.objects[index];
        let known = stated.get(index).copied().flatten();
        let by_order = || order.stands_before_content(page, index) && is_waited_for(object);
        let blocks = object.blocks_load
            && object.method == "GET"
            && (known.unwrap_or_else(by_order) || is_imported(page, object));
        page.objects[index].blocks_render = blocks;
    }
}

/// A place in the main document; objects at the same byte are in the order of their requests.
type DocumentPosition = (u64, usize);

/// Visible content of the main document, in its order.
struct DocumentOrder {
    /// Place of its first reference, by order of requests. A reference that precedes it and was requested later was
    /// written into the document by a script.
    first: Option<DocumentPosition>,
    /// Images, media and frames.
    shown: Vec<DocumentPosition>,
}

impl DocumentOrder {
    fn of(page: &Page, stated: &StatedBlocking) -> DocumentOrder {
        let first = (1..page.objects.len()).find_map(|index| place(page, index));
        let is_shown = |index: &usize| {
            let kind = page.objects[*index].kind;
            let inserted = stated.get(*index).copied().flatten() == Some(false);
            matches!(kind, Kind::Image | Kind::Media | Kind::Document) && !inserted
        };
        let shown = (1..page.objects.len()).filter(is_shown);
        DocumentOrder { first, shown: shown.filter_map(|index| place(page, index)).collect() }
    }

    /// Returns true if no more is shown before the object than a head may preload, both by the order of requests,
    /// which is a parser's, and by the places in the document.
    fn stands_before_content(&self, page: &Page, index: usize) -> bool {
        let Some(own) = place(page, index) else { return false };
        let precedes = |shown: &&DocumentPosition| {
            shown.1 < index || (**shown < own && self.first.is_none_or(|first| **shown > first))
        };
        self.shown.iter().filter(precedes).count() <= PRELOADED_IMAGES
    }
}

/// Place at which the main document names the object, directly or by a redirect.
fn place(page: &Page, index: usize) -> Option<DocumentPosition> {
    let [edge] = page.objects[index].waits_for.as_slice() else { return None };
    let parent = edge.object.0 as usize;
    match edge.after {
        After::Head if page.objects[parent].kind == Kind::Redirect && parent > 0 => {
            place(page, parent)
        }
        _ if edge.object == page.document() => Some((bytes(edge, page.root_bytes()), index)),
        _ => None,
    }
}

fn bytes(edge: &Edge, whole: u64) -> u64 {
    match edge.after {
        After::Head => 0,
        After::Bytes(bytes) => bytes.min(whole),
        After::End => whole,
    }
}

/// Returns true if rendering or parsing waits for objects of this kind and priority.
fn is_waited_for(object: &Object) -> bool {
    let is_urgent = matches!(object.priority, ObjectPriority::Highest | ObjectPriority::High);
    is_urgent && matches!(object.kind, Kind::Stylesheet | Kind::Script)
}

/// Returns true if a blocking sheet imports the object.
fn is_imported(page: &Page, object: &Object) -> bool {
    let imports = |edge: &Edge| {
        let parent = &page.objects[edge.object.0 as usize];
        parent.kind == Kind::Stylesheet && parent.blocks_render
    };
    let edges = &object.waits_for;
    object.kind == Kind::Stylesheet && !edges.is_empty() && edges.iter().all(imports)
}

impl Page {
    /// The document at the end of the page's redirects.
    pub fn document(&self) -> ObjectId {
        let mut document = ObjectId(0);
        for (object, index) in self.objects.iter().zip(0..).skip(1) {
            let leads_on = |edge: &Edge| edge.object == document && edge.after == After::Head;
            let redirects = self.objects[document.0 as usize].kind == Kind::Redirect;
            if redirects && object.waits_for.iter().any(leads_on) {
                document = ObjectId(index);
            }
        }
        document
    }

    fn root_bytes(&self) -> u64 {
        self.objects[self.document().0 as usize].body_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Provenance, SizeEstimate};

    fn edge(object: u32, after: After) -> Edge {
        let provenance = Provenance::Measured;
        Edge { object: ObjectId(object), after, compute: SizeEstimate::default(), provenance }
    }

    /// A document of 1,000 bytes with these objects, each after one edge.
    fn page(objects: &[(Kind, ObjectPriority, Edge)]) -> Page {
        let mut page = crate::open("synthetic:1x1KB").unwrap();
        let sample = page.objects.remove(1);
        page.objects[0].body_bytes = 1000;
        for (kind, priority, edge) in objects {
            let (kind, priority) = (*kind, *priority);
            let object = Object { kind, priority, waits_for: vec![edge.clone()], ..sample.clone() };
            page.objects.push(object);
        }
        page
    }

    fn marked(page: &mut Page, stated: &StatedBlocking) -> Vec<usize> {
        mark(page, stated);
        (0..page.objects.len()).filter(|index| page.objects[*index].blocks_render).collect()
    }

    use Kind::*;
    use ObjectPriority::*;

    #[test]
    fn sheets_and_urgent_scripts_before_content_block() {
        let at = |bytes| edge(0, After::Bytes(bytes));
        let mut page = page(&[
            (Image, Low, at(10)),                       // 1, a preload
            (Stylesheet, Highest, at(20)),              // 2
            (Stylesheet, Lowest, at(25)),               // 3, for print
            (Script, High, at(30)),                     // 4
            (Script, Low, at(35)),                      // 5, deferred
            (Stylesheet, Highest, edge(2, After::End)), // 6, imported
            (Stylesheet, Highest, edge(4, After::End)), // 7, inserted by a script
            (Image, Low, at(500)),                      // 8
            (Image, Low, at(510)),                      // 9
            (Script, High, at(900)),                    // 10, behind content
            (Stylesheet, Highest, at(900)),             // 11, behind content
        ]);
        assert_eq!(marked(&mut page, &[]), [2, 4, 6]);
    }

    #[test]
    fn what_a_script_wrote_into_the_top_of_the_document_is_no_content() {
        let at = |bytes| edge(0, After::Bytes(bytes));
        let mut page = page(&[
            (Stylesheet, Highest, at(20)), // 1
            (Script, High, at(900)),       // 2, behind the images at 500, requested before them
            (Image, Low, at(500)),
            (Image, Low, at(500)),
            (Image, Low, at(500)),
            (Image, Low, at(1)), // 6 to 8, where a browser places what a script has written
            (Image, Low, at(1)),
            (Image, Low, at(1)),
            (Stylesheet, Highest, at(1)), // 9
        ]);
        assert_eq!(marked(&mut page, &[]), [1]);
    }

    #[test]
    fn what_a_text_says_comes_before_order_and_priority() {
        let at = |bytes| edge(0, After::Bytes(bytes));
        let mut page =
            page(&[(Script, High, at(20)), (Script, Low, at(990)), (Script, High, at(30))]);
        assert_eq!(marked(&mut page, &[None, Some(false), Some(true), None]), [2, 3]);
    }

    #[test]
    fn redirects_lead_to_what_blocks_and_frames_do_not() {
        let mut page = page(&[
            (Redirect, Highest, edge(0, After::Bytes(100))),
            (Stylesheet, Highest, edge(1, After::Head)),
            (Document, Highest, edge(0, After::Bytes(200))),
            (Stylesheet, Highest, edge(3, After::Bytes(1))),
        ]);
        assert_eq!(marked(&mut page, &[]), [2]);
        page.objects[2].blocks_load = false;
        assert_eq!(marked(&mut page, &[]), [] as [usize; 0]);
    }

    #[test]
    fn the_document_may_lie_behind_redirects() {
        let mut page = page(&[
            (Document, Highest, edge(0, After::Head)),
            (Stylesheet, Highest, edge(1, After::Bytes(10))),
        ]);
        page.objects[0].kind = Redirect;
        assert_eq!(page.document(), ObjectId(1));
        assert_eq!(marked(&mut page, &[]), [2]);
    }
}
