//! One value over all measurements of a run.
//!
//! Two runs of one experiment have equal digests if and only if they hold equal rows; facts of the wall
//! clock, the run's number and the bytes of the compression do not count.

use record::{EmulationRecord, LinkRecord, Paint, RadioRecord, RadioStateRecord};

use scenario::Keep;

use super::sql::{Value, values};
use super::tables::TableRow;
use super::{RunId, Store, StoreError, VisitKey, objects, series};

/// The digest's own format, hashed first.
const FORMAT: &str = "farlink run 1";

/// A table's part in the digest.
struct DigestPart {
    table: &'static str,
    key: &'static str,
    /// Columns in order.
    columns: &'static str,
    /// Last column: its contents count, not their packing.
    packed: Option<PackedColumn>,
    order: &'static str,
    /// Condition on the rows that have data.
    only: &'static str,
}

/// A column whose contents are packed.
struct PackedColumn {
    #[cfg_attr(not(test), expect(dead_code, reason = "the test counts columns by their names"))]
    column: &'static str,
    /// SQL expression of its contents.
    expression: &'static str,
    /// Tag of the contents in the hashed bytes.
    tag: u8,
    /// The contents as JSON.
    to_json: fn(Value<'_>) -> Result<String, StoreError>,
}

const OBJECTS: PackedColumn = PackedColumn {
    column: "objects",
    expression: objects::TEXTS,
    tag: b'o',
    to_json: |value| objects::to_json(text(value)),
};

const SERIES: PackedColumn = PackedColumn {
    column: "series",
    expression: "series",
    tag: b's',
    to_json: |value| series::to_json(bytes(value)),
};

fn text(value: Value<'_>) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

fn bytes(value: Value<'_>) -> &[u8] {
    match value {
        Value::Blob(bytes) => bytes,
        _ => &[],
    }
}

/// The table whose rows are hashed together with the packed events, as if all were in it.
const EVENTS: &str = "event";

/// The digested columns. A column of the schema that is not listed here must be in the exceptions of the test below.
static PARTS: [DigestPart; 12] = [
    part("run", "plan_digest, farlink_version, seed, repetitions, journeys", "id").keyed("id"),
    part(
        "journey",
        "position, cell, repetition, seed, farlink_version, scenario, notes, failure",
        "position",
    ),
    part(
        "visit",
        "journey, visit, view, started_at_ns, plt_ns, failure, ttfb_ns, floor_graph_ns, \
         floor_oracle_ns, floor_graph_without_compute_ns, floor_oracle_without_compute_ns, \
         requests, requests_failed, connections, connections_flow_limited, body_bytes, \
         wire_bytes_down, wire_bytes_up, retransmits, queue_drops, losses, trace_digest",
        "journey, visit",
    )
    .packed(OBJECTS),
    part(
        "connection",
        "journey, visit, connection, host, protocol, tls, opened_at_ns, connected_at_ns, \
         secured_at_ns, closed_at_ns, requests, bytes_up, bytes_down, retransmits_down, \
         retransmits_up, timeouts_down, srtt_down_ns, cwnd_down, busy_ns, flow_limited_ns",
        "journey, visit, connection",
    ),
    part(
        EVENTS,
        "journey, visit, sequence, at_ns, kind, object, connection, detail",
        "journey, visit, sequence",
    ),
    // Tables that a run may have no rows in: it has the same digest as before there were these tables.
    part(LinkRecord::TABLE, LinkRecord::COLUMNS, "journey, visit, link"),
    part(EmulationRecord::TABLE, EmulationRecord::COLUMNS, "journey, visit"),
    part(Paint::TABLE, Paint::COLUMNS, "journey, visit"),
    part(RadioRecord::TABLE, RadioRecord::COLUMNS, "journey, visit"),
    part(RadioStateRecord::TABLE, RadioStateRecord::COLUMNS, "journey, visit, state"),
    // The same holds for a run whose journeys have only one page.
    part("visit", "journey, visit, page", "journey, visit").only("page IS NOT NULL"),
    // And for a run without recorded time series.
    part("visit", "journey, visit", "journey, visit").packed(SERIES).only("series IS NOT NULL"),
];

/// A part of all rows of a table.
const fn part(table: &'static str, columns: &'static str, order: &'static str) -> DigestPart {
    DigestPart { table, key: "run_id", columns, packed: None, order, only: "TRUE" }
}

impl DigestPart {
    const fn keyed(self, key: &'static str) -> DigestPart {
        DigestPart { key, ..self }
    }

    const fn packed(self, packed: PackedColumn) -> DigestPart {
        DigestPart { packed: Some(packed), ..self }
    }

    const fn only(self, only: &'static str) -> DigestPart {
        DigestPart { only, ..self }
    }
}

impl Store {
    /// The digest of a run, in hexadecimal.
    pub fn digest(&self, run: RunId) -> Result<String, StoreError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(FORMAT.as_bytes());
        let keep = self.run(run)?.keep;
        let parts = PARTS.iter().filter(|part| keep == Keep::All || part.table != EVENTS);
        for part in parts {
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
    part: &DigestPart,
    hasher: &mut blake3::Hasher,
) -> Result<(), StoreError> {
    let DigestPart { table, key, columns, packed, order, only } = part;
    let contents = packed.as_ref().map_or_else(String::new, |it| format!(", {}", it.expression));
    let sql = format!(
        "SELECT {columns}{contents} FROM {table} WHERE {key} = ?1 AND {only} ORDER BY {order}"
    );
    store.database.each(&sql, values![run.0], &mut |row| {
        hash_bytes(hasher, b'r', table.as_bytes());
        let count = columns.split(", ").count();
        for index in 0..count {
            hash_value(hasher, row.value_at(index)?);
        }
        if let Some(packed) = packed {
            match row.value_at(count)? {
                Value::Null => hash_value(hasher, Value::Null),
                value => hash_bytes(hasher, packed.tag, (packed.to_json)(value)?.as_bytes()),
            }
        }
        Ok(())
    })
}

/// Hashes the events; the columns are those of the table's part.
fn hash_events(store: &Store, run: RunId, hasher: &mut blake3::Hasher) -> Result<(), StoreError> {
    let sql = "SELECT journey, visit FROM visit WHERE run_id = ?1 ORDER BY journey, visit";
    let keys = store.rows(sql, values![run.0], |row| {
        Ok(VisitKey { run, journey: row.at(0)?, visit: row.at(1)? })
    })?;
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
    let number = number.map(|number| Value::Integer(number as i64));
    hash_value(hasher, number.unwrap_or(Value::Null));
}

fn hash_value(hasher: &mut blake3::Hasher, value: Value<'_>) {
    match value {
        Value::Null => hash_bytes(hasher, b'n', &[]),
        Value::Integer(number) => hash_bytes(hasher, b'i', &number.to_le_bytes()),
        Value::Text(text) => hash_bytes(hasher, b't', text.as_bytes()),
        Value::Blob(blob) => hash_bytes(hasher, b'b', blob),
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
    /// values derived from the objects or contained in the plan's digest.
    const NOT_COUNTED: [&str; 18] = [
        "journey.scenario_id",
        "run.keep",
        "visit.object_list",
        "visit.proxy_events",
        "visit.model_first_render_ns",
        "visit.model_byte_index_ns",
        "run.id",
        "run.name",
        "run.until_ppm",
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
        for DigestPart { table, .. } in &PARTS {
            let parts = PARTS.iter().filter(|part| part.table == *table);
            let columns = |part: &'static DigestPart| {
                part.columns.split(", ").chain(part.packed.as_ref().map(|packed| packed.column))
            };
            let counted: Vec<&str> = parts.flat_map(columns).collect();
            let sql = format!("SELECT * FROM {table}");
            for name in store.sqlite().prepare(&sql).unwrap().column_names() {
                let full = format!("{table}.{name}");
                let excused = NOT_COUNTED.contains(&name) || NOT_COUNTED.contains(&full.as_str());
                assert!(counted.contains(&name) != excused, "{full} in the digest?");
            }
        }
    }
}
