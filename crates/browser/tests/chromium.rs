//! A real Chromium loads pages from farlink's own origin on loopback.

#![cfg(target_os = "linux")]

#[path = "support/chromium.rs"]
mod support;

use std::collections::BTreeSet;

use farlink_browser::chromium::ChromiumVisit;
use http_stack::client::Protocol;
use page::Page;

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
    let locals: BTreeSet<_> = visited.connections.iter().map(|c| c.local.unwrap()).collect();
    assert_eq!(locals.len(), visited.connections.len());
    let first = visit.paint.first_contentful_paint_ns.unwrap();
    assert!(visit.paint.largest_contentful_paint_ns.unwrap() >= first);
    assert!(visit.paint.dom_content_loaded_ns.unwrap() <= plt.as_nanos() as u64);
    assert!(visit.screenshot.as_ref().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn chromium_loads_what_the_loader_loads() {
    let Some(chromium) = support::installed() else { return };
    let browsable = page::browsable(&page::open("synthetic:40x5KB@2hosts").unwrap()).unwrap();
    assert_eq!(browsable.notes, [""; 0]);
    let page = &browsable.page;
    for protocol in [Protocol::H1, Protocol::H2] {
        let visit = support::visit(&chromium, &browsable, protocol);
        println!(
            "{protocol}: {:?} {:?} {:?} {:#?}",
            visit.visited.plt, visit.visited.ttfb, visit.paint, visit.console
        );
        check(page, protocol, &visit);
    }
}

/// Every recorded page, where the recordings are: minutes of Chromium.
#[test]
#[ignore = "loads every recording: run it by name, with --nocapture"]
fn chromium_requests_what_recordings_have() {
    let Some(chromium) = support::installed() else { return };
    let recordings = support::recordings();
    if recordings.is_empty() {
        println!("skipped: corpus absent");
    }
    let (mut whole, mut objects, mut missing, mut unexpected) = (0, 0, 0, 0);
    for path in &recordings {
        let name = path.file_name().unwrap().to_string_lossy();
        let browsable = match page::open(path.to_str().unwrap()).and_then(|p| page::browsable(&p)) {
            Ok(browsable) => browsable,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let visit = support::visit(&chromium, &browsable, Protocol::H2);
        let failed = visit.visited.objects.iter().filter(|object| object.error.is_some());
        println!(
            "{name}: {} objects, {} missing, {} unexpected, {} failed, {:?}",
            browsable.page.objects.len(),
            visit.missing.len(),
            visit.unexpected.len(),
            failed.clone().count(),
            visit.visited.plt
        );
        for note in &browsable.notes {
            println!("  note: {note}");
        }
        for object in &visit.missing {
            let spec = &browsable.page.objects[*object];
            println!(
                "  missing {object} {} {:?} {} {:?}",
                spec.method, spec.kind, spec.url, spec.waits_for
            );
        }
        for request in &visit.unexpected {
            println!("  unexpected {request:?}");
        }
        for object in failed {
            println!("  failed {} {} {:?}", object.object, object.url, object.error);
        }
        objects += browsable.page.objects.len();
        missing += visit.missing.len();
        unexpected += visit.unexpected.len();
        whole += usize::from(visit.missing.is_empty() && visit.unexpected.is_empty());
    }
    println!(
        "{whole} of {} recordings whole; {missing} of {objects} objects missing, {unexpected} unexpected",
        recordings.len()
    );
}
