//! A run as an Apache Parquet file: the columns of the CSV, typed. Values that there are not, are null.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use scenario::settings::ColumnType;
use thiserror::Error;

use crate::visit_table::{self, ColumnValue};
use crate::{RunId, Store, StoreError};

/// Failed to write the table.
#[derive(Debug, Error)]
pub enum ParquetExportError {
    /// The visits cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The table cannot be written.
    #[error("the table cannot be written: {0}")]
    Write(#[from] ParquetError),
    /// A value does not have its column's type.
    #[error("column {column} holds `{value}`, which is no number")]
    NoNumber {
        /// The column.
        column: &'static str,
        /// The value.
        value: String,
    },
    /// The run has no visits.
    #[error("run {run} has no visits to write")]
    Empty {
        /// The run.
        run: i64,
    },
}

/// Writes the visits of `run` to `out`.
pub fn write_visits(
    store: &Store,
    run: RunId,
    out: impl Write + Send,
) -> Result<(), ParquetExportError> {
    let rows = visit_table::rows(store, run)?;
    let first = rows.first().ok_or(ParquetExportError::Empty { run: run.0 })?;
    let fields = first.iter().map(|cell| Ok(Arc::new(field(cell)?)));
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    let schema = Type::group_type_builder("visits").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for index in 0..first.len() {
        let mut writer =
            group.next_column()?.expect("the schema has as many columns as the first row");
        let column: Vec<&ColumnValue> = rows.iter().map(|row| &row[index]).collect();
        write_column(writer.untyped(), &column)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// The column of a cell.
fn field(cell: &ColumnValue) -> Result<Type, ParquetError> {
    let (physical, logical) = match cell.kind {
        ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnType::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ColumnType::Number => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(cell.column, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn write_column(
    writer: &mut ColumnWriter<'_>,
    cells: &[&ColumnValue],
) -> Result<(), ParquetExportError> {
    let defined = |cell: &&&ColumnValue| !cell.value.is_empty();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(defined(&cell))).collect();
    let cells = cells.iter().filter(defined);
    match writer {
        ColumnWriter::Int64ColumnWriter(writer) => {
            // The logical type is unsigned, the bits are the same.
            let whole = |cell: &&ColumnValue| Ok(parsed::<u64>(cell)? as i64);
            let values = cells.map(whole).collect::<Result<Vec<_>, ParquetExportError>>()?;
            writer.write_batch(&values, Some(&levels), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let number = |cell: &&ColumnValue| match cell.value.as_str() {
                "unlimited" => Ok(f64::INFINITY),
                _ => parsed(cell),
            };
            let values = cells.map(number).collect::<Result<Vec<_>, _>>()?;
            writer.write_batch(&values, Some(&levels), None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let values: Vec<ByteArray> =
                cells.map(|cell| ByteArray::from(cell.value.as_str())).collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        _ => unreachable!("columns have one of the types above"),
    }
    Ok(())
}

fn parsed<T: std::str::FromStr>(cell: &ColumnValue) -> Result<T, ParquetExportError> {
    let ColumnValue { column, value, .. } = cell;
    value.parse().map_err(|_| ParquetExportError::NoNumber { column, value: value.clone() })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::toy;

    #[test]
    fn numbers_are_numbers_and_rows_are_those_of_the_csv() {
        let filled = toy::filled_store(&toy::plan(2));
        let mut out = Vec::new();
        write_visits(&filled.store, filled.run, &mut out).unwrap();
        let file = SerializedFileReader::new(Bytes::from(out)).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let table = visit_table::rows(&filled.store, filled.run).unwrap();
        assert_eq!(rows.len(), table.len());
        for (row, cells) in rows.iter().zip(&table) {
            let columns: Vec<(&String, &Field)> = row.get_column_iter().collect();
            assert_eq!(columns.len(), cells.len());
            for ((name, field), cell) in columns.into_iter().zip(cells) {
                assert_eq!(name, cell.column);
                match (field, cell.kind) {
                    (Field::Null, _) => assert_eq!(cell.value, "", "{name}"),
                    (Field::ULong(number), ColumnType::Whole) => {
                        assert_eq!(number.to_string(), cell.value, "{name}");
                    }
                    (Field::Double(number), ColumnType::Number) => {
                        assert_eq!(*number, cell.value.parse::<f64>().unwrap(), "{name}");
                    }
                    (Field::Str(text), ColumnType::Text) => assert_eq!(*text, cell.value, "{name}"),
                    (field, kind) => panic!("{name}: {field:?} in a column of {kind:?}"),
                }
            }
        }
    }
}
