//! A scenario's settings of DNS, converted for the client and the resolver.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use browser::{Naming, Prefetch};
use dns::{HttpsRecord, PORT, QueryTypes, RecursiveResolver, ResolverSettings, Retry};
use page::Page;

use scenario::{Dns, H3Discovery, Records, ResolverPlace, RetryRule, Scenario};

/// Address of the resolver. No page has enough hosts for one of them to get this address.
const RESOLVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 53));

/// The resolver of a scenario that has one.
pub(crate) struct Resolver {
    /// Address on which it listens.
    pub(crate) address: SocketAddr,
    /// Its place in the network.
    pub(crate) place: ResolverPlace,
    /// Its behaviour.
    pub(crate) server: RecursiveResolver,
}

impl Resolver {
    /// The resolver of a scenario with this page, if names are resolved by DNS.
    pub(crate) fn of(scenario: &Scenario, page: &Page) -> Option<Resolver> {
        let dns = scenario.resolution.dns()?;
        let server = RecursiveResolver {
            zone: super::hosts(page, scenario.origin_addresses)
                .map(|(name, at)| (name.to_ascii_lowercase(), at))
                .collect(),
            think: Duration::from_nanos(dns.think_ns),
            hit_ratio: dns.hit_ratio,
            miss: Duration::from_nanos(dns.miss_ns),
            service: finds_by_record(scenario).then(HttpsRecord::h3),
        };
        Some(Resolver { address: SocketAddr::new(RESOLVER, PORT), place: dns.at, server })
    }

    /// Starts to answer.
    ///
    /// # Errors
    /// If it cannot listen.
    pub(crate) fn start(self) -> std::io::Result<()> {
        world::spawn(self.server.bind(self.address)?.serve());
        Ok(())
    }
}

/// True if hosts announce HTTP/3 in DNS, and the client asks for that record.
fn finds_by_record(scenario: &Scenario) -> bool {
    scenario.discovery.h3 == H3Discovery::HttpsRecord
}

/// Name resolution of the scenario's client.
pub(super) fn naming(scenario: &Scenario) -> Naming {
    let Some(Dns { ask, retry, prefetch, .. }) = scenario.resolution.dns() else {
        return Naming::Hosts;
    };
    let questions = match ask {
        Records::A => QueryTypes::A,
        Records::AAndAaaa => QueryTypes::AAndAaaa,
    };
    let questions = match finds_by_record(scenario) {
        true => questions.and_https(),
        false => questions,
    };
    let retry = match retry {
        RetryRule::Chrome => Retry::Chrome,
        RetryRule::Glibc => Retry::Glibc,
    };
    let server = SocketAddr::new(RESOLVER, PORT);
    let prefetch = if *prefetch { Prefetch::Named } else { Prefetch::Nothing };
    Naming::Dns { settings: ResolverSettings { server, questions, retry }, prefetch }
}

/// A note for readers of results.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let dns = scenario.resolution.dns()?;
    let (think, miss) = (Duration::from_nanos(dns.think_ns), Duration::from_nanos(dns.miss_ns));
    Some(format!(
        "names are resolved by DNS; the resolver is a model: {think:?} an answer, {miss:?} more for the {}% of names that are not in its cache",
        (1.0 - dns.hit_ratio) * 100.0
    ))
}
