//! A small page with one of everything that a graph can express.

use std::time::Duration;

use page::{
    After, BodyCoding, BodySource, Edge, HostId, Kind, Object, ObjectId, ObjectPriority, Page,
    PageHost, Provenance, SizeEstimate,
};

/// Objects by name, in the page's order.
pub struct Everything {
    pub page: Page,
    names: Vec<&'static str>,
}

impl Everything {
    /// The index of an object.
    pub fn index(&self, name: &str) -> usize {
        self.names.iter().position(|known| *known == name).unwrap()
    }

    fn add(
        &mut self,
        name: &'static str,
        kind: Kind,
        host: u32,
        waits: &[(&str, After, u64)],
    ) -> &mut Object {
        let edges = waits.iter().map(|(parent, after, millis)| Edge {
            object: ObjectId(self.index(parent) as u32),
            after: *after,
            compute: SizeEstimate::measured(Duration::from_millis(*millis)),
            provenance: Provenance::Measured,
        });
        let object = Object {
            url: format!("https://{}/{name}", self.page.hosts[host as usize].name),
            host: HostId(host),
            path: format!("/{name}"),
            method: "GET".to_owned(),
            kind,
            status: 200,
            request_header_bytes: 400,
            request_fields: Vec::new(),
            request_body_bytes: 0,
            response_header_bytes: 300,
            header_provenance: Provenance::Measured,
            body_bytes: 5_000 + self.names.len() as u64,
            body_source: BodySource::Specified,
            coding: BodyCoding::Identity,
            think: SizeEstimate::measured(Duration::from_millis(3)),
            waits_for: edges.collect(),
            priority: ObjectPriority::Low,
            blocks_load: true,
            blocks_render: false,
            cacheable: false,
        };
        self.names.push(name);
        self.page.objects.push(object);
        self.page.objects.last_mut().unwrap()
    }
}

/// Two hosts; documents, sheets, scripts, images, fonts, redirects, posts; objects that the load event waits for
/// and others.
pub fn everything() -> Everything {
    use After::{Bytes, End, Head};
    let hosts = ["www.everything.test", "cdn.everything.test"].map(|name| PageHost {
        name: name.to_owned(),
        extra_rtt: SizeEstimate::default(),
        recorded_protocol: None,
        recorded_tls: true,
        ..PageHost::default()
    });
    let page = Page {
        name: "everything".to_owned(),
        origin: "made for a test".to_owned(),
        hosts: hosts.to_vec(),
        objects: Vec::new(),
        skipped: Vec::new(),
        cautions: Vec::new(),
        recorded_network: None,
        recording: None,
    };
    let mut all = Everything { page, names: Vec::new() };
    all.add("entrance", Kind::Redirect, 0, &[]).status = 301;
    all.add("document", Kind::Document, 0, &[("entrance", Head, 0)]).body_bytes = 30_000;
    all.add("sheet", Kind::Stylesheet, 1, &[("document", Bytes(2_000), 0)]).cacheable = true;
    all.add("script", Kind::Script, 1, &[("document", Bytes(3_000), 0)]);
    all.add("tiny-script", Kind::Script, 0, &[("document", Bytes(4_000), 0)]).body_bytes = 20;
    let image = all.add("image?a=1&copy=2&x", Kind::Image, 0, &[("document", Bytes(5_000), 0)]);
    (image.cacheable, image.priority) = (true, ObjectPriority::High);
    all.add("pixel", Kind::Image, 1, &[("document", Bytes(6_000), 0)]).body_bytes = 0;
    all.add("late", Kind::Image, 0, &[("document", End, 80)]);
    all.add("imported", Kind::Stylesheet, 1, &[("sheet", End, 0)]);
    all.add("background", Kind::Image, 0, &[("sheet", End, 0)]);
    all.add("font", Kind::Font, 0, &[("sheet", End, 0)]);
    all.add("own-font", Kind::Font, 0, &[("document", Bytes(9_000), 0)]);
    all.add("hop", Kind::Redirect, 1, &[("script", End, 0)]).status = 302;
    all.add("landed", Kind::Image, 0, &[("hop", Head, 0)]);
    all.add("computed", Kind::Image, 1, &[("script", End, 150)]);
    all.add("of-tiny", Kind::Script, 0, &[("tiny-script", End, 0)]);
    all.add("of-both", Kind::Image, 0, &[("script", End, 40), ("of-tiny", End, 40)]);
    let posted = all.add("posted", Kind::Data, 1, &[("of-tiny", End, 0)]);
    (posted.request_body_bytes, posted.blocks_load) = (1_234, false);
    "POST".clone_into(&mut posted.method);
    let empty = all.add("empty", Kind::Data, 0, &[("of-tiny", End, 0)]);
    (empty.status, empty.body_bytes, empty.blocks_load) = (204, 0, false);
    all.add("not-waited-for", Kind::Script, 1, &[("script", End, 0)]).blocks_load = false;
    all.add("after-that", Kind::Data, 1, &[("not-waited-for", End, 30)]).blocks_load = false;
    all.add("frame", Kind::Document, 1, &[("document", Bytes(12_000), 0)]);
    all.add("in-frame", Kind::Image, 1, &[("frame", Bytes(900), 0)]);
    all.add("framed-script", Kind::Script, 0, &[("frame", Bytes(1_800), 0)]);
    all.add("of-framed-script", Kind::Image, 1, &[("framed-script", End, 25)]);
    all.add("gone", Kind::Script, 1, &[("document", Bytes(15_000), 0)]).status = 404;
    all.add("after-gone", Kind::Image, 1, &[("gone", End, 0)]);
    all.page.check().unwrap();
    all
}
