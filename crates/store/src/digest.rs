//! One value over all measurements of a run.
//!
//! Two runs of one experiment have equal digests if and only if they hold equal rows; facts of the wall
//! clock, the run's number and the bytes of the compression do not count.

use rusqlite::types::ValueRef;

use super::{RunId, Store, StoreError, VisitKey, emulation, links, objects, paint, radio, series};

/// The digest's own format, hashed first.
const FORMAT: &str = "farlink run 1";

/// A table's part in the digest: its columns, in order.
struct Part {
    table: &'static str,
    key: &'static str,
    columns: fn() -> String,
    order: &'static str,
    /// Condition on the rows that have data.
    only: &'static str,
}

/// The table whose rows are hashed together with the packed events, as if all were in it.
const EVENTS: &str = "event";

/// Condition for all rows.
const ALL: &str = "TRUE";

/// The digested columns. A column of the schema that is not listed here must be in the exceptions of the test below.
const PARTS: [Part; 12] = [
    Part {
        table: "run",
        key: "id",
        columns: || "plan_digest, farlink_version, seed, repetitions, journeys".to_owned(),
        order: "id",
        only: ALL,
    },
    Part {
        table: "journey",
        key: "run_id",
        columns: || {
            "position, cell, repetition, seed, farlink_version, scenario, notes, failure".to_owned()
        },
        order: "position",
        only: ALL,
    },
    Part {
        table: "visit",
        key: "run_id",
        columns: || {
            "journey, visit, view, started_at_ns, plt_ns, failure, ttfb_ns, floor_graph_ns, \
                  floor_oracle_ns, floor_graph_without_compute_ns, \
                  floor_oracle_without_compute_ns, requests, requests_failed, connections, \
                  connections_flow_limited, body_bytes, wire_bytes_down, wire_bytes_up, \
                  retransmits, queue_drops, losses, trace_digest, objects"
                .to_owned()
        },
        order: "journey, visit",
        only: ALL,
    },
    Part {
        table: "connection",
        key: "run_id",
        columns: || {
            "journey, visit, connection, host, protocol, tls, opened_at_ns, connected_at_ns, \
                  secured_at_ns, closed_at_ns, requests, bytes_up, bytes_down, retransmits_down, \
                  retransmits_up, timeouts_down, srtt_down_ns, cwnd_down, busy_ns, \
                  flow_limited_ns"
                .to_owned()
        },
        order: "journey, visit, connection",
        only: ALL,
    },
    Part {
        table: EVENTS,
        key: "run_id",
        columns: || "journey, visit, sequence, at_ns, kind, object, connection, detail".to_owned(),
        order: "journey, visit, sequence",
        only: ALL,
    },
    // These come last, so that a run of an older format, which has no such rows, keeps its digest.
    Part {
        table: "link",
        key: "run_id",
        columns: links::digested,
        order: "journey, visit, link",
        only: ALL,
    },
    Part {
        table: "emulation",
        key: "run_id",
        columns: emulation::digested,
        order: "journey, visit",
        only: ALL,
    },
    Part {
        table: "paint",
        key: "run_id",
        columns: paint::digested,
        order: "journey, visit",
        only: ALL,
    },
    Part {
        table: "radio",
        key: "run_id",
        columns: radio::digested,
        order: "journey, visit",
        only: ALL,
    },
    Part {
        table: "radio_state",
        key: "run_id",
        columns: radio::digested_states,
        order: "journey, visit, state",
        only: ALL,
    },
    // The same holds for a run whose journeys have only one page.
    Part {
        table: "visit",
        key: "run_id",
        columns: || "journey, visit, page".to_owned(),
        order: "journey, visit",
        only: "page IS NOT NULL",
    },
    // And for a run without recorded time series.
    Part {
        table: "visit",
        key: "run_id",
        columns: || "journey, visit, series".to_owned(),
        order: "journey, visit",
        only: "series IS NOT NULL",
    },
];

impl Store {
    /// The digest of a run, in hexadecimal.
    pub fn digest(&self, run: RunId) -> Result<String, StoreError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(FORMAT.as_bytes());
        for part in &PARTS {
            self.explain(match part.table {
                EVENTS => hash_events(self, run, &mut hasher),
                _ => hash_part(self, run, part, &mut hasher),
            })?;
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}

fn hash_part(
    store: &Store,
    run: RunId,
    part: &Part,
    hasher: &mut blake3::Hasher,
) -> Result<(), StoreError> {
    let Part { table, key, columns, order, only } = part;
    let columns = columns().replace(", objects", &format!(", {}", objects::TEXTS));
    let sql = format!("SELECT {columns} FROM {table} WHERE {key} = ?1 AND {only} ORDER BY {order}");
    let mut statement = store.connection.prepare(&sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([run.0])?;
    while let Some(row) = rows.next()? {
        hash_bytes(hasher, b'r', table.as_bytes());
        for (index, name) in names.iter().enumerate() {
            match row.get_ref(index)? {
                // The contents count, not the packing.
                ValueRef::Text(texts) if name == "objects" => {
                    let texts = String::from_utf8_lossy(texts);
                    hash_bytes(hasher, b'o', objects::to_json(&texts)?.as_bytes());
                }
                ValueRef::Blob(blob) if name == "series" => {
                    hash_bytes(hasher, b's', series::to_json(blob)?.as_bytes());
                }
                value => hash_value(hasher, value),
            }
        }
    }
    Ok(())
}

/// Hashes the events; the columns are those of the table's part.
fn hash_events(store: &Store, run: RunId, hasher: &mut blake3::Hasher) -> Result<(), StoreError> {
    let sql = "SELECT journey, visit FROM visit WHERE run_id = ?1 ORDER BY journey, visit";
    let keys = store
        .rows(sql, [run.0], |row| Ok(VisitKey { run, journey: row.get(0)?, visit: row.get(1)? }))?;
    for key in keys {
        for (sequence, event) in store.placed_events(key)? {
            hash_bytes(hasher, b'r', EVENTS.as_bytes());
            let place = [key.journey, key.visit.into(), sequence, event.at_ns];
            place.into_iter().for_each(|number| hash_number(hasher, Some(number)));
            hash_bytes(hasher, b't', event.kind.name().as_bytes());
            hash_number(hasher, event.object.map(u64::from));
            hash_number(hasher, event.connection.map(u64::from));
            hash_bytes(hasher, b't', event.detail.as_bytes());
        }
    }
    Ok(())
}

fn hash_number(hasher: &mut blake3::Hasher, number: Option<u64>) {
    let number = number.map(|number| ValueRef::Integer(number as i64));
    hash_value(hasher, number.unwrap_or(ValueRef::Null));
}

fn hash_value(hasher: &mut blake3::Hasher, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => hash_bytes(hasher, b'n', &[]),
        ValueRef::Integer(number) => hash_bytes(hasher, b'i', &number.to_le_bytes()),
        ValueRef::Real(number) => hash_bytes(hasher, b'f', &number.to_bits().to_le_bytes()),
        ValueRef::Text(text) => hash_bytes(hasher, b't', text),
        ValueRef::Blob(blob) => hash_bytes(hasher, b'b', blob),
    }
}

/// Hashes a tagged, length-prefixed field, so that adjacent rows cannot be confused.
fn hash_bytes(hasher: &mut blake3::Hasher, tag: u8, bytes: &[u8]) {
    hasher.update(&[tag]);
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts of the wall clock, of the machine, numbers assigned by the store, contents counted as events, and
    /// values derived from the objects.
    const NOT_COUNTED: [&str; 15] = [
        "visit.object_list",
        "visit.proxy_events",
        "visit.model_first_render_ns",
        "visit.model_byte_index_ns",
        "run.id",
        "run.name",
        "run.experiment",
        "run.command",
        "run.machine",
        "run.workers",
        "run.state",
        "run.started_at",
        "run.finished_at",
        "run.digest",
        "run_id",
    ];

    #[test]
    fn every_column_counts_or_is_known_not_to() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(&directory.path().join("s")).unwrap();
        for Part { table, .. } in &PARTS {
            let parts = PARTS.iter().filter(|part| part.table == *table);
            let columns: Vec<String> = parts.map(|part| (part.columns)()).collect();
            let columns = columns.join(", ");
            let counted: Vec<&str> = columns.split(',').map(str::trim).collect();
            let sql = format!("SELECT * FROM {table}");
            for name in store.connection.prepare(&sql).unwrap().column_names() {
                let full = format!("{table}.{name}");
                let excused = NOT_COUNTED.contains(&name) || NOT_COUNTED.contains(&full.as_str());
                assert!(counted.contains(&name) != excused, "{full} in the digest?");
            }
        }
    }
}
