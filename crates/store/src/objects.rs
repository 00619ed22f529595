//! The requests of a visit as two JSON texts, each an object with one array per column, which any SQLite tool can
//! read (the view `object`).
//!
//! One text holds the properties that are the same in all visits of a page, and is stored once; the other holds the
//! timings.

use record::{ObjectRecord, Phases};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::{StoreError, packed};

const WHAT: &str = "object timings";

/// The columns common to all visits of a page.
const COMMON: [&str; 8] = [
    "object",
    "url",
    "method",
    "kind",
    "request_header_bytes",
    "request_body_bytes",
    "priority",
    "blocks_render",
];

/// SQL for both texts of a visit, each on one line: JSON without white space has no newlines.
pub const TEXTS: &str = "(SELECT columns FROM object_list WHERE id = visit.object_list) || '\n' || visit.objects AS objects";

/// Declares the columns once: the struct, both directions, and one row of the digest.
macro_rules! columns {
    ($( $column:ident: $type:ty = $($path:ident).+; )+) => {
        /// The requests by column.
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ObjectColumns {
            $( $column: Vec<$type>, )+
            /// The rows that the first paint waits for.
            #[serde(default)]
            blocks_render: Vec<u32>,
        }

        /// One row.
        #[derive(Serialize)]
        struct FlatObject<'a> {
            $( $column: &'a $type, )+
        }

        impl ObjectColumns {
            fn of(objects: &[ObjectRecord]) -> ObjectColumns {
                let blocking = (0..).zip(objects).filter(|(_, object)| object.blocks_render);
                ObjectColumns {
                    $( $column: objects.iter().map(|o| o.$($path).+.clone()).collect(), )+
                    blocks_render: blocking.map(|(row, _)| row).collect(),
                }
            }

            fn len(&self) -> Option<usize> {
                let len = self.object.len();
                [$( self.$column.len(), )+].iter().all(|l| *l == len).then_some(len)
            }

            fn flat(&self, row: usize) -> FlatObject<'_> {
                FlatObject { $( $column: &self.$column[row], )+ }
            }

            fn record(&self, row: usize) -> ObjectRecord {
                let mut record = empty();
                $( record.$($path).+ = self.$column[row].clone(); )+
                record.blocks_render = self.blocks_render.contains(&(row as u32));
                record
            }
        }

        impl Serialize for ObjectText<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $( if self.has(stringify!($column)) {
                    map.serialize_entry(stringify!($column), &self.columns.$column)?;
                } )+
                if self.has("blocks_render") {
                    map.serialize_entry("blocks_render", &self.columns.blocks_render)?;
                }
                map.end()
            }
        }
    };
}

/// The columns of one of the two texts.
struct ObjectText<'a> {
    columns: &'a ObjectColumns,
    is_common: bool,
}

impl ObjectText<'_> {
    fn has(&self, column: &str) -> bool {
        COMMON.contains(&column) == self.is_common
    }
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
        revealed_by: None,
        revealed_at_ns: None,
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

/// The requests of a visit in their stored form.
pub struct Texts {
    /// The part common to all visits of the page.
    pub common: String,
    /// The visit's own part.
    pub own: String,
}

impl Texts {
    /// The texts of a visit's objects.
    pub fn of(objects: &[ObjectRecord]) -> Texts {
        ObjectColumns::of(objects).texts()
    }

    /// The texts of a visit whose objects are not kept.
    pub fn not_kept() -> Texts {
        Texts { own: String::new(), ..Texts::of(&[]) }
    }
}

impl ObjectColumns {
    fn texts(&self) -> Texts {
        let text = |is_common| {
            let part = ObjectText { columns: self, is_common };
            serde_json::to_string(&part).expect("numbers and strings serialise")
        };
        Texts { common: text(true), own: text(false) }
    }

    fn parse(texts: &str) -> Result<ObjectColumns, StoreError> {
        if texts.len() > 1 && texts.ends_with('\n') {
            // Not kept.
            return Ok(ObjectColumns::default());
        }
        let joined = texts.replacen("}\n{", ",", 1);
        let columns: ObjectColumns = serde_json::from_str(&joined)
            .map_err(|error| packed::damaged(WHAT, error.to_string()))?;
        columns.len().map(|_| columns).ok_or_else(uneven)
    }
}

fn uneven() -> StoreError {
    packed::damaged(WHAT, "columns of different lengths".to_owned())
}

/// The objects of both [texts](TEXTS).
pub fn decode(texts: &str) -> Result<Vec<ObjectRecord>, StoreError> {
    let columns = ObjectColumns::parse(texts)?;
    Ok((0..columns.object.len()).map(|row| columns.record(row)).collect())
}

/// The objects of both [texts](TEXTS) as a JSON array of objects: the input of the digest.
pub fn to_json(texts: &str) -> Result<String, StoreError> {
    let columns = ObjectColumns::parse(texts)?;
    let rows: Vec<FlatObject<'_>> =
        (0..columns.object.len()).map(|row| columns.flat(row)).collect();
    Ok(serde_json::to_string(&rows).expect("numbers and strings serialise"))
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

    fn joined(objects: &[ObjectRecord]) -> String {
        let Texts { common, own } = Texts::of(objects);
        format!("{common}\n{own}")
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
            prop_assert_eq!(decode(&joined(&objects)).unwrap(), objects);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            let _ = decode(&text);
        }
    }

    #[test]
    fn a_url_with_braces_is_taken_for_no_seam() {
        let objects = [object(0, "http://a/}{\"}{", 1, None)];
        assert_eq!(decode(&joined(&objects)).unwrap(), objects);
    }

    #[test]
    fn damage_is_named() {
        let texts = joined(&[object(0, "http://a/", 1, None)]);
        let error = |text: &str| decode(text).unwrap_err().to_string();
        assert!(error("").contains("object timings"), "{}", error(""));
        assert!(error(&texts[..texts.len() / 2]).contains("object timings"));
        let uneven = texts.replace("\"url\":[\"http://a/\"]", "\"url\":[]");
        assert!(error(&uneven).contains("different lengths"), "{}", error(&uneven));
    }

    #[test]
    fn visits_of_a_page_share_what_they_have_in_common() {
        let [one, other] =
            [1, 4].map(|wait_ns| Texts::of(&[object(0, "http://a/", wait_ns, None)]));
        assert_eq!(one.common, other.common);
        assert_ne!(one.own, other.own);
    }
}
