//! Time series of visits, as one blob per visit, and the SQL function that reads it.
//!
//! Numbers are stored as signed differences from the previous row: windows and timers are constant most of the
//! time, and instants are close together.

use record::{Departure, Interval, PacketSize, RadioStep, Series, WindowSample};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, VisitKey, packed};

const VERSION: u8 = 1;
const WHAT: &str = "series";

/// Version 1.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackedSeries {
    since_ns: u64,
    windows: Windows,
    throughput: Throughput,
    packets: Packets,
    radio: Radio,
    departures: Departures,
}

/// Rows by column: fields that are numbers, kept as differences, and fields that are kept unchanged.
macro_rules! columns {
    ($columns:ident of $row:ident: steps $($step:ident)+; plain $($plain:ident: $type:ty)*) => {
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $columns {
            $( $step: Vec<i64>, )+
            $( $plain: Vec<$type>, )*
        }

        impl $columns {
            fn of(rows: &[$row]) -> $columns {
                $columns {
                    $( $step: to_steps(rows.iter().map(|row| row.$step as i64)), )+
                    $( $plain: rows.iter().map(|row| row.$plain.clone()).collect(), )*
                }
            }

            fn rows(self) -> Result<Vec<$row>, StoreError> {
                let lengths = [$( self.$step.len(), )+ $( self.$plain.len(), )*];
                if lengths.iter().any(|length| *length != lengths[0]) {
                    let why = "columns of different lengths".to_owned();
                    return Err(packed::damaged(WHAT, why));
                }
                let mut rows = vec![$row::default(); lengths[0]];
                $( for (row, value) in rows.iter_mut().zip(from_steps(self.$step)) {
                    row.$step = value as _;
                } )+
                $( for (row, value) in rows.iter_mut().zip(self.$plain) {
                    row.$plain = value;
                } )*
                Ok(rows)
            }
        }
    };
}

columns! {
    Windows of WindowSample:
    steps connection at_ns cwnd in_flight in_flight_bytes unsent_bytes peer_window_bytes srtt_ns rto_ns retransmits;
    plain ssthresh: Option<u32>
}
columns! { Throughput of Interval: steps bytes_down bytes_up; plain }
columns! { Packets of PacketSize: steps wire_bytes down up; plain }
columns! {
    Radio of RadioStep:
    steps at_ns; plain from: String to: String by_packet: bool quiet_ns: Option<u64>
}
columns! { Departures of Departure: steps object first_at_ns last_at_ns; plain }

fn to_steps(numbers: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut last = 0;
    numbers.map(|number| number.wrapping_sub(std::mem::replace(&mut last, number))).collect()
}

fn from_steps(steps: Vec<i64>) -> impl Iterator<Item = i64> {
    steps.into_iter().scan(0_i64, |last, step| {
        *last = last.wrapping_add(step);
        Some(*last)
    })
}

/// The blob of a visit's series.
pub fn encode(series: &Series) -> Vec<u8> {
    let packed = PackedSeries {
        since_ns: series.since_ns,
        windows: Windows::of(&series.windows),
        throughput: Throughput::of(&series.throughput),
        packets: Packets::of(&series.packets),
        radio: Radio::of(&series.radio),
        departures: Departures::of(&series.departures),
    };
    packed::pack(VERSION, &packed)
}

/// The series of a blob.
pub fn decode(blob: &[u8]) -> Result<Series, StoreError> {
    let packed: PackedSeries = packed::unpack(blob, VERSION, WHAT)?;
    Ok(Series {
        since_ns: packed.since_ns,
        windows: packed.windows.rows()?,
        throughput: packed.throughput.rows()?,
        packets: packed.packets.rows()?,
        radio: packed.radio.rows()?,
        departures: packed.departures.rows()?,
    })
}

/// All series as text: the input of a digest.
pub fn to_json(blob: &[u8]) -> Result<String, StoreError> {
    Ok(json(&decode(blob)?))
}

/// One of its series as a JSON array of objects.
fn part(blob: Option<&[u8]>, name: &str) -> Result<String, StoreError> {
    let series = blob.map_or_else(|| Ok(Series::default()), decode)?;
    Ok(match name {
        "windows" => json(&series.windows),
        "throughput" => json(&series.throughput),
        "packets" => json(&series.packets),
        "radio" => json(&series.radio),
        "departures" => json(&series.departures),
        _ => return Err(StoreError::Damaged { what: format!("no series is called `{name}`") }),
    })
}

fn json(rows: &impl Serialize) -> String {
    serde_json::to_string(rows).expect("numbers and strings serialise")
}

/// Registers `series_json(blob, name)` as an SQL function of this connection.
pub fn register(connection: &Connection) -> Result<(), rusqlite::Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("series_json", 2, flags, |context| {
        let (blob, name): (Option<Vec<u8>>, String) = (context.get(0)?, context.get(1)?);
        part(blob.as_deref(), &name)
            .map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
    })
}

impl Store {
    /// Time series of a visit, if they were recorded.
    pub fn series(&self, key: VisitKey) -> Result<Option<Series>, StoreError> {
        let sql = "SELECT series FROM visit WHERE run_id = ?1 AND journey = ?2 AND visit = ?3";
        let blobs = self.rows(sql, &key.values(), |row| row.at::<Option<Vec<u8>>>(0))?;
        blobs.into_iter().flatten().next().map(|blob| decode(&blob)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A series of each kind.
    fn some(at_ns: u64, cwnd: u32, bytes: u64) -> Series {
        let window = WindowSample { at_ns, cwnd, ssthresh: Some(7), ..WindowSample::default() };
        let step = RadioStep { at_ns, from: "IDLE".to_owned(), ..RadioStep::default() };
        Series {
            since_ns: at_ns / 2,
            windows: vec![WindowSample { ssthresh: None, ..window }, window],
            throughput: vec![Interval { bytes_down: bytes, bytes_up: 40 }, Interval::default()],
            packets: vec![PacketSize { wire_bytes: cwnd, down: bytes, up: 0 }],
            radio: vec![RadioStep { quiet_ns: Some(5), by_packet: true, ..step.clone() }, step],
            departures: vec![Departure { object: cwnd, first_at_ns: at_ns, last_at_ns: bytes }],
        }
    }

    proptest! {
        #[test]
        fn what_went_in_comes_out(at in any::<u64>(), cwnd in any::<u32>(), bytes in any::<u64>()) {
            let series = some(at, cwnd, bytes);
            prop_assert_eq!(decode(&encode(&series)).unwrap(), series);
        }

        #[test]
        fn no_blob_makes_it_panic(blob in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&blob);
        }
    }

    #[test]
    fn each_series_opens_by_its_name() {
        let blob = encode(&some(9, 10, 11));
        let packets = part(Some(&blob), "packets").unwrap();
        assert_eq!(packets, r#"[{"wire_bytes":10,"down":11,"up":0}]"#);
        assert_eq!(part(None, "radio").unwrap(), "[]");
        assert!(part(None, "cwnd").unwrap_err().to_string().contains("`cwnd`"));
        assert!(decode(&blob[..blob.len() / 2]).is_err());
    }
}
