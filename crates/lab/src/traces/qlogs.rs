//! HTTP/3's connections as qlog: a file of each end of each connection, which is what viewers read.
//!
//! JSON text sequences (draft-ietf-quic-qlog-main-schema section 11.2, RFC 7464) as quinn wrote them. Its heading does not say whose view the file is
//! nor of what: that is filled in. A file is of a whole connection, also where that outlives the visit. Times are milliseconds since the journey's
//! world began, in both worlds.

use serde_json::{Value, json};
use world::report::Endpoint;

use crate::plan;
use crate::tour::ObservedVisit;

/// Begins a text of a sequence (RFC 7464 section 2.2).
const RECORD_SEPARATOR: char = '\u{1e}';

/// One file.
pub struct Qlog {
    /// The connection's number in the visit and its end: `0.client`.
    pub name: String,
    /// What the file holds.
    pub text: String,
}

/// The files of a visit, in order of its connections' opening. There are none where nothing ran on QUIC, or where its ends are not farlink's.
pub fn qlogs(visit: &ObservedVisit<'_>) -> Vec<Qlog> {
    let ends = visit.connections().into_iter().map(|(client, server)| (Some(client), server));
    let is_logged = |end: &Option<&Endpoint>| end.is_some_and(|end| !end.qlog.is_empty());
    let logged = ends.filter(|(client, server)| is_logged(client) || is_logged(server));
    let files = logged.zip(0..).flat_map(|((client, server), number)| {
        [("client", client), ("server", server)].map(|(end, endpoint): (_, Option<&Endpoint>)| {
            let endpoint = endpoint.filter(|endpoint| !endpoint.qlog.is_empty())?;
            Some(file(visit, number, end, endpoint))
        })
    });
    files.flatten().collect()
}

fn file(visit: &ObservedVisit<'_>, number: u32, end: &str, endpoint: &Endpoint) -> Qlog {
    let server = if endpoint.active { endpoint.peer } else { endpoint.local };
    let title = format!("{} over {}", visit.scenario().page.spec, visit.scenario().network);
    let description = format!(
        "connection {number} with {} ({server}), seed {}, farlink {}",
        visit.host(server),
        visit.seed(),
        plan::VERSION
    );
    let mut records = endpoint.qlog.split(RECORD_SEPARATOR).skip(1);
    let heading = records.next().unwrap_or_default();
    let mut heading: Value =
        serde_json::from_str(heading).expect("quinn writes its heading as JSON");
    heading["title"] = json!(title);
    heading["description"] = json!(description);
    heading["trace"]["title"] = json!(title);
    heading["trace"]["description"] = json!(description);
    heading["trace"]["vantage_point"] = json!({ "name": "farlink", "type": end });
    let mut text = format!("{RECORD_SEPARATOR}{heading}\n");
    for record in records {
        text.push(RECORD_SEPARATOR);
        text.push_str(record);
    }
    Qlog { name: format!("{number}.{end}"), text }
}
