//! The object timings of a visit as one blob, and the SQL function that opens it.
//!
//! A [blob](super::packed) has the columns below, all of one length. In version 2 instants and places in the page are differences from the row before; version 1 had them as they are.
//! Since version 3 it also lists the rows that the first paint waited for.

use record::{ObjectRecord, Phases};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use serde::{Deserialize, Serialize};

use super::{StoreError, packed};

/// The version that is written.
const RENDERING: u8 = 3;

/// The one before, which did not say what the first paint waits for.
const STEPS: u8 = 2;

/// The first.
const PLAIN: u8 = 1;

const WHAT: &str = "object timings";

/// Declares the columns once: the struct, both directions, and one row as SQL sees it.
macro_rules! columns {
    ($( $column:ident: $type:ty = $($path:ident).+; )+) => {
        /// By column.
        #[derive(Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Columns {
            $( $column: Vec<$type>, )+
            /// The rows that the first paint waits for.
            #[serde(default)]
            blocks_render: Vec<u32>,
        }

        /// One row.
        #[derive(Serialize)]
        struct Flat<'a> {
            $( $column: &'a $type, )+
        }

        impl Columns {
            fn of(objects: &[ObjectRecord]) -> Columns {
                let blocking = (0..).zip(objects).filter(|(_, object)| object.blocks_render);
                Columns {
                    $( $column: objects.iter().map(|o| o.$($path).+.clone()).collect(), )+
                    blocks_render: blocking.map(|(row, _)| row).collect(),
                }
            }

            fn len(&self) -> Option<usize> {
                let len = self.object.len();
                [$( self.$column.len(), )+].iter().all(|l| *l == len).then_some(len)
            }

            fn flat(&self, row: usize) -> Flat<'_> {
                Flat { $( $column: &self.$column[row], )+ }
            }

            fn record(&self, row: usize) -> ObjectRecord {
                let mut record = empty();
                $( record.$($path).+ = self.$column[row].clone(); )+
                record.blocks_render = self.blocks_render.contains(&(row as u32));
                record
            }
        }
    };
}

columns! {
    object: u32 = object;
    url: String = url;
    method: String = method;
    kind: String = kind;
    status: u16 = status;
    protocol: String = protocol;
    connection: Option<u32> = connection;
    reused: bool = reused;
    discovered_at_ns: u64 = discovered_at_ns;
    blocked_ns: u64 = phases.blocked_ns;
    dns_ns: u64 = phases.dns_ns;
    connect_ns: u64 = phases.connect_ns;
    tls_ns: u64 = phases.tls_ns;
    send_ns: u64 = phases.send_ns;
    wait_ns: u64 = phases.wait_ns;
    receive_ns: u64 = phases.receive_ns;
    done_at_ns: u64 = done_at_ns;
    request_header_bytes: u64 = request_header_bytes;
    request_body_bytes: u64 = request_body_bytes;
    response_header_bytes: u64 = response_header_bytes;
    body_bytes: u64 = body_bytes;
    priority: String = priority;
    error: Option<String> = error;
}

impl Columns {
    /// Columns that rise, or nearly so, as steps.
    fn step(&mut self) {
        packed::to_steps(&mut self.object);
        packed::to_steps(&mut self.discovered_at_ns);
        packed::to_steps(&mut self.done_at_ns);
    }

    /// And back.
    fn unstep(&mut self) {
        packed::from_steps(&mut self.object);
        packed::from_steps(&mut self.discovered_at_ns);
        packed::from_steps(&mut self.done_at_ns);
    }
}

fn empty() -> ObjectRecord {
    ObjectRecord {
        object: 0,
        url: String::new(),
        method: String::new(),
        kind: String::new(),
        status: 0,
        protocol: String::new(),
        connection: None,
        reused: false,
        discovered_at_ns: 0,
        phases: Phases::default(),
        done_at_ns: 0,
        request_header_bytes: 0,
        request_body_bytes: 0,
        response_header_bytes: 0,
        body_bytes: 0,
        priority: String::new(),
        blocks_render: false,
        error: None,
    }
}

/// The blob of a visit's objects.
pub fn encode(objects: &[ObjectRecord]) -> Vec<u8> {
    let mut columns = Columns::of(objects);
    columns.step();
    packed::pack(RENDERING, &columns)
}

/// The objects of a blob.
pub fn decode(blob: &[u8]) -> Result<Vec<ObjectRecord>, StoreError> {
    let (columns, len) = open(blob)?;
    Ok((0..len).map(|row| columns.record(row)).collect())
}

/// The objects of a blob as a JSON array of objects.
pub fn to_json(blob: &[u8]) -> Result<String, StoreError> {
    let (columns, len) = open(blob)?;
    let rows: Vec<Flat<'_>> = (0..len).map(|row| columns.flat(row)).collect();
    Ok(serde_json::to_string(&rows).expect("numbers and strings serialise"))
}

fn open(blob: &[u8]) -> Result<(Columns, usize), StoreError> {
    let (version, mut columns): (u8, Columns) =
        packed::unpack(blob, &[PLAIN, STEPS, RENDERING], WHAT)?;
    if version >= STEPS {
        columns.unstep();
    }
    let len = columns
        .len()
        .ok_or_else(|| packed::damaged(WHAT, "columns of different lengths".to_owned()))?;
    Ok((columns, len))
}

/// Makes `objects_json(blob)` known to SQL on this connection.
pub fn register(connection: &Connection) -> Result<(), rusqlite::Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("objects_json", 1, flags, |context| {
        let blob: Vec<u8> = context.get(0)?;
        to_json(&blob).map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(index: u32, url: &str, wait_ns: u64, error: Option<String>) -> ObjectRecord {
        let phases = Phases { wait_ns, receive_ns: 3, ..Phases::default() };
        let done_at_ns = wait_ns.wrapping_mul(3);
        let blocks_render = wait_ns % 3 == 1;
        let url = url.to_owned();
        ObjectRecord { object: index, url, phases, done_at_ns, blocks_render, error, ..empty() }
    }

    proptest! {
        #[test]
        fn what_went_in_comes_out(
            rows in proptest::collection::vec((".{0,20}", any::<u64>(), proptest::option::of(".{0,9}")), 0..20)
        ) {
            let objects: Vec<ObjectRecord> = (0..)
                .zip(rows)
                .map(|(index, (url, wait_ns, error))| object(index, &url, wait_ns, error))
                .collect();
            prop_assert_eq!(decode(&encode(&objects)).unwrap(), objects);
        }

        #[test]
        fn no_blob_makes_it_panic(blob in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&blob);
        }
    }

    #[test]
    fn damage_is_named() {
        let blob = encode(&[object(0, "http://a/", 1, None)]);
        assert!(decode(&[]).unwrap_err().to_string().contains("no bytes"));
        assert!(
            decode(&[9, 0])
                .unwrap_err()
                .to_string()
                .contains("version 9, and this farlink knows 1 and 2 and 3")
        );
        assert!(decode(&blob[..blob.len() / 2]).is_err());
    }

    #[test]
    fn the_versions_before_are_read() {
        let objects = [object(0, "http://a/", 3, None), object(1, "http://b/", 2, None)];
        let mut columns = serde_json::to_value(Columns::of(&objects)).unwrap();
        columns.as_object_mut().unwrap().remove("blocks_render");
        assert_eq!(decode(&packed::pack(PLAIN, &columns)).unwrap(), objects);
        let mut columns: Columns = serde_json::from_value(columns).unwrap();
        columns.step();
        assert_eq!(decode(&packed::pack(STEPS, &columns)).unwrap(), objects);
    }
}
