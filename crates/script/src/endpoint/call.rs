//! Calls of the application: `connect`, `write 1000`, `read`, `close`, `abort`, `lowat 16384`.

use std::fmt;

use tcp::Connection;
use units::Time;

use crate::cursor::Cursor;
use crate::problem::{Problem, suggestion};

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Connect,
    /// Writes `bytes` bytes, of which `taken` must be accepted.
    Write {
        bytes: usize,
        taken: usize,
    },
    /// Reads at most `most` bytes; `found` bytes must be available.
    Read {
        most: usize,
        found: Option<usize>,
    },
    Close,
    Abort,
    Lowat {
        bytes: u64,
    },
}

const CALLS: [&str; 6] = ["connect", "write", "read", "close", "abort", "lowat"];
/// More than any script needs; it is allocated.
const MOST_BYTES: u64 = 64 << 20;

impl Call {
    /// True if a line that begins with this word is a call.
    pub(crate) fn is_named(word: &str) -> bool {
        CALLS.contains(&word)
    }

    pub(crate) const NAMES: [&str; 6] = CALLS;

    pub(crate) fn parse(cursor: &mut Cursor<'_>, mss: u32) -> Result<Call, Problem> {
        let from = cursor.mark();
        match cursor.word() {
            "connect" => Ok(Call::Connect),
            "write" => {
                let bytes = amount(cursor, mss)?;
                let taken = result(cursor, mss)?.unwrap_or(bytes);
                Ok(Call::Write { bytes, taken })
            }
            "read" => {
                let limited = cursor.peek().is_some_and(|c| c.is_ascii_digit());
                let most = if limited { amount(cursor, mss)? } else { MOST_BYTES as usize };
                Ok(Call::Read { most, found: result(cursor, mss)? })
            }
            "close" => Ok(Call::Close),
            "abort" => Ok(Call::Abort),
            "lowat" => Ok(Call::Lowat { bytes: amount(cursor, mss)? as u64 }),
            other => {
                let message = format!("`{other}` is no call");
                Err(Problem::new(cursor.since(from), message).label(suggestion(other, CALLS)))
            }
        }
    }

    /// Makes any call except `connect`.
    pub(crate) fn make(self, now: Time, connection: &mut Connection) -> Result<(), String> {
        match self {
            Call::Connect => {}
            Call::Write { bytes, taken } => {
                let n = connection.write(now, &vec![0; bytes]);
                if n != taken {
                    return Err(format!("{n} bytes were taken, not {taken}"));
                }
            }
            Call::Read { most, found } => {
                let n = read(now, connection, most);
                if found.is_some_and(|found| found != n) {
                    return Err(format!("there were {n} bytes to read"));
                }
            }
            Call::Close => connection.close(now),
            Call::Abort => connection.abort(now),
            Call::Lowat { bytes } => connection.set_notsent_lowat(bytes),
        }
        Ok(())
    }
}

fn read(now: Time, connection: &mut Connection, most: usize) -> usize {
    let mut total = 0;
    while total < most
        && let Some(bytes) = connection.read_bytes(now, most - total)
    {
        total += bytes.len();
    }
    total
}

/// `1000`, or `10 segs`: full segments.
fn amount(cursor: &mut Cursor<'_>, mss: u32) -> Result<usize, Problem> {
    let from = cursor.mark();
    let number = cursor.number("a number of bytes")?;
    let each = if cursor.eat_word("segs") || cursor.eat_word("seg") { mss } else { 1 };
    number
        .checked_mul(u64::from(each))
        .filter(|bytes| *bytes <= MOST_BYTES)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| {
            Problem::new(cursor.since(from), format!("a call moves at most {MOST_BYTES} bytes"))
        })
}

fn result(cursor: &mut Cursor<'_>, mss: u32) -> Result<Option<usize>, Problem> {
    cursor.eat("=").then(|| amount(cursor, mss)).transpose()
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Connect => f.write_str("connect"),
            Call::Write { bytes, taken } if bytes == taken => write!(f, "write {bytes}"),
            Call::Write { bytes, taken } => write!(f, "write {bytes} = {taken}"),
            Call::Read { found: None, .. } => f.write_str("read"),
            Call::Read { found: Some(found), .. } => write!(f, "read = {found}"),
            Call::Close => f.write_str("close"),
            Call::Abort => f.write_str("abort"),
            Call::Lowat { bytes } => write!(f, "lowat {bytes}"),
        }
    }
}
