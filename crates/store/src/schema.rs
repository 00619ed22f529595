//! The schema, and migrations from older ones.
//!
//! The format's number is SQLite's `user_version`. Each step below raises it by one; a new store goes through all
//! of them, so there is one path to every format.

use rusqlite::Connection;

use super::StoreError;

/// `application_id` of a farlink store: "farK".
pub const APPLICATION_ID: i32 = 0x6661_724b;

/// `application_id` of stores before the first release, whose formats are no longer supported.
pub const UNRELEASED: i32 = 0x6661_726c;

/// The steps from format n to n + 1.
const STEPS: &[&str] = &[include_str!("schema.sql")];

/// The format that this version writes.
pub const FORMAT: u32 = STEPS.len() as u32;

/// Takes a database of `found` format (0: empty) to [`FORMAT`], in one transaction.
pub fn migrate(connection: &mut Connection, found: u32) -> Result<(), StoreError> {
    apply(connection, found, STEPS)
}

fn apply(connection: &mut Connection, found: u32, steps: &[&str]) -> Result<(), StoreError> {
    if found as usize == steps.len() {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    for step in &steps[found as usize..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", steps.len() as u32)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_STEPS: &[&str] = &[
        "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple');",
        "ALTER TABLE fruit ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';",
    ];

    #[test]
    fn an_older_format_goes_through_the_missing_steps_only() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, 0, &TWO_STEPS[..1]).unwrap();
        apply(&mut connection, 1, TWO_STEPS).unwrap();
        let row = |r: &rusqlite::Row<'_>| r.get::<_, String>(0);
        let colour: String =
            connection.query_row("SELECT colour FROM fruit", [], row).expect("one row");
        assert_eq!(colour, "red");
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_format() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, 0, &TWO_STEPS[..1]).unwrap();
        apply(&mut connection, 1, &[TWO_STEPS[0], "ALTER TABLE vegetable ADD COLUMN x"])
            .unwrap_err();
        let version: u32 =
            connection.pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
        assert_eq!(version, 1);
    }
}
