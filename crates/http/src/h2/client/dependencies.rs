//! Browsers' stream dependencies in HTTP/2 (RFC 7540 section 5.3): no I/O.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Precedence;
use crate::schedule::Dependency;

/// The dependency tree of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Each depends, exclusively, on the last earlier one of at least its weight: a list in the order of urgency.
    /// Chrome (`net/spdy/http2_priority_dependencies.cc`).
    Chain,
    /// No dependencies: all share by their weights. Safari.
    Flat,
    /// Each depends on the stream of its [group](super::groups). Firefox.
    Groups,
}

/// A connection's active requests.
#[derive(Debug)]
pub(super) struct Dependencies {
    shape: Shape,
    /// By weight, the greatest first, each in the order of opening.
    live: BTreeMap<Reverse<u16>, Vec<u32>>,
}

impl Dependencies {
    pub(super) fn new(shape: Shape) -> Dependencies {
        Dependencies { shape, live: BTreeMap::new() }
    }

    /// The dependency of the request on the new stream `stream`.
    pub(super) fn open(&mut self, stream: u32, precedence: Precedence) -> Dependency {
        let weight = precedence.weight.clamp(1, 256);
        let (parent, is_exclusive) = match self.shape {
            Shape::Chain => (self.last_before(weight), true),
            Shape::Flat => (0, false),
            Shape::Groups => (precedence.group.stream(), false),
        };
        self.live.entry(Reverse(weight)).or_default().push(stream);
        Dependency { parent, weight, is_exclusive }
    }

    /// Removes the finished request on `stream`.
    pub(super) fn close(&mut self, stream: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Priority;
    use crate::h2::Group;

    #[test]
    fn chromes_requests_make_a_list() {
        let mut dependencies = Dependencies::new(Shape::Chain);
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
        let mut dependencies = Dependencies::new(Shape::Groups);
        let image = dependencies.open(15, Priority::Low.into());
        let parent = Group::Follower.stream();
        assert_eq!(image, Dependency { parent, weight: 147, is_exclusive: false });
        let script = Precedence { group: Group::Leader, ..Priority::Medium.into() };
        assert_eq!(dependencies.open(17, script).parent, Group::Leader.stream());
    }

    #[test]
    fn safaris_share() {
        let mut dependencies = Dependencies::new(Shape::Flat);
        dependencies.open(1, Priority::Highest.into());
        let second = dependencies.open(3, Priority::Medium.into());
        assert_eq!(second, Dependency { parent: 0, weight: 183, is_exclusive: false });
    }
}
