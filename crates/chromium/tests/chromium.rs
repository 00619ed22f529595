//! A real Chromium loads pages from farlink's own origin on loopback.

#![cfg(target_os = "linux")]

#[path = "support/chromium.rs"]
mod support;

#[path = "support/everything.rs"]
mod everything;

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use everything::everything;
use farlink_chromium::{ChromiumError, ChromiumVisit};
use http_stack::client::Protocol;
use page::{Kind, Page};
use record::ObjectRecord;
use support::Stage;

/// Checks that all of the page arrived, once each, with its size, by its protocol.
fn check(page: &Page, protocol: Protocol, visit: &ChromiumVisit) {
    let visited = &visit.visited;
    let plt = visited.plt.as_ref().unwrap();
    assert!(visited.ttfb.unwrap() < *plt);
    assert_eq!((visit.missing.as_slice(), visit.unexpected.as_slice()), (&[][..], &[][..]));
    assert_eq!(visited.objects.len(), page.objects.len());
    for (record, object) in visited.objects.iter().zip(&page.objects) {
        assert_eq!((record.error.as_ref(), &record.url), (None, &object.url));
        assert_eq!(record.status, object.status, "{}", object.url);
        assert_eq!(record.request_body_bytes, object.request_body_bytes);
        assert_eq!(record.protocol, protocol.name());
        assert_eq!(ended(record), record.done_at_ns);
        let head = u64::from(object.response_header_bytes);
        if object.kind == Kind::Redirect {
            continue; // What a redirect's answer holds is not told.
        }
        assert_eq!(record.body_bytes, object.body_bytes, "{}", object.url);
        if protocol == Protocol::H1 {
            assert_eq!(record.response_header_bytes, head);
        } else {
            assert!((1..head + 20).contains(&record.response_header_bytes), "{record:?}");
        }
    }
    let requests = visited.connections.iter().map(|c| c.requests as usize);
    assert_eq!(requests.sum::<usize>(), page.objects.len());
    let locals: BTreeSet<_> = visited.connections.iter().map(|c| c.local.unwrap()).collect();
    assert_eq!(locals.len(), visited.connections.len());
    let first = visit.paint.first_contentful_paint_ns.unwrap();
    // The protocol reports it to the microsecond, the page to 4 ms.
    assert!(visit.paint.largest_contentful_paint_ns.unwrap() + 4_000_000 >= first);
    assert!(visit.paint.dom_content_loaded_ns.unwrap() <= plt.as_nanos() as u64);
    assert!(visit.screenshot.as_ref().unwrap().starts_with(b"\x89PNG"));
}

fn ended(record: &ObjectRecord) -> u64 {
    record.discovered_at_ns + record.phases.total_ns()
}

#[test]
fn chromium_loads_what_the_loader_loads() {
    let Some(chromium) = support::installed() else { return };
    let images = page::open("synthetic:40x5KB@2hosts").unwrap();
    let graph = everything();
    let stages = [(&images, Protocol::H1), (&graph.page, Protocol::H2)]
        .map(|(page, protocol)| Stage::new(page, protocol));
    let scratch = support::Scratch::new("loads");
    let mut running = support::start(&chromium, &scratch, &stages);
    assert!(running.version().starts_with("Chrome/"), "{}", running.version());

    let [over_h1, over_h2] = &stages;
    let visit = running.context().unwrap().visit(&over_h1.plan, &support::settings()).unwrap();
    assert_eq!(over_h1.notes, [""; 0]);
    check(&over_h1.page, Protocol::H1, &visit);
    for host in &over_h1.page.hosts {
        let connections = visit.visited.connections.iter().filter(|c| c.host == host.name);
        assert_eq!(connections.count(), 6, "{}", host.name);
    }

    let mut context = running.context().unwrap();
    let mut filmed = support::settings();
    filmed.look.film = true;
    let visit = context.visit(&over_h2.plan, &filmed).unwrap();
    assert!(!visit.film.is_empty() && visit.film.iter().all(|f| f.png.starts_with(b"\x89PNG")));
    let index = visit.paint.speed_index_ns.unwrap();
    let last = visit.film.last().unwrap().at.as_nanos() as u64;
    assert!((1..=last).contains(&index), "Speed Index {index}, last frame at {last}");
    check(&over_h2.page, Protocol::H2, &visit);
    follows_the_graph(&over_h2.page, &visit);
    let again = context.visit(&over_h2.plan, &support::settings()).unwrap();
    for (record, object) in again.visited.objects.iter().zip(&over_h2.page.objects) {
        assert_eq!(record.protocol == "cache", object.cacheable, "{record:?}");
    }
    drop(context);
    running.close();
}

/// Checks that objects came after their dependencies and their compute; the load event after the objects that it
/// waits for.
fn follows_the_graph(page: &Page, visit: &ChromiumVisit) {
    let records = &visit.visited.objects;
    let start = visit.visited.started.as_nanos();
    let loaded = start + visit.visited.plt.as_ref().unwrap().as_nanos() as u64;
    for (object, record) in page.objects.iter().zip(records) {
        if object.blocks_load {
            assert!(ended(record) <= loaded, "{} ends after the load event", object.url);
        }
    }
    follows_causes(page, visit);
    // A preloaded font that a page also uses, and a second connection for requests without credentials (fonts of
    // other hosts), are the browser's own behaviour.
    assert!((2..=4).contains(&visit.visited.connections.len()));
}

/// Checks that an object came after all its dependencies, and after its compute.
fn follows_causes(page: &Page, visit: &ChromiumVisit) {
    let records = &visit.visited.objects;
    for (object, record) in page.objects.iter().zip(records) {
        for edge in &object.waits_for {
            let parent = &records[edge.object.0 as usize];
            // Timers have a resolution of a millisecond.
            let compute = edge.compute.value.as_nanos().saturating_sub(1_000_000) as u64;
            let known = match edge.after {
                page::After::End => ended(parent) + compute,
                _ => ended(parent) - parent.phases.receive_ns,
            };
            assert!(record.discovered_at_ns >= known, "{} comes too early", object.url);
        }
    }
}

/// A sheet that imports another, a script that is inserted by code, and a later script that blocks nothing; boxes
/// of images.
fn what_blocks() -> Page {
    let mut page = page::open("synthetic:7x20KB").unwrap();
    page.objects[0].body_bytes = 9_000;
    let think = |object: &mut page::Object, millis| {
        object.think.value = Duration::from_millis(millis);
    };
    for (index, kind, millis) in [
        (1, Kind::Stylesheet, 200),
        (2, Kind::Script, 300),
        (3, Kind::Stylesheet, 250),
        (4, Kind::Script, 2500),
    ] {
        page.objects[index].kind = kind;
        page.objects[index].blocks_render = index < 4;
        think(&mut page.objects[index], millis);
    }
    page.objects[2].waits_for[0].compute.value = Duration::from_millis(30);
    let import = &mut page.objects[3].waits_for[0];
    (import.object, import.after) = (page::ObjectId(1), page::After::End);
    page
}

/// Number of different colours of a picture.
fn colours(png: &[u8]) -> usize {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    pixels.chunks(info.color_type.samples()).collect::<BTreeSet<_>>().len()
}

#[test]
fn nothing_is_painted_before_what_blocks_it_has_arrived() {
    let Some(chromium) = support::installed() else { return };
    let stages = [Stage::new(&what_blocks(), Protocol::H2)];
    let scratch = support::Scratch::new("blocks");
    let mut running = support::start(&chromium, &scratch, &stages);
    let visit = running.context().unwrap().visit(&stages[0].plan, &support::settings()).unwrap();
    running.close();
    assert_eq!(stages[0].notes, [""; 0]);
    follows_causes(&stages[0].page, &visit);
    let start = visit.visited.started.as_nanos();
    let blocking = visit.visited.objects.iter().filter(|object| object.blocks_render);
    let arrived = blocking.map(ended).max().unwrap() - start;
    let painted = visit.paint.first_contentful_paint_ns.unwrap();
    let loaded = visit.visited.plt.as_ref().unwrap().as_nanos() as u64;
    assert!(arrived >= 450_000_000, "the import comes after its sheet: {arrived}");
    assert!(painted >= arrived, "painted at {painted}, and what blocks arrived at {arrived}");
    assert!(
        painted < arrived + 250_000_000,
        "painted at {painted}, what blocks arrived at {arrived}"
    );
    assert!(painted + 400_000_000 < loaded, "painted at {painted}, loaded at {loaded}");
    let largest = visit.paint.largest_contentful_paint_ns.unwrap();
    assert!(largest + 4_000_000 >= painted);
    // White, black, shades of the text, and a colour an image.
    assert!(colours(visit.screenshot.as_ref().unwrap()) >= 5);
}

#[test]
fn a_browser_that_ends_says_so_and_leaves_nothing() {
    let Some(chromium) = support::installed() else { return };
    let mut page = page::open("synthetic:2x1KB").unwrap();
    page.objects[0].think.value = Duration::from_secs(30);
    let stages = [Stage::new(&page, Protocol::H1)];
    let scratch = support::Scratch::new("ends");
    let mut running = support::start(&chromium, &scratch, &stages);

    let limited = farlink_chromium::ChromiumSettings {
        limit: Duration::from_millis(300),
        ..support::settings()
    };
    let visit = running.context().unwrap().visit(&stages[0].plan, &limited).unwrap();
    assert!(visit.visited.plt.unwrap_err().contains("had not loaded after 300ms"));
    assert_eq!(visit.visited.objects.len(), 1);

    let group = support::group_of(&scratch);
    let killer = thread::spawn(move || {
        std::thread::park_timeout(Duration::from_secs(1));
        rustix::process::kill_process(group, rustix::process::Signal::KILL).unwrap();
    });
    let error = running.context().unwrap().visit(&stages[0].plan, &support::settings());
    assert!(matches!(error, Err(ChromiumError::Gone { .. })));
    killer.join().unwrap();
    drop(running);
    // A killed process takes a moment to exit.
    let patience = (0..50).take_while(|_| !support::alive(group).is_empty());
    patience.for_each(|_| thread::park_timeout(Duration::from_millis(100)));
    assert_eq!(support::alive(group), [""; 0], "its group lives on");
}

/// All recorded pages, if the recordings are there: minutes of Chromium.
#[test]
#[ignore = "loads every recording: run it by name, with --nocapture"]
fn chromium_requests_what_recordings_have() {
    let Some(chromium) = support::installed() else { return };
    let recordings = support::recordings();
    if recordings.is_empty() {
        println!("skipped: corpus absent");
    }
    let (mut whole, mut objects) = (0, 0);
    for path in &recordings {
        let stages = [Stage::new(&page::open(path.to_str().unwrap()).unwrap(), Protocol::H2)];
        let scratch = support::Scratch::new("recordings");
        let mut running = support::start(&chromium, &scratch, &stages);
        let stage = &stages[0];
        let visit = running.context().unwrap().visit(&stage.plan, &support::settings()).unwrap();
        running.close();
        let failed = visit.visited.objects.iter().filter(|object| object.error.is_some());
        let failures: Vec<_> = failed.map(|object| (&object.url, &object.error)).collect();
        println!(
            "{}: {} objects, missing {:?}, unexpected {:?}, failed {failures:?}, {:?}",
            path.file_name().unwrap().to_string_lossy(),
            stage.page.objects.len(),
            visit.missing,
            visit.unexpected,
            visit.visited.plt
        );
        stage.notes.iter().for_each(|note| println!("  {note}"));
        objects += stage.page.objects.len();
        let complete = visit.missing.is_empty() && visit.unexpected.is_empty();
        whole += usize::from(complete && failures.is_empty());
    }
    println!("{whole} of {} recordings are whole, {objects} objects", recordings.len());
    assert_eq!(whole, recordings.len());
}
