mod hand_solved;
mod lower_bound;

use std::time::Duration;

use page::{
    After, Edge, HostId, Kind, Object, ObjectId, ObjectPriority, Page, PageHost, SizeEstimate,
};

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// An object of the first host that blocks the load event.
pub(crate) fn object(body_bytes: u64, waits_for: Vec<Edge>) -> Object {
    Object {
        url: String::new(),
        host: HostId(0),
        path: String::new(),
        method: "GET".to_owned(),
        kind: Kind::Other,
        status: 200,
        request_header_bytes: 400,
        request_fields: Vec::new(),
        request_body_bytes: 0,
        response_header_bytes: 300,
        body_bytes,
        body_source: page::BodySource::Specified,
        coding: page::BodyCoding::Identity,
        header_provenance: page::Provenance::Measured,
        think: SizeEstimate::default(),
        waits_for,
        priority: ObjectPriority::Medium,
        blocks_load: true,
        blocks_render: false,
        cacheable: true,
    }
}

pub(crate) fn after(object: u32, after: After, compute: Duration) -> Edge {
    Edge {
        object: ObjectId(object),
        after,
        compute: SizeEstimate::measured(compute),
        provenance: page::Provenance::Measured,
    }
}

pub(crate) fn page(objects: Vec<Object>, extra_rtts: &[Duration]) -> Page {
    let hosts = extra_rtts
        .iter()
        .map(|extra_rtt| PageHost {
            name: String::new(),
            extra_rtt: SizeEstimate::measured(*extra_rtt),
            recorded_protocol: None,
            recorded_tls: false,
            ..PageHost::default()
        })
        .collect();
    let page = Page {
        name: String::new(),
        origin: String::new(),
        hosts,
        objects,
        skipped: Vec::new(),
        cautions: Vec::new(),
        recorded_network: None,
        recording: None,
    };
    page.check().expect("a page that keeps the invariants");
    page
}
