//! Collects differences from the page: one line per kind, with the number of objects concerned.

use crate::show::middle_cut;

/// A kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    Origin,
    Spelling,
    Method,
    Larger,
    Bodiless,
    Repeated,
    RedirectMethod,
    LateFetch,
    OtherFrame,
    AfterRedirect,
    AtHead,
    StyleTime,
}

impl Difference {
    fn text(self) -> &'static str {
        match self {
            Difference::Origin => {
                "of an http: origin or a port of its own, loaded from a host of its own as the rest is"
            }
            Difference::Spelling => "spelt as browsers spell URLs",
            Difference::Method => "requested by GET or POST: pages may send nothing else unasked",
            Difference::Larger => "larger than stated: what must stand in them needs more",
            Difference::Bodiless => "without their body: their status allows none",
            Difference::Repeated => {
                "requested more than once: later requests are fetches, for which the load event does not wait"
            }
            Difference::RedirectMethod => {
                "redirects that do not lead on: a browser would change the method"
            }
            Difference::LateFetch => {
                "fetches for which the load event does not wait, though the page says so"
            }
            Difference::OtherFrame => "wait for less than stated: a frame does not see into others",
            Difference::AfterRedirect => {
                "wait for the end of a redirect rather than for the redirect itself"
            }
            Difference::AtHead => {
                "reveal others by their head: scripts do not see the end of other hosts' answers"
            }
            Difference::StyleTime => {
                "requested by a sheet when it is applied: its compute is the browser's own"
            }
        }
    }
}

/// Differences found so far.
#[derive(Debug, Default)]
pub(super) struct Notes(std::collections::BTreeMap<Difference, Vec<String>>);

impl Notes {
    pub(super) fn add(&mut self, difference: Difference, url: &str) {
        self.0.entry(difference).or_default().push(middle_cut(url));
    }

    /// One line per kind, with an example.
    pub(super) fn lines(self) -> Vec<String> {
        let line = |(difference, urls): (Difference, Vec<String>)| match urls.as_slice() {
            [only] => format!("1 object {}: {only}", difference.text()),
            [first, ..] => format!("{} objects {}: {first}, ...", urls.len(), difference.text()),
            [] => unreachable!("a difference is noted with an object"),
        };
        self.0.into_iter().map(line).collect()
    }
}
