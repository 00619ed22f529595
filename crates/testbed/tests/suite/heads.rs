//! Bytes of heads on the wire: as text, and with each protocol's compression.

use crate::common;

use std::path::Path;

use common::bare;
use farlink_testbed::simulate::Simulator;
use page::{HostId, Page};
use scenario::Execute;
use scenario::{Protocol, RequestHeaderMode, Tls};
use tempfile::TempDir;

/// Bytes of all requests' and of all responses' heads.
type Bytes = (u64, u64);

/// Bytes of a SYN_STREAM in front of its header block (SPDY/3.1 section 2.6.1).
const SYN_STREAM_HEAD_BYTES: u64 = 18;

/// Bytes of a page's heads over each protocol: h1, SPDY/3.1, h2, h3.
fn heads(spec: &str, browser: &str) -> [Bytes; 4] {
    [Protocol::H1, Protocol::Spdy, Protocol::H2, Protocol::H3Deployed].map(|protocol| {
        let mut scenario = bare(spec, "cable", protocol, Tls::Tls13);
        scenario.request_headers = RequestHeaderMode::Recorded;
        scenario.client.browser = browser.to_owned();
        let result = Simulator::default().execute(&common::journey(scenario, 1));
        assert_eq!(result.failure, None);
        let objects = &result.visits[0].record.objects;
        let sent = objects.iter().map(|object| object.request_header_bytes).sum();
        (sent, objects.iter().map(|object| object.response_header_bytes).sum())
    })
}

/// The page with all its objects on one host, like the study's single connection to a proxy.
fn on_one_host(mut page: Page) -> Page {
    page.hosts.truncate(1);
    for object in &mut page.objects {
        object.host = HostId(0);
    }
    page
}

fn saving(of: u64, than: u64) -> f64 {
    1.0 - of as f64 / than as f64
}

fn show(what: &str, [h1, spdy, h2, h3]: [Bytes; 4]) {
    println!("{what:34} h1 {h1:?}  spdy {spdy:?}  h2 {h2:?}  h3 {h3:?}");
    println!(
        "{:34} requests saved: spdy {:.1} %  h2 {:.1} %  h3 {:.1} %",
        "",
        100.0 * saving(spdy.0, h1.0),
        100.0 * saving(h2.0, h1.0),
        100.0 * saving(h3.0, h1.0)
    );
}

#[test]
fn spdy_saves_of_requests_what_was_published() {
    let page = page::open("cardaci2015-wikipedia").unwrap();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("one.json");
    page::file::save(&on_one_host(page), &file).unwrap();
    let one = heads(file.to_str().unwrap(), "chrome-2013");
    show("35 requests, one connection", one);
    let three = heads("cardaci2015-wikipedia", "chrome-2013");
    show("35 requests, one connection a host", three);
    // The BTH thesis of 2013 cites 85 to 88 % for header compression: of header blocks, without frames.
    let blocks = three[1].0 - 35 * SYN_STREAM_HEAD_BYTES;
    let saved = saving(blocks, three[0].0);
    assert!((0.85..=0.88).contains(&saved), "{saved}");
    let [h1, spdy, h2, h3] = one;
    assert!(saving(spdy.0, h1.0) > 0.84, "{one:?}");
    // QPACK without a dynamic table repeats fields that HPACK references.
    assert!(h2.0 < h3.0 && h3.0 < h1.0, "{one:?}");
    assert!(three[1].0 > spdy.0, "each connection begins anew");
}

#[test]
fn a_recordings_own_fields_are_sent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared/data/har", "../../shared/data/har"].into_iter();
    let Some(corpus) = places.map(|place| root.join(place)).find(|place| place.is_dir()) else {
        println!("skipped: corpus absent");
        return;
    };
    for name in ["wikipedia-spdy-2016-chrome.har", "wikimediafoundation-2020-chrome.har"] {
        let file = corpus.join(name);
        let spec = file.to_str().unwrap();
        let all = heads(spec, "chrome");
        show(name, all);
        let [h1, spdy, h2, h3] = all;
        assert!(spdy.0 < h1.0 && h2.0 < h1.0 && h3.0 < h1.0, "{all:?}");
        assert!(h2.0 < h3.0, "{all:?}");
    }
}
