//! A table as Arrow memory that pandas, Polars, DuckDB and pyarrow take over without copying it.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use export::ExportError;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use store::{JourneyRow, RunId, Store, VisitRow};

use crate::failure::Failure;

/// A table of a run.
#[pyclass(frozen, module = "farlink._native")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    about: &'static str,
}

impl Table {
    /// Reads the table called `name`.
    pub fn read(store: &Store, run: RunId, name: &str) -> Result<Table, Failure> {
        let stored = export::named(name).filter(|table| !table.is_observed());
        let table = stored.ok_or_else(|| Failure::unknown("table", name, &names()))?;
        let nothing = |_: &JourneyRow, _: &[VisitRow]| Ok(Vec::new());
        let mut batches = Vec::new();
        export::batches(store, run, table, &nothing, &mut |batch| {
            batches.push(batch);
            Ok(())
        })?;
        Ok(Table { schema: export::schema(table), batches, about: table.about })
    }
}

/// Names of the tables that are read from a store. Packets are seen by `farlink export` alone.
pub fn names() -> Vec<&'static str> {
    let stored = export::TABLES.iter().filter(|table| !table.is_observed());
    stored.map(|table| table.name).collect()
}

#[pymethods]
impl Table {
    /// The table as a stream of Arrow's C interface. A requested schema is not converted to, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The table's schema, as Arrow's C interface has it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema =
            schema.map_err(|error: ArrowError| Failure::Export(ExportError::from(error)))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Its rows, as a sentence.
    #[getter]
    fn about(&self) -> &'static str {
        self.about
    }

    /// The values of a column, None where one is missing.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> Result<Bound<'py, PyList>, Failure> {
        let index = self.schema.index_of(name).map_err(|_| {
            let known = self.column_names();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Failure::unknown("column", name, &known)
        })?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            let column = batch.column(index);
            for row in 0..column.len() {
                list.append(value(py, column, row)?)?;
            }
        }
        Ok(list)
    }

    /// Names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// A value as a Python object. Columns have the four types of [`export::Kind`].
fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        _ => column.as_string::<i32>().value(row).into_bound_py_any(py),
    }
}
