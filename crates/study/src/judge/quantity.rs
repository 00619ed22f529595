//! Quantities of a load: SQL queries over its rows.
//!
//! The rows of one load at a time lie in the tables of [`load.sql`](TABLES), in memory. Quantities that any study needs
//! are listed in [`COMMON`]; others are defined by a study's `clauses.toml`.

use std::collections::{BTreeMap, BTreeSet};

use record::{ConnectionRecord, EventKind, ObjectRecord, Proxied, Series, TcpEvent};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, OptionalExtension, Result as SqlResult, ToSql, params};

use super::Terms;
use statistics::Sample;
use store::{Store, StoreError, VisitRow};

/// Quantities of any study, by name. Times are in seconds, sizes in bytes, rates in kbit/s.
pub const COMMON: [(&str, &str); 12] = [
    ("plt", "SELECT plt_ns / 1e9 FROM visit"),
    ("ttfb", "SELECT ttfb_ns / 1e9 FROM visit"),
    // A mean of it is a share in per cent.
    ("failed", "SELECT 100 * (plt_ns IS NULL) FROM visit"),
    ("requests", "SELECT requests FROM visit"),
    ("connections", "SELECT connections FROM visit"),
    ("body_bytes", "SELECT body_bytes FROM visit"),
    ("bytes_up", "SELECT wire_bytes_up FROM visit"),
    ("throughput", "SELECT wire_bytes_down * 8.0 / 1e3 / (plt_ns / 1e9) FROM visit"),
    // Without what pages send after loading.
    ("objects", "SELECT count(*) FROM object WHERE kind <> 'Data'"),
    ("hosts", "SELECT count(DISTINCT host) FROM object"),
    ("wait", "SELECT median(wait_ns / 1e9) FROM arrived"),
    (
        "peak_throughput",
        "SELECT peak_second(max(0, received_s - receive_ns / 1e9), received_s, body_bytes * 8.0 / 1e3) FROM page_object",
    ),
];

const TABLES: &str = include_str!("load.sql");

/// A load as stored.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    pub visit: &'a VisitRow,
    pub objects: &'a [ObjectRecord],
    pub connections: &'a [ConnectionRecord],
    pub events: &'a [TcpEvent],
    /// Its time series, if recorded.
    pub series: Option<&'a Series>,
}

/// The queries of a study's quantities.
#[derive(Debug)]
pub struct Queries {
    sqlite: Connection,
    quantities: BTreeMap<String, Query>,
}

#[derive(Debug)]
struct Query {
    sql: String,
    /// The tables that it reads.
    tables: BTreeSet<String>,
}

impl Queries {
    /// The common quantities and those that `terms` define.
    pub fn new(terms: &Terms) -> Result<Queries, String> {
        let sqlite = open().map_err(|error| error.to_string())?;
        let view = |name: &str, error: String| format!("[view.{name}]: {error}");
        // Views may read one another, in any order.
        for (name, select) in &terms.views {
            sqlite
                .execute(&format!("CREATE VIEW {} AS {select}", quoted(name)), [])
                .map_err(|error| view(name, error.to_string()))?;
        }
        for name in terms.views.keys() {
            check(&sqlite, &format!("SELECT * FROM {}", quoted(name)))
                .map_err(|error| view(name, error))?;
        }
        let common = COMMON.iter().map(|(name, sql)| (*name, *sql));
        let own = terms.quantities.iter().map(|(name, sql)| (name.as_str(), sql.as_str()));
        let mut quantities = BTreeMap::new();
        for (name, sql) in common.chain(own) {
            let tables = check(&sqlite, sql)
                .and_then(|()| tables(&sqlite, sql).map_err(|error| error.to_string()))
                .map_err(|error| format!("[quantity.{name}]: {error}"))?;
            quantities.insert(name.to_owned(), Query { sql: sql.to_owned(), tables });
        }
        sqlite.set_prepared_statement_cache_capacity(2 * quantities.len() + 16);
        Ok(Queries { sqlite, quantities })
    }

    /// The values of these quantities for a load in the store; those that it does not have are left out.
    pub fn read<'q>(
        &self,
        store: &Store,
        visit: &VisitRow,
        quantities: &'q BTreeSet<String>,
    ) -> Result<Vec<(&'q String, f64)>, StoreError> {
        let needed = self.tables(quantities);
        let needs = |tables: &[&str]| tables.iter().any(|table| needed.contains(table));
        let key = visit.key;
        let objects = if needs(&["object"]) { store.objects(key)? } else { Vec::new() };
        let connections = if needs(&["connection"]) { store.connections(key)? } else { Vec::new() };
        let events = if needs(&["event", "proxied"]) { store.events(key)? } else { Vec::new() };
        let over_time =
            ["series", "window_sample", "throughput", "packet_size", "radio_step", "departure"];
        let series = if needs(&over_time) { store.series(key)? } else { None };
        let (objects, connections, events) = (&objects[..], &connections[..], &events[..]);
        let load = Load { visit, objects, connections, events, series: series.as_ref() };
        Ok(self.values(load, quantities)?)
    }

    /// The same for a load in memory.
    fn values<'q>(
        &self,
        load: Load<'_>,
        quantities: &'q BTreeSet<String>,
    ) -> SqlResult<Vec<(&'q String, f64)>> {
        let filling = self.sqlite.unchecked_transaction()?;
        for table in self.tables(quantities) {
            self.fill(table, load)?;
        }
        filling.commit()?;
        let mut values = Vec::new();
        for name in quantities {
            let Some(query) = self.quantities.get(name) else { continue };
            let mut query = self.sqlite.prepare_cached(&query.sql)?;
            let value = query.query_row([], |row| row.get::<_, Option<f64>>(0)).optional()?;
            values.extend(value.flatten().filter(|it| it.is_finite()).map(|it| (name, it)));
        }
        Ok(values)
    }

    fn tables(&self, quantities: &BTreeSet<String>) -> BTreeSet<&str> {
        let queries = quantities.iter().filter_map(|name| self.quantities.get(name));
        queries.flat_map(|query| query.tables.iter().map(String::as_str)).collect()
    }

    /// Replaces the rows of a table by those of a load.
    fn fill(&self, table: &str, load: Load<'_>) -> SqlResult<()> {
        self.sqlite.execute(&format!("DELETE FROM {table}"), [])?;
        let mut insert: Option<rusqlite::CachedStatement<'_>> = None;
        let mut put = |row: &[&dyn ToSql]| -> SqlResult<()> {
            let insert = match &mut insert {
                Some(insert) => insert,
                none => {
                    let places = vec!["?"; row.len()].join(", ");
                    let sql = format!("INSERT INTO {table} VALUES ({places})");
                    none.insert(self.sqlite.prepare_cached(&sql)?)
                }
            };
            insert.execute(row).map(|_| ())
        };
        let none = Series::default();
        let series = load.series.unwrap_or(&none);
        match table {
            "visit" => {
                let v = load.visit;
                put(params![
                    v.started_at_ns,
                    v.plt_ns,
                    v.ttfb_ns,
                    v.requests,
                    v.connections,
                    v.body_bytes,
                    v.wire_bytes_down,
                    v.wire_bytes_up
                ])
            }
            "object" => load.objects.iter().try_for_each(|o| {
                let p = o.phases;
                let init = p.blocked_ns + p.dns_ns + p.connect_ns + p.tls_ns;
                let request = o.request_header_bytes + o.request_body_bytes;
                put(params![
                    o.object,
                    o.url.split('/').nth(2),
                    o.kind,
                    o.protocol,
                    o.connection,
                    o.discovered_at_ns,
                    init,
                    p.blocked_ns,
                    p.send_ns,
                    p.wait_ns,
                    p.receive_ns,
                    p.total_ns(),
                    request,
                    o.body_bytes,
                    o.error
                ])
            }),
            "connection" => load.connections.iter().enumerate().try_for_each(|(number, c)| {
                put(params![
                    number,
                    c.host,
                    c.opened_at_ns,
                    c.connected_at_ns,
                    c.secured_at_ns,
                    c.closed_at_ns,
                    c.srtt_down_ns,
                    c.cwnd_down,
                    c.busy_ns,
                    c.flow_limited_ns
                ])
            }),
            "event" => load.events.iter().try_for_each(|e| {
                put(params![e.at_ns, e.kind.name(), e.object, e.connection, e.detail])
            }),
            // Of several proxies, the one that the client talks to.
            "proxied" => load.events.iter().try_for_each(|event| {
                let is_proxied = event.kind == EventKind::Proxied;
                let steps = is_proxied.then(|| Proxied::read(event.at_ns, &event.detail)).flatten();
                steps.filter(|it| it.behind == 0).map_or(Ok(()), |it| {
                    put(params![
                        event.object,
                        it.asked_at_ns,
                        it.origin_first_ns,
                        it.origin_last_ns
                    ])
                })
            }),
            "series" => load.series.map_or(Ok(()), |series| put(params![series.since_ns])),
            "window_sample" => series.windows.iter().enumerate().try_for_each(|(n, w)| {
                put(params![
                    n,
                    w.connection,
                    w.at_ns,
                    w.cwnd,
                    w.ssthresh,
                    w.in_flight,
                    w.in_flight_bytes,
                    w.unsent_bytes,
                    w.srtt_ns,
                    w.rto_ns
                ])
            }),
            "throughput" => series
                .throughput
                .iter()
                .enumerate()
                .try_for_each(|(tenth, it)| put(params![tenth, it.bytes_down])),
            "packet_size" => {
                series.packets.iter().try_for_each(|it| put(params![it.wire_bytes, it.down, it.up]))
            }
            "radio_step" => series.radio.iter().enumerate().try_for_each(|(n, it)| {
                put(params![n, it.at_ns, it.from, it.to, it.by_packet, it.quiet_ns])
            }),
            _ => series
                .departures
                .iter()
                .try_for_each(|it| put(params![it.object, it.first_at_ns, it.last_at_ns])),
        }
    }
}

/// An empty database with the tables of a load, and functions that SQLite lacks.
fn open() -> SqlResult<Connection> {
    let sqlite = Connection::open_in_memory()?;
    sqlite.execute_batch(TABLES)?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    sqlite.create_aggregate_function("median", 1, flags, Quantile)?;
    sqlite.create_aggregate_function("quantile", 2, flags, Quantile)?;
    sqlite.create_aggregate_function("peak_second", 3, flags, PeakSecond)?;
    Ok(sqlite)
}

/// Refuses what is not one query: a study's file reads rows, and neither attaches files nor writes any.
fn check(sqlite: &Connection, sql: &str) -> Result<(), String> {
    let statement = sqlite.prepare(sql).map_err(|error| error.to_string())?;
    match statement.column_count() > 0 && statement.readonly() {
        true => Ok(()),
        false => Err("a SELECT was expected".to_owned()),
    }
}

/// A name as an identifier of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The tables that a query reads, directly or through views.
fn tables(sqlite: &Connection, sql: &str) -> SqlResult<BTreeSet<String>> {
    let mut roots = sqlite.prepare(&format!("EXPLAIN {sql}"))?;
    let roots = roots.query_map([], |row| Ok((row.get::<_, String>(1)?, row.get::<_, i64>(3)?)))?;
    let roots: BTreeSet<(String, i64)> = roots.collect::<SqlResult<_>>()?;
    // Tables and their indexes.
    let mut known =
        sqlite.prepare("SELECT tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0")?;
    let known = known.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let known = known.collect::<SqlResult<Vec<(String, i64)>>>()?;
    let is_read = |root: i64| roots.contains(&("OpenRead".to_owned(), root));
    Ok(known.into_iter().filter(|(_, root)| is_read(*root)).map(|(table, _)| table).collect())
}

/// `median(x)` and `quantile(x, q)`, of type 7; values of NULL are left out.
struct Quantile;

impl Aggregate<(Vec<f64>, f64), Option<f64>> for Quantile {
    fn init(&self, _: &mut Context<'_>) -> SqlResult<(Vec<f64>, f64)> {
        Ok((Vec::new(), 0.5))
    }

    fn step(&self, row: &mut Context<'_>, (values, q): &mut (Vec<f64>, f64)) -> SqlResult<()> {
        values.extend(row.get::<Option<f64>>(0)?);
        if row.len() > 1 {
            *q = row.get(1)?;
        }
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        rows: Option<(Vec<f64>, f64)>,
    ) -> SqlResult<Option<f64>> {
        Ok(rows.and_then(|(values, q)| Some(Sample::new(values)?.quantile(q))))
    }
}

/// `peak_second(begin, end, amount)`: the most of all amounts together in a second.
struct PeakSecond;

impl Aggregate<Vec<f64>, Option<f64>> for PeakSecond {
    fn init(&self, _: &mut Context<'_>) -> SqlResult<Vec<f64>> {
        Ok(Vec::new())
    }

    fn step(&self, row: &mut Context<'_>, seconds: &mut Vec<f64>) -> SqlResult<()> {
        spread(seconds, row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, seconds: Option<Vec<f64>>) -> SqlResult<Option<f64>> {
        Ok(seconds.and_then(|seconds| seconds.into_iter().reduce(f64::max)))
    }
}

/// Adds an amount evenly from `begin` to `end`, in seconds. The store knows when a body began and ended to arrive,
/// not when each of its bytes did: for interleaved responses a peak is underestimated rather than overestimated.
pub fn spread(seconds: &mut Vec<f64>, begin: f64, end: f64, amount: f64) {
    let (first, last) = (begin.floor() as usize, end.floor() as usize);
    if seconds.len() <= last {
        seconds.resize(last + 1, 0.0);
    }
    let span = end - begin;
    for (second, sum) in seconds.iter_mut().enumerate().take(last + 1).skip(first) {
        let from = begin.max(second as f64);
        let part = end.min(second as f64 + 1.0) - from;
        *sum += if span > 0.0 { amount * part / span } else { amount };
    }
}

#[cfg(test)]
mod tests;
