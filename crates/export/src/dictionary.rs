//! The data dictionary: every table and column, as a page of the documentation.

use std::fmt::Write;

use crate::TABLES;

/// The data dictionary in Markdown.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Data dictionary\n\n\
         Tables that `farlink export` writes. Columns ending in `_ns` are nanoseconds: durations, or with `_at_ns` instants since\n\
         the journey's world began. Any value may be missing: \"none\" or \"unknown\". Tables join by `run`, `journey` and `visit`;\n\
         `connection` and `object` name rows of their tables. Arrow and Parquet files have the descriptions as metadata of the\n\
         fields.\n\n\
         <!-- generated: farlink reference data-dictionary -->\n",
    );
    for table in TABLES.iter() {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n",
            table.name, table.about
        );
        for column in table.columns() {
            let about = column.about.replace('|', "\\|");
            let _ = writeln!(page, "| `{}` | {} | {about} |", column.name, column.kind.name());
        }
    }
    page
}
