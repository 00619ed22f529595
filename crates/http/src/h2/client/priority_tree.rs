//! The dependency tree of a connection's requests (RFC 7540 section 5.3) as browsers build it, and its unsent part.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::Precedence;
use crate::h2::frame::{FrameHead, PRIORITY};
use crate::h2::wire::priority::PendingPriorities;
use crate::schedule::{DEPENDENCY_BYTES, Dependency};

/// The dependencies of requests. Clones share them.
#[derive(Clone)]
pub(crate) struct PriorityTree {
    shape: DependencyShape,
    dependencies: Rc<RefCell<Dependencies>>,
    pub(crate) pending: PendingPriorities,
}

impl PriorityTree {
    pub(crate) fn new(shape: DependencyShape) -> PriorityTree {
        let dependencies = Rc::new(RefCell::new(Dependencies::new(shape)));
        PriorityTree { shape, dependencies, pending: Rc::default() }
    }

    /// The frames to send before the first request.
    pub(crate) fn introduction(&self) -> Vec<u8> {
        match self.shape {
            DependencyShape::Groups => frames(),
            DependencyShape::Chain | DependencyShape::Flat => Vec::new(),
        }
    }

    /// Adds the request on `stream`; it keeps its place in the tree until the returned branch is dropped.
    pub(crate) fn open(&self, stream: u32, precedence: Precedence) -> PriorityNode {
        let dependency = self.dependencies.borrow_mut().open(stream, precedence);
        self.pending.borrow_mut().insert(stream, dependency);
        PriorityNode { tree: self.clone(), stream }
    }
}

/// A request's place in the tree.
pub(crate) struct PriorityNode {
    tree: PriorityTree,
    stream: u32,
}

impl Drop for PriorityNode {
    fn drop(&mut self) {
        self.tree.dependencies.borrow_mut().close(self.stream);
        self.tree.pending.borrow_mut().remove(&self.stream);
    }
}

// Browsers' stream dependencies in HTTP/2 (RFC 7540 section 5.3): no I/O.

/// The dependency tree of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DependencyShape {
    /// Each depends, exclusively, on the last earlier one of at least its weight: a list in the order of urgency.
    /// Chrome (`net/spdy/http2_priority_dependencies.cc`).
    Chain,
    /// No dependencies: all share by their weights. Safari.
    Flat,
    /// Each depends on the stream of its [group](Group). Firefox.
    Groups,
}

/// A connection's active requests.
#[derive(Debug)]
pub(crate) struct Dependencies {
    shape: DependencyShape,
    /// By weight, the greatest first, each in the order of opening.
    live: BTreeMap<Reverse<u16>, Vec<u32>>,
}

impl Dependencies {
    pub(crate) fn new(shape: DependencyShape) -> Dependencies {
        Dependencies { shape, live: BTreeMap::new() }
    }

    /// The dependency of the request on the new stream `stream`.
    pub(crate) fn open(&mut self, stream: u32, precedence: Precedence) -> Dependency {
        let weight = precedence.weight.clamp(1, 256);
        let (parent, is_exclusive) = match self.shape {
            DependencyShape::Chain => (self.last_before(weight), true),
            DependencyShape::Flat => (0, false),
            DependencyShape::Groups => (precedence.group.stream(), false),
        };
        self.live.entry(Reverse(weight)).or_default().push(stream);
        Dependency { parent, weight, is_exclusive }
    }

    /// Removes the finished request on `stream`.
    pub(crate) fn close(&mut self, stream: u32) {
        for streams in self.live.values_mut() {
            streams.retain(|live| *live != stream);
        }
        self.live.retain(|_, streams| !streams.is_empty());
    }

    /// The predecessor of a stream of this weight; 0 if it is the first.
    fn last_before(&self, weight: u16) -> u32 {
        let before = self.live.range(..=Reverse(weight)).next_back();
        before.and_then(|(_, streams)| streams.last()).copied().unwrap_or(0)
    }
}

// Firefox's RFC 7540 tree: idle streams as groups by purpose, on which its requests depend.
//
// Source: `Http2Session::Http2Session` and `Http2StreamBase::UpdatePriorityDependency` of Firefox
// (netwerk/protocol/http). Left out: the group of speculative requests, which do not occur here.

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Group {
    /// Triggered by a click.
    UrgentStart,
    /// The page's structure: style sheets, scripts.
    Leader,
    /// Independent and non-blocking: `XMLHttpRequest`, asynchronous scripts.
    Other,
    /// After the leaders: images, and unmarked requests.
    #[default]
    Follower,
    /// Background transfers.
    Background,
}

/// Firefox gives the groups the first numbers and starts its requests at 15; here requests start at 1, as h2 requires,
/// and the groups have Firefox's numbers above this.
const BEYOND: u32 = 0x7fff_ff00;

const LEADERS: u32 = BEYOND + 0x3;
const OTHERS: u32 = BEYOND + 0x5;
const BACKGROUND: u32 = BEYOND + 0x7;
const SPECULATIVE: u32 = BEYOND + 0x9;
const FOLLOWERS: u32 = BEYOND + 0xb;
const URGENT: u32 = BEYOND + 0xd;

/// The groups' streams, their parents and weights: one more than in Firefox's source, which has the byte of the frame.
const TREE: [(u32, u32, u16); 6] = [
    (LEADERS, 0, 201),
    (OTHERS, 0, 101),
    (BACKGROUND, 0, 1),
    (SPECULATIVE, BACKGROUND, 1),
    (FOLLOWERS, LEADERS, 1),
    (URGENT, 0, 241),
];

impl Group {
    /// The parent stream of its requests.
    pub(crate) const fn stream(self) -> u32 {
        match self {
            Group::UrgentStart => URGENT,
            Group::Leader => LEADERS,
            Group::Other => OTHERS,
            Group::Follower => FOLLOWERS,
            Group::Background => BACKGROUND,
        }
    }
}

/// The frames that create the groups.
pub(crate) fn frames() -> Vec<u8> {
    let frame = |(stream, parent, weight)| {
        let (length, kind) = (DEPENDENCY_BYTES as u32, PRIORITY);
        let dependency = Dependency { parent, weight, is_exclusive: false };
        [&FrameHead { length, kind, flags: 0, stream }.encode()[..], &dependency.encode()].concat()
    };
    TREE.into_iter().flat_map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Priority;
    use crate::h2::Group;

    #[test]
    fn chromes_requests_make_a_list() {
        let mut dependencies = Dependencies::new(DependencyShape::Chain);
        let mut open = |stream, level: Priority| {
            let Dependency { parent, weight, is_exclusive } =
                dependencies.open(stream, level.into());
            (parent, weight, is_exclusive)
        };
        assert_eq!(open(1, Priority::Highest), (0, 256, true));
        assert_eq!(open(3, Priority::Low), (1, 147, true));
        assert_eq!(open(5, Priority::Low), (3, 147, true));
        assert_eq!(open(7, Priority::High), (1, 220, true));
        dependencies.close(1);
        let mut open = |stream, level: Priority| dependencies.open(stream, level.into()).parent;
        assert_eq!(open(9, Priority::Highest), 0);
        assert_eq!(open(11, Priority::Lowest), 5);
    }

    #[test]
    fn firefoxes_hang_on_groups() {
        let mut dependencies = Dependencies::new(DependencyShape::Groups);
        let image = dependencies.open(15, Priority::Low.into());
        let parent = Group::Follower.stream();
        assert_eq!(image, Dependency { parent, weight: 147, is_exclusive: false });
        let script = Precedence { group: Group::Leader, ..Priority::Medium.into() };
        assert_eq!(dependencies.open(17, script).parent, Group::Leader.stream());
    }

    #[test]
    fn safaris_share() {
        let mut dependencies = Dependencies::new(DependencyShape::Flat);
        dependencies.open(1, Priority::Highest.into());
        let second = dependencies.open(3, Priority::Medium.into());
        assert_eq!(second, Dependency { parent: 0, weight: 183, is_exclusive: false });
    }

    #[test]
    fn groups_are_made_before_what_depends_on_them() {
        let frames = frames();
        assert_eq!(frames.len(), 6 * 14);
        assert_eq!(frames[..14], [0, 0, 5, 2, 0, 0x7f, 0xff, 0xff, 3, 0, 0, 0, 0, 200]);
        let mut known = vec![0];
        for (stream, parent, _) in TREE {
            assert!(known.contains(&parent) && stream % 2 == 1, "{stream}");
            known.push(stream);
        }
    }
}
