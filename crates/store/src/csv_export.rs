//! A run as CSV (RFC 4180): a row per visit, with the scenario beside each, or a row per sample of a window.

use std::io::Write;

use record::WindowSample;
use serde::Serialize;
use thiserror::Error;

use crate::{RunId, Store, StoreError, VisitKey, visit_table};

/// Failed to write the table.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The visits cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The table cannot be written.
    #[error("the table cannot be written: {0}")]
    Write(#[from] csv::Error),
}

/// Writes the visits of `run` to `out`.
pub fn write_visits(store: &Store, run: RunId, out: impl Write) -> Result<(), CsvError> {
    let mut writer = csv::Writer::from_writer(out);
    let rows = visit_table::rows(store, run)?;
    if let Some(first) = rows.first() {
        writer.write_record(first.iter().map(|cell| cell.column))?;
    }
    for row in &rows {
        writer.write_record(row.iter().map(|cell| &cell.value))?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// State of a server's end of a connection, and its visit.
#[derive(Serialize)]
struct WindowRow<'a> {
    run: i64,
    journey: u64,
    visit: u32,
    connection: u32,
    host: &'a str,
    at_ns: u64,
    cwnd: u32,
    ssthresh: Option<u32>,
    in_flight: u32,
    in_flight_bytes: u64,
    unsent_bytes: u64,
    peer_window_bytes: u64,
    srtt_ns: u64,
    rto_ns: u64,
    retransmits: u64,
}

/// Writes the windows of the visits of `run` to `out`, a row per sample, if they were recorded; returns the number
/// of samples.
pub fn write_windows(store: &Store, run: RunId, out: impl Write) -> Result<u64, CsvError> {
    let mut writer = csv::Writer::from_writer(out);
    let mut samples = 0;
    for visit in store.visits(run)? {
        let Some(series) = store.series(visit.key)? else { continue };
        let connections = store.connections(visit.key)?;
        for window in &series.windows {
            let host =
                connections.get(window.connection as usize).map_or("", |it| it.host.as_str());
            writer.serialize(window_row(visit.key, host, window))?;
            samples += 1;
        }
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(samples)
}

fn window_row<'a>(key: VisitKey, host: &'a str, window: &WindowSample) -> WindowRow<'a> {
    let WindowSample {
        connection,
        at_ns,
        cwnd,
        ssthresh,
        in_flight,
        in_flight_bytes,
        unsent_bytes,
        peer_window_bytes,
        srtt_ns,
        rto_ns,
        retransmits,
    } = *window;
    WindowRow {
        run: key.run.0,
        journey: key.journey,
        visit: key.visit,
        connection,
        host,
        at_ns,
        cwnd,
        ssthresh,
        in_flight,
        in_flight_bytes,
        unsent_bytes,
        peer_window_bytes,
        srtt_ns,
        rto_ns,
        retransmits,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use scenario::settings::SETTINGS;
    use scenario::{NetworkSpec, Order, Plan, Scenario};

    use super::*;
    use crate::toy;

    #[test]
    fn one_row_a_visit_with_its_scenario() {
        let plan = toy::plan(2);
        let filled = toy::filled_store(&plan);
        let mut out = Vec::new();
        write_visits(&filled.store, filled.run, &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let columns = reader.headers().unwrap().clone();
        let column = |name: &str| columns.iter().position(|c| c == name).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 8);
        assert_eq!(&rows[0][column("network")], "rtt=50ms,down=10mbit,up=5mbit,queue=100pkt");
        assert_eq!((&rows[0][column("protocol")], &rows[2][column("protocol")]), ("h1", "h2"));
        let plt_ns = filled.store.visits(filled.run).unwrap()[0].plt_ns.unwrap();
        assert_eq!(rows[0][column("plt_ns")], plt_ns.to_string());
        let toy = &filled.store.record(filled.store.visits(filled.run).unwrap()[0].key).unwrap();
        let painted = toy.paint.unwrap().first_contentful_paint_ns.unwrap();
        assert_eq!(rows[0][column("first_contentful_paint_ns")], painted.to_string());
        let early = crate::early::EarlyMetrics::of(toy).unwrap();
        assert_eq!(rows[0][column("model_byte_index_ns")], early.byte_index.as_nanos().to_string());
        assert_eq!(
            &rows[0][column("model_first_render_ns")],
            "",
            "a browser that paints has no estimate"
        );
    }

    #[test]
    fn every_setting_tells_cells_apart() {
        let library = testbed::tour::Library::default();
        let mut cells = Vec::new();
        for setting in SETTINGS.iter() {
            for value in setting.examples() {
                let mut cell = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
                let read = setting.read(&value, &library);
                read.unwrap_or_else(|refusal| panic!("{}: {}", setting.key, refusal.message))(
                    &mut cell,
                );
                cells.push(cell);
            }
        }
        let filled = toy::filled_store(&Plan::new("all", 1, 1, Order::Blocked, cells.clone()));
        let mut out = Vec::new();
        write_visits(&filled.store, filled.run, &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let columns = reader.headers().unwrap().clone();
        let of = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let names: BTreeSet<&str> = columns.iter().collect();
        assert_eq!(names.len(), columns.len(), "no two columns share a name");
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        // The first visit of each cell.
        let first = |cell: usize| {
            let is_cell = |row: &&csv::StringRecord| row[of("cell")] == cell.to_string();
            rows.iter().find(is_cell).unwrap()
        };
        for (number, setting) in SETTINGS.iter().enumerate() {
            let column = of(setting.column);
            let (one, other) = (first(2 * number), first(2 * number + 1));
            assert_ne!(one[column], other[column], "{}", setting.key);
            // The value can be parsed again, so that a row documents its scenario.
            let value = setting.get(&cells[2 * number]);
            let mut again = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
            let change = setting.read(&value, &library);
            change.unwrap_or_else(|refusal| panic!("{}: {}", setting.key, refusal.message))(
                &mut again,
            );
            assert_eq!(setting.get(&again), value, "{}", setting.key);
        }
    }

    #[test]
    fn one_row_a_sample_of_a_window() {
        let filled = toy::filled_store(&toy::plan(1));
        let mut out = Vec::new();
        let samples = write_windows(&filled.store, filled.run, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u64, samples + 1);
        assert!(lines[0].starts_with("run,journey,visit,connection,host,at_ns,cwnd,ssthresh,"));
        assert!(lines[2].contains(",10,5,0,"), "{}", lines[2]);
    }
}
