//! RFC 7540's dependency tree (section 5.3): a stream's bandwidth goes to its dependents, by their weights, when it has
//! nothing to send.
//!
//! Among siblings, the one that has sent least for its weight is next: each has a clock that advances with its bytes,
//! the slower the greater its weight (weighted fair queueing). Ended streams stay in the tree, as section 5.3.4 asks,
//! so that a dependency on a stream that has just ended keeps its meaning; when there are too many the oldest is
//! removed, and its dependents move up.

use std::collections::BTreeMap;

use super::{Schedule, ServeOutcome, Signal};

/// Number of nodes kept; a page has a few hundred objects.
const MOST: usize = 1_024;

/// The root, which is not a stream.
const ROOT: u32 = 0;

#[derive(Debug)]
struct TreeNode {
    parent: u32,
    weight: u16,
    children: Vec<u32>,
    /// True if it has data to send.
    is_ready: bool,
    /// Number of ready nodes at or below it.
    active: usize,
    /// Bytes sent at or below it, relative to its weight.
    clock: u64,
    /// The clock of the child served last: new children start at it.
    now: u64,
}

impl TreeNode {
    fn new(dependency: Dependency) -> TreeNode {
        TreeNode {
            parent: dependency.parent,
            weight: dependency.weight,
            children: Vec::new(),
            is_ready: false,
            active: 0,
            clock: 0,
            now: 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct DependencyTree {
    nodes: BTreeMap<u32, TreeNode>,
}

impl Default for DependencyTree {
    fn default() -> DependencyTree {
        DependencyTree { nodes: BTreeMap::from([(ROOT, TreeNode::new(Dependency::default()))]) }
    }
}

impl Schedule for DependencyTree {
    fn add(&mut self, stream: u32) {
        self.grow(stream);
        self.set_ready(stream, true);
    }

    fn is_empty(&self) -> bool {
        self.node(ROOT).active == 0
    }

    fn serve_one(&mut self, serve: &mut dyn FnMut(u32) -> ServeOutcome) -> bool {
        self.serve_below(ROOT, serve).is_some()
    }

    fn signal(&mut self, stream: u32, signal: Signal) {
        let Signal::Dependency(dependency) = signal else { return };
        // A stream cannot depend on itself (section 5.3.1), and a dependency on an unknown stream becomes the default.
        let is_sound = dependency.parent != stream && stream != ROOT;
        if !is_sound {
            return;
        }
        self.grow(stream);
        match self.nodes.contains_key(&dependency.parent) {
            true => self.depend(stream, dependency),
            false => self.depend(stream, Dependency::default()),
        }
    }
}

impl DependencyTree {
    fn node(&self, stream: u32) -> &TreeNode {
        self.nodes.get(&stream).expect("a node's kin are in the tree")
    }

    fn node_mut(&mut self, stream: u32) -> &mut TreeNode {
        self.nodes.get_mut(&stream).expect("a node's kin are in the tree")
    }

    /// Makes `stream` a node with the default priority.
    fn grow(&mut self, stream: u32) {
        if self.nodes.contains_key(&stream) {
            return;
        }
        if self.nodes.len() >= MOST {
            self.prune();
        }
        self.nodes.insert(stream, TreeNode::new(Dependency::default()));
        self.attach(stream, ROOT);
    }

    /// Moves `stream`, with its dependents (section 5.3.3).
    fn depend(&mut self, stream: u32, dependency: Dependency) {
        let Dependency { parent, weight, is_exclusive } = dependency;
        if self.is_below(parent, stream) {
            // "the formerly dependent stream is first moved to be dependent on the reprioritized stream's previous parent"
            let former = self.node(stream).parent;
            self.detach(parent);
            self.attach(parent, former);
        }
        self.detach(stream);
        let adopted = match is_exclusive {
            true => std::mem::take(&mut self.node_mut(parent).children),
            false => Vec::new(),
        };
        self.node_mut(stream).weight = weight;
        self.attach(stream, parent);
        for child in adopted {
            self.leave(parent, child);
            self.attach(child, stream);
        }
    }

    /// Returns true if `stream` depends, directly or not, on `ancestor`.
    fn is_below(&self, stream: u32, ancestor: u32) -> bool {
        let mut at = stream;
        while at != ROOT {
            at = self.node(at).parent;
            if at == ancestor {
                return true;
            }
        }
        false
    }

    /// Attaches a detached node to `parent`.
    fn attach(&mut self, stream: u32, parent: u32) {
        let now = self.node(parent).now;
        let node = self.node_mut(stream);
        (node.parent, node.clock) = (parent, now);
        let active = node.active;
        self.node_mut(parent).children.push(stream);
        self.activate(parent, active);
    }

    /// Detaches a node from its parent.
    fn detach(&mut self, stream: u32) {
        let parent = self.node(stream).parent;
        self.node_mut(parent).children.retain(|child| *child != stream);
        self.leave(parent, stream);
    }

    /// Removes the detached `child` from the counts of `parent`.
    fn leave(&mut self, parent: u32, child: u32) {
        let active = self.node(child).active;
        self.on_path(parent, |node, _| node.active -= active);
    }

    /// Adds `active` ready nodes at or below `stream`. A node that had none starts at the clock of its siblings.
    fn activate(&mut self, stream: u32, active: usize) {
        if active > 0 {
            self.on_path(stream, |node, now| {
                if node.active == 0 {
                    node.clock = node.clock.max(now);
                }
                node.active += active;
            });
        }
    }

    /// Calls `change` on each node from `stream` to the root, with its parent's time.
    fn on_path(&mut self, stream: u32, mut change: impl FnMut(&mut TreeNode, u64)) {
        let mut at = stream;
        loop {
            let now = self.node(self.node(at).parent).now;
            let node = self.node_mut(at);
            change(node, now);
            if at == ROOT {
                return;
            }
            at = node.parent;
        }
    }

    fn set_ready(&mut self, stream: u32, is_ready: bool) {
        self.node_mut(stream).is_ready = is_ready;
        match is_ready {
            true => self.activate(stream, 1),
            false => self.on_path(stream, |node, _| node.active -= 1),
        }
    }

    /// Serves `stream`, or, if it has nothing to send or is blocked, one of its dependents; returns the number of bytes sent.
    fn serve_below(
        &mut self,
        stream: u32,
        serve: &mut dyn FnMut(u32) -> ServeOutcome,
    ) -> Option<usize> {
        if self.node(stream).is_ready {
            match serve(stream) {
                ServeOutcome::Chunk(bytes) => return Some(bytes),
                ServeOutcome::Done(bytes) => {
                    self.set_ready(stream, false);
                    return Some(bytes);
                }
                ServeOutcome::Blocked => {}
            }
        }
        let children = self.node(stream).children.iter();
        let mut heirs: Vec<(u64, u32)> = children
            .map(|child| (self.node(*child), *child))
            .filter(|(node, _)| node.active > 0)
            .map(|(node, child)| (node.clock, child))
            .collect();
        heirs.sort_unstable();
        heirs.into_iter().find_map(|(clock, child)| {
            let bytes = self.serve_below(child, serve)?;
            self.node_mut(stream).now = clock;
            let node = self.node_mut(child);
            node.clock += bytes as u64 * 256 / u64::from(node.weight);
            Some(bytes)
        })
    }

    /// Removes the oldest node without ready nodes below it, and shares its weight among its dependents (section 5.3.4).
    fn prune(&mut self) {
        let mut idle =
            self.nodes.iter().filter(|(stream, node)| **stream != ROOT && node.active == 0);
        let Some(oldest) = idle.next().map(|(stream, _)| *stream) else { return };
        self.detach(oldest);
        let Some(node) = self.nodes.remove(&oldest) else { return };
        let weights: u32 =
            node.children.iter().map(|child| u32::from(self.node(*child).weight)).sum();
        for child in node.children {
            let share = u32::from(self.node(child).weight) * u32::from(node.weight) / weights;
            self.node_mut(child).weight = share.max(1) as u16;
            self.attach(child, node.parent);
        }
    }
}

// RFC 7540's stream dependencies (section 5.3), which RFC 9113 has deprecated.

/// Bytes of a dependency in a frame.
pub(crate) const DEPENDENCY_BYTES: usize = 5;

/// The first bit.
const EXCLUSIVE: u32 = 1 << 31;

/// A stream's parent, and its share beside siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The parent stream; 0 is none.
    pub parent: u32,
    /// 1 to 256.
    pub weight: u16,
    /// True if the parent's former dependents become this stream's.
    pub is_exclusive: bool,
}

/// The default priority (section 5.3.5).
impl Default for Dependency {
    fn default() -> Dependency {
        Dependency { parent: 0, weight: 16, is_exclusive: false }
    }
}

impl Dependency {
    /// Parses the five bytes of a frame.
    pub fn parse(bytes: [u8; DEPENDENCY_BYTES]) -> Dependency {
        let [a, b, c, d, weight] = bytes;
        let word = u32::from_be_bytes([a, b, c, d]);
        Dependency {
            parent: word & !EXCLUSIVE,
            weight: u16::from(weight) + 1,
            is_exclusive: word & EXCLUSIVE != 0,
        }
    }

    /// Its encoding in a frame.
    pub fn encode(self) -> [u8; DEPENDENCY_BYTES] {
        let exclusive = if self.is_exclusive { EXCLUSIVE } else { 0 };
        let [a, b, c, d] = (self.parent | exclusive).to_be_bytes();
        let weight = (self.weight.clamp(1, 256) - 1) as u8;
        [a, b, c, d, weight]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{order, order_of};
    use super::*;

    fn on(parent: u32, weight: u16, is_exclusive: bool) -> Signal {
        Signal::Dependency(Dependency { parent, weight, is_exclusive })
    }

    fn tree(signals: &[(u32, Signal)]) -> DependencyTree {
        let mut tree = DependencyTree::default();
        signals.iter().for_each(|(stream, signal)| tree.signal(*stream, *signal));
        tree
    }

    #[test]
    fn equal_streams_take_turns() {
        let served = order(&mut DependencyTree::default(), &[(1, 1), (3, 2), (5, 3)]);
        assert_eq!(served, [1, 3, 5, 3, 5, 5]);
    }

    #[test]
    fn bandwidth_goes_by_weight() {
        let mut tree = tree(&[(1, on(0, 32, false)), (3, on(0, 16, false))]);
        let served = order(&mut tree, &[(1, 40), (3, 40)]);
        let first = served[..30].iter().filter(|stream| **stream == 1).count();
        assert_eq!(first, 20, "{served:?}");
    }

    #[test]
    fn what_depends_on_another_waits_for_it() {
        let mut tree = tree(&[(1, on(0, 16, false)), (3, on(1, 256, false))]);
        assert_eq!(order(&mut tree, &[(3, 2), (1, 2)]), [1, 1, 3, 3]);
    }

    #[test]
    fn what_is_blocked_lets_those_below_it_send() {
        let mut tree = tree(&[(1, on(0, 16, false)), (3, on(1, 16, false))]);
        assert_eq!(order_of(&mut tree, &[(1, 2), (3, 2)], &[1]), [3, 3]);
    }

    #[test]
    fn an_exclusive_dependency_comes_between() {
        // Section 5.3.1, figure 5: D between A and its dependents B and C.
        let mut tree = tree(&[
            (1, on(0, 16, false)),
            (3, on(1, 16, false)),
            (5, on(1, 16, false)),
            (7, on(1, 16, true)),
        ]);
        assert_eq!(order(&mut tree, &[(3, 1), (5, 1), (7, 2), (1, 1)]), [1, 7, 7, 3, 5]);
    }

    #[test]
    fn a_stream_can_be_moved_below_its_own_dependent() {
        // Section 5.3.3, figure 6: A, with B and C below it, D and E below C, F below D, is made dependent on D.
        let (a, b, c, d, e, f) = (1, 3, 5, 7, 9, 11);
        let mut signals = vec![(a, on(0, 16, false))];
        signals
            .extend([(b, a), (c, a), (d, c), (e, c), (f, d)].map(|(s, p)| (s, on(p, 16, false))));
        let mut plain = tree(&signals);
        plain.signal(a, on(d, 16, false));
        let parents =
            |tree: &DependencyTree| [a, b, c, d, e, f].map(|stream| tree.node(stream).parent);
        assert_eq!(parents(&plain), [d, a, a, 0, c, d]);
        let mut exclusive = tree(&signals);
        exclusive.signal(a, on(d, 16, true));
        assert_eq!(parents(&exclusive), [d, a, a, 0, c, a]);
    }

    #[test]
    fn a_dependency_on_what_has_ended_still_orders() {
        let mut tree = tree(&[(1, on(0, 256, true)), (3, on(1, 147, true))]);
        assert_eq!(order(&mut tree, &[(1, 1)]), [1]);
        tree.signal(5, on(1, 220, true));
        assert_eq!(order(&mut tree, &[(3, 1), (5, 2)]), [5, 5, 3]);
    }

    #[test]
    fn who_comes_late_has_no_claim_to_what_went_before() {
        let mut tree = DependencyTree::default();
        tree.add(1);
        (0..50).for_each(|_| assert!(tree.serve_one(&mut |_| ServeOutcome::Chunk(100))));
        tree.add(3);
        let mut served = Vec::new();
        (0..4).for_each(|_| {
            tree.serve_one(&mut |stream| {
                served.push(stream);
                ServeOutcome::Chunk(100)
            });
        });
        served.sort_unstable();
        assert_eq!(served, [1, 1, 3, 3]);
    }

    proptest! {
        /// After any signals, the tree stays a tree of bounded size, counts correctly and serves every stream.
        #[test]
        fn any_signals_leave_a_tree(
            signals in prop::collection::vec((1u32..3_000, 0u32..3_000, 1u16..=256, any::<bool>()), 0..2_500),
            ready in prop::collection::btree_set(1u32..3_000, 0..20),
        ) {
            let mut tree = DependencyTree::default();
            for (stream, parent, weight, is_exclusive) in signals {
                // Among few streams, so that a tree results.
                tree.signal(stream, on(parent % 40, weight, is_exclusive));
            }
            prop_assert!(tree.nodes.len() <= MOST);
            for stream in tree.nodes.keys().filter(|stream| **stream != ROOT) {
                prop_assert!(tree.is_below(*stream, ROOT));
            }
            let chunks: Vec<(u32, usize)> = ready.iter().map(|stream| (*stream, 2)).collect();
            prop_assert_eq!(order(&mut tree, &chunks).len(), 2 * chunks.len());
        }
    }

    proptest! {
        #[test]
        fn any_five_bytes_read_back(bytes: [u8; DEPENDENCY_BYTES]) {
            prop_assert_eq!(Dependency::parse(bytes).encode(), bytes);
        }
    }

    #[test]
    fn the_weight_on_the_wire_is_one_less() {
        let dependency = Dependency { parent: 11, weight: 256, is_exclusive: true };
        assert_eq!(dependency.encode(), [0x80, 0, 0, 11, 255]);
    }
}
