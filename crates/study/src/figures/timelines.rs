//! Single loads, object by object: the time of each request, and the phases of each object at the client or at
//! the proxy.

use record::{EventKind, ObjectRecord, Proxied};
use serde::Serialize;

use super::drawn::{Drawn, Shape, Undrawn, row};
use super::kind::{Arm, Side, Timelines};
use super::loads::Load;
use super::single::{Chosen, chosen};
use super::sources::Evidence;

/// A span of an object's time. Times are s since navigation start.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Part {
    panel: String,
    line: String,
    /// Index of the object in the order of requests, from 1.
    row: usize,
    name: String,
    part: &'static str,
    from: f64,
    to: f64,
}

/// The sending of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Request {
    panel: String,
    line: String,
    /// Index in the order of requests, from 1.
    x: f64,
    /// In s since navigation start.
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
}

row!(Part, Request);

/// The figure.
///
/// # Errors
/// A store that cannot be read.
pub fn drawn(evidence: &Evidence<'_>, show: &Timelines) -> Result<Drawn, Undrawn> {
    let shown = chosen(evidence, &show.scope, &show.at, &show.lines)?;
    let mut drawn = match show.of {
        Side::Requests => {
            let mut rows = Vec::new();
            for Chosen { panel, arm, load } in &shown {
                rows.extend(requests(panel, arm, load, &evidence.loads.objects(load)?));
            }
            Drawn::new(Shape::Lines, "requests, in their order", "sent (s)", &rows)
        }
        Side::Client | Side::Proxy => {
            let mut rows = Vec::new();
            for Chosen { panel, arm, load } in &shown {
                rows.extend(match show.of {
                    Side::Proxy => at_proxy(panel, arm, load, &evidence.loads.events(load)?),
                    _ => at_client(panel, arm, load, &evidence.loads.objects(load)?),
                });
            }
            Drawn::new(Shape::Timelines, "time since navigation start (s)", "", &rows)
        }
    };
    drawn.remarks = shown.iter().map(Chosen::identity).collect();
    Ok(drawn)
}

/// Time at which the request left the client.
fn sent(object: &ObjectRecord) -> u64 {
    let phases = &object.phases;
    let before = phases.blocked_ns + phases.dns_ns + phases.connect_ns + phases.tls_ns;
    object.discovered_at_ns + before
}

fn since(load: &Load, ns: u64) -> f64 {
    ns.saturating_sub(load.visit.started_at_ns) as f64 / 1e9
}

fn requests(panel: &str, arm: &Arm, load: &Load, objects: &[ObjectRecord]) -> Vec<Request> {
    let mut times: Vec<u64> = objects.iter().map(sent).collect();
    times.sort_unstable();
    let request = |(index, ns): (usize, u64)| Request {
        panel: panel.to_owned(),
        line: arm.name.clone(),
        x: index as f64 + 1.0,
        y: since(load, ns),
        low: None,
        high: None,
    };
    times.into_iter().enumerate().map(request).collect()
}

/// The rows of an object: consecutive parts that begin at `from`, each with its end.
fn parts<const N: usize>(
    (panel, line): (&str, &str),
    (row, name): (usize, &str),
    mut from: f64,
    until: [(&'static str, f64); N],
) -> Vec<Part> {
    let mut rows = Vec::new();
    for (part, to) in until {
        if to > from {
            let (panel, line, name) = (panel.to_owned(), line.to_owned(), name.to_owned());
            rows.push(Part { panel, line, row, name, part, from, to });
        }
        from = from.max(to);
    }
    rows
}

fn at_client(panel: &str, arm: &Arm, load: &Load, objects: &[ObjectRecord]) -> Vec<Part> {
    let mut sorted: Vec<&ObjectRecord> = objects.iter().collect();
    sorted.sort_by_key(|object| (sent(object), object.object));
    let of_object = |(index, object): (usize, &ObjectRecord)| {
        let phases = &object.phases;
        let (asked, handed) = (sent(object), sent(object) + phases.send_ns);
        let until = [
            ("init", since(load, asked)),
            ("send", since(load, handed)),
            ("wait", since(load, handed + phases.wait_ns)),
            ("receive", since(load, handed + phases.wait_ns + phases.receive_ns)),
        ];
        let from = since(load, object.discovered_at_ns);
        parts((panel, arm.name.as_str()), (index + 1, object.url.as_str()), from, until)
    };
    sorted.into_iter().enumerate().flat_map(of_object).collect()
}

fn at_proxy(panel: &str, arm: &Arm, load: &Load, events: &[record::Event]) -> Vec<Part> {
    let proxied = events.iter().filter(|event| event.kind == EventKind::Proxied);
    let mut asked: Vec<Proxied> =
        proxied.filter_map(|event| Proxied::read(event.at_ns, &event.detail)).collect();
    // Of several proxies, the one that the client talked to.
    asked.retain(|it| it.behind == 0);
    asked.sort_by_key(|it| it.asked_at_ns);
    let of_request = |(index, it): (usize, &Proxied)| {
        let (first, last) = (it.origin_first_ns?, it.origin_last_ns?);
        let until = [
            ("to the origin's first byte", since(load, first)),
            ("download", since(load, last)),
            ("to the client", since(load, it.client_last_ns?)),
        ];
        let from = since(load, it.asked_at_ns);
        Some(parts((panel, arm.name.as_str()), (index + 1, it.url.as_str()), from, until))
    };
    asked.iter().enumerate().filter_map(of_request).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_empty_ones_are_left_out() {
        let until = [("a", 1.0), ("b", 1.0), ("c", 2.5)];
        let found = parts(("p", "l"), (3, "n"), 0.5, until);
        let spans: Vec<(&str, f64, f64)> =
            found.iter().map(|part| (part.part, part.from, part.to)).collect();
        assert_eq!(spans, [("a", 0.5, 1.0), ("c", 1.0, 2.5)]);
        assert_eq!((found[0].row, found[0].name.as_str()), (3, "n"));
    }
}
