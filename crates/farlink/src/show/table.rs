//! Plain tables: a header, rows, numbers to the right; no rules, so that they survive e-mail.

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, presets};

use super::terminal;

/// A table being filled.
pub struct Table(comfy_table::Table);

impl Table {
    /// Creates a table with these columns. The first is aligned to the left, the others to the right.
    pub fn new(columns: &[&str]) -> Table {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_header(columns);
        for (index, column) in table.column_iter_mut().enumerate() {
            let side = if index == 0 { CellAlignment::Left } else { CellAlignment::Right };
            column.set_cell_alignment(side);
            column.set_padding((0, 2));
        }
        Table(table)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells);
    }

    /// Aligns a column of text to the left.
    pub fn left(&mut self, column: usize) {
        if let Some(column) = self.0.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }

    /// Wraps a column of text in the width that the others leave of the terminal.
    pub fn wrap(&mut self, wrapped: usize) {
        let Some(width) = terminal::width() else { return };
        self.0.set_content_arrangement(ContentArrangement::Dynamic).set_width(width as u16);
        for (index, column) in self.0.column_iter_mut().enumerate() {
            if index != wrapped {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.trim_fmt())
    }
}
