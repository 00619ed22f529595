//! Files of tables.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_csv::WriterBuilder;
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use store::{JourneyRow, RunId, Store, VisitRow};

use crate::rows::{Rows, schema};
use crate::visits::setting_cells;
use crate::{ExportError, PacketRow, Table};

/// Journeys read at a time.
const CHUNK: u64 = 1_024;

/// Rows of a row group of a Parquet file.
const ROWS_A_GROUP: usize = 65_536;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, compressed with Zstandard.
    Parquet,
    /// Arrow's IPC file, also called Feather version 2.
    Arrow,
    /// CSV (RFC 4180) with a header line.
    Csv,
}

impl Format {
    /// Extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Csv => "csv",
        }
    }
}

/// Observes a journey again: its packets, in the order of their departure, or why they cannot be seen.
pub type ObservePackets<'a> =
    dyn Fn(&JourneyRow, &[VisitRow]) -> Result<Vec<PacketRow>, String> + 'a;

/// Writes a table of `run` to `out`; returns the number of rows. Journeys are observed again for a table of packets only.
pub fn write(
    store: &Store,
    run: RunId,
    table: &Table,
    format: Format,
    observe: &ObservePackets<'_>,
    out: impl Write + Send,
) -> Result<usize, ExportError> {
    let schema = schema(table);
    let mut count = 0;
    match format {
        Format::Parquet => {
            let level = ZstdLevel::try_new(3)?;
            // A row group is held in memory until it is full.
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(level))
                .set_max_row_group_row_count(Some(ROWS_A_GROUP))
                .build();
            let mut file = ArrowWriter::try_new(out, schema, Some(properties))?;
            batches(store, run, table, observe, &mut |batch| {
                count += batch.num_rows();
                Ok(file.write(&batch)?)
            })?;
            file.close()?;
        }
        Format::Arrow => {
            let mut file = FileWriter::try_new(out, &schema)?;
            batches(store, run, table, observe, &mut |batch| {
                count += batch.num_rows();
                Ok(file.write(&batch)?)
            })?;
            file.finish()?;
        }
        Format::Csv => {
            let mut file = WriterBuilder::new().with_header(true).build(out);
            // A file without rows has its header, too.
            file.write(&RecordBatch::new_empty(Arc::clone(&schema)))?;
            batches(store, run, table, observe, &mut |batch| {
                count += batch.num_rows();
                Ok(file.write(&batch)?)
            })?;
        }
    }
    Ok(count)
}

/// Reads a table of `run` in the plan's order, batch by batch.
pub fn batches(
    store: &Store,
    run: RunId,
    table: &Table,
    observe: &ObservePackets<'_>,
    take: &mut dyn FnMut(RecordBatch) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let row = store.run(run)?;
    let mut rows = Rows::new(table, take);
    table.push_run(&row, &mut rows)?;
    let mut from = 0;
    let mut settings = Vec::new();
    let mut cell = None;
    loop {
        let journeys = store.journeys_from(run, from, CHUNK)?;
        let Some(last) = journeys.last() else { break };
        let visits = store.visits_between(run, from, last.position)?;
        let mut visits = visits.chunk_by(|one, other| one.key.journey == other.key.journey);
        let mut next = visits.next();
        for journey in &journeys {
            if table.has_settings() && cell != Some(journey.cell) {
                settings = setting_cells(&journey.scenario);
                cell = Some(journey.cell);
            }
            let own = next.filter(|visits| visits[0].key.journey == journey.position);
            if own.is_some() {
                next = visits.next();
            }
            let own = own.unwrap_or_default();
            if table.is_observed() {
                let packets = observe(journey, own)
                    .map_err(|why| ExportError::NotObserved { journey: journey.position, why })?;
                table.push_packets(&row, journey, &packets, &mut rows)?;
            }
            table.push_journey(store, &row, journey, &settings, own, &mut rows)?;
        }
        from = last.position + 1;
    }
    rows.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use scenario::settings::SETTINGS;
    use scenario::{NetworkSpec, Order, Plan, Scenario};
    use store::toy;

    use super::*;
    use crate::column::Kind;
    use crate::{TABLES, named};

    fn nothing(_: &JourneyRow, _: &[VisitRow]) -> Result<Vec<PacketRow>, String> {
        Ok(Vec::new())
    }

    fn csv_of(
        filled: &toy::FilledStore,
        table: &str,
    ) -> (csv::StringRecord, Vec<csv::StringRecord>) {
        let mut out = Vec::new();
        write(&filled.store, filled.run, named(table).unwrap(), Format::Csv, &nothing, &mut out)
            .unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let columns = reader.headers().unwrap().clone();
        (columns, reader.records().map(Result::unwrap).collect())
    }

    #[test]
    fn one_row_a_visit_with_its_scenario() {
        let filled = toy::filled_store(&toy::plan(2));
        let (columns, rows) = csv_of(&filled, "visits");
        let column = |name: &str| columns.iter().position(|c| c == name).unwrap();
        assert_eq!(rows.len(), 8);
        assert_eq!(&rows[0][column("network")], "rtt=50ms,down=10mbit,up=5mbit,queue=100pkt");
        assert_eq!((&rows[0][column("protocol")], &rows[2][column("protocol")]), ("h1", "h2"));
        let plt_ns = filled.store.visits(filled.run).unwrap()[0].plt_ns.unwrap();
        assert_eq!(rows[0][column("plt_ns")], plt_ns.to_string());
        assert_eq!(
            &rows[0][column("model_first_render_ns")],
            "",
            "a browser that paints has no estimate"
        );
    }

    #[test]
    fn every_setting_has_a_column_that_tells_cells_apart() {
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
        let (columns, rows) = csv_of(&filled, "visits");
        let of = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let names: BTreeSet<&str> = columns.iter().collect();
        assert_eq!(names.len(), columns.len(), "no two columns share a name");
        let first = |cell: usize| {
            let is_cell = |row: &&csv::StringRecord| row[of("cell")] == cell.to_string();
            rows.iter().find(is_cell).unwrap()
        };
        for (number, setting) in SETTINGS.iter().enumerate() {
            let column = of(setting.column);
            let (one, other) = (first(2 * number), first(2 * number + 1));
            assert_ne!(one[column], other[column], "{}", setting.key);
            for (row, cell) in [(one, 2 * number), (other, 2 * number + 1)] {
                let is_set = !setting.cell(&cells[cell]).is_empty();
                assert_eq!(!row[column].is_empty(), is_set, "{} has its value", setting.key);
            }
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
    fn tables_have_the_same_rows_in_every_format() {
        let filled = toy::filled_store(&toy::plan(3));
        for table in TABLES.iter() {
            let (columns, rows) = csv_of(&filled, table.name);
            let names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
            assert_eq!(columns.iter().collect::<Vec<_>>(), names, "{}", table.name);
            let mut file = Vec::new();
            let count =
                write(&filled.store, filled.run, table, Format::Parquet, &nothing, &mut file)
                    .unwrap();
            assert_eq!(count, rows.len(), "{}", table.name);
            let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
            let read: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
            assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.len());
            let mut file = Vec::new();
            write(&filled.store, filled.run, table, Format::Arrow, &nothing, &mut file).unwrap();
            let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(file), None);
            let batches: Vec<RecordBatch> = reader.unwrap().map(Result::unwrap).collect();
            // Parquet's reader cuts batches otherwise.
            let whole = |batches: &[RecordBatch]| -> Vec<Option<i64>> {
                let column = table.columns().iter().position(|it| it.kind == Kind::Whole).unwrap();
                let arrays = batches.iter().map(|batch| batch.column(column));
                arrays
                    .flat_map(|array| array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
                    .collect()
            };
            assert_eq!(whole(&batches), whole(&read), "{}", table.name);
        }
    }

    #[test]
    fn a_window_is_a_row_a_sample() {
        let filled = toy::filled_store(&toy::plan(1));
        let (columns, rows) = csv_of(&filled, "windows");
        assert!(!rows.is_empty());
        assert_eq!(
            columns.iter().take(6).collect::<Vec<_>>(),
            ["run", "journey", "visit", "connection", "at_ns", "cwnd"]
        );
    }
}
