//! Discovery of objects: the document, sheet or script that names each, and at which point.

use chance::RandomStream;

use super::objects::{ObjectCounts, ObjectSizes};
use super::priors::DiscoveryPrior;
use crate::{After, Kind, ObjectId};

/// Part of the document that refers to the sheets and scripts of its head.
const HEAD: f64 = 0.1;

/// An object, and its discovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DrawnObject {
    pub kind: Kind,
    pub bytes: u64,
    pub by: ObjectId,
    pub after: After,
}

/// Draws everything except the document, each after the object that names it: first the document's references in
/// their order, then scripts named by scripts, then images named by sheets and scripts.
pub(super) fn draw(
    priors: &DiscoveryPrior,
    counts: &ObjectCounts,
    sizes: &ObjectSizes,
    stream: &mut RandomStream,
) -> Vec<DrawnObject> {
    let mut sorted = Sorted::draw(priors, sizes, stream);
    let mut graph = DrawnGraph::with_capacity(counts.objects() as usize);
    graph.refer(&mut sorted, sizes.document, stream);
    for bytes in sorted.scripts_by_script {
        let parent = graph.any(Kind::Script, priors.most_depth, stream);
        graph.push(Kind::Script, bytes, parent);
    }
    for (by, bytes) in sorted.images {
        let parent = graph.any(by, priors.most_depth, stream);
        graph.push(Kind::Image, bytes, parent);
    }
    graph.found
}

/// Objects grouped by the kind of object that is to name them.
#[derive(Default)]
struct Sorted {
    /// Referred to in the document's head.
    head: Vec<(Kind, u64)>,
    /// Referred to in the rest of the document.
    body: Vec<(Kind, u64)>,
    scripts_by_script: Vec<u64>,
    /// Images with the kind of object that names them.
    images: Vec<(Kind, u64)>,
}

impl Sorted {
    fn draw(priors: &DiscoveryPrior, sizes: &ObjectSizes, stream: &mut RandomStream) -> Sorted {
        let mut sorted = Sorted::default();
        for &bytes in &sizes.js_css {
            let is_sheet = stream.happens(priors.sheets_of_js_css);
            let is_in_head = stream.happens(priors.in_head_of_js_css);
            let is_late = stream.happens(priors.scripts_by_script);
            let kind = if is_sheet { Kind::Stylesheet } else { Kind::Script };
            match (is_in_head, is_sheet, is_late) {
                (true, ..) => sorted.head.push((kind, bytes)),
                (false, false, true) => sorted.scripts_by_script.push(bytes),
                (false, ..) => sorted.body.push((kind, bytes)),
            }
        }
        sorted.body.extend(sizes.text.iter().map(|bytes| (Kind::Document, *bytes)));
        for &bytes in &sizes.images_other {
            let by = stream.unit();
            match by - priors.images_by_document {
                by if by < 0.0 => sorted.body.push((Kind::Image, bytes)),
                by if by < priors.images_by_sheet => {
                    sorted.images.push((Kind::Stylesheet, bytes));
                }
                _ => sorted.images.push((Kind::Script, bytes)),
            }
        }
        sorted
    }
}

/// Objects found so far, and their distances from the document.
struct DrawnGraph {
    found: Vec<DrawnObject>,
    depth: Vec<u32>,
}

impl DrawnGraph {
    fn with_capacity(objects: usize) -> DrawnGraph {
        DrawnGraph { found: Vec::with_capacity(objects), depth: Vec::with_capacity(objects) }
    }

    /// Places the document's references: those of its head evenly over its first tenth, the others in random order
    /// evenly over the rest.
    fn refer(&mut self, sorted: &mut Sorted, document: u64, stream: &mut RandomStream) {
        let head = (document as f64 * HEAD) as u64;
        self.spread(&sorted.head, 0, head);
        for last in (1..sorted.body.len()).rev() {
            sorted.body.swap(last, stream.below(last as u64 + 1) as usize);
        }
        self.spread(&sorted.body, head, document);
    }

    fn spread(&mut self, references: &[(Kind, u64)], from: u64, to: u64) {
        let count = references.len() as u64;
        for (index, &(kind, bytes)) in (1..).zip(references) {
            let at = from + (to - from) * index / count.max(1);
            let after = After::Bytes(at.max(1));
            self.found.push(DrawnObject { kind, bytes, by: ObjectId(0), after });
            self.depth.push(1);
        }
    }

    /// A random object of `kind` that may name another; `None` if there is none.
    fn any(&self, kind: Kind, most_depth: u32, stream: &mut RandomStream) -> Option<usize> {
        let may =
            |index: &usize| self.found[*index].kind == kind && self.depth[*index] < most_depth;
        let candidates: Vec<usize> = (0..self.found.len()).filter(may).collect();
        let drawn = stream.next_u64();
        let chosen = (u128::from(drawn) * candidates.len() as u128) >> 64;
        candidates.get(chosen as usize).copied()
    }

    /// Adds an object that `parent` names once it has arrived completely; without a parent the document does, at its
    /// end.
    fn push(&mut self, kind: Kind, bytes: u64, parent: Option<usize>) {
        let by = ObjectId(parent.map_or(0, |index| index as u32 + 1));
        self.depth.push(parent.map_or(0, |index| self.depth[index]) + 1);
        self.found.push(DrawnObject { kind, bytes, by, after: After::End });
    }
}
