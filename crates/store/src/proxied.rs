//! The events at a proxy - the fate of each request there, the connections it opened - as one blob per visit, and
//! the SQL function that reads it.
//!
//! They outnumber all other events together, and are rarely queried. Instants, sequence numbers and objects are
//! stored as differences from the previous row that has one.

use record::{EventKind, TcpEvent};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use serde::{Deserialize, Serialize};

use super::{StoreError, packed, read};

const VERSION: u8 = 1;
const WHAT: &str = "events at the proxy";

/// An event with its position among all of its visit's.
pub type NumberedEvent = (u64, TcpEvent);

/// Version 1, by column.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventColumns {
    sequence_step: Vec<u64>,
    at_step_ns: Vec<u64>,
    kind: Vec<String>,
    object_step: Vec<Option<u32>>,
    connection: Vec<Option<u32>>,
    detail: Vec<String>,
}

/// One row as seen by SQL.
#[derive(Serialize)]
struct FlatEvent<'a> {
    sequence: u64,
    at_ns: u64,
    kind: &'static str,
    object: Option<u32>,
    connection: Option<u32>,
    detail: &'a str,
}

/// Returns true if an event is stored in the blob rather than in the table.
pub fn is_packed(event: &TcpEvent) -> bool {
    matches!(event.kind, EventKind::Proxied | EventKind::Upstream)
}

/// The blob of a visit's packed events, if there are any.
pub fn encode(events: &[TcpEvent]) -> Option<Vec<u8>> {
    let mut columns = EventColumns::default();
    for (sequence, event) in (0..).zip(events).filter(|(_, event)| is_packed(event)) {
        columns.sequence_step.push(sequence);
        columns.at_step_ns.push(event.at_ns);
        columns.kind.push(event.kind.name().to_owned());
        columns.object_step.push(event.object);
        columns.connection.push(event.connection);
        columns.detail.push(event.detail.clone());
    }
    packed::to_steps(&mut columns.sequence_step);
    packed::to_steps(&mut columns.at_step_ns);
    packed::to_steps(columns.object_step.iter_mut().flatten());
    (!columns.kind.is_empty()).then(|| packed::pack(VERSION, &columns))
}

/// The events of a blob.
pub fn decode(blob: &[u8]) -> Result<Vec<NumberedEvent>, StoreError> {
    let columns: EventColumns = packed::unpack(blob, VERSION, WHAT)?;
    let EventColumns {
        mut sequence_step,
        mut at_step_ns,
        kind,
        mut object_step,
        connection,
        detail,
    } = columns;
    let lengths = [at_step_ns.len(), kind.len(), object_step.len(), connection.len(), detail.len()];
    if lengths.iter().any(|length| *length != sequence_step.len()) {
        return Err(packed::damaged(WHAT, "columns of different lengths".to_owned()));
    }
    packed::from_steps(&mut sequence_step);
    packed::from_steps(&mut at_step_ns);
    packed::from_steps(object_step.iter_mut().flatten());
    let places = sequence_step.into_iter().zip(at_step_ns);
    let rest = kind.into_iter().zip(object_step).zip(connection).zip(detail);
    let placed =
        places.zip(rest).map(|((sequence, at_ns), (((kind, object), connection), detail))| {
            let kind = read::known_kind(&kind)?;
            Ok((sequence, TcpEvent { at_ns, kind, object, connection, detail }))
        });
    placed.collect()
}

fn to_json(blob: Option<&[u8]>) -> Result<String, StoreError> {
    let placed = blob.map_or_else(|| Ok(Vec::new()), decode)?;
    let rows: Vec<FlatEvent<'_>> = placed.iter().map(flat).collect();
    Ok(serde_json::to_string(&rows).expect("numbers and strings serialise"))
}

fn flat((sequence, event): &NumberedEvent) -> FlatEvent<'_> {
    let TcpEvent { at_ns, kind, object, connection, detail } = event;
    FlatEvent {
        sequence: *sequence,
        at_ns: *at_ns,
        kind: kind.name(),
        object: *object,
        connection: *connection,
        detail,
    }
}

/// Registers `proxy_events_json(blob)` as an SQL function of this connection.
pub fn register(connection: &Connection) -> Result<(), rusqlite::Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("proxy_events_json", 1, flags, |context| {
        let blob: Option<Vec<u8>> = context.get(0)?;
        to_json(blob.as_deref()).map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ns: u64, kind: EventKind, object: Option<u32>) -> TcpEvent {
        TcpEvent { at_ns, kind, object, connection: None, detail: format!("at {at_ns}") }
    }

    #[test]
    fn what_went_in_comes_out_in_its_place() {
        use EventKind::{Load, Proxied, Start, Upstream};
        let events = [
            event(5, Start, None),
            event(7, Upstream, None),
            event(7, Proxied, Some(0)),
            event(u64::MAX, Load, None),
            event(u64::MAX, Proxied, Some(3)),
        ];
        let blob = encode(&events).unwrap();
        let expected = [1, 2, 4].map(|place: u64| (place, events[place as usize].clone()));
        assert_eq!(decode(&blob).unwrap(), expected);
        let json = to_json(Some(&blob)).unwrap();
        assert!(json.starts_with(r#"[{"sequence":1,"at_ns":7,"kind":"upstream","object":null,"#));
        assert_eq!(encode(&events[..1]), None);
        assert_eq!(to_json(None).unwrap(), "[]");
    }

    #[test]
    fn damage_is_named() {
        let blob = encode(&[event(7, EventKind::Proxied, None)]).unwrap();
        assert!(decode(&[]).unwrap_err().to_string().contains("events at the proxy: no bytes"));
        assert!(decode(&[7, 0]).unwrap_err().to_string().contains("version 7"));
        assert!(decode(&blob[..blob.len() / 2]).is_err());
        let uneven = EventColumns { kind: vec!["proxied".to_owned()], ..EventColumns::default() };
        let error = decode(&packed::pack(VERSION, &uneven)).unwrap_err();
        assert!(error.to_string().contains("different lengths"), "{error}");
    }
}
