//! Reader of web archives: WARC files, and WACZ files with them.
//!
//! The archive becomes a HAR with bodies, and that a page: so the same rules hold for both. Other recorders' WARC files
//! state no durations: then servers do not think, and dependencies are those that bodies name.

use archive::Archive;

use crate::har::{self, ImportOptions};
use crate::{Caution, Error, Page};

/// Parses the page in an archive. `name` becomes the page's name and begins the messages.
pub(crate) fn parse(name: &str, stored: &[u8], options: &ImportOptions) -> Result<Page, Error> {
    let wrong = |problem: String| Error::Archive { name: name.to_owned(), problem };
    let archived = archive::parse(stored).map_err(|error| wrong(error.to_string()))?;
    let Archive { loads, software, skipped, damage } = archived;
    if loads.iter().all(|load| load.exchanges.is_empty()) {
        let skipped: Vec<String> =
            skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let others = if skipped.is_empty() { "none at all".to_owned() } else { skipped.join(", ") };
        let cause = damage.map(|damage| format!("; {damage}")).unwrap_or_default();
        return Err(wrong(format!("no record of an HTTP response (others: {others}){cause}")));
    }
    let (recorder, version) = software.split_once(['/', ' ']).unwrap_or((&software, ""));
    let text = archive::har::text(&loads, (recorder, version));
    let mut page = har::parse(name, text.as_bytes(), options)?;
    page.origin = page.origin.replacen("HAR by", "WARC by", 1);
    for (kind, count) in skipped {
        page.origin += &format!("; {count} records skipped: {kind}");
    }
    page.cautions.extend(damage.map(|problem| Caution::DamagedArchive { problem }));
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::time::Duration;

    use archive::{Exchange, RecordedLoad, RecordedRequest, RecordedResponse};

    use super::*;
    use crate::Provenance;

    fn load() -> RecordedLoad {
        let exchange = |ms: u64, path: &str, media_type: &str, body: &str| {
            let mut exchange = Exchange {
                request: RecordedRequest {
                    method: "GET".to_owned(),
                    url: format!("http://a.test/{path}"),
                    ..RecordedRequest::default()
                },
                response: Some(RecordedResponse {
                    status: 200,
                    protocol: "h2".to_owned(),
                    media_type: media_type.to_owned(),
                    fields: vec![("content-type".to_owned(), media_type.to_owned())],
                    body: Some(body.as_bytes().to_vec()),
                    head_bytes: Some(30),
                    transferred_bytes: 30 + body.len() as u64,
                    ..RecordedResponse::default()
                }),
                started: Duration::from_millis(ms),
                ..Exchange::default()
            };
            exchange.phases.wait = Duration::from_millis(40);
            exchange
        };
        RecordedLoad {
            url: "http://a.test/".to_owned(),
            exchanges: vec![
                exchange(0, "", "text/html", "<link rel=stylesheet href=a.css>"),
                exchange(50, "a.css", "text/css", "p { background: url(b.png) }"),
                exchange(100, "b.png", "image/png", "12345"),
            ],
            ..RecordedLoad::default()
        }
    }

    fn open(stored: &[u8]) -> Result<Page, Error> {
        assert!(archive::is_archive(stored));
        parse("a", stored, &ImportOptions::default())
    }

    fn warc() -> Vec<u8> {
        let mut file = Vec::new();
        for record in archive::records::of_loads(&[load()], "farlink 0.1.0") {
            record.write(&mut file).unwrap();
        }
        file
    }

    #[test]
    fn an_archive_is_a_page() {
        let mut wacz = Cursor::new(Vec::new());
        archive::wacz::write(&[load()], "farlink 0.1.0", &mut wacz).unwrap();
        for stored in [wacz.into_inner(), warc()] {
            let page = open(&stored).unwrap();
            assert!(page.origin.starts_with("WARC by farlink 0.1.0, 3 entries"), "{}", page.origin);
            let edge = &page.objects[2].waits_for[0];
            assert_eq!(
                (edge.object.0, edge.provenance),
                (1, Provenance::Read),
                "named by the sheet"
            );
            assert_eq!(page.objects[2].body_bytes, 5);
            assert_eq!(page.hosts[0].recorded_protocol.as_deref(), Some("h2"));
        }
    }

    #[test]
    fn damage_is_told() {
        let file = warc();
        let page = open(&file[..file.len() - 100]).unwrap();
        assert!(page.cautions[0].to_string().contains("damaged after"), "{:?}", page.cautions);
        let refused = |stored: &[u8]| open(stored).unwrap_err().to_string();
        assert!(refused(b"PK\x03\x04").contains("not a WACZ file"));
        assert!(refused(b"WARC/1.0\r\n").contains("damaged after 0 whole records"));
        let other = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 0\r\n\r\n";
        assert!(refused(other).contains("no record of an HTTP response (others: 1 resource)"));
    }
}
