//! Matching of requests to objects of the page.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use browser::LoadPlan;

/// The objects that have not been requested yet, by method and URL. One that a page requests several times is
/// several objects, found in turn.
pub(super) struct Expected {
    waiting: BTreeMap<(String, String), VecDeque<usize>>,
    left: usize,
}

impl Expected {
    pub(super) fn new(plan: &LoadPlan) -> Expected {
        let mut waiting: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        for (index, request) in plan.requests().iter().enumerate() {
            let key = (request.method().to_string(), request.uri().to_string());
            waiting.entry(key).or_default().push_back(index);
        }
        Expected { waiting, left: plan.requests().len() }
    }

    /// The object of a request, if it is one that is still expected.
    pub(super) fn take(&mut self, method: &str, url: &str) -> Option<usize> {
        let key = (method.to_owned(), url.to_owned());
        let index = self.waiting.get_mut(&key)?.pop_front()?;
        self.left -= 1;
        Some(index)
    }

    /// Number of objects not yet requested.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The objects not yet requested, in the page's order.
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        let waiting: BTreeSet<usize> = self.waiting.values().flatten().copied().collect();
        waiting.into_iter()
    }
}
