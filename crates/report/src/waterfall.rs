//! One visit, object by object.

use record::{ObjectRecord, VisitRecord};
use serde::Serialize;

use store::{Store, VisitKey};

use super::cells::ms;
use super::mechanism::Mechanism;
use super::summary::ReportSummary;
use super::{Observe, ReportError, watched};

/// The phases of an object, in order of time. Names and colours are the same in chart and table.
pub const PHASES: [&str; 7] = ["blocked", "dns", "connect", "tls", "send", "wait", "receive"];

/// A visit's waterfall. Times are milliseconds since navigation start.
#[derive(Clone, Debug, Serialize)]
pub struct Waterfall {
    /// Identification of the visit, for people.
    pub title: String,
    /// Data to run it again, for people.
    pub identity: String,
    /// The load event, if it fired.
    pub plt: Option<f64>,
    /// The physical floor, if it was computed.
    pub floor: Option<f64>,
    /// The objects in order of discovery.
    pub objects: Vec<ObjectRow>,
    /// The mechanism below it.
    pub mechanism: Mechanism,
    /// The full record.
    #[serde(skip)]
    pub record: VisitRecord,
}

/// One object.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectRow {
    /// The full URL.
    pub url: String,
    /// The last part of the URL, which labels the row.
    pub name: String,
    /// Host that it came from.
    pub host: String,
    /// Kind of response.
    pub kind: String,
    /// Status received.
    pub status: u16,
    /// Protocol and connection: "h2 #0".
    pub carrier: String,
    /// Body bytes on the wire.
    pub bytes: u64,
    /// Time of discovery.
    pub start: f64,
    /// Duration of each of [`PHASES`].
    pub phases: [f64; 7],
    /// Time at which the client was done with it.
    pub done: f64,
    /// The reason why it failed.
    pub error: Option<String>,
}

impl Waterfall {
    /// The waterfall of `key`.
    pub fn gather(
        store: &Store,
        summary: &ReportSummary,
        key: VisitKey,
        observe: &Observe<'_>,
    ) -> Result<Waterfall, ReportError> {
        let record = store.record(key)?;
        let journey = store.journey(key)?;
        let again = watched::again(&journey, observe);
        let visit = again.as_deref().map_err(String::clone);
        let visit = visit.and_then(|observed| watched::visit(&journey, observed, &record));
        let found = summary.cells.iter().find_map(|cell| {
            cell.visits.iter().find(|(_, v)| v.key == key).map(|(_, visit)| (cell, visit))
        });
        let title = match found {
            Some((cell, _)) => {
                let condition = &summary.conditions[cell.condition].label;
                let parts = [&summary.arms[cell.arm], condition].map(String::as_str);
                parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(", ")
            }
            None => "a visit of another run".to_owned(),
        };
        let identity = format!(
            "run {}, journey {}, visit {} (repetition {}, seed {})",
            key.run.0, key.journey, key.visit, journey.repetition, journey.seed
        );
        let mut objects: Vec<&ObjectRecord> = record.objects.iter().collect();
        objects.sort_by_key(|o| (o.discovered_at_ns, o.object));
        let from = record.started_at_ns;
        Ok(Waterfall {
            title,
            identity,
            plt: record.plt_ns().map(ms),
            floor: found.and_then(|(_, visit)| visit.floors).map(|f| ms(f.graph_ns)),
            objects: objects.into_iter().map(|o| ObjectRow::of(o, from)).collect(),
            mechanism: Mechanism::gather(&record, visit),
            record,
        })
    }
}

impl ObjectRow {
    fn of(object: &ObjectRecord, from_ns: u64) -> ObjectRow {
        let p = &object.phases;
        let spans =
            [p.blocked_ns, p.dns_ns, p.connect_ns, p.tls_ns, p.send_ns, p.wait_ns, p.receive_ns];
        let connection = object.connection.map(|c| format!(" #{c}")).unwrap_or_default();
        ObjectRow {
            name: short_name(&object.url),
            host: host(&object.url).to_owned(),
            url: object.url.clone(),
            kind: object.kind.to_lowercase(),
            status: object.status,
            carrier: format!("{}{connection}", object.protocol),
            bytes: object.body_bytes,
            start: ms(object.discovered_at_ns.saturating_sub(from_ns)),
            phases: spans.map(ms),
            done: ms(object.done_at_ns.saturating_sub(from_ns)),
            error: object.error.clone(),
        }
    }
}

/// The host of a URL, with its port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The last part of a URL's path, or `/`, shortened to fit beside a row.
fn short_name(url: &str) -> String {
    const LONGEST: usize = 28;
    let bare = url.split(['?', '#']).next().unwrap_or(url);
    let path = bare.split_once("://").map_or(bare, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path).trim_end_matches('/');
    let name = if path.is_empty() { "/" } else { path.rsplit('/').next().unwrap_or(path) };
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        assert_eq!(short_name("https://a.test/x/logo.png?v=1"), "logo.png");
        assert_eq!(short_name("https://a.test/"), "/");
        assert_eq!(short_name("https://a.test"), "/");
        assert_eq!(short_name("https://a.test/cart/?a=/b"), "cart");
        assert_eq!(host("https://a.test:8443/x?u=http://b/"), "a.test:8443");
        assert_eq!(short_name(&format!("http://a/{}", "é".repeat(60))).chars().count(), 28);
    }
}
