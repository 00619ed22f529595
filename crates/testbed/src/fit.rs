//! Fits a recorded page to the network that it was recorded over, so that it holds over any other.
//!
//! A recording states how long each response took. How much of that was the network depends on its queues, on
//! slow start and on the other responses: `wait` less a round trip would make all of it the server's. So the
//! load is simulated over the recorded network, first with servers that do not think at all, and a think time is
//! raised only by what the simulation does not explain. In the same way a reference whose place in its document
//! is not known is moved to where it is discovered at the recorded time.
//!
//! The simulation is deterministic, and so is the fit.

mod account;
mod explained;
mod kept;
mod network;
mod think;

use std::sync::Arc;
use std::time::Duration;

use page::{Page, RecordedNetwork, Recording};
use record::VisitRecord;
use scenario::{Execute, JourneyPlan, NetworkSpec, Noise, Origins, Protocol, Queue, Scenario, Tls};

use crate::simulate::Simulator;
use crate::tour::Library;

/// Objects of all simulations together: a bound on the time that a fit takes.
const MOST_OBJECTS: usize = 6000;
const FEWEST_SIMULATIONS: usize = 12;
const MOST_SIMULATIONS: usize = 60;

/// Opens a page as [`page::open`] does, and fits it if it is a recording.
///
/// # Errors
/// If it cannot be opened.
pub fn open(spec: &str) -> Result<Page, page::Error> {
    page::open_with(spec, |_, page| {
        if page.recording.is_none() {
            return page;
        }
        let Some(kept) = kept::KeptFit::of(&page) else { return fitted(page) };
        if let Some(fitted) = kept.get() {
            return fitted;
        }
        let fitted = fitted(page);
        kept.put(&fitted);
        fitted
    })
}

/// `page` with fitted think times and its recorded network in place of its recording; a page without a recording stays as it is.
pub fn fitted(page: Page) -> Page {
    let Some(recording) = page.recording.clone() else { return page };
    let Some(network) = network::first_estimate(&recording, &page) else { return page };
    let fit = Fit::of(&recording);
    let mut unfitted = page.clone();
    unfitted.objects.iter_mut().for_each(|object| object.think.value = Duration::ZERO);
    unfitted.hosts.iter_mut().for_each(|host| host.extra_rtt.value = Duration::ZERO);
    let Some(mut network) = network::choose(&fit, &mut unfitted, network) else { return page };
    let fit = Fit { delays_handshakes: true, ..fit };
    let budget = (MOST_OBJECTS / page.objects.len()).clamp(FEWEST_SIMULATIONS, MOST_SIMULATIONS);
    let Some(mut fitted) = think::fit(&fit, unfitted, &network, budget).map(|it| it.page) else {
        return page;
    };
    fit.account(&fitted, &mut network);
    fitted.recorded_network = Some(network);
    fitted.recording = None;
    fitted
}

/// Input of a fit.
struct Fit<'a> {
    recording: &'a Recording,
    tls: Tls,
    /// TLS's handshake over TCP's of a connection that was seen whole, at most.
    most_ratio: f64,
    /// True if servers may think in handshakes, too. Not while the network is sought, which may delay them as well.
    delays_handshakes: bool,
}

/// Times of an object in a simulated load, from the start of the first object; `None` if it was not loaded.
type SimulatedTimes = Option<Times>;

#[derive(Clone, Copy, Debug)]
struct Times {
    started: i64,
    connect: Option<i64>,
    tls: Option<i64>,
    wait: i64,
    head_at: i64,
    end_at: i64,
}

impl Times {
    /// Handshakes of TCP and TLS, if it opened a connection.
    fn opening(self) -> Option<i64> {
        self.connect.map(|connect| connect + self.tls.unwrap_or_default())
    }

    /// From the request to the last byte of the response.
    fn response(self) -> i64 {
        self.wait + self.end_at - self.head_at
    }
}

impl Fit<'_> {
    fn of(recording: &Recording) -> Fit<'_> {
        Fit {
            recording,
            tls: network::tls(recording),
            most_ratio: network::most_ratio(recording),
            delays_handshakes: false,
        }
    }

    /// Part of a handshake that the simulation lacks: the server's cryptography, or the client's check of certificates. A
    /// shorter one was begun for another object.
    fn late(&self, was: Times, is: Times) -> i64 {
        let both = was.opening().zip(is.opening()).filter(|_| self.delays_handshakes);
        both.map_or(0, |(was, is)| (was - is).max(0))
    }

    /// Loads the page over the network; `None` if it does not load.
    fn simulate(&self, page: &Page, network: &RecordedNetwork) -> Option<Vec<SimulatedTimes>> {
        simulated_times(page, &self.visit(page, network)?)
    }

    /// A visit of the page over the network; `None` if it fails.
    fn visit(&self, page: &Page, network: &RecordedNetwork) -> Option<VisitRecord> {
        const NAME: &str = "recorded";
        let mut scenario = Scenario::new(NAME, network_spec(network));
        scenario.stack.protocol = Protocol::Recorded;
        scenario.stack.tls = self.tls;
        scenario.client.device = "zero".to_owned();
        scenario.server.origins = Origins::Recorded;
        scenario.noise = Noise::Off;
        let library = Library::of_page(NAME, page.clone()).ok()?;
        let journey = JourneyPlan {
            position: 0,
            cell: 0,
            repetition: 0,
            seed: 1,
            scenario: Arc::new(scenario),
        };
        let result = Simulator::new(Arc::new(library)).execute(&journey);
        Some(result.visits.into_iter().next()?.record)
    }

    /// Recorded times of an object, if they say something of the network.
    fn recorded(&self, object: usize) -> SimulatedTimes {
        let times = &self.recording.objects[object];
        let micros = |span: Duration| span.as_micros() as i64;
        (!times.from_cache).then_some(())?;
        Some(Times {
            started: micros(times.started),
            connect: times.connect.map(micros),
            tls: times.tls.map(micros),
            wait: micros(times.wait?),
            head_at: micros(times.head_at),
            end_at: micros(times.end_at),
        })
    }

    /// Recorded and simulated times of all objects that have both.
    fn pairs<'s>(
        &'s self,
        simulated: &'s [SimulatedTimes],
    ) -> impl Iterator<Item = (usize, Times, Times)> + 's {
        let pair = |(object, simulated): (usize, &SimulatedTimes)| {
            Some((object, self.recorded(object)?, (*simulated)?))
        };
        simulated.iter().enumerate().filter_map(pair)
    }
}

/// Times of each object in a visit; `None` if nothing was loaded.
fn simulated_times(page: &Page, visit: &VisitRecord) -> Option<Vec<SimulatedTimes>> {
    let micros = |ns: u64| (ns / 1000) as i64;
    let began = micros(visit.objects.iter().map(|object| object.discovered_at_ns).min()?);
    let mut times = vec![None; page.objects.len()];
    for object in visit.objects.iter().filter(|object| object.error.is_none()) {
        let (phases, started) = (object.phases, micros(object.discovered_at_ns) - began);
        let end_at = started + micros(phases.total_ns());
        *times.get_mut(object.object as usize)? = Some(Times {
            started,
            connect: (phases.connect_ns > 0).then_some(micros(phases.connect_ns)),
            tls: (phases.tls_ns > 0).then_some(micros(phases.tls_ns)),
            wait: micros(phases.wait_ns),
            head_at: end_at - micros(phases.receive_ns),
            end_at,
        });
    }
    Some(times)
}

fn network_spec(network: &RecordedNetwork) -> NetworkSpec {
    NetworkSpec {
        rtt_ns: Some(network.round_trip.shortest_ns),
        down_bit_per_s: Some(network.down_bit_per_s),
        up_bit_per_s: Some(network.up_bit_per_s),
        queue: Some(Queue::Packets(network.queue_packets)),
        ..NetworkSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use page::{After, RateEstimate, RecordedTimes, RoundTripEstimate};

    use super::*;

    fn network(rtt_ms: u64, down_mbit: u64, up_mbit: u64, queue_packets: u64) -> RecordedNetwork {
        let nanos = rtt_ms * 1_000_000;
        RecordedNetwork {
            round_trip: RoundTripEstimate { shortest_ns: nanos, median_ns: nanos, handshakes: 0 },
            down: RateEstimate::AtLeast(0),
            down_bit_per_s: down_mbit * 1_000_000,
            up_bit_per_s: up_mbit * 1_000_000,
            queue_packets,
            recorded_ns: 0,
            lookups_ns: 0,
            unexplained_percent: 0,
            unexplained_ns: 0,
            dropped_packets: 0,
            load_ns: 0,
            replayed_ns: 0,
        }
    }

    /// The page as a recording over this network shows it: references known by rank, think times unknown.
    fn recorded(page: &Page, over: &RecordedNetwork, protocol: &str) -> Page {
        let mut page = page.clone();
        for host in &mut page.hosts {
            host.recorded_protocol = Some(protocol.to_owned());
        }
        let nothing = Recording::default();
        let times = Fit { tls: Tls::Tls13, ..Fit::of(&nothing) }.simulate(&page, over).unwrap();
        let span = |micros: i64| Duration::from_micros(micros as u64);
        let times = times.into_iter().map(|times| {
            let times = times.unwrap();
            RecordedTimes {
                started: span(times.started),
                lookup: Duration::ZERO,
                connect: times.connect.map(span),
                tls: times.tls.map(span),
                wait: Some(span(times.wait)),
                head_at: span(times.head_at),
                end_at: span(times.end_at),
                from_cache: false,
                is_placed_by_rank: true,
            }
        });
        page.recording = Some(Arc::new(Recording { objects: times.collect() }));
        let (count, size) = (page.objects.len() as u64, page.objects[0].body_bytes);
        for (rank, object) in (0..).zip(&mut page.objects) {
            if let [edge] = &mut object.waits_for[..] {
                edge.after = After::Bytes(size * rank / (count - 1));
            }
        }
        page
    }

    fn plt(page: &Page, over: &RecordedNetwork) -> i64 {
        let nothing = Recording::default();
        let times = Fit { tls: Tls::Tls13, ..Fit::of(&nothing) }.simulate(page, over).unwrap();
        times.into_iter().flatten().map(|times| times.end_at).max().unwrap()
    }

    #[test]
    fn a_recording_tells_its_network_and_gives_the_page_back() {
        let page = page::open("bth2013").unwrap();
        for (over, protocol) in [
            (network(300, 20, 5, 1000), "h2"),
            (network(300, 20, 5, 1000), "h1"),
            (network(60, 3, 1, 1000), "h1"),
            (network(60, 3, 1, 1000), "h2"),
        ] {
            let fitted = fitted(recorded(&page, &over, protocol));
            let told = fitted.recorded_network.unwrap();
            let used = (told.round_trip.shortest_ns, told.down_bit_per_s, told.up_bit_per_s);
            assert_eq!(used, (over.round_trip.shortest_ns, over.down_bit_per_s, over.up_bit_per_s));
            assert!(told.tells_rate() && told.tells_round_trip(), "{told}");
            let described = net::Network::parse(&told.spec()).unwrap();
            assert_eq!(described.rtt().as_nanos() as u64, over.round_trip.shortest_ns);
            assert_eq!(described.down_peak().0, over.down_bit_per_s);
            let most = fitted.objects.iter().map(|object| object.think.value).max().unwrap();
            assert!(
                most < Duration::from_millis(1),
                "the servers of this page do not think: {most:?}"
            );
            let mut truth = page.clone();
            for host in &mut truth.hosts {
                host.recorded_protocol = Some(protocol.to_owned());
            }
            for elsewhere in [network(20, 50, 10, 500), network(300, 20, 5, 500)] {
                let (is, should) = (plt(&fitted, &elsewhere), plt(&truth, &elsewhere));
                assert!((is - should).abs() * 100 <= should, "{is} us, not {should} us");
            }
        }
    }

    #[test]
    fn a_documents_think_time_is_told_from_the_network() {
        let mut page = page::open("bth2013").unwrap();
        page.objects[0].think.value = Duration::from_millis(120);
        let over = network(300, 20, 5, 1000);
        let fitted = fitted(recorded(&page, &over, "h2"));
        let think = |page: &Page| page.objects[0].think.value;
        let apart = think(&fitted).abs_diff(think(&page));
        assert!(apart <= Duration::from_millis(8), "the document's: {apart:?}");
        let mut truth = page.clone();
        for host in &mut truth.hosts {
            host.recorded_protocol = Some("h2".to_owned());
        }
        for elsewhere in [network(20, 50, 10, 500), network(60, 3, 1, 1000)] {
            let (is, should) = (plt(&fitted, &elsewhere), plt(&truth, &elsewhere));
            assert!((is - should).abs() * 20 <= should, "{is} us, not {should} us");
        }
    }

    #[test]
    fn hosts_are_as_far_away_as_their_handshakes_say() {
        let mut page = page::open("synthetic:43x7KB@7hosts").unwrap();
        let far = Duration::from_millis(120);
        page.hosts[0].extra_rtt.value = far;
        let fitted = fitted(recorded(&page, &network(20, 50, 10, 1000), "h1"));
        for (host, expected) in fitted.hosts.iter().zip(&page.hosts) {
            let apart = host.extra_rtt.value.abs_diff(expected.extra_rtt.value);
            assert!(apart <= Duration::from_millis(2), "{}: {:?}", host.name, host.extra_rtt);
        }
        let told = fitted.recorded_network.unwrap();
        assert!(told.misfit_percent().abs() < 2.0, "{}", told.load());
    }

    #[test]
    fn a_slow_handshake_is_the_servers() {
        let page = page::open("bth2013").unwrap();
        let mut recorded = recorded(&page, &network(60, 3, 1, 1000), "h2");
        let mut recording = Recording::clone(recorded.recording.as_ref().unwrap());
        let (slow, lookup) = (Duration::from_millis(20), Duration::from_millis(200));
        let document = &mut recording.objects[0];
        document.tls = document.tls.map(|tls| tls + slow);
        document.lookup = lookup;
        document.head_at += slow + lookup;
        document.end_at += slow + lookup;
        for object in &mut recording.objects[1..] {
            object.started += slow + lookup;
            object.head_at += slow + lookup;
            object.end_at += slow + lookup;
        }
        recorded.recording = Some(Arc::new(recording));
        let fitted = fitted(recorded);
        let think = fitted.objects[0].think.value;
        assert!(think.abs_diff(slow) <= Duration::from_millis(10), "{think:?}");
        let told = fitted.recorded_network.unwrap();
        assert_eq!(told.lookups_ns, lookup.as_nanos() as u64);
        assert!(told.misfit_percent().abs() < 2.0, "{}", told.load());
    }

    #[test]
    fn a_page_without_a_recording_stays_as_it_is() {
        let page = page::open("bth2013").unwrap();
        assert_eq!(fitted(page.clone()), page);
    }
}
