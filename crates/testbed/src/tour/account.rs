//! Record of a visit, made from the browser's observations and the world's counters.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use browser::{ConnectionUse, LoadPlan, Visited};
use net::{DropCause, Interruption, RadioDirection, Rate, Transition, TransitionCause};
use page::Page;
use record::{
    ConnectionRecord, EventKind, PepCounters, RadioChange, RadioRecord, RadioStateRecord,
    RetransmitDetail, Series, TcpEvent, VisitOutcome, VisitRecord,
};
use tls::Protocol;
use units::Time;
use world::report::{Drop, Endpoint, LinkReport, RadioReport, WorldReport};

use super::activity::activity;
use super::recorded::{KeptSeries, Recorder};
use super::{DOWN, UP, Visitor, nanos};
use scenario::{Recording, View};

/// Source of reports on the network and both ends of every connection.
pub(crate) trait Witness {
    /// All events of the journey so far.
    fn report(&self) -> WorldReport;
    /// Time for which HTTP's windows have limited the connection with `client` so far.
    fn limited(&self, client: SocketAddr) -> Duration;
    /// Events of the proxy, if there is one, since `since` on behalf of the client at this address, which loads
    /// this page; as of the latest report.
    fn proxied(&self, page: &Page, client: IpAddr, since: Time) -> Vec<TcpEvent>;
    /// Counters of the PEP, if there is one, in the journey so far; as of the latest report.
    fn carried(&self) -> Option<PepCounters>;
    /// Movements of the connections of the client at this address since `since` and its arrivals, as far as
    /// they are kept.
    fn kept(&self, _client: IpAddr, _since: Time) -> Option<KeptSeries> {
        None
    }
}

/// Time series requested of a visit.
#[derive(Clone, Copy)]
pub(crate) struct SeriesRequest {
    pub(crate) record: Recording,
    /// End of the client's previous visit, or start of its journey.
    pub(crate) since: Time,
}

/// Accounting of a visit: opened before it, closed after it.
pub(crate) struct JourneyAccount {
    before: WorldReport,
    carried: Option<PepCounters>,
    /// Time for which HTTP's windows had limited the open connections, by the client's address.
    limited: BTreeMap<SocketAddr, Duration>,
    wish: Option<SeriesRequest>,
}

/// Both ends of one connection.
#[derive(Default)]
struct BothEnds<'a> {
    client: Option<&'a Endpoint>,
    server: Option<&'a Endpoint>,
}

impl JourneyAccount {
    pub(crate) fn open(witness: &impl Witness) -> JourneyAccount {
        let before = witness.report();
        let open = before.endpoints.iter().filter(|end| end.active && end.closed_at.is_none());
        let limited = open.map(|end| (end.local, witness.limited(end.local))).collect();
        JourneyAccount { before, carried: witness.carried(), limited, wish: None }
    }

    /// The same account, with time series.
    pub(crate) fn wishing(self, wish: SeriesRequest) -> JourneyAccount {
        JourneyAccount { wish: Some(wish), ..self }
    }

    /// The record of the visit that has just ended, as the first of its journey.
    pub(crate) fn close(
        self,
        view: View,
        visited: Visited,
        plan: &LoadPlan,
        witness: &impl Witness,
        visitor: Visitor,
    ) -> VisitRecord {
        let after = witness.report();
        let connections = self.connections(&visited.connections, &after, witness);
        let drops = after.drops[self.before.drops.len()..].iter();
        let drops: Vec<&Drop> = drops.filter(|drop| drop.user == visitor.number).collect();
        let drops_by = |cause| drops.iter().filter(|drop| drop.cause == cause).count() as u64;
        let delivered = |link| {
            let bytes = |report: &WorldReport| delivered_bytes(report, link, visitor);
            bytes(&after) - bytes(&self.before)
        };
        VisitRecord {
            index: 0,
            view: view.name().to_owned(),
            started_at_ns: visited.started.as_nanos(),
            outcome: outcome(&visited, &after),
            ttfb_ns: visited.ttfb.map(nanos),
            connections,
            links: super::recorded::links(&self.before, &after),
            events: self.events(&visited, plan.page(), &drops, &after, visitor, witness),
            wire_bytes_down: delivered(DOWN),
            wire_bytes_up: delivered(UP),
            queue_drops: drops_by(DropCause::QueueFull) + drops_by(DropCause::Managed),
            losses: drops_by(DropCause::Loss),
            trace_digest: after.digest,
            emulation: None,
            paint: None,
            radio: radio(&self.before, &after, visitor),
            series: self.series(&visited, own_radio(&after, visitor), witness, visitor),
            activity: activity(&visited, &drops, &after, visitor),
            objects: visited.objects,
            page: None,
        }
    }

    /// The requested time series of the visit, if any are requested and the world keeps them.
    fn series(
        &self,
        visited: &Visited,
        radio: Option<&RadioReport>,
        witness: &impl Witness,
        visitor: Visitor,
    ) -> Option<Series> {
        let SeriesRequest { record: wanted, since } =
            self.wish.filter(|it| !it.record.is_nothing())?;
        let client = visitor.address();
        let kept = &witness.kept(client, since)?;
        Some(Recorder { wanted, since, client, visited, radio, kept }.series())
    }

    fn events(
        &self,
        visited: &Visited,
        page: &Page,
        drops: &[&Drop],
        report: &WorldReport,
        visitor: Visitor,
        witness: &impl Witness,
    ) -> Vec<TcpEvent> {
        let event = |at: Time, kind, detail: String| TcpEvent {
            at_ns: at.as_nanos(),
            kind,
            object: None,
            connection: None,
            detail,
        };
        let mut events = vec![event(visited.started, EventKind::Start, String::new())];
        for drop in drops {
            let kind = match drop.cause {
                DropCause::Loss => EventKind::Loss,
                DropCause::QueueFull | DropCause::Managed | DropCause::TooBig => {
                    EventKind::QueueDrop
                }
            };
            let link = &report.links[drop.link].name;
            events.push(event(drop.at, kind, format!("{} bytes, {link}", drop.wire_bytes)));
        }
        for change in own_radio(report, visitor).into_iter().flat_map(|radio| &radio.transitions) {
            if change.at >= visited.started {
                events.push(event(change.at, EventKind::Radio, radio_change(change)));
            }
        }
        for handover in handovers(visited.started, report, visitor) {
            events.push(event(handover.begins, EventKind::Radio, interrupted(&handover)));
        }
        for (index, used) in visited.connections.iter().enumerate() {
            let its =
                |end: &&Endpoint| Some(if end.active { end.local } else { end.peer }) == used.local;
            for end in report.endpoints.iter().filter(its) {
                let sender = if end.active { "client" } else { "server" };
                let sent = end.retransmits.iter().filter(|sent| sent.at >= visited.started);
                events.extend(sent.map(|sent| TcpEvent {
                    connection: Some(index as u32),
                    ..event(sent.at, EventKind::Retransmit, sent_again(sender, sent))
                }));
            }
        }
        let last = match &visited.plt {
            Ok(plt) => event(visited.started + *plt, EventKind::Load, String::new()),
            Err(reason) => event(world::now(), EventKind::Failure, reason.clone()),
        };
        events.push(last.clone());
        events.extend(witness.proxied(page, visitor.address(), visited.started));
        let carried = witness.carried().map(|now| now.since(&self.carried.unwrap_or_default()));
        let (kind, pep) = (EventKind::Pep, carried.map(|carried| carried.to_string()));
        events.extend(pep.map(|detail| TcpEvent { kind, detail, ..last }));
        events.sort_by_key(|event| event.at_ns);
        events
    }

    /// Connections of the visit, with their counts in it: a kept connection also has counts from earlier visits.
    fn connections(
        &self,
        used: &[ConnectionUse],
        after: &WorldReport,
        witness: &impl Witness,
    ) -> Vec<ConnectionRecord> {
        let (then, now) = (ends_of(&self.before), ends_of(after));
        let none = BothEnds::default();
        let record = |used: &ConnectionUse| {
            let Some(client) = used.local else {
                return connection(used, &none, &none, Duration::ZERO);
            };
            let limited = witness.limited(client);
            let before = self.limited.get(&client).copied().unwrap_or_default();
            let (then, now) = (then.get(&client), now.get(&client));
            let limited = limited.saturating_sub(before);
            connection(used, then.unwrap_or(&none), now.unwrap_or(&none), limited)
        };
        used.iter().map(record).collect()
    }
}

/// One direction of the access link.
fn access<'a>(report: &'a WorldReport, name: &str) -> &'a LinkReport {
    let named = report.links.iter().find(|link| link.name == name);
    named.expect("every stage has the access link's two directions")
}

/// Bytes of a client's packets delivered by the access link.
fn delivered_bytes(report: &WorldReport, link: &str, visitor: Visitor) -> u64 {
    let by_user = &access(report, link).delivered_bytes;
    by_user.get(visitor.number as usize).copied().unwrap_or_default()
}

fn outcome(visited: &Visited, report: &WorldReport) -> VisitOutcome {
    match &visited.plt {
        Ok(plt) => VisitOutcome::Loaded { plt_ns: nanos(*plt) },
        Err(reason) => {
            let still = report.links.iter().filter_map(stillness);
            let reasons: Vec<String> = std::iter::once(reason.clone()).chain(still).collect();
            VisitOutcome::Failed { reason: reasons.join("; ") }
        }
    }
}

/// Reports a link that stands still for ever by now, and the reason. Some stacks do not wait that long: TCP
/// gives up first if a connection cannot be established.
fn stillness(link: &LinkReport) -> Option<String> {
    let Rate::Trace(trace) = &link.config.rate else { return None };
    let since = trace.stands_still_from().filter(|since| *since <= world::now())?;
    let (name, origin) = (&link.name, trace.origin());
    Some(match since {
        Time::ZERO => format!("the link `{name}` stood still: {origin} has no rate above zero"),
        _ => format!(
            "the link `{name}` stood still from {} s on: {origin} ended there and is not repeated",
            since.as_secs_f64()
        ),
    })
}

/// A client's own radio, if the network has radios.
pub(super) fn own_radio(report: &WorldReport, visitor: Visitor) -> Option<&RadioReport> {
    let name = visitor.radio();
    report.radios.iter().find(|radio| radio.name == name)
}

/// The client's handovers since the visit began.
fn handovers(since: Time, report: &WorldReport, visitor: Visitor) -> Vec<Interruption> {
    let link = &access(report, DOWN).config;
    let handovers = link.handovers(visitor.journey_source(), visitor.number);
    handovers.map_or_else(Vec::new, |all| all.between(since, world::now()).collect())
}

/// Duration of a handover.
fn interrupted(handover: &Interruption) -> String {
    let span = handover.ends - handover.begins;
    format!("handover, nothing passed for {:.1} ms", span.as_secs_f64() * 1e3)
}

/// Activity of the client's radio since the visit began.
fn radio(before: &WorldReport, after: &WorldReport, visitor: Visitor) -> Option<RadioRecord> {
    let now = own_radio(after, visitor)?;
    let then = before.radios.iter().find(|radio| radio.name == now.name);
    let seen = then.map_or(0, |then| then.transitions.len());
    let spent = then.map_or_else(|| now.energy.clone(), |then| now.energy.since(&then.energy));
    let microjoules = |joules: f64| (joules * 1e6).round() as u64;
    let states = spent.states.iter().map(|(state, of)| RadioStateRecord {
        state: state.name().to_owned(),
        span_ns: (of.seconds * 1e9).round() as u64,
        energy_uj: microjoules(of.joules),
    });
    let mut states: Vec<RadioStateRecord> = states.collect();
    states.sort_by(|one, other| one.state.cmp(&other.state));
    Some(RadioRecord {
        radio: now.config.to_string(),
        promotions: now.transitions[seen..].iter().filter(|t| t.to.is_promotion()).count() as u32,
        energy_uj: microjoules(spent.joules()),
        up_uj: microjoules(spent.up_joules),
        down_uj: microjoules(spent.down_joules),
        tail_uj: microjoules(now.tail.joules()),
        states,
    })
}

/// The new state, and the packet that caused it.
fn radio_change(change: &Transition) -> String {
    let cause = match change.cause {
        None => "a timer".to_owned(),
        Some(TransitionCause { way, wire_bytes }) => {
            let way = match way {
                RadioDirection::Up => "up",
                RadioDirection::Down => "down",
            };
            format!("a packet of {wire_bytes} bytes {way}")
        }
    };
    RadioChange { state: change.to.name(), cause: &cause }.to_string()
}

/// Cause of a retransmission, with a mark if it was spurious.
fn sent_again(sender: &str, sent: &tcp::Retransmit) -> String {
    let cause = sent.cause.to_string();
    RetransmitDetail { sender, cause: &cause, needless: sent.spurious == Some(true) }.to_string()
}

/// The ends of all connections, keyed by the client's address: it is unique, since a client never reuses a port
/// in a journey.
fn ends_of(report: &WorldReport) -> BTreeMap<SocketAddr, BothEnds<'_>> {
    let mut ends: BTreeMap<SocketAddr, BothEnds<'_>> = BTreeMap::new();
    for endpoint in &report.endpoints {
        if endpoint.active {
            ends.entry(endpoint.local).or_default().client = Some(endpoint);
        } else {
            ends.entry(endpoint.peer).or_default().server = Some(endpoint);
        }
    }
    ends
}

/// A connection with its activity between two reports.
fn connection(
    used: &ConnectionUse,
    then: &BothEnds<'_>,
    now: &BothEnds<'_>,
    http_limited: Duration,
) -> ConnectionRecord {
    let [client, server] = [(then.client, now.client), (then.server, now.server)]
        .map(|(then, now)| Grown { then, now });
    // QUIC never retransmits a packet, and its numbers are encrypted.
    let shows = used.arm.protocol != Protocol::H3;
    let tcp_limited = server.by(|stats| nanos(stats.rwnd_limited));
    ConnectionRecord {
        host: used.host.clone(),
        protocol: used.arm.protocol.to_string(),
        tls: used.arm.security.to_string(),
        opened_at_ns: used.started.as_nanos(),
        connected_at_ns: used.connected.map(Time::as_nanos),
        secured_at_ns: used.secured.map(Time::as_nanos),
        closed_at_ns: used.closed.map(Time::as_nanos),
        requests: used.requests,
        bytes_up: client
            .known(|stats| stats.bytes_sent)
            .unwrap_or_else(|| server.by(|stats| stats.bytes_received)),
        bytes_down: client
            .known(|stats| stats.bytes_received)
            .unwrap_or_else(|| server.by(|stats| stats.bytes_sent)),
        // A connection that was never established has sent no data to retransmit.
        retransmits_down: match used.connected {
            None => Some(0),
            Some(_) => retransmits(&server, shows),
        },
        retransmits_up: match used.connected {
            None => Some(0),
            Some(_) => retransmits(&client, shows),
        },
        timeouts_down: server.by(|stats| stats.timeouts) as u32,
        srtt_down_ns: server.last().map_or(0, |stats| nanos(stats.srtt.unwrap_or_default())),
        cwnd_down: server.last().map_or(0, |stats| stats.cwnd),
        busy_ns: server.by(|stats| nanos(stats.busy)),
        // Limits by TCP's window and by HTTP's never overlap, but their times are not known separately.
        flow_limited_ns: tcp_limited.max(nanos(http_limited)),
    }
}

/// Retransmissions of an end: its own count or, if that is unavailable and the wire `shows` them, those seen on
/// the wire. `None` if neither is known.
fn retransmits(end: &Grown<'_>, shows: bool) -> Option<u32> {
    let counted = || end.known(|stats| stats.retransmitted_segments);
    let seen = || {
        let seen = |end: &Endpoint| end.retransmits.len() as u64;
        end.now.filter(|_| shows).map(|now| seen(now).saturating_sub(end.then.map_or(0, seen)))
    };
    counted().or_else(seen).map(|segments| segments as u32)
}

/// One end at two times.
struct Grown<'a> {
    then: Option<&'a Endpoint>,
    now: Option<&'a Endpoint>,
}

impl<'a> Grown<'a> {
    /// The counts at the later time.
    fn last(&self) -> Option<&'a tcp::Stats> {
        self.now?.stats.as_ref()
    }

    /// Growth of a count in between; `None` if there is no count.
    fn known(&self, count: fn(&tcp::Stats) -> u64) -> Option<u64> {
        let before = self.then.and_then(|end| end.stats.as_ref()).map_or(0, count);
        self.last().map(|stats| count(stats).saturating_sub(before))
    }

    /// Growth of a count in between; 0 if there is no count.
    fn by(&self, count: fn(&tcp::Stats) -> u64) -> u64 {
        self.known(count).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end whose TCP cannot be queried.
    fn end(seen: usize) -> Endpoint {
        let (at, seq, cause) = (Time::ZERO, 0, tcp::RetransmitCause::Unknown);
        let again = tcp::Retransmit { at, first_at: at, seq, cause, spurious: None };
        Endpoint {
            local: ([10, 0, 0, 1], 40_000).into(),
            peer: ([10, 1, 0, 1], 443).into(),
            cookie: None,
            active: true,
            opened_at: Time::ZERO,
            closed_at: None,
            stats: None,
            retransmits: vec![again; seen],
            losses: Vec::new(),
            series: Vec::new(),
            held: Vec::new(),
            qlog: String::new(),
        }
    }

    /// If TCP has no count, the wire's is used; without that the number is unknown.
    #[test]
    fn retransmissions_are_counted_on_the_wire_where_tcp_cannot_tell() {
        let grown = |then: Option<&Endpoint>, now: Option<&Endpoint>| {
            retransmits(&Grown { then, now }, true)
        };
        assert_eq!(grown(Some(&end(1)), Some(&end(4))), Some(3));
        assert_eq!(grown(None, Some(&end(0))), Some(0), "seen, and nothing sent again");
        assert_eq!(retransmits(&Grown { then: None, now: Some(&end(0)) }, false), None, "QUIC's");
        assert_eq!(grown(None, None), None);
    }
}
