//! A browser's rules, each on a small page in virtual time.

mod support;

use std::time::Duration;

use farlink_browser::{Binding, Policy, Visited};
use http_stack::client::Protocol::{self, H1, H2};
use page::{After, Kind, ObjectPriority, Page, SizeEstimate};
use record::ObjectRecord;
use support::{LIMIT, Stage, browser, device, ideal, most_at_once, page, policy};
use tls::Security;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const NETWORK: &str = "rtt=100ms,down=100mbit,up=100mbit,queue=1000pkt";
const RTT: Duration = Duration::from_millis(100);

fn stage(page: &Page, protocol: Protocol) -> Stage {
    Stage::serving(page, NETWORK, protocol, Security::None)
}

fn ended(object: &ObjectRecord) -> u64 {
    object.discovered_at_ns + object.phases.total_ns()
}

/// Time at which a connection took it.
fn taken(object: &ObjectRecord) -> u64 {
    let phases = object.phases;
    object.discovered_at_ns + phases.blocked_ns + phases.connect_ns + phases.tls_ns
}

fn errors(visited: &Visited) -> Vec<(usize, &str)> {
    let objects = visited.objects.iter().enumerate();
    objects.filter_map(|(index, o)| Some((index, o.error.as_deref()?))).collect()
}

fn all_came(visited: &Visited) -> bool {
    visited.plt.is_ok() && errors(visited).is_empty()
}

#[test]
fn a_host_gets_so_many_connections_and_no_more() {
    let page = page("synthetic:40x2KB");
    for limit in [1, 2, 6] {
        let visited = stage(&page, H1).visit(browser(policy(limit, 256), device("zero")));
        assert!(all_came(&visited));
        assert_eq!(most_at_once(&visited, |_| true), limit);
        assert_eq!(visited.connections.iter().map(|c| c.requests).sum::<u32>(), 41);
    }
}

#[test]
fn all_hosts_together_get_so_many_connections() {
    let page = page("synthetic:60x2KB@5hosts");
    let visited = stage(&page, H1).visit(browser(policy(6, 7), device("zero")));
    assert!(all_came(&visited));
    assert_eq!(most_at_once(&visited, |_| true), 7);
}

#[test]
fn an_idle_connection_makes_room_for_another_host() {
    let page = page("synthetic:2x2KB@2hosts");
    for protocol in [H1, H2] {
        let visited = stage(&page, protocol).visit(browser(policy(1, 1), device("zero")));
        assert!(all_came(&visited), "{protocol}: {:?}", visited.plt);
        assert_eq!(most_at_once(&visited, |_| true), 1);
        assert_eq!(visited.connections.len(), 2);
        let gave_way = visited.connections[0].closed.unwrap();
        assert!(gave_way <= visited.connections[1].started);
    }
}

#[test]
fn a_request_takes_whichever_connection_is_free_first() {
    // Three images: one goes over the document's connection, two wait for new ones. The first image is so small
    // that its connection is free before the others are open.
    let page = page("synthetic:3x1KB");
    let visited = stage(&page, H1).visit(ideal());
    let [_, first, second, third] = visited.objects.as_slice() else { panic!() };
    assert_eq!((first.reused, first.phases.connect_ns), (true, 0));
    // A handshake takes as long as an exchange, to within the bytes' serialisation.
    for late in [second, third] {
        let waited = Duration::from_nanos(taken(late) - late.discovered_at_ns);
        assert!(waited >= RTT && waited < RTT + Duration::from_millis(2), "{waited:?}");
    }
    let carried: Vec<u32> = visited.connections.iter().map(|c| c.requests).collect();
    assert_eq!(carried.iter().sum::<u32>(), 4, "{carried:?}");
}

#[test]
fn the_most_urgent_goes_first_then_the_first_come() {
    let mut page = page("synthetic:6x1KB");
    let priorities = [
        ObjectPriority::Low,
        ObjectPriority::Lowest,
        ObjectPriority::High,
        ObjectPriority::Low,
        ObjectPriority::Highest,
        ObjectPriority::High,
    ];
    for (object, priority) in page.objects[1..].iter_mut().zip(priorities) {
        object.priority = priority;
        object.waits_for[0].after = After::End;
    }
    let visited = stage(&page, H1).visit(browser(policy(1, 1), device("zero")));
    let mut order: Vec<usize> = (1..=6).collect();
    order.sort_by_key(|index| taken(&visited.objects[*index]));
    // The first image finds the connection idle; no other request is known yet at that instant.
    assert_eq!(order, [1, 5, 3, 6, 4, 2]);
}

async fn read_request(stream: &mut world::TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
}

#[test]
fn a_request_on_a_connection_that_had_just_closed_is_sent_again() {
    let mut page = page("synthetic:3x1KB");
    for object in &mut page.objects {
        object.body_bytes = 2;
    }
    let mut stage = Stage::new(&page, NETWORK, H1, Security::None);
    stage.treat(0, |mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        // The next request is on its way when this end closes.
        world::sleep(RTT / 2).await;
    });
    let visited = stage.visit(browser(policy(1, 1), device("zero")));
    assert!(all_came(&visited), "{:?}", errors(&visited));
    assert_eq!(visited.connections.len(), 4);
}

#[test]
fn a_new_connection_that_closes_unanswered_is_the_servers_answer() {
    let page = page("synthetic:4x1KB@2hosts");
    let mut stage = Stage::new(&page, NETWORK, H1, Security::None);
    stage.serve(0);
    stage.treat(1, |mut stream| async move { read_request(&mut stream).await });
    let visited = stage.visit(ideal());
    assert!(visited.plt.is_ok(), "the page loads without");
    let failed: Vec<usize> = errors(&visited).iter().map(|(index, _)| *index).collect();
    assert_eq!(failed, [2, 4]);
    assert!(errors(&visited)[0].1.contains("closed before the response began"));
    let tried = visited.connections.iter().filter(|c| c.host == page.hosts[1].name).count();
    assert_eq!(tried, 2, "one each");
}

#[test]
fn a_response_that_breaks_off_fails_its_object_alone() {
    let page = page("synthetic:4x1KB@2hosts");
    let mut stage = Stage::new(&page, NETWORK, H1, Security::None);
    stage.serve(0);
    stage.treat(1, |mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf").await.unwrap();
    });
    let visited = stage.visit(ideal());
    assert!(visited.plt.is_ok());
    let errors = errors(&visited);
    assert_eq!(errors.len(), 2);
    assert!(errors[0].1.contains("in the middle of the response"), "{errors:?}");
}

#[test]
fn a_refused_connection_fails_its_objects_alone() {
    let page = page("synthetic:4x1KB@2hosts");
    let mut stage = Stage::new(&page, NETWORK, H2, Security::None);
    stage.serve(0);
    let visited = stage.visit(ideal());
    assert!(visited.plt.is_ok());
    assert_eq!(errors(&visited).len(), 2);
    assert!(errors(&visited)[0].1.contains("failed to connect"), "{:?}", errors(&visited));
}

#[test]
fn a_document_that_does_not_come_fails_the_visit() {
    let page = page("synthetic:4x1KB");
    let visited = Stage::new(&page, NETWORK, H1, Security::None).visit(ideal());
    let reason = visited.plt.unwrap_err();
    assert!(reason.starts_with("the document did not arrive: failed to connect"), "{reason}");
    assert_eq!(visited.objects.len(), 1, "nothing was revealed");
}

#[test]
fn a_server_that_never_answers_runs_into_the_limit() {
    let page = page("synthetic:2x1KB@2hosts");
    let mut stage = Stage::new(&page, NETWORK, H1, Security::None);
    stage.serve(0);
    stage.treat(1, |held| async move {
        std::future::pending::<()>().await;
        drop(held);
    });
    let visited = stage.visit(ideal());
    let reason = visited.plt.unwrap_err();
    assert_eq!(reason, format!("the page had not loaded after {} s", LIMIT.as_secs()));
    let silent = &visited.objects[2];
    assert_eq!((silent.status, silent.phases.receive_ns), (0, 0));
    assert_eq!(Duration::from_nanos(ended(silent)), LIMIT, "it waited to the end");
}

#[test]
fn a_blocked_host_is_not_connected_to() {
    let page = page("synthetic:4x1KB@2hosts");
    let mut stage = stage(&page, H1);
    stage.arms[1].blocked = true;
    let visited = stage.visit(ideal());
    assert!(visited.plt.is_ok());
    let failed: Vec<usize> = errors(&visited).iter().map(|(index, _)| *index).collect();
    assert_eq!(failed, [2, 4]);
    assert!(visited.connections.iter().all(|c| c.host == page.hosts[0].name));
}

#[test]
fn a_second_visit_fetches_what_may_not_be_cached() {
    let mut page = page("synthetic:4x1KB");
    for (index, object) in page.objects.iter_mut().enumerate() {
        object.cacheable = index % 2 == 1;
    }
    let visits = stage(&page, H1).visits(ideal(), 2);
    assert!(visits.iter().all(all_came));
    let protocols = |visit: &Visited| -> Vec<String> {
        visit.objects.iter().map(|o| o.protocol.clone()).collect()
    };
    assert_eq!(protocols(&visits[0]), ["h1"; 5]);
    assert_eq!(protocols(&visits[1]), ["h1", "cache", "h1", "cache", "h1"]);
    let cached = &visits[1].objects[1];
    assert_eq!((cached.phases.total_ns(), cached.body_bytes, cached.status), (0, 0, 200));
}

#[test]
fn a_redirect_is_followed_at_its_head() {
    let mut page = page("synthetic:2x1KB@2hosts");
    // The document redirects to what was the first image, on another host, which becomes the document.
    page.objects[0].kind = Kind::Redirect;
    page.objects[0].status = 302;
    page.objects[1].kind = Kind::Document;
    page.objects[1].waits_for[0].after = After::Head;
    page.objects[2].waits_for[0].object = page::ObjectId(1);
    let visited = stage(&page, H1).visit(ideal());
    assert!(all_came(&visited));
    let [redirect, document, image] = visited.objects.as_slice() else { panic!() };
    assert_eq!(redirect.status, 302);
    let head = ended(redirect) - redirect.phases.receive_ns;
    assert_eq!(document.discovered_at_ns, head);
    let first_byte = ended(document) - document.phases.receive_ns;
    assert_eq!(visited.ttfb.unwrap().as_nanos() as u64, first_byte - visited.started.as_nanos());
    assert!(image.discovered_at_ns >= first_byte);
}

#[test]
fn an_object_waits_for_all_that_it_waits_for() {
    let mut page = page("synthetic:3x1KB");
    page.objects[1].body_bytes = 200_000;
    let edge = |object| page::Edge {
        object: page::ObjectId(object),
        after: After::End,
        compute: SizeEstimate::measured(Duration::from_millis(7)),
        provenance: page::Provenance::Measured,
    };
    page.objects[3].waits_for = vec![edge(1), edge(2)];
    let visited = stage(&page, H2).visit(ideal());
    let [_, large, small, both] = visited.objects.as_slice() else { panic!() };
    assert!(ended(large) > ended(small));
    assert_eq!(both.discovered_at_ns, ended(large) + 7_000_000);
}

#[test]
fn recorded_compute_takes_the_cpus_time() {
    let mut page = page("synthetic:1x1KB");
    page.objects[1].waits_for[0].after = After::End;
    page.objects[1].waits_for[0].compute = SizeEstimate::measured(Duration::from_millis(30));
    for factor in [1_u32, 4] {
        let mut zero = device("zero");
        zero.slowdown = f64::from(factor);
        let visited = stage(&page, H1).visit(browser(policy(6, 256), zero));
        let [document, image] = visited.objects.as_slice() else { panic!() };
        let gap = image.discovered_at_ns - ended(document);
        assert_eq!(gap, 30_000_000 * u64::from(factor));
    }
}

#[test]
fn the_main_thread_does_one_thing_at_a_time() {
    // Five images, all within one initial window, arrive faster than the tablet can process them: from the first
    // one's arrival it is never idle, so the load event comes 5 times one image's cost later.
    let page = page("synthetic:5x1KB");
    let visited = stage(&page, H2).visit(browser(policy(6, 256), device("nexus7")));
    assert!(all_came(&visited));
    let images = &visited.objects[1..];
    let tablet = device("nexus7");
    let cost = tablet.object() + tablet.work(Kind::Image, 1_000);
    let first = images.iter().map(ended).min().unwrap();
    let document = &visited.objects[0];
    let free = first.max(document.done_at_ns);
    let last = images.iter().map(|o| o.done_at_ns).max().unwrap();
    assert_eq!(Duration::from_nanos(last - free), cost * 5);
    let loaded = visited.started + visited.plt.unwrap();
    assert_eq!(loaded.as_nanos(), last);
}

#[test]
fn phases_in_clear_text_have_no_tls() {
    for name in ["zero", "nexus7"] {
        let page = page("synthetic:4x1KB");
        let visited = stage(&page, H1).visit(browser(policy(6, 256), device(name)));
        assert!(visited.objects.iter().all(|o| o.phases.tls_ns == 0), "{name}");
        assert!(visited.objects[0].phases.connect_ns >= 100_000_000);
    }
}

#[test]
fn a_request_may_be_bound_to_the_connection_that_was_opened_for_it() {
    // Two images behind a document: one takes its connection, for the other one a new one is opened, which takes
    // three round trips with TLS. Meanwhile the first image has arrived.
    let page = page("synthetic:2x2KB");
    let load = |binding| {
        let policy = Policy { binding, ..policy(6, 256) };
        let stage = Stage::serving(&page, NETWORK, H1, Security::Tls12);
        let visited = stage.visit(browser(policy, device("zero")));
        assert!(all_came(&visited));
        let requests: Vec<u32> = visited.connections.iter().map(|c| c.requests).collect();
        (requests, visited.plt.unwrap())
    };
    let ((late, late_plt), (early, early_plt)) = (load(Binding::Late), load(Binding::Early));
    assert_eq!((late, early), (vec![3, 0], vec![2, 1]));
    assert!(early_plt > late_plt + RTT, "{early_plt:?} {late_plt:?}");
}

#[test]
fn requests_that_are_dealt_out_do_not_mind_which_connection_is_busy() {
    let page = page("synthetic:11x2KB");
    for (binding, most) in [(Binding::Early, 4), (Binding::Late, 8)] {
        let policy = Policy { binding, multiplexed_per_host: 3, ..policy(6, 256) };
        let visited = stage(&page, H2).visit(browser(policy, device("zero")));
        assert!(all_came(&visited));
        let requests: Vec<u32> = visited.connections.iter().map(|c| c.requests).collect();
        assert_eq!(requests.iter().sum::<u32>(), 12);
        assert_eq!(requests.len(), 3, "{binding:?}");
        assert!(requests.iter().all(|n| *n <= most), "{binding:?}: {requests:?}");
    }
}

/// Maximum number of these in flight at once.
fn most_under_way<'a>(objects: impl Iterator<Item = &'a ObjectRecord>) -> usize {
    let spans: Vec<(u64, u64)> = objects.map(|object| (taken(object), ended(object))).collect();
    let at = |when: u64| spans.iter().filter(|(from, to)| (*from..*to).contains(&when)).count();
    spans.iter().map(|(from, _)| at(*from)).max().unwrap_or(0)
}

#[test]
fn images_are_held_back_where_hosts_know_no_priorities() {
    let mut page = page("synthetic:40x2KB@5hosts");
    // A slow style sheet.
    page.objects[1].kind = Kind::Stylesheet;
    page.objects[1].priority = ObjectPriority::High;
    page.objects[1].think = SizeEstimate::measured(RTT * 5);
    let load = |name: &str, protocol| {
        let policy = Policy::named(name).unwrap();
        let visited = stage(&page, protocol).visit(browser(policy, device("zero")));
        assert!(all_came(&visited));
        let sheet = ended(&visited.objects[1]);
        let images = visited.objects[2..].iter();
        let before = images.clone().filter(|image| taken(image) < sheet).count();
        (before, most_under_way(images.filter(|image| taken(image) >= sheet)))
    };
    let (before, most) = load("chrome-38", H1);
    assert!(before <= 5, "one after the other: {before}");
    assert_eq!(most, 10);
    let (before, most) = load("chrome", H1);
    assert_eq!((before, most), (39, 0));
    let (before, _) = load("chrome-38", H2);
    assert_eq!(before, 39);
}
