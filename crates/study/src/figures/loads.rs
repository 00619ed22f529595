//! Single loads with their objects, for figures that need more than cells hold.

use std::collections::BTreeMap;

use record::{Event, ObjectRecord, Series};

use crate::judge::Facts;
use store::{JourneyRow, RunId, Store, StoreError, VisitRow};

/// The loads of some experiments; their objects are read on demand.
#[derive(Debug)]
pub struct Loads<'a> {
    store: &'a Store,
    loads: Vec<Load>,
}

/// One load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The facts of its cell.
    pub facts: Facts,
    /// Its row.
    pub visit: VisitRow,
}

impl<'a> Loads<'a> {
    /// An empty collection, backed by this store.
    pub fn of(store: &'a Store) -> Loads<'a> {
        Loads { store, loads: Vec::new() }
    }

    /// Adds the loads of an experiment's run.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn gather(&mut self, run: RunId, experiment: &str) -> Result<(), StoreError> {
        let journeys = self.store.journeys(run)?;
        let by_position: BTreeMap<u64, &JourneyRow> =
            journeys.iter().map(|journey| (journey.position, journey)).collect();
        for visit in self.store.visits(run)? {
            let Some(journey) = by_position.get(&visit.key.journey) else { continue };
            let (number, page) = (visit.key.visit, visit.page.as_deref());
            let facts = Facts::of(experiment, &journey.scenario, number, page);
            self.loads.push(Load { facts, visit });
        }
        Ok(())
    }

    /// The selected loads, in the order of their experiments' plans.
    pub fn all(&self, is_meant: impl Fn(&Facts) -> bool) -> impl Iterator<Item = &Load> {
        self.loads.iter().filter(move |load| is_meant(&load.facts))
    }

    /// The events of a load.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn events(&self, load: &Load) -> Result<Vec<Event>, StoreError> {
        self.store.events(load.visit.key)
    }

    /// The time series of a load, if it was recorded.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn series(&self, load: &Load) -> Result<Option<Series>, StoreError> {
        self.store.series(load.visit.key)
    }

    /// The objects of a load's page: those that arrived, over the network, among those discovered before the
    /// load event.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn objects(&self, load: &Load) -> Result<Vec<ObjectRecord>, StoreError> {
        let end = load.visit.plt_ns.map(|plt| load.visit.started_at_ns + plt);
        let mut objects = self.store.objects(load.visit.key)?;
        objects.retain(|object| {
            let is_of_page = end.is_none_or(|end| object.discovered_at_ns < end);
            is_of_page && object.error.is_none() && object.protocol != "cache"
        });
        Ok(objects)
    }
}
