//! Pages for measuring a browser's compute costs (`farlink calibrate`).

use crate::{
    After, BodyCoding, BodySource, Edge, Error, HostId, Kind, Object, ObjectId, ObjectPriority,
    Page, PageHost, Provenance, SizeEstimate,
};

/// Prefix of their names; a number from 1 follows.
const PREFIX: &str = "calibration:";

/// The page called `spec`; `None` if that is not such a name.
pub(super) fn from_name(spec: &str) -> Result<Option<Page>, Error> {
    let Some(number) = spec.strip_prefix(PREFIX) else { return Ok(None) };
    let mut pages = calibration_pages();
    match number.parse::<usize>().ok().filter(|number| (1..=pages.len()).contains(number)) {
        Some(number) => Ok(Some(pages.swap_remove(number - 1))),
        None => Err(Error::UnknownPage {
            spec: spec.to_owned(),
            suggestion: Some(format!("{PREFIX}{}", pages.len())),
        }),
    }
}

/// Pages for a calibration: few and many, small and large objects of each kind; documents alone. None of them is used
/// for evaluation.
pub fn calibration_pages() -> Vec<Page> {
    let kinds = [Kind::Stylesheet, Kind::Script, Kind::Image, Kind::Font];
    let shapes = [(4, 1_000), (4, 100_000), (30, 1_000), (30, 12_000)];
    let documents = [2_000, 60_000, 300_000].map(|bytes| (bytes, Kind::Image, 0, 0));
    let others = kinds.iter().flat_map(|kind| shapes.map(|(n, bytes)| (6_000, *kind, n, bytes)));
    let all = documents.into_iter().chain(others).enumerate();
    all.map(|(number, (document, kind, n, bytes))| page(number, document, kind, n, bytes)).collect()
}

/// A document and `count` objects that it refers to at equal distances, on a host of the page's own.
fn page(number: usize, document_bytes: u64, kind: Kind, count: u32, bytes: u64) -> Page {
    let host = PageHost {
        name: format!("page{number}.calibration.test"),
        extra_rtt: SizeEstimate::default(),
        recorded_protocol: None,
        recorded_tls: true,
        ..PageHost::default()
    };
    let mut page = Page {
        name: format!("{PREFIX}{}", number + 1),
        origin: format!(
            "generated for a device's calibration: a document of {document_bytes} bytes, {count} of {bytes} bytes ({kind:?})"
        ),
        hosts: vec![host],
        objects: vec![object(number, 0, Kind::Document, document_bytes, Vec::new())],
        skipped: Vec::new(),
        cautions: Vec::new(),
        recorded_network: None,
        recording: None,
    };
    for index in 1..=count {
        let at = document_bytes * u64::from(index) / u64::from(count + 1);
        let edge = Edge {
            object: ObjectId(0),
            after: After::Bytes(at),
            compute: SizeEstimate::default(),
            provenance: Provenance::Measured,
        };
        page.objects.push(object(number, index, kind, bytes, vec![edge]));
    }
    page
}

fn object(page: usize, index: u32, kind: Kind, body_bytes: u64, waits_for: Vec<Edge>) -> Object {
    let path = format!("/{index}");
    Object {
        url: format!("https://page{page}.calibration.test{path}"),
        host: HostId(0),
        path,
        method: "GET".to_owned(),
        kind,
        status: 200,
        request_header_bytes: 400,
        request_fields: Vec::new(),
        request_body_bytes: 0,
        response_header_bytes: 300,
        header_provenance: Provenance::Defaulted,
        body_bytes,
        body_source: BodySource::Specified,
        coding: BodyCoding::Identity,
        think: SizeEstimate::default(),
        waits_for,
        priority: ObjectPriority::Low,
        blocks_load: true,
        blocks_render: false,
        cacheable: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_browsable() {
        for page in calibration_pages() {
            assert_eq!(page.check(), Ok(()));
            assert_eq!(crate::browsable(&page).unwrap().notes, [""; 0], "{}", page.name);
            assert_eq!(from_name(&page.name).unwrap().unwrap().name, page.name);
        }
        assert!(from_name("calibration:0").is_err());
        assert!(from_name("synthetic:1x1KB").unwrap().is_none());
    }
}
