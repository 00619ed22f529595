//! The mechanism in the document: a sentence, the place of the plot, and all its data.

use std::fmt::Write;

use record::{ConnectionRecord, EventKind, RadioRecord, RetransmitDetail, VisitRecord};
use serde::Serialize;
use tcp::RetransmitCause;

use super::{DrawnConnection, Mechanism, since_start};
use crate::escape::html;
use crate::number::{grouped, ms};
use crate::rows::csv;

/// The section below the waterfall with this index.
pub fn section(index: usize, record: &VisitRecord, mechanism: &Mechanism) -> String {
    let facts = [
        Some(sent_again(mechanism)),
        record.radio.as_ref().map(|radio| promotions(radio, mechanism)),
        record.radio.as_ref().map(energy),
        left_out(record, mechanism),
        mechanism.unwatched.clone(),
    ];
    let facts: String =
        facts.into_iter().flatten().map(|fact| format!(" {}", html(&fact))).collect();
    format!(
        "<div class=\"mechanism\"><p class=\"small\"><b>Transport:</b>{facts}</p>\
         <div id=\"mechanism-{index}\" class=\"charts\"></div>{}{}{}{}{}</div>",
        connections(record, mechanism),
        rows("windows", "windows", index, &mechanism.windows),
        rows("way", "bytes on the way", index, &mechanism.on_the_way),
        rows("resent", "retransmissions", index, &mechanism.resent),
        rows("stays", "the radio's states", index, &mechanism.stays),
    )
}

/// Rows as CSV, folded; empty if there are none.
fn rows<R: Serialize>(id: &str, what: &str, index: usize, rows: &[R]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<details><summary>Data as CSV: {what}</summary><pre tabindex=\"0\" id=\"{id}-{index}\" class=\"csv\">{}</pre></details>",
        html(&csv(rows))
    )
}

fn sent_again(mechanism: &Mechanism) -> String {
    let resent = &mechanism.resent;
    let needless = match resent.iter().any(|one| one.needless.is_some()) {
        true => format!("{} spuriously", grouped(needless(resent))),
        false => "unknown how many spuriously".to_owned(),
    };
    match resent.len() as u64 {
        0 => "no segment retransmitted.".to_owned(),
        1 => format!("1 segment retransmitted, {needless}."),
        n => format!("{} segments retransmitted, {needless}.", grouped(n)),
    }
}

/// Number of needless retransmissions.
fn needless<'a>(resent: impl IntoIterator<Item = &'a Resent>) -> u64 {
    resent.into_iter().filter(|one| one.needless == Some(true)).count() as u64
}

fn promotions(radio: &RadioRecord, mechanism: &Mechanism) -> String {
    let of_promotions = mechanism.stays.iter().filter(|stay| stay.level == "promotion");
    let waited: f64 = of_promotions.map(|stay| stay.to_ms - stay.from_ms).sum();
    match radio.promotions {
        0 => "The radio was not promoted.".to_owned(),
        1 => format!("The radio was promoted once, in {} ms.", ms(waited)),
        2 => format!("The radio was promoted twice, {} ms in total.", ms(waited)),
        n => format!("The radio was promoted {n} times, {} ms in total.", ms(waited)),
    }
}

fn energy(radio: &RadioRecord) -> String {
    let joules = |microjoules: u64| format!("{:.2} J", microjoules as f64 / 1e6);
    let transfers = radio.up_uj + radio.down_uj;
    let carried = match transfers {
        0 => String::new(),
        some => {
            format!(" ({} of it for data transfer, not plotted)", joules(some))
        }
    };
    format!(
        "It used {}{carried}, plus {} in its tail until idle.",
        joules(radio.energy_uj),
        joules(radio.tail_uj)
    )
}

fn left_out(record: &VisitRecord, mechanism: &Mechanism) -> Option<String> {
    let drawn = mechanism.drawn.len();
    let left_out = (record.connections.len() - drawn) as u64;
    match drawn {
        _ if mechanism.unwatched.is_some() || left_out == 0 => None,
        0 => Some("No connection has observable windows.".to_owned()),
        _ => Some(format!(
            "The busiest connections are drawn; {} more in the table.",
            if left_out == 1 { "one is".to_owned() } else { format!("{} are", grouped(left_out)) }
        )),
    }
}

/// Causes of retransmissions, with their column headings.
const CAUSES: [(RetransmitCause, &str); 5] = [
    (RetransmitCause::Timeout, "timeout"),
    (RetransmitCause::FastRetransmit, "fast re-<br>transmit"),
    (RetransmitCause::TailLossProbe, "tail loss<br>probe"),
    (RetransmitCause::Handshake, "hand-<br>shake"),
    (RetransmitCause::Unknown, "cause<br>unknown"),
];

/// Table of all connections with their retransmissions.
fn connections(record: &VisitRecord, mechanism: &Mechanism) -> String {
    let headings = CAUSES.map(|(_, heading)| format!("<th class=\"n\">{heading}</th>")).concat();
    let rows = record.connections.iter().enumerate();
    let rows: String = rows.map(|(index, of)| row(index, of, mechanism)).collect();
    format!(
        "<details><summary>Connections</summary><div class=\"wide\" tabindex=\"0\">\
         <table class=\"figures plain\"><thead><tr><th>connection</th><th>to</th><th>carried</th><th>drawn</th>\
         {headings}<th class=\"n\">known to be<br>spurious</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}

fn row(index: usize, connection: &ConnectionRecord, mechanism: &Mechanism) -> String {
    let DrawnConnection { name, host, carried, .. } = DrawnConnection::of(index, connection);
    let drawn = if mechanism.drawn.iter().any(|of| of.connection == index) { "yes" } else { "no" };
    let its = mechanism.resent.iter().filter(|one| one.connection == Some(index as u32));
    let by =
        |cause: RetransmitCause| its.clone().filter(|one| one.cause == cause.name()).count() as u64;
    let mut row = format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{drawn}</td>",
        html(&name),
        html(&host),
        html(&carried)
    );
    for count in CAUSES.map(|(cause, _)| by(cause)).into_iter().chain([needless(its)]) {
        let _ = write!(row, "<td class=\"n\">{}</td>", grouped(count));
    }
    row + "</tr>"
}

// Retransmissions of a visit's connections.

/// A retransmitted segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resent {
    /// Time, in milliseconds since navigation start.
    pub at_ms: f64,
    /// The connection.
    pub connection: Option<u32>,
    /// `client` or `server`.
    pub sender: String,
    /// The cause, as named in traces.
    pub cause: &'static str,
    /// True if it turned out to be needless; `None` if unknown, as for the kernel's retransmissions.
    pub needless: Option<bool>,
}

/// All retransmissions in the record, in order of time.
pub fn of(record: &VisitRecord) -> Vec<Resent> {
    let events = record.events.iter().filter(|event| event.kind == EventKind::Retransmit);
    let resent = events.map(|event| {
        // Events that an older version may have written differently are retransmissions all the same.
        let told = RetransmitDetail::read(&event.detail);
        Resent {
            at_ms: since_start(record, event.at_ns),
            connection: event.connection,
            sender: told.map_or("unknown", |told| told.sender).to_owned(),
            cause: told
                .and_then(|told| named(told.cause))
                .unwrap_or(RetransmitCause::Unknown)
                .name(),
            needless: told.map(|told| told.needless).filter(|_| record.emulation.is_none()),
        }
    });
    resent.collect()
}

/// The cause with this description.
fn named(words: &str) -> Option<RetransmitCause> {
    use RetransmitCause::{FastRetransmit, Handshake, TailLossProbe, Timeout};
    [FastRetransmit, Timeout, TailLossProbe, Handshake]
        .into_iter()
        .find(|cause| cause.to_string() == words)
}

#[cfg(test)]
mod tests {
    use store::toy;

    use super::*;

    #[test]
    fn hostile_words_stay_text() {
        let filled = toy::filled_store(&toy::plan(1));
        let key = filled.store.visits(filled.run).unwrap()[0].key;
        let mut record = filled.store.record(key).unwrap();
        record.connections[0].host = "<b>evil</b>".to_owned();
        for event in &mut record.events {
            match event.kind {
                record::EventKind::Retransmit => event.detail = "</pre>\"<i>, x".to_owned(),
                _ => event.kind = record::EventKind::Radio,
            }
        }
        record.events[0].detail = "<u>, by </pre>".to_owned();
        let mechanism = Mechanism::gather(&record, Err("<s>".to_owned()));
        let text = section(0, &record, &mechanism);
        for hostile in ["<b>evil", "<i>", "<u>", "<s>"] {
            assert!(!text.contains(hostile), "{hostile}: {text}");
        }
        assert!(text.contains("&lt;s&gt;") && text.contains("&lt;u&gt;"), "{text}");
        assert_eq!(text.matches("</pre>").count(), 2);
    }
}
