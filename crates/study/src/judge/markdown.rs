//! Markdown tables of the page on the studies' conclusions.

use std::fmt;

/// A table: its columns, and rows of cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns; one with a `>` in front of its name is aligned to the right.
    pub fn new(columns: &[&'static str]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.columns {
            write!(f, "|{}", padded(name.trim_start_matches('>')))?;
        }
        f.write_str("|\n")?;
        for name in &self.columns {
            f.write_str(if name.starts_with('>') { "|--:" } else { "|---" })?;
        }
        f.write_str("|\n")?;
        for row in &self.rows {
            row.iter().try_for_each(|cell| write!(f, "|{}", padded(cell)))?;
            f.write_str("|\n")?;
        }
        Ok(())
    }
}

fn padded(cell: &str) -> String {
    if cell.is_empty() { " ".to_owned() } else { format!(" {cell} ") }
}
