//! DNS over simulated links: the cost of a lookup, caching, loss.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dns::{
    HttpsRecord, LookupError, PORT, QueryTypes, RecursiveResolver, Resolver, ResolverSettings,
    Retry,
};
use net::{DropList, LinkConfig, LossModel, QueueLimit};
use units::{BitsPerSec, Time};
use world::sim::SimPlan;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 255, 0, 53)), PORT);
const FOUND: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1));

/// Half of an RTT of 100 ms.
fn link(loss: LossModel) -> LinkConfig {
    let link =
        LinkConfig::new(BitsPerSec::UNLIMITED, Duration::from_millis(50), QueueLimit::Packets(100));
    LinkConfig { loss, ..link }
}

/// Runs `ask` on the client, in front of a resolver that knows `www.example.test`.
fn with_resolver<T: 'static, F: Future<Output = T> + 'static>(
    loss: f64,
    retry: Retry,
    hit_ratio: f64,
    ask: impl FnOnce(Resolver) -> F + 'static,
) -> T {
    let (think, miss) = (Duration::from_millis(1), Duration::from_millis(200));
    let zone = [("www.example.test".to_owned(), FOUND)].into();
    let server = RecursiveResolver { zone, service: None, think, hit_ratio, miss };
    ask_of(server, LossModel::Random(loss), retry, QueryTypes::AAndAaaa, ask)
}

fn ask_of<T: 'static, F: Future<Output = T> + 'static>(
    resolver: RecursiveResolver,
    loss: LossModel,
    retry: Retry,
    questions: QueryTypes,
    ask: impl FnOnce(Resolver) -> F + 'static,
) -> T {
    let mut plan = SimPlan::new(chance::RandomSource::new(7, 0));
    let tcp = Arc::new(tcp::Config::default());
    let (client, server) = (plan.node(CLIENT, Arc::clone(&tcp)), plan.node(SERVER.ip(), tcp));
    let (up, down) = (plan.link("up", link(loss)), plan.link("down", link(LossModel::NONE)));
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    plan.spawn(server, async move {
        resolver.bind(SERVER).unwrap().serve().await;
    });
    let settings = ResolverSettings { server: SERVER, questions, retry };
    let asked = async move { ask(Resolver::new(settings)).await };
    plan.run(client, asked).unwrap()
}

fn millis() -> u64 {
    world::now().since(Time::ZERO).as_millis() as u64
}

#[test]
fn a_lookup_takes_a_round_trip_and_the_next_none() {
    with_resolver(0.0, Retry::Chrome, 1.0, |resolver| async move {
        assert_eq!(resolver.resolve("www.example.test").await, Ok(FOUND));
        assert_eq!(millis(), 101);
        assert_eq!(resolver.resolve("www.example.test").await, Ok(FOUND));
        assert_eq!(resolver.resolve("10.9.8.7").await, Ok("10.9.8.7".parse().unwrap()));
        assert_eq!(millis(), 101);
        // Answers hold for five minutes.
        world::sleep(Duration::from_secs(301)).await;
        let before = millis();
        assert_eq!(resolver.resolve("www.example.test").await, Ok(FOUND));
        assert_eq!(millis() - before, 101);
    });
}

#[test]
fn what_the_resolver_does_not_hold_takes_longer_once() {
    with_resolver(0.0, Retry::Chrome, 0.0, |resolver| async move {
        assert_eq!(resolver.resolve("www.example.test").await, Ok(FOUND));
        assert_eq!(millis(), 301);
        world::sleep(Duration::from_secs(301)).await;
        let before = millis();
        assert_eq!(resolver.resolve("www.example.test").await, Ok(FOUND));
        assert_eq!(millis() - before, 101);
    });
}

#[test]
fn two_who_ask_share_a_lookup_also_one_in_advance() {
    with_resolver(0.0, Retry::Chrome, 1.0, |resolver| async move {
        resolver.prefetch("www.example.test");
        world::sleep(Duration::from_millis(60)).await;
        let other = resolver.clone();
        let beside = world::spawn(async move { other.resolve("www.example.test").await });
        assert_eq!(resolver.resolve("www.example.test").await, Ok(FOUND));
        assert_eq!(beside.await, Ok(FOUND));
        assert_eq!(millis(), 101);
    });
}

#[test]
fn a_name_that_is_not_there_is_said_to_be_unknown() {
    with_resolver(0.0, Retry::Chrome, 1.0, |resolver| async move {
        let host = "nowhere.example.test".to_owned();
        assert_eq!(resolver.resolve(&host).await, Err(LookupError::Unknown { host }));
        let error = resolver.resolve(&"x".repeat(300)).await.unwrap_err();
        assert!(matches!(error, LookupError::NotAName { .. }), "{error}");
    });
}

#[test]
fn lost_questions_are_asked_again() {
    for (retry, seconds) in [(Retry::Chrome, 13), (Retry::Glibc, 10)] {
        with_resolver(1.0, retry, 1.0, move |resolver| async move {
            let error = resolver.resolve("www.example.test").await.unwrap_err();
            assert!(matches!(error, LookupError::Unanswered { .. }), "{error}");
            assert_eq!(millis(), seconds * 1_000);
        });
    }
    // With half of them lost, the first that arrives is answered.
    let at = with_resolver(0.5, Retry::Chrome, 1.0, |resolver| async move {
        resolver.resolve("www.example.test").await.unwrap();
        millis()
    });
    assert!(at == 101 || at > 1_000, "{at}");
}

#[test]
fn how_a_host_is_spoken_to_is_asked_beside_its_address() {
    let offers = |service| RecursiveResolver {
        zone: [("www.example.test".to_owned(), FOUND)].into(),
        service,
        think: Duration::from_millis(1),
        hit_ratio: 1.0,
        miss: Duration::ZERO,
    };
    for questions in [QueryTypes::A.and_https(), QueryTypes::AAndAaaa.and_https()] {
        for service in [Some(HttpsRecord::h3()), None] {
            let (told, server) = (service.clone(), offers(service));
            ask_of(server, LossModel::NONE, Retry::Chrome, questions, |resolver| async move {
                let found = resolver.look_up("www.example.test").await.unwrap();
                assert_eq!((found.address, found.service), (FOUND, told));
                // The same round trip for all queries.
                assert_eq!(millis(), 101);
            });
        }
    }
}

#[test]
fn an_address_waits_a_little_for_what_else_was_asked() {
    let server = RecursiveResolver {
        zone: [("www.example.test".to_owned(), FOUND)].into(),
        service: Some(HttpsRecord::h3()),
        think: Duration::from_millis(1),
        hit_ratio: 1.0,
        miss: Duration::ZERO,
    };
    // Of the queries for A and HTTPS the second is lost.
    let loss = LossModel::Listed(Arc::new(DropList::from_text("list", "2").unwrap()));
    ask_of(server, loss, Retry::Chrome, QueryTypes::AAndHttps, |resolver| async move {
        let found = resolver.look_up("www.example.test").await.unwrap();
        assert_eq!((found.address, found.service), (FOUND, None));
        // A fifth of 101 ms later.
        assert_eq!(millis(), 121);
    });
}
