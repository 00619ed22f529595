//! Results of header blocks, for contexts with the same input: looked up instead of computed again.
//!
//! A context's result for a block depends only on its initial parameters and the blocks so far. A program that
//! repeats the same exchange, as a simulation that loads a page a hundred times, gives all its sessions one
//! [`Recall`]. It is a tree: a step from the root is a first block, a path the history of a context, and blocks are
//! compared in full. A session without one (see [`Session::new`](crate::Session::new)) stores nothing and looks
//! nothing up.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use crate::{Compression, Version};

/// Results of contexts, up to a total size. Clones share it.
#[derive(Clone)]
pub struct Recall(Arc<Mutex<RecallTree>>);

impl Recall {
    /// Creates one of about `limit` bytes: when full it forgets everything, and contexts compute from then on.
    pub fn new(limit: usize) -> Recall {
        let (nodes, roots) = (Vec::new(), Vec::new());
        Recall(Arc::new(Mutex::new(RecallTree { nodes, roots, bytes: 0, limit, generation: 0 })))
    }

    /// The position of a new context.
    pub(crate) fn begin(&self, beginning: Beginning) -> RecallPosition {
        let mut tree = self.tree();
        let node = tree.root(beginning);
        RecallPosition { recall: self.clone(), generation: tree.generation, node }
    }

    fn tree(&self) -> MutexGuard<'_, RecallTree> {
        self.0.lock().expect("nothing panics while it looks or adds")
    }
}

impl fmt::Debug for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall").finish_non_exhaustive()
    }
}

/// Initial parameters of a context: all that its results depend on besides its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// A compressor.
    Deflater(Version, Compression),
    /// A decompressor, with this limit in bytes per block.
    Inflater(Version, usize),
}

/// Position of a context: after the blocks so far.
#[derive(Clone, Debug)]
pub(crate) struct RecallPosition {
    recall: Recall,
    /// Generation of the tree at that time: a position in a forgotten tree is invalid.
    generation: u64,
    node: usize,
}

impl RecallPosition {
    /// Advances over `block`, if that is known here: replaces the contents of `out` with its result, and returns
    /// the block.
    pub(crate) fn recall(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Bytes> {
        let tree = self.recall.tree();
        let node = tree.follow(self, block)?;
        self.node = node;
        let node = &tree.nodes[node];
        out.clear();
        out.extend_from_slice(&node.result);
        Some(node.block.clone())
    }

    /// Advances over `block` with its `result`; `None` if there is no space for it.
    pub(crate) fn learn(self, block: &[u8], result: &[u8]) -> Option<RecallPosition> {
        let node = self.recall.tree().learn(&self, block, result)?;
        Some(RecallPosition { node, ..self })
    }
}

/// Approximate overhead of a node: itself, its entry in another, the allocator's.
const NODE_BYTES: usize = 160;

struct RecallTree {
    nodes: Vec<RecallNode>,
    /// Initial parameters, each with its node.
    roots: Vec<(Beginning, usize)>,
    /// Size of the nodes.
    bytes: usize,
    limit: usize,
    /// Number of times that everything has been forgotten.
    generation: u64,
}

struct RecallNode {
    /// The block that leads here, and its result.
    block: Bytes,
    result: Box<[u8]>,
    /// The next nodes, in the order of their blocks.
    next: Vec<usize>,
}

impl RecallTree {
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
        self.nodes.push(RecallNode { block, result: result.into(), next: Vec::new() });
        self.nodes.len() - 1
    }

    /// The node that `block` leads to from `place`.
    fn follow(&self, place: &RecallPosition, block: &[u8]) -> Option<usize> {
        let is_current = place.generation == self.generation;
        is_current.then(|| self.position(place.node, block).ok()).flatten()
    }

    /// The node that `block` leads to from `node`, or the position at which to insert it.
    fn position(&self, node: usize, block: &[u8]) -> Result<usize, usize> {
        let next = &self.nodes[node].next;
        let found = next.binary_search_by(|next| self.nodes[*next].block[..].cmp(block));
        found.map(|at| next[at])
    }

    fn learn(&mut self, place: &RecallPosition, block: &[u8], result: &[u8]) -> Option<usize> {
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
        let mut stale = RecallPosition { recall: recall.clone(), generation: 0, node: 0 };
        assert_eq!(stale.recall(b"one", &mut out), None);
        assert_eq!(recall.begin(BEGINNING).recall(b"one", &mut out), None);
        assert!(stale.learn(b"one", b"1").is_none());
        recall.begin(BEGINNING).learn(b"one", b"1").unwrap();
        assert!(recall.begin(BEGINNING).recall(b"one", &mut out).is_some());
        let tree = recall.tree();
        assert!(tree.bytes <= tree.limit, "{} bytes", tree.bytes);
    }
}
