//! Bytes of a page that the load event waits for, and what each part of them sets off.
//!
//! An object that blocks the load event is needed whole. Any other is needed up to the byte that reveals a
//! needed one, and not at all if no needed one waits for it. Each object's needed bytes are cut where something
//! waits for them.

use std::time::Duration;

use super::load::prefix_bytes;
use super::{Compute, Discovery, PageLoad};

/// Cuts of each object of a page, ordered by position. An object without cuts is not needed.
pub(super) struct Needs(Vec<Vec<Cut>>);

/// Consequences of the arrival of an object's bytes up to `position`.
pub(super) struct Cut {
    /// Offset in the object's body.
    pub(super) position: u64,
    /// Objects that wait for this cut, with the client's compute in between.
    pub(super) followers: Vec<(usize, Duration)>,
    /// The client's compute on the object before the load event, if this is the end of an object that blocks it.
    pub(super) last_work: Option<Duration>,
}

impl Needs {
    /// Needs of the load event. Edges lead to earlier objects only, so one pass from the last object to the
    /// first sees every follower before its leader.
    pub(super) fn of(load: &PageLoad<'_>, discovery: Discovery, compute: Compute) -> Needs {
        let objects = &load.page.objects;
        let mut needs: Vec<Vec<Cut>> = objects.iter().map(|_| Vec::new()).collect();
        for (index, object) in objects.iter().enumerate().rev() {
            if load.blocks(index) {
                let last_work = Some(load.own_work(index, compute));
                let position = object.body_bytes;
                needs[index].push(Cut { position, followers: Vec::new(), last_work });
            }
            if needs[index].is_empty() {
                continue;
            }
            in_order(&mut needs[index]);
            for edge in &object.waits_for {
                let leader = edge.object.0 as usize;
                if discovery.needs(leader, load) {
                    let position = prefix_bytes(edge, &objects[leader]);
                    let followers = vec![(index, load.edge_work(edge, compute))];
                    needs[leader].push(Cut { position, followers, last_work: None });
                }
            }
        }
        Needs(needs)
    }

    /// The cuts of an object, by their position in its body.
    pub(super) fn cuts(&self, index: usize) -> &[Cut] {
        &self.0[index]
    }

    pub(super) fn is_needed(&self, index: usize) -> bool {
        !self.0[index].is_empty()
    }
}

/// Sorts cuts by position and merges those at the same position.
fn in_order(cuts: &mut Vec<Cut>) {
    cuts.sort_by_key(|cut| cut.position);
    cuts.dedup_by(|next, cut| {
        let same = next.position == cut.position;
        if same {
            cut.followers.append(&mut next.followers);
            cut.last_work = cut.last_work.or(next.last_work);
        }
        same
    });
}
