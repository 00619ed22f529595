//! A real Chromium loads pages from farlink's own origin on loopback.

#![cfg(target_os = "linux")]

#[path = "support/chromium.rs"]
mod support;

use std::process::Command;

use farlink_browser::chromium::ChromiumVisit;
use http_stack::client::Protocol;
use http_stack::tls::Security;
use page::Page;
use proxy::Site;

fn site(page: &Page) -> Site {
    let files = page::write::files(page).unwrap();
    Site::with_bodies(page, |index, _| files[index].body.clone().into())
}

fn check(page: &Page, protocol: Protocol, visit: &ChromiumVisit) {
    let visited = &visit.visited;
    let plt = visited.plt.as_ref().unwrap();
    assert!(visited.ttfb.unwrap() < *plt);
    assert_eq!((visit.missing.as_slice(), visit.unexpected.as_slice()), (&[][..], &[][..]));
    assert_eq!(visited.objects.len(), page.objects.len());
    for (record, object) in visited.objects.iter().zip(&page.objects) {
        assert_eq!((record.error.as_ref(), &record.url), (None, &object.url));
        assert_eq!((record.status, record.body_bytes), (object.status, object.body_bytes));
        assert_eq!(record.protocol, protocol.name());
        assert_eq!(record.discovered_at_ns + record.phases.total_ns(), record.done_at_ns);
        let head = u64::from(object.response_header_bytes);
        if protocol == Protocol::H1 {
            assert_eq!(record.response_header_bytes, head);
        } else {
            assert!((1..head).contains(&record.response_header_bytes), "{record:?}");
        }
    }
    let limit = if protocol == Protocol::H1 { 6 } else { 1 };
    for host in &page.hosts {
        let connections = visited.connections.iter().filter(|c| c.host == host.name);
        assert_eq!(connections.count(), limit, "connections to {}", host.name);
    }
    assert_eq!(
        visited.connections.iter().map(|c| c.requests).sum::<u32>() as usize,
        page.objects.len()
    );
    let first = visit.paint.first_contentful_paint_ns.unwrap();
    assert!(visit.paint.largest_contentful_paint_ns.unwrap() >= first);
    assert!(visit.paint.dom_content_loaded_ns.unwrap() <= plt.as_nanos() as u64);
    assert!(visit.screenshot.as_ref().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn chromium_loads_what_the_loader_loads() {
    let Some(chromium) = support::installed() else { return };
    let page = page::open("synthetic:40x5KB@2hosts").unwrap();
    for protocol in [Protocol::H1, Protocol::H2] {
        let scratch = support::Scratch::new(protocol.name());
        let address = support::serve(&page, site(&page), protocol, Security::Tls13);
        let plan = support::plan(&page, address, protocol, Security::Tls13);
        let hosts = page.hosts.iter().map(|host| (host.name.clone(), address)).collect();
        let launch = support::launch(chromium.clone(), &scratch.0, hosts);
        let mut running = launch.start(|mut command: Command| command.spawn()).unwrap();
        let visit = running.context().unwrap().visit(&plan, &support::settings()).unwrap();
        println!(
            "{protocol}: {:?} {:?} {:?} {:#?}",
            visit.visited.plt, visit.visited.ttfb, visit.paint, visit.console
        );
        running.close();
        check(&page, protocol, &visit);
    }
}
