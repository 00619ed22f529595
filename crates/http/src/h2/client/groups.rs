//! Firefox's tree of RFC 7540: streams that are never opened, on which its requests hang by what they are for.
//!
//! Source: `Http2Session::Http2Session` and `Http2StreamBase::UpdatePriorityDependency` of Firefox (netwerk/protocol/http). Left out: the group of what is
//! speculative has no requests here.

use crate::h2::frame::{FrameHead, PRIORITY};
use crate::schedule::{Dependency, dependency};

/// What a request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Group {
    /// What somebody has just clicked on.
    UrgentStart,
    /// What a page is made of: style sheets, scripts.
    Leader,
    /// What waits for nothing and blocks nothing: `XMLHttpRequest`, asynchronous scripts.
    Other,
    /// What comes after the leaders: images, and what is not marked.
    #[default]
    Follower,
    /// What nobody waits for.
    Background,
}

/// Firefox gives the groups the first numbers and begins its requests with 15; here requests begin with 1, as h2 would have it, and the groups
/// have Firefox's numbers beyond this.
const BEYOND: u32 = 0x7fff_ff00;

const LEADERS: u32 = BEYOND + 0x3;
const OTHERS: u32 = BEYOND + 0x5;
const BACKGROUND: u32 = BEYOND + 0x7;
const SPECULATIVE: u32 = BEYOND + 0x9;
const FOLLOWERS: u32 = BEYOND + 0xb;
const URGENT: u32 = BEYOND + 0xd;

/// The groups' streams, what they depend on and with which weight: one more than Firefox's source says, which has the byte of the frame.
const TREE: [(u32, u32, u16); 6] = [
    (LEADERS, 0, 201),
    (OTHERS, 0, 101),
    (BACKGROUND, 0, 1),
    (SPECULATIVE, BACKGROUND, 1),
    (FOLLOWERS, LEADERS, 1),
    (URGENT, 0, 241),
];

impl Group {
    /// The stream that its requests depend on.
    pub(super) const fn stream(self) -> u32 {
        match self {
            Group::UrgentStart => URGENT,
            Group::Leader => LEADERS,
            Group::Other => OTHERS,
            Group::Follower => FOLLOWERS,
            Group::Background => BACKGROUND,
        }
    }
}

/// The frames that make the groups.
pub(super) fn frames() -> Vec<u8> {
    let frame = |(stream, parent, weight)| {
        let (length, kind) = (dependency::WIRE_BYTES as u32, PRIORITY);
        let dependency = Dependency { parent, weight, is_exclusive: false };
        [&FrameHead { length, kind, flags: 0, stream }.encode()[..], &dependency.encode()].concat()
    };
    TREE.into_iter().flat_map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
