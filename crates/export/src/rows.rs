//! Rows gathered into record batches.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use crate::column::{Cell, Column, Kind};
use crate::{ExportError, Table};

/// Rows of a batch, at most: some megabytes of the widest table.
const MOST_ROWS: usize = 16_384;

/// Gathers rows and hands them on as batches.
pub(crate) struct Rows<'a> {
    schema: SchemaRef,
    builders: Vec<Builder>,
    length: usize,
    take: &'a mut dyn FnMut(RecordBatch) -> Result<(), ExportError>,
}

enum Builder {
    Whole(Int64Builder),
    Number(Float64Builder),
    Text(StringBuilder),
    Flag(BooleanBuilder),
}

/// The schema of a table's files.
pub fn schema(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(table.columns().iter().map(Column::field).collect::<Vec<_>>()))
}

impl<'a> Rows<'a> {
    pub(crate) fn new(
        table: &Table,
        take: &'a mut dyn FnMut(RecordBatch) -> Result<(), ExportError>,
    ) -> Rows<'a> {
        let builders = table.columns().iter().map(|column| Builder::of(column.kind)).collect();
        Rows { schema: schema(table), builders, length: 0, take }
    }

    /// Adds a row: a cell for each column, in order.
    ///
    /// # Panics
    /// If there are fewer or more cells than columns, or a cell has another type than its column.
    pub(crate) fn push<'c>(
        &mut self,
        cells: impl IntoIterator<Item = Cell<'c>>,
    ) -> Result<(), ExportError> {
        let mut cells = cells.into_iter();
        for builder in &mut self.builders {
            builder.push(cells.next().expect("a row has a cell for each column"));
        }
        assert!(cells.next().is_none(), "a row has a column for each cell");
        self.length += 1;
        if self.length == MOST_ROWS { self.flush() } else { Ok(()) }
    }

    /// Hands on the rows that are left.
    pub(crate) fn finish(mut self) -> Result<(), ExportError> {
        if self.length > 0 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        self.length = 0;
        (self.take)(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }
}

impl Builder {
    fn of(kind: Kind) -> Builder {
        match kind {
            Kind::Whole => Builder::Whole(Int64Builder::new()),
            Kind::Number => Builder::Number(Float64Builder::new()),
            Kind::Text => Builder::Text(StringBuilder::new()),
            Kind::Flag => Builder::Flag(BooleanBuilder::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Builder::Whole(builder), Cell::Whole(number)) => builder.append_value(number),
            (Builder::Whole(builder), Cell::None) => builder.append_null(),
            (Builder::Number(builder), Cell::Number(number)) => builder.append_value(number),
            (Builder::Number(builder), Cell::None) => builder.append_null(),
            (Builder::Text(builder), Cell::Text(text)) => builder.append_value(text),
            (Builder::Text(builder), Cell::None) => builder.append_null(),
            (Builder::Flag(builder), Cell::Flag(truth)) => builder.append_value(truth),
            (Builder::Flag(builder), Cell::None) => builder.append_null(),
            (_, cell) => panic!("{cell:?} has another type than its column"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Whole(builder) => Arc::new(builder.finish()),
            Builder::Number(builder) => Arc::new(builder.finish()),
            Builder::Text(builder) => Arc::new(builder.finish()),
            Builder::Flag(builder) => Arc::new(builder.finish()),
        }
    }
}
