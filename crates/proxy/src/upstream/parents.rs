//! Parent proxies through which all origins are reached (Squid's `cache_peer ... parent carp`): each origin belongs to one of them, so
//! that their caches share the work, and others stand in while that one cannot be reached.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use units::Time;

use super::connect::OriginAddress;

/// Longest attempt to reach a parent for which there is a substitute.
pub(super) const ATTEMPT: Duration = Duration::from_secs(2);

/// Span after a failure in which a parent is the last choice.
const AVOIDED: Duration = Duration::from_secs(10);

/// The parents of one core.
pub(super) struct Parents {
    all: Vec<OriginAddress>,
    avoided_until: RefCell<Vec<Time>>,
}

/// A parent to try.
pub(super) struct ParentChoice {
    pub(super) index: usize,
    pub(super) address: OriginAddress,
    /// True if there are more.
    pub(super) has_more: bool,
}

impl Parents {
    pub(super) fn new(all: Vec<OriginAddress>) -> Parents {
        let avoided_until = RefCell::new(vec![Time::ZERO; all.len()]);
        Parents { all, avoided_until }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The parents for an origin of this name, the preferred one first: by the highest hash of both names, which moves no other origin
    /// when a parent comes or goes.
    pub(super) fn in_order(&self, host: &str, now: Time) -> impl Iterator<Item = ParentChoice> {
        let avoided_until = self.avoided_until.borrow();
        let weight = |parent: &OriginAddress| {
            let mut hasher = DefaultHasher::new();
            (host, &parent.host, parent.port).hash(&mut hasher);
            hasher.finish()
        };
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by_key(|index| {
            (avoided_until[*index] > now, std::cmp::Reverse(weight(&self.all[*index])))
        });
        let last = order.len().saturating_sub(1);
        let choices = order.into_iter().enumerate().map(move |(place, index)| ParentChoice {
            index,
            address: self.all[index].clone(),
            has_more: place < last,
        });
        choices.collect::<Vec<_>>().into_iter()
    }

    /// Records that a parent could be reached, or not.
    pub(super) fn note(&self, index: usize, is_reached: bool, now: Time) {
        self.avoided_until.borrow_mut()[index] =
            if is_reached { Time::ZERO } else { now + AVOIDED };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Scheme;

    fn parents(count: u16) -> Parents {
        let address = |number| OriginAddress {
            scheme: Scheme::Http,
            host: format!("parent{number}.test"),
            port: 3128,
        };
        Parents::new((0..count).map(address).collect())
    }

    fn order(parents: &Parents, host: &str, now: Time) -> Vec<usize> {
        parents.in_order(host, now).map(|choice| choice.index).collect()
    }

    #[test]
    fn origins_are_spread_and_stay_when_a_parent_goes() {
        let (three, two) = (parents(3), parents(2));
        let mut firsts = [0; 3];
        for number in 0..300 {
            let host = format!("origin{number}.test");
            let with = order(&three, &host, Time::ZERO);
            firsts[with[0]] += 1;
            if with[0] != 2 {
                assert_eq!(order(&two, &host, Time::ZERO)[0], with[0]);
            }
        }
        assert!(firsts.iter().all(|count| (70..=130).contains(count)), "{firsts:?}");
    }

    #[test]
    fn one_that_failed_is_the_last_choice_for_a_while() {
        let parents = parents(2);
        let [first, second] = order(&parents, "a.test", Time::ZERO)[..] else { panic!() };
        parents.note(first, false, Time::ZERO);
        assert_eq!(order(&parents, "a.test", Time::from_millis(9_000)), [second, first]);
        assert_eq!(order(&parents, "a.test", Time::from_millis(10_000)), [first, second]);
        parents.note(first, false, Time::from_millis(10_000));
        parents.note(first, true, Time::from_millis(11_000));
        assert_eq!(order(&parents, "a.test", Time::from_millis(12_000)), [first, second]);
        let has_more: Vec<bool> =
            parents.in_order("a.test", Time::ZERO).map(|choice| choice.has_more).collect();
        assert_eq!(has_more, [true, false]);
    }
}
