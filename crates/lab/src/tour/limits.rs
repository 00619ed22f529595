//! The physical limits of a journey's visits: the floor of the page as this journey varied it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use browser::Device;
use net::{Network, RadioConfig};
use page::{Kind, ObjectId, Page};
use record::VisitRecord;
use units::Time;

use super::Visitor;
use super::ends::factors;
use super::ready::Ready;
use crate::floor::{self, Bottlenecks, PageLoad, Path};
use crate::journey::Floors;
use crate::scenario::{Origins, Program, Scenario, View};

/// What the floors of a client's visits are worked out from.
pub(crate) struct Limits {
    /// The page with the journey's own think and compute times.
    page: Page,
    /// What each object costs the client between its arrival and the load event.
    object_work: Vec<Duration>,
    network: Network,
    origins: floor::Origins,
    /// The client's first visit.
    first_visit: u32,
    /// What the client's radio makes its first packet wait, if that is the first visit's.
    first_wait: Duration,
}

/// A radio is at rest until the journey's first packet. That is the page's, unless other traffic, or a browser of its own mind, comes before.
fn first_wait(scenario: &Scenario, network: &Network) -> Duration {
    let page_comes_first = scenario.traffic.is_none()
        && scenario.client.program == Program::Loader
        && !scenario.security.is_acquainted();
    let radio = network.radio.as_ref().filter(|_| page_comes_first);
    radio.map_or(Duration::ZERO, RadioConfig::least_first_wait)
}

impl Limits {
    /// Those of one of the clients, as if he were alone.
    pub(crate) fn new(
        scenario: &Scenario,
        ready: &Ready,
        network: &Network,
        visitor: Visitor,
    ) -> Result<Limits, String> {
        // A real browser's computing is its own affair: no profile says what it costs at the least.
        let name = match scenario.client.program {
            Program::Loader => scenario.client.device.as_str(),
            Program::Chromium => "zero",
        };
        let mut device = Device::open(name).map_err(|e| e.to_string())?;
        device.slowdown = scenario.client.cpu_multiplier;
        let servers = visitor.journey_source().stream("origin/think");
        let (think, compute) = (
            factors(scenario, ready, servers),
            factors(scenario, ready, visitor.source().stream("loader/compute")),
        );
        let service = Duration::from_nanos(scenario.server.service_time_ns);
        let mut page = Page::clone(&ready.page);
        let mut object_work = Vec::with_capacity(page.objects.len());
        for (index, object) in page.objects.iter_mut().enumerate() {
            object.think.value = (object.think.value + service).mul_f64(think[index]);
            for edge in &mut object.waits_for {
                edge.compute.value = device.recorded(edge.compute.value).mul_f64(compute[index]);
            }
            // A document is worked on as it arrives: only its last piece must follow its last byte,
            // and how large that is the transport decides.
            let own = match object.kind {
                Kind::Document => device.object(),
                kind => device.object() + device.work(kind, object.body_bytes),
            };
            object_work.push(own.mul_f64(compute[index]));
        }
        let origins = match scenario.server.origins {
            Origins::Equal => floor::Origins::Equal,
            Origins::Recorded => floor::Origins::Recorded,
        };
        let network = network.clone();
        let first_wait = first_wait(scenario, &network);
        let first_visit = scenario.clients.first_visit(scenario.client.view, visitor.number);
        Ok(Limits { page, object_work, network, origins, first_visit, first_wait })
    }

    /// The floors of one visit; `None` if its network stands still and never carries the page. What its cache answered costs no network, and the load event did not
    /// wait for what never came.
    pub(crate) fn floors(&self, record: &VisitRecord) -> Option<Floors> {
        let from_cache: BTreeSet<ObjectId> = record
            .objects
            .iter()
            .filter(|object| object.protocol == "cache")
            .map(|object| ObjectId(object.object))
            .collect();
        let page = self.without_absent(record);
        let load =
            PageLoad { page: &page, object_work: &self.object_work, from_cache: &from_cache };
        let is_first = record.index == self.first_visit && record.view == View::Cold.name();
        let wait = if is_first { self.first_wait } else { Duration::ZERO };
        let floors = match Bottlenecks::are_in(&self.network) {
            false => floor::Floors::of(&load, &Path::over(&self.network, self.origins)),
            true => {
                let start = Time::from_nanos(record.started_at_ns) + wait;
                floor::Floors::of(&load, &Path::recorded(&self.network, self.origins, start))
            }
        };
        let floors = floors.after(wait);
        // Every simulated visit of every test goes through here.
        debug_assert!(
            record.plt_ns().is_none_or(|plt| floors.graph.as_nanos() <= u128::from(plt)),
            "a visit beat its floor: {:?} after {:?} of {}",
            record.outcome,
            floors.graph,
            self.page.name
        );
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let can_load = nanos(floors.graph) < Time::NEVER.as_nanos();
        can_load.then(|| Floors {
            graph_ns: nanos(floors.graph),
            oracle_ns: nanos(floors.oracle),
            graph_without_compute_ns: nanos(floors.graph_without_compute),
            oracle_without_compute_ns: nanos(floors.oracle_without_compute),
        })
    }

    /// The page as far as this visit got it.
    fn without_absent(&self, record: &VisitRecord) -> Cow<'_, Page> {
        let came = record.objects.iter().filter(|object| object.error.is_none());
        let came: BTreeSet<u32> = came.map(|object| object.object).collect();
        if came.len() == self.page.objects.len() {
            return Cow::Borrowed(&self.page);
        }
        let mut page = self.page.clone();
        for (index, object) in page.objects.iter_mut().enumerate() {
            object.blocks_load &= came.contains(&(index as u32));
        }
        Cow::Owned(page)
    }
}
