//! Texts that many rows share: scenarios and notes of journeys, lists of objects. Each is stored once, under its
//! digest.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::StoreError;
use super::sql::{Database, values};

/// A table of shared texts.
pub(super) struct SharedTexts {
    table: &'static str,
    /// The column with the text.
    value: &'static str,
}

/// Scenarios and notes of journeys.
pub(super) const JOURNEYS: SharedTexts = SharedTexts { table: "shared_text", value: "value" };

/// Properties of requests that all visits of a page have in common.
pub(super) const OBJECTS: SharedTexts = SharedTexts { table: "object_list", value: "columns" };

impl SharedTexts {
    /// The number of `text`, which is stored if it is new.
    pub(super) fn number(&self, database: &Database, text: &str) -> Result<i64, StoreError> {
        let digest = digest(text);
        if let Some(number) = self.find(database, &digest)? {
            return Ok(number);
        }
        // Another runner may insert it at the same time.
        database.insert(self.table, &["digest", self.value], values![digest, text])?;
        self.find(database, &digest)?.ok_or_else(|| StoreError::Damaged {
            what: format!("{} lost a text that was just stored", self.table),
        })
    }

    /// The text with this number.
    pub(super) fn text(&self, database: &Database, number: i64) -> Result<String, StoreError> {
        let sql = format!("SELECT {} FROM {} WHERE id = ?1", self.value, self.table);
        let found = database.rows(&sql, values![number], |row| row.at(0))?;
        found.into_iter().next().ok_or_else(|| StoreError::Damaged {
            what: format!("{} has no text {number}", self.table),
        })
    }

    fn find(&self, database: &Database, digest: &str) -> Result<Option<i64>, StoreError> {
        let sql = format!("SELECT id FROM {} WHERE digest = ?1", self.table);
        Ok(database.rows(&sql, values![digest], |row| row.at(0))?.pop())
    }
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Registers `blake3(text)` as an SQL function of this connection.
pub(super) fn register(connection: &Connection) -> Result<(), rusqlite::Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("blake3", 1, flags, |context| {
        let text: String = context.get(0)?;
        Ok(digest(&text))
    })
}
