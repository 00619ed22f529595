//! Firefox's RFC 7540 tree: idle streams as groups by purpose, on which its requests depend.
//!
//! Source: `Http2Session::Http2Session` and `Http2StreamBase::UpdatePriorityDependency` of Firefox
//! (netwerk/protocol/http). Left out: the group of speculative requests, which do not occur here.

use crate::h2::frame::{FrameHead, PRIORITY};
use crate::schedule::{Dependency, dependency};

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

/// The frames that create the groups.
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
