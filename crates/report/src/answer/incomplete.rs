//! Arms that did not load the whole page.

use record::{Outcome, VisitRecord};

use super::Arm;

/// Objects and loads that an arm lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shortfall {
    /// Loads that were made.
    pub loads: u64,
    /// Loads that did not reach the load event.
    pub failed_loads: u64,
    /// Loads that reached the load event without some of their objects.
    pub partial_loads: u64,
    /// The most objects that one load lacks.
    pub most_objects: u64,
    /// An object that failed, with the reason.
    pub example: Option<(String, String)>,
    /// The reason why loads failed, if they did.
    pub why: Option<String>,
}

/// An arm that is not ranked, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Incomplete {
    /// The arm's name.
    pub name: String,
    /// The reason: "1 object failed in 6 of 6 loads (https://a.test/b.css: ...)".
    pub why: String,
}

impl Shortfall {
    /// True if every load was complete.
    pub fn is_nothing(&self) -> bool {
        self.failed_loads == 0 && self.partial_loads == 0
    }

    /// Counts a visit.
    pub fn take(&mut self, visit: &VisitRecord) {
        let failed = || visit.objects.iter().filter(|object| object.error.is_some());
        let example = || {
            let object = failed().next()?;
            Some((object.url.clone(), object.error.clone()?))
        };
        match &visit.outcome {
            Outcome::Failed { reason } => self.failed(reason),
            Outcome::Loaded { .. } => self.loaded(failed().count() as u64, example),
        }
    }

    /// Counts a load that reached the load event without `objects` of its objects.
    pub fn loaded(&mut self, objects: u64, example: impl FnOnce() -> Option<(String, String)>) {
        self.loads += 1;
        self.partial_loads += u64::from(objects > 0);
        self.most_objects = self.most_objects.max(objects);
        if objects > 0 && self.example.is_none() {
            self.example = example();
        }
    }

    /// Counts a load that failed.
    pub fn failed(&mut self, why: &str) {
        self.loads += 1;
        self.failed_loads += 1;
        self.why.get_or_insert_with(|| why.to_owned());
    }

    fn sentence(&self) -> String {
        let Shortfall { loads, failed_loads, partial_loads, most_objects, example, why } = self;
        let mut parts = Vec::new();
        if *failed_loads > 0 {
            let why = why.as_deref().map_or(String::new(), |why| format!(" ({why})"));
            parts.push(format!("{failed_loads} of {loads} loads failed{why}"));
        }
        if *partial_loads > 0 {
            let objects = match most_objects {
                1 => "1 object".to_owned(),
                n => format!("up to {n} objects"),
            };
            let example = example.as_ref();
            let example = example.map_or(String::new(), |(url, why)| format!(" ({url}: {why})"));
            parts.push(format!("{objects} failed in {partial_loads} of {loads} loads{example}"));
        }
        parts.join("; ")
    }
}

impl Incomplete {
    /// The arm with its reason, if it is not ranked.
    pub(super) fn of(arm: &Arm) -> Option<Incomplete> {
        (!arm.shortfall.is_nothing())
            .then(|| Incomplete { name: arm.name.clone(), why: arm.shortfall.sentence() })
    }
}
