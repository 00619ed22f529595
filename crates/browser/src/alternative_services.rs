//! The browser's knowledge of servers' alternative services (RFC 7838): support of HTTP/3, round-trip times, failures.
//!
//! It survives visits, as Chromium keeps it in its profile. The rules are Chromium's:
//! `net/quic/quic_stream_factory.cc` (`GetTimeDelayForWaitingJob`), `net/http/broken_alternative_services.cc`. Left
//! out: alternatives on other hosts, which are ignored; a change of network, after which broken alternatives are
//! tried again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use http_stack::alt_svc::AltSvc;
use units::Time;

/// Delay of TCP if nothing is known of the path to a server ("based on mean time from
/// Net.QuicSession.HostResolution.HandshakeConfirmedTime").
const USUAL_HEAD_START: Duration = Duration::from_millis(300);

/// Initial time for which a failed alternative is not tried again; each further failure doubles it
/// (`kBrokenAlternativeProtocolDelaySecs`).
const BROKEN_FOR: Duration = Duration::from_secs(300);
/// The maximum (`kMaxBrokenAlternativeProtocolDelay`): two days.
const BROKEN_FOR_AT_MOST: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Discovery of a server's support of HTTP/3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum H3Discovery {
    /// Known in advance.
    #[default]
    PriorKnowledge,
    /// HTTP/2 first; `Alt-Svc` announces HTTP/3.
    AltSvc,
    /// Announced by DNS with the address (RFC 9460).
    HttpsRecord,
}

/// Knowledge of all servers, by name.
#[derive(Debug, Default)]
pub(crate) struct Alternatives(RefCell<KnownServers>);

#[derive(Debug, Default)]
struct KnownServers {
    servers: BTreeMap<String, AlternativeService>,
    /// True if QUIC has worked on this network.
    works: bool,
}

#[derive(Debug, Default)]
struct AlternativeService {
    /// End of the validity of the offer of HTTP/3.
    offered_until: Time,
    /// End of the time for which it is not tried.
    broken_until: Time,
    /// Number of failures since it last worked.
    failures: u32,
    /// The latest round-trip time over it.
    rtt: Option<Duration>,
}

impl Alternatives {
    /// Forgets all servers.
    pub(crate) fn forget(&self) {
        self.0.take();
    }

    /// Learns an `Alt-Svc` field of a response by `host`. An invalid field is ignored (RFC 7838 section 3).
    pub(crate) fn learn(&self, host: &str, port: u16, field: &str, now: Time) {
        let offer = match field.parse() {
            Err(_) => return,
            Ok(AltSvc::Clear) => None,
            Ok(AltSvc::Services(services)) => services.into_iter().find(|service| {
                let is_here = service.host.as_deref().is_none_or(|other| other == host);
                service.protocol == "h3" && is_here && service.port == port
            }),
        };
        let offered_until = offer.map_or(Time::ZERO, |offer| now + offer.max_age);
        let mut known = self.0.borrow_mut();
        known.servers.entry(host.to_owned()).or_default().offered_until = offered_until;
    }

    /// Returns true if `host` is to be tried over QUIC.
    pub(crate) fn are_offered(&self, host: &str, now: Time) -> bool {
        let known = self.0.borrow();
        let server = known.servers.get(host);
        server.is_some_and(|server| now < server.offered_until) && !self.are_broken(host, now)
    }

    /// Returns true if QUIC has recently failed with `host`, so that it is not tried.
    pub(crate) fn are_broken(&self, host: &str, now: Time) -> bool {
        let known = self.0.borrow();
        known.servers.get(host).is_some_and(|server| now < server.broken_until)
    }

    /// Head start of QUIC over TCP: zero until QUIC has worked on this network or if it has recently failed, else
    /// one and a half of the last known round-trip times.
    pub(crate) fn head_start(&self, host: &str) -> Duration {
        let known = self.0.borrow();
        let server = known.servers.get(host);
        if !known.works || server.is_some_and(|server| server.failures > 0) {
            return Duration::ZERO;
        }
        let rtt = server.and_then(|server| server.rtt);
        rtt.map_or(USUAL_HEAD_START, |rtt| rtt + rtt / 2)
    }

    /// Notes that QUIC works with `host`, at this round-trip time.
    pub(crate) fn note_success(&self, host: &str, rtt: Duration) {
        let mut known = self.0.borrow_mut();
        known.works = true;
        let server = known.servers.entry(host.to_owned()).or_default();
        (server.rtt, server.failures) = (Some(rtt), 0);
    }

    /// Notes that QUIC failed with `host`.
    pub(crate) fn note_failure(&self, host: &str, now: Time) {
        let mut known = self.0.borrow_mut();
        let server = known.servers.entry(host.to_owned()).or_default();
        let doubled = BROKEN_FOR.saturating_mul(1_u32.checked_shl(server.failures).unwrap_or(0));
        let span = if doubled.is_zero() { BROKEN_FOR_AT_MOST } else { doubled };
        server.broken_until = now + span.min(BROKEN_FOR_AT_MOST);
        server.failures += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "a.test";

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_offer_holds_for_its_time_and_until_it_is_withdrawn() {
        let known = Alternatives::default();
        assert!(!known.are_offered(HERE, at(0)));
        known.learn(HERE, 443, r#"h3=":443"; ma=60"#, at(0));
        assert!(known.are_offered(HERE, at(59)) && !known.are_offered(HERE, at(60)));
        known.learn(HERE, 443, "rubbish", at(1));
        assert!(known.are_offered(HERE, at(2)));
        known.learn(HERE, 443, "clear", at(3));
        assert!(!known.are_offered(HERE, at(4)));
    }

    #[test]
    fn what_is_elsewhere_or_spoken_otherwise_is_ignored() {
        let known = Alternatives::default();
        for field in [r#"h3="b.test:443""#, r#"h3=":8443""#, r#"h3-29=":443""#] {
            known.learn(HERE, 443, field, at(0));
            assert!(!known.are_offered(HERE, at(1)), "{field}");
        }
    }

    #[test]
    fn tcp_waits_only_where_quic_has_worked() {
        let known = Alternatives::default();
        assert_eq!(known.head_start(HERE), Duration::ZERO);
        known.note_success("b.test", Duration::from_millis(80));
        assert_eq!(known.head_start("b.test"), Duration::from_millis(120));
        assert_eq!(known.head_start(HERE), USUAL_HEAD_START);
        known.note_failure(HERE, at(0));
        assert_eq!(known.head_start(HERE), Duration::ZERO);
    }

    #[test]
    fn what_fails_again_and_again_is_tried_ever_more_seldom() {
        let known = Alternatives::default();
        known.learn(HERE, 443, r#"h3=":443"; ma=99999999"#, at(0));
        known.note_failure(HERE, at(0));
        assert!(!known.are_offered(HERE, at(299)) && known.are_offered(HERE, at(300)));
        known.note_failure(HERE, at(300));
        assert!(!known.are_offered(HERE, at(899)) && known.are_offered(HERE, at(900)));
        (0..40).for_each(|_| known.note_failure(HERE, at(900)));
        assert!(known.are_offered(HERE, at(900 + 2 * 24 * 3600)));
    }
}
