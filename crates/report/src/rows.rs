//! The rows behind a plot, as CSV: read out of the document by the script, by people and by other programs.

use serde::Serialize;

/// The rows below a line of column names; empty if there are none.
pub fn csv<R: Serialize>(rows: &[R]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("a row is numbers and strings, and memory takes it");
    }
    let bytes = writer.into_inner().expect("memory takes what is written");
    String::from_utf8(bytes).expect("what was written from strings is text")
}
