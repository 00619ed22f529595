//! The physical limits of a journey's visits: the floor of the page as varied for this journey.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use browser::Device;
use net::{Network, RadioConfig};
use page::{After, Kind, Object, ObjectId, Page};
use record::{CriticalPath, VisitRecord};
use units::Time;

use super::ends::factors;
use super::ready::{JourneyPage, Ready, reads_pages};
use super::route::Nearest;
use super::{Visitor, route};
use floor::{self, Bottlenecks, FloorOfVisit, PageLoad, Path, ServiceCurve};
use scenario::{Floors, MeasuredVisit};
use scenario::{Origins, Program, Scenario, View};

/// Inputs to the floors of a client's visits.
pub(crate) struct PolicyLimits {
    /// The pages that it visits, by their names in the list; a single page has no name.
    pages: Vec<(Option<String>, Limited)>,
    network: Network,
    origins: floor::Origins,
    /// Round trip between the network's far end and the hosts.
    beyond: Duration,
    /// Round trip between the client and the network.
    nearer: Duration,
    /// Party that discovers the page's objects.
    finder: Finder,
    /// The client's first visit.
    first_visit: u32,
    /// Delay of the first packet by the client's radio, if that packet is the first visit's.
    first_wait: Duration,
}

/// Party that discovers the page's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finder {
    /// The client.
    Client,
    /// A PEP, which prefetches.
    Pep,
}

/// Limits of a visit, and its critical paths.
struct Limits {
    floors: Floors,
    critical_path: Option<CriticalPath>,
    render_path: Option<CriticalPath>,
}

/// A page with the journey's own think and compute times.
struct Limited {
    page: Page,
    /// The client's compute on each object between its arrival and the load event.
    object_work: Vec<Duration>,
    /// Objects that the nearest cache may hold.
    nearest: Nearest,
}

/// Delay of the journey's first packet by an idle radio. Zero if other traffic, a PEP's leg or a real browser
/// may send before the page.
fn first_wait(scenario: &Scenario, network: &Network) -> Duration {
    let page_comes_first = scenario.traffic.is_none()
        && !scenario.route.has_pep()
        && scenario.client.program == Program::Loader
        && !scenario.security.is_acquainted();
    let radio = network.radio.as_ref().filter(|_| page_comes_first);
    radio.map_or(Duration::ZERO, RadioConfig::least_first_wait)
}

impl PolicyLimits {
    /// Limits of one of the clients, as if it were alone.
    pub(crate) fn new(
        scenario: &Scenario,
        ready: &Ready,
        network: &Network,
        visitor: Visitor,
    ) -> Result<PolicyLimits, String> {
        let think = visitor.journey_source().stream("origin/think");
        let think = factors(scenario, ready.page.objects.len(), think);
        let hops = 1 + network.beyond.len();
        let pages = ready.members().iter().map(|member| {
            let limited = Limited::new(scenario, ready, member, &think, visitor, hops)?;
            Ok((member.name.clone(), limited))
        });
        let pages = pages.collect::<Result<_, String>>()?;
        let origins = match scenario.server.origins {
            Origins::Equal => floor::Origins::Equal,
            Origins::Recorded => floor::Origins::Recorded,
        };
        let network = network.clone();
        let first_wait = first_wait(scenario, &network);
        let first_visit = scenario.first_visit(visitor.number);
        let beyond = Duration::from_nanos(scenario.route.stretch.rtt_ns.unwrap_or(0));
        let nearer = match scenario.route.has_pep() {
            true => scenario.route.pep.near_rtt(),
            false => Duration::ZERO,
        };
        let finder = if reads_pages(scenario) { Finder::Pep } else { Finder::Client };
        Ok(PolicyLimits {
            pages,
            network,
            origins,
            beyond,
            nearer,
            finder,
            first_visit,
            first_wait,
        })
    }

    /// The visit with its floors and its critical path; without if its network stands still and never carries the page. Objects
    /// from its cache cost no network, and the load event did not wait for objects that never came.
    pub(crate) fn measure(&self, mut record: VisitRecord) -> MeasuredVisit {
        let limits = self.limits(&record);
        record.forget_activity();
        let visit = MeasuredVisit::new(record);
        match limits {
            None => visit,
            Some(Limits { floors, critical_path, render_path }) => {
                MeasuredVisit { floors: Some(floors), critical_path, render_path, ..visit }
            }
        }
    }

    fn limits(&self, record: &VisitRecord) -> Option<Limits> {
        let from_cache: BTreeSet<ObjectId> = record
            .objects
            .iter()
            .filter(|object| object.protocol == "cache")
            .map(|object| ObjectId(object.object))
            .collect();
        let (_, limited) = self.pages.iter().find(|(name, _)| *name == record.page)?;
        let page = limited.without_absent(record);
        let load = PageLoad {
            page: &page,
            object_work: &limited.object_work,
            from_cache: &from_cache,
            at_proxy: &limited.nearest.held,
        };
        let is_first = record.index == self.first_visit && record.view == View::Cold.name();
        let wait = if is_first { self.first_wait } else { Duration::ZERO };
        // Only objects not held by the nearest cache cross the hops beyond it: their delay counts for those
        // alone, their rate is ignored.
        let network = self.network.up_to(limited.nearest.hops);
        match Bottlenecks::are_in(&network) {
            false => {
                self.limits_on(&load, Path::over(&network, self.origins), &network, record, wait)
            }
            true => {
                let start = Time::from_nanos(record.started_at_ns) + wait;
                let path = Path::recorded(&network, self.origins, start);
                self.limits_on(&load, path, &network, record, wait)
            }
        }
    }

    /// Limits of a visit on a path over `network`, whose first packet the radio delays by `wait`.
    fn limits_on(
        &self,
        load: &PageLoad<'_>,
        path: Path<impl ServiceCurve>,
        network: &Network,
        record: &VisitRecord,
        wait: Duration,
    ) -> Option<Limits> {
        let beyond = self.beyond + (self.network.rtt() - network.rtt());
        let path = path.with_beyond(beyond).behind(self.nearer);
        let floors = floor::Floors::of(load, &path);
        let floors = match self.finder {
            Finder::Client => floors,
            Finder::Pep => floors.found_for_client(),
        };
        let floors = floors.after(wait);
        // Every simulated visit of every test passes through here.
        debug_assert!(
            record.plt_ns().is_none_or(|plt| floors.graph.as_nanos() <= u128::from(plt)),
            "a visit beat its floor: {:?} after {:?} of {}",
            record.outcome,
            floors.graph,
            load.page.name
        );
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        if nanos(floors.graph) >= Time::NEVER.as_nanos() {
            return None;
        }
        let of_visit = FloorOfVisit { floor: floors.graph, radio_wait: wait };
        let critical_path = floor::critical_path(load, &path, record, of_visit);
        let render_path = floor::render_path(load, &path, record, wait);
        let floors = Floors {
            graph_ns: nanos(floors.graph),
            oracle_ns: nanos(floors.oracle),
            graph_without_compute_ns: nanos(floors.graph_without_compute),
            oracle_without_compute_ns: nanos(floors.oracle_without_compute),
        };
        Some(Limits { floors, critical_path, render_path })
    }
}

impl Limited {
    /// Prepares a page of the journey. `think` are the factors on the servers' times; the network has `hops` hops.
    fn new(
        scenario: &Scenario,
        ready: &Ready,
        member: &JourneyPage,
        think: &[f64],
        visitor: Visitor,
        hops: usize,
    ) -> Result<Limited, String> {
        // A real browser's compute is unknown: no profile gives a lower bound.
        let name = match scenario.client.program {
            Program::Loader => scenario.client.device.as_str(),
            Program::Chromium => "zero",
        };
        let mut device = Device::open(name).map_err(|e| e.to_string())?;
        device.slowdown = scenario.client.cpu_multiplier;
        let mut page = Page::clone(&member.page);
        let compute = visitor.source().stream("loader/compute");
        let compute = factors(scenario, page.objects.len(), compute);
        let service = Duration::from_nanos(scenario.server.service_time_ns);
        let mut object_work = Vec::with_capacity(page.objects.len());
        for (index, object) in page.objects.iter_mut().enumerate() {
            object.think.value =
                (object.think.value + service).mul_f64(think[member.objects[index]]);
            for edge in &mut object.waits_for {
                edge.compute.value = device.recorded(edge.compute.value).mul_f64(compute[index]);
            }
            // A document is processed as it arrives: only its last piece must follow its last byte, and the
            // transport decides the size of that piece.
            let own = match object.kind {
                Kind::Document => device.object(),
                kind => device.object() + device.work(kind, object.body_bytes),
            };
            object_work.push(own.mul_f64(compute[index]));
        }
        if let Some(least) = ready.least_compressed(scenario) {
            compress(&mut page, |object| least[member.objects[object]]);
        }
        let nearest = route::nearest(scenario, &page, hops);
        Ok(Limited { page, object_work, nearest })
    }

    /// The page as far as it arrived in this visit.
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

/// Bytes of a text that may be decoded from fewer of its compressed bytes than its average says.
const RUN_AHEAD_BYTES: u64 = 512;

/// Reduces bodies to their size behind a compressing proxy, and moves the places in them as far forward as a decoder may be.
fn compress(page: &mut Page, least: impl Fn(usize) -> Option<u64>) {
    let of = |(index, object): (usize, &Object)| Some((object.body_bytes, least(index)?));
    let sizes: Vec<Option<(u64, u64)>> = page.objects.iter().enumerate().map(of).collect();
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        if let (After::Bytes(at), Some((whole, least))) =
            (&mut edge.after, sizes[edge.object.0 as usize])
        {
            let sure = at.saturating_sub(RUN_AHEAD_BYTES);
            *at = (sure as f64 / whole as f64 * least as f64) as u64;
        }
    }
    for (object, size) in page.objects.iter_mut().zip(sizes) {
        object.body_bytes = size.map_or(object.body_bytes, |(_, least)| least);
    }
}
