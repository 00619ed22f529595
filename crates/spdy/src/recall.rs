//! What header blocks became, for contexts that are fed alike: it is looked up instead of computed again.
//!
//! What a context makes of a block depends on nothing but how it began and the blocks so far. Who speaks the same over and over, as a simulation that
//! loads a page a hundred times, hands all its sessions one [`Recall`]. It is a tree: a step from the root is a first block, a path the history of a
//! context, and blocks are compared whole. A session that is given none (see [`Session::new`](crate::Session::new)) keeps nothing and looks nothing up.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use crate::{Compression, Version};

/// What contexts have made of their blocks, up to a number of bytes. Clones share it.
#[derive(Clone)]
pub struct Recall(Arc<Mutex<Tree>>);

impl Recall {
    /// One that holds about `limit` bytes at most: when they are full it forgets all, and contexts compute from then on.
    pub fn new(limit: usize) -> Recall {
        let (nodes, roots) = (Vec::new(), Vec::new());
        Recall(Arc::new(Mutex::new(Tree { nodes, roots, bytes: 0, limit, generation: 0 })))
    }

    /// The place of a context that begins.
    pub(crate) fn begin(&self, beginning: Beginning) -> Place {
        let mut tree = self.tree();
        let node = tree.root(beginning);
        Place { recall: self.clone(), generation: tree.generation, node }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.0.lock().expect("nothing panics while it looks or adds")
    }
}

impl fmt::Debug for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall").finish_non_exhaustive()
    }
}

/// How a context begins: all that its results depend on beside its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// It compresses.
    Deflater(Version, Compression),
    /// It inflates, to so many bytes a block at most.
    Inflater(Version, usize),
}

/// Where a context stands: behind the blocks that it has had.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    recall: Recall,
    /// The tree's when it came here: a place in a tree that has been forgotten leads nowhere.
    generation: u64,
    node: usize,
}

impl Place {
    /// Goes on over `block`, if that is known here: puts what it became into `out`, whose content is replaced, and gives the block.
    pub(crate) fn recall(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Bytes> {
        let tree = self.recall.tree();
        let node = tree.follow(self, block)?;
        self.node = node;
        let node = &tree.nodes[node];
        out.clear();
        out.extend_from_slice(&node.result);
        Some(node.block.clone())
    }

    /// Goes on over `block`, which became `result`; `None` if there is no place for that.
    pub(crate) fn learn(self, block: &[u8], result: &[u8]) -> Option<Place> {
        let node = self.recall.tree().learn(&self, block, result)?;
        Some(Place { node, ..self })
    }
}

/// About what a node takes beside its bytes: itself, its entry in another, what allocators add.
const NODE_BYTES: usize = 160;

struct Tree {
    nodes: Vec<Node>,
    /// Each with its node.
    roots: Vec<(Beginning, usize)>,
    /// What the nodes take.
    bytes: usize,
    limit: usize,
    /// How many times all has been forgotten.
    generation: u64,
}

struct Node {
    /// The block that leads here, and what it became.
    block: Bytes,
    result: Box<[u8]>,
    /// The nodes behind it, in the order of their blocks.
    next: Vec<usize>,
}

impl Tree {
    fn root(&mut self, beginning: Beginning) -> usize {
        if let Some((_, node)) = self.roots.iter().find(|(of, _)| *of == beginning) {
            return *node;
        }
        let node = self.add(Bytes::new(), &[]);
        self.roots.push((beginning, node));
        node
    }

    fn add(&mut self, block: Bytes, result: &[u8]) -> usize {
        self.bytes += NODE_BYTES + block.len() + result.len();
        self.nodes.push(Node { block, result: result.into(), next: Vec::new() });
        self.nodes.len() - 1
    }

    /// Where `block` leads from `place`.
    fn follow(&self, place: &Place, block: &[u8]) -> Option<usize> {
        let is_current = place.generation == self.generation;
        is_current.then(|| self.position(place.node, block).ok()).flatten()
    }

    /// The node behind `node` that `block` leads to, or where in its order there is to be one.
    fn position(&self, node: usize, block: &[u8]) -> Result<usize, usize> {
        let next = &self.nodes[node].next;
        let found = next.binary_search_by(|next| self.nodes[*next].block[..].cmp(block));
        found.map(|at| next[at])
    }

    fn learn(&mut self, place: &Place, block: &[u8], result: &[u8]) -> Option<usize> {
        if place.generation != self.generation {
            return None;
        }
        let at = match self.position(place.node, block) {
            // Another context was here first.
            Ok(node) => return Some(node),
            Err(at) => at,
        };
        if self.bytes + NODE_BYTES + block.len() + result.len() > self.limit {
            self.forget();
            return None;
        }
        let node = self.add(Bytes::copy_from_slice(block), result);
        self.nodes[place.node].next.insert(at, node);
        Some(node)
    }

    fn forget(&mut self) {
        self.nodes.clear();
        self.roots.clear();
        self.bytes = 0;
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGINNING: Beginning = Beginning::Deflater(Version::V31, Compression::Deflate);

    #[test]
    fn a_path_is_known_to_who_begins_alike() {
        let recall = Recall::new(1 << 20);
        let place = recall.begin(BEGINNING);
        place.learn(b"one", b"1").and_then(|place| place.learn(b"two", b"2")).unwrap();
        let mut place = recall.begin(BEGINNING);
        let mut out = b"what was there".to_vec();
        assert_eq!(place.recall(b"two", &mut out), None, "it was the second");
        assert_eq!(place.recall(b"one", &mut out).as_deref(), Some(&b"one"[..]));
        assert_eq!(out, b"1");
        assert!(place.recall(b"two", &mut out).is_some());
        assert_eq!(out, b"2");
        let other = Beginning::Deflater(Version::V31, Compression::Stored);
        assert_eq!(recall.begin(other).recall(b"one", &mut out), None);
    }

    #[test]
    fn what_is_full_forgets_and_learns_anew() {
        let recall = Recall::new(3 * NODE_BYTES);
        let place = recall.begin(BEGINNING).learn(b"one", b"1").unwrap();
        assert!(place.learn(&[0; NODE_BYTES], b"").is_none());
        let mut out = Vec::new();
        let mut stale = Place { recall: recall.clone(), generation: 0, node: 0 };
        assert_eq!(stale.recall(b"one", &mut out), None);
        assert_eq!(recall.begin(BEGINNING).recall(b"one", &mut out), None);
        assert!(stale.learn(b"one", b"1").is_none());
        recall.begin(BEGINNING).learn(b"one", b"1").unwrap();
        assert!(recall.begin(BEGINNING).recall(b"one", &mut out).is_some());
        let tree = recall.tree();
        assert!(tree.bytes <= tree.limit, "{} bytes", tree.bytes);
    }
}
