//! What stood between client and hosts: the steps of a proxy, and what a PEP sent unasked.

use record::{Carried, Event, EventKind, Proxied};

use super::{Load, arrived, seconds};
use crate::statistics::Sample;

/// Objects that a PEP sent unasked; none without one.
pub(super) fn promised(events: &[Event]) -> Option<f64> {
    let pep = events.iter().find(|event| event.kind == EventKind::Pep)?;
    Carried::read(&pep.detail).map(|carried| carried.promised as f64)
}

/// What the proxy did for each request that an origin answered.
fn steps(events: &[Event]) -> impl Iterator<Item = Steps> + '_ {
    let proxied = events.iter().filter(|event| event.kind == EventKind::Proxied);
    proxied.filter_map(|event| Steps::of(&Proxied::read(event.at_ns, &event.detail)?))
}

/// Spans at a proxy, in ns.
struct Steps {
    /// From the request to the origin's last byte.
    origin: u64,
    /// From its first byte to its last.
    download: u64,
    /// From its first byte to the first that was sent on.
    queued: u64,
    /// From the request to the last byte that was sent on.
    whole: u64,
}

impl Steps {
    fn of(proxied: &Proxied) -> Option<Steps> {
        let (asked, first, last) =
            (proxied.asked_at_ns, proxied.origin_first_ns?, proxied.origin_last_ns?);
        Some(Steps {
            origin: last - asked,
            download: last - first,
            queued: proxied.client_first_ns?.saturating_sub(first),
            whole: proxied.client_last_ns? - asked,
        })
    }
}

fn median(events: &[Event], of: impl Fn(&Steps) -> u64) -> Option<f64> {
    let values = steps(events).map(|steps| seconds(of(&steps)));
    Sample::new(values).map(|sample| sample.median())
}

pub(super) fn origin_share(events: &[Event]) -> Option<f64> {
    Some(100.0 * median(events, |it| it.origin)? / median(events, |it| it.whole)?)
}

pub(super) fn origin_download(events: &[Event]) -> Option<f64> {
    median(events, |it| it.download)
}

pub(super) fn queue(events: &[Event]) -> Option<f64> {
    median(events, |it| it.queued)
}

/// What objects waited at the proxy, in per cent of their time.
pub(super) fn queue_share(load: Load<'_>) -> Option<f64> {
    let all: u64 = arrived(load.objects).map(|object| object.phases.total_ns()).sum();
    let queued: u64 = steps(load.events).map(|it| it.queued).sum();
    (all > 0).then(|| 100.0 * queued as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_steps_by_hand() {
        let proxied = |first: u64, last: u64, sent: u64, done: u64| {
            let ms = |n: u64| Some(n * 1_000_000);
            let proxied = Proxied {
                url: "http://a.test/".to_owned(),
                outcome: "passed".to_owned(),
                asked_at_ns: 0,
                origin_first_ns: ms(first),
                origin_last_ns: ms(last),
                client_first_ns: ms(sent),
                client_last_ns: ms(done),
                ..Proxied::default()
            };
            let detail = proxied.detail();
            Event { at_ns: 0, kind: EventKind::Proxied, object: None, connection: None, detail }
        };
        let events = [proxied(10, 14, 60, 100), proxied(10, 18, 10, 20), proxied(14, 20, 100, 200)];
        assert_eq!(origin_download(&events), Some(0.006));
        assert_eq!(queue(&events), Some(0.05));
        let share = origin_share(&events).unwrap();
        assert!((share - 18.0).abs() < 1e-9, "{share}");
        assert_eq!(promised(&events), None);
    }
}
