//! Intermediaries between client and hosts: the steps of a proxy, and objects pushed by a PEP.

use record::{Carried, Event, EventKind, Proxied, Series};

use super::{Load, arrived, seconds};
use statistics::Sample;

/// Number of objects that a PEP sent unasked; `None` without a PEP.
pub(super) fn promised(events: &[Event]) -> Option<f64> {
    let pep = events.iter().find(|event| event.kind == EventKind::Pep)?;
    Carried::read(&pep.detail).map(|carried| carried.promised as f64)
}

/// The steps of a response at the proxy, in ns since its request arrived there.
struct Steps {
    /// The origin's first byte.
    begun: u64,
    /// Its last.
    had: u64,
    /// The times at which the response's first and last byte left the proxy; `None` if not recorded.
    left: Option<(u64, u64)>,
}

impl Steps {
    /// Time that a complete response waited until it began to leave.
    fn queued(&self) -> Option<u64> {
        Some(self.left?.0.saturating_sub(self.had))
    }
}

/// The steps of each request that was answered by an origin, or by the next proxy behind the first one.
fn steps<'a>(
    events: &'a [Event],
    series: Option<&'a Series>,
) -> impl Iterator<Item = Steps> + use<'a> {
    let proxied = events.iter().filter(|event| event.kind == EventKind::Proxied);
    proxied.filter_map(move |event| {
        let proxied = Proxied::read(event.at_ns, &event.detail).filter(|it| it.behind == 0)?;
        let since = |at: u64| at.saturating_sub(proxied.asked_at_ns);
        let departures = series.map_or(&[][..], |series| &series.departures[..]);
        let its = departures.iter().find(|departure| Some(departure.object) == event.object);
        Some(Steps {
            begun: since(proxied.origin_first_ns?),
            had: since(proxied.origin_last_ns?),
            left: its.map(|it| (since(it.first_at_ns), since(it.last_at_ns))),
        })
    })
}

fn median(spans: impl Iterator<Item = u64>) -> Option<f64> {
    Sample::new(spans.map(seconds)).map(|sample| sample.median())
}

pub(super) fn origin_share(load: Load<'_>) -> Option<f64> {
    let steps = || steps(load.events, load.series);
    let whole = median(steps().filter_map(|it| Some(it.left?.1)))?;
    Some(100.0 * median(steps().map(|it| it.had))? / whole)
}

pub(super) fn origin_download(events: &[Event]) -> Option<f64> {
    median(steps(events, None).map(|it| it.had - it.begun))
}

pub(super) fn queue(load: Load<'_>) -> Option<f64> {
    median(steps(load.events, load.series).filter_map(|it| it.queued()))
}

/// Waiting time of objects at the proxy, in per cent of their total time.
pub(super) fn queue_share(load: Load<'_>) -> Option<f64> {
    let all: u64 = arrived(load.objects).map(|object| object.phases.total_ns()).sum();
    load.series.filter(|series| !series.departures.is_empty())?;
    let queued: u64 = steps(load.events, load.series).filter_map(|it| it.queued()).sum();
    (all > 0).then(|| 100.0 * queued as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use record::Departure;

    use super::*;
    use store::toy;

    #[test]
    fn a_proxys_steps_by_hand() {
        let ms = |n: u64| n * 1_000_000;
        let proxied = |object: u32, first: u64, last: u64| {
            let proxied = Proxied {
                url: "http://a.test/".to_owned(),
                outcome: "passed".to_owned(),
                asked_at_ns: ms(1000),
                origin_first_ns: Some(ms(1000 + first)),
                origin_last_ns: Some(ms(1000 + last)),
                ..Proxied::default()
            };
            let (at_ns, detail) = (ms(1000), proxied.detail());
            let (kind, object) = (EventKind::Proxied, Some(object));
            Event { at_ns, kind, object, connection: None, detail }
        };
        let events = [proxied(0, 10, 14), proxied(1, 10, 18), proxied(2, 14, 20)];
        let left = |object, first: u64, last: u64| {
            let [first_at_ns, last_at_ns] = [first, last].map(|at| ms(1000 + at));
            Departure { object, first_at_ns, last_at_ns }
        };
        // The second begins to leave before it is complete.
        let departures = vec![left(0, 64, 100), left(1, 12, 25), left(2, 100, 200)];
        let series = Series { departures, ..Series::default() };
        let filled = toy::filled_store(&toy::plan(1));
        let visit = filled.store.visits(filled.run).unwrap().remove(0);
        let load = Load {
            visit: &visit,
            objects: &[],
            connections: &[],
            events: &events,
            series: Some(&series),
        };
        assert_eq!(origin_download(&events), Some(0.006));
        assert_eq!(queue(load), Some(0.05));
        let share = origin_share(load).unwrap();
        assert!((share - 18.0).abs() < 1e-9, "{share}");
        assert_eq!(queue(Load { series: None, ..load }), None);
        assert_eq!(promised(&events), None);
    }
}
