//! Checks of an endpoint's state: `cwnd=10`, `rto>=200ms`, `ca_state=Recovery`.

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use tcp::Connection;

use crate::cursor::Cursor;
use crate::problem::{Problem, suggestion};
use crate::when::span;

/// One comparison.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    quantity: &'static Quantity,
    relation: Relation,
    wanted: Value,
}

/// A quantity to check.
struct Quantity {
    name: &'static str,
    kind: Kind,
    meaning: &'static str,
    read: fn(&Connection) -> Value,
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    Span,
    Word,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Count(u64),
    Span(Duration),
    Word(String),
}

impl Value {
    fn count(n: impl Into<u64>) -> Value {
        Value::Count(n.into())
    }

    fn none() -> Value {
        Value::Word("none".to_owned())
    }

    fn optional<T>(value: Option<T>, read: impl Fn(T) -> Value) -> Value {
        value.map_or_else(Value::none, read)
    }

    fn yes(fact: bool) -> Value {
        Value::Word(if fact { "yes" } else { "no" }.to_owned())
    }

    fn word(value: impl fmt::Debug) -> Value {
        Value::Word(format!("{value:?}"))
    }

    /// Numbers of one kind are ordered; words are equal or not.
    fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Count(a), Value::Count(b)) => Some(a.cmp(b)),
            (Value::Span(a), Value::Span(b)) => Some(a.cmp(b)),
            _ => (self == other).then_some(Ordering::Equal),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(n) => write!(f, "{n}"),
            Value::Span(span) => write!(f, "{span:?}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

const fn quantity(
    name: &'static str,
    kind: Kind,
    meaning: &'static str,
    read: fn(&Connection) -> Value,
) -> Quantity {
    Quantity { name, kind, meaning, read }
}

/// All quantities. Names are those of [`tcp::Stats`] and of `struct tcp_info`.
static QUANTITIES: [Quantity; 27] = [
    quantity("cwnd", Kind::Count, "congestion window, segments", |c| Value::count(c.stats().cwnd)),
    quantity(
        "ssthresh",
        Kind::Count,
        "slow start threshold, segments; `none` before the first congestion",
        |c| Value::optional(c.stats().ssthresh, Value::count),
    ),
    quantity("in_flight", Kind::Count, "segments believed in the network", |c| {
        Value::count(c.stats().in_flight)
    }),
    quantity("srtt", Kind::Span, "smoothed round trip; `none` before the first sample", |c| {
        Value::optional(c.stats().srtt, Value::Span)
    }),
    quantity("rttvar", Kind::Span, "variance term of the timeout", |c| {
        Value::Span(c.stats().rttvar)
    }),
    quantity("min_rtt", Kind::Span, "smallest round trip of late", |c| {
        Value::optional(c.stats().min_rtt, Value::Span)
    }),
    quantity(
        "rcv_rtt",
        Kind::Span,
        "round trip as the receiving half knows it; `none` before it does",
        |c| Value::optional(c.rcv_rtt(), Value::Span),
    ),
    quantity("rto", Kind::Span, "retransmission timeout, back-off included", |c| {
        Value::Span(c.stats().rto)
    }),
    quantity("ca_state", Kind::Word, "`Open`, `Disorder`, `Cwr`, `Recovery` or `Loss`", |c| {
        Value::word(c.stats().congestion_state)
    }),
    quantity("state", Kind::Word, "state of the connection: `Established`, `FinWait1`, ...", |c| {
        Value::word(c.state())
    }),
    quantity("error", Kind::Word, "`none`, `Refused`, `Reset`, `TimedOut` or `Aborted`", |c| {
        Value::optional(c.error(), Value::word)
    }),
    quantity("closed", Kind::Word, "`yes` once it is over", |c| Value::yes(c.is_closed())),
    quantity("readable", Kind::Word, "`yes` if a read would tell something", |c| {
        Value::yes(c.is_readable())
    }),
    quantity("writable", Kind::Word, "`yes` if a writer should be woken", |c| {
        Value::yes(c.is_writable())
    }),
    quantity("eof", Kind::Word, "`yes` once the peer has finished and all is read", |c| {
        Value::yes(c.at_eof())
    }),
    quantity("timeouts", Kind::Count, "expiries of the retransmission timer", |c| {
        Value::count(c.stats().timeouts)
    }),
    quantity("retransmitted", Kind::Count, "segments sent again", |c| {
        Value::count(c.stats().retransmitted_segments)
    }),
    quantity("undone", Kind::Count, "window reductions taken back", |c| {
        Value::count(c.stats().undone_reductions)
    }),
    quantity("sent_bytes", Kind::Count, "payload sent, each byte once", |c| {
        Value::count(c.stats().bytes_sent)
    }),
    quantity("received_bytes", Kind::Count, "payload received in order", |c| {
        Value::count(c.stats().bytes_received)
    }),
    quantity("unacked_bytes", Kind::Count, "written and not acknowledged", |c| {
        Value::count(c.stats().unacknowledged_bytes)
    }),
    quantity("unsent_bytes", Kind::Count, "written and not sent", |c| {
        Value::count(c.stats().unsent_bytes)
    }),
    quantity("peer_window", Kind::Count, "the peer's window, bytes", |c| {
        Value::count(c.stats().peer_window_bytes)
    }),
    quantity("segments_sent", Kind::Count, "segments of any kind", |c| {
        Value::count(c.stats().segments_sent)
    }),
    quantity("busy", Kind::Span, "time with data to send or in flight", |c| {
        Value::Span(c.stats().busy)
    }),
    quantity("rwnd_limited", Kind::Span, "of that, held back by the peer's window", |c| {
        Value::Span(c.stats().rwnd_limited)
    }),
    quantity("sndbuf_limited", Kind::Span, "of that, held back by the send buffer", |c| {
        Value::Span(c.stats().sndbuf_limited)
    }),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Longer ones first, so that `<=` is not read as `<`.
const RELATIONS: [(&str, Relation); 6] = [
    ("!=", Relation::Unequal),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl Relation {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Relation, Problem> {
        match RELATIONS.iter().find(|(sign, _)| cursor.eat(sign)) {
            Some((_, relation)) => Ok(*relation),
            None => Err(cursor.unexpected("one of = != < <= > >=")),
        }
    }

    fn sign(self) -> &'static str {
        RELATIONS.iter().find(|(_, relation)| *relation == self).map_or("?", |(sign, _)| sign)
    }

    /// True if it holds for values in this order; unordered values are merely unequal.
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Relation::Equal => order == Some(Ordering::Equal),
            Relation::Unequal => order != Some(Ordering::Equal),
            Relation::Less => order == Some(Ordering::Less),
            Relation::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Relation::Greater => order == Some(Ordering::Greater),
            Relation::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

impl Condition {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Condition, Problem> {
        let from = cursor.mark();
        let name = cursor.word();
        let Some(quantity) = QUANTITIES.iter().find(|quantity| quantity.name == name) else {
            if name.is_empty() {
                return Err(cursor.unexpected("what to compare, for example `cwnd=10`"));
            }
            let names = QUANTITIES.iter().map(|quantity| quantity.name);
            let message = format!("an endpoint has no `{name}`");
            return Err(Problem::new(cursor.since(from), message).label(suggestion(name, names)));
        };
        let relation = Relation::parse(cursor)?;
        let wanted = if cursor.peek().is_some_and(char::is_alphabetic) {
            Value::Word(cursor.word().to_owned())
        } else {
            match quantity.kind {
                Kind::Count => Value::Count(cursor.number(quantity.name)?),
                Kind::Span => Value::Span(span(cursor)?),
                Kind::Word => return Err(cursor.unexpected("a word")),
            }
        };
        Ok(Condition { quantity, relation, wanted })
    }

    pub(crate) fn check(&self, connection: &Connection) -> Result<(), String> {
        let found = (self.quantity.read)(connection);
        if self.relation.holds(found.compare(&self.wanted)) {
            return Ok(());
        }
        Err(format!("expected {self}, but it is {found}"))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.quantity.name, self.relation.sign(), self.wanted)
    }
}

/// All quantities: name and meaning.
pub(crate) fn quantities() -> impl Iterator<Item = (&'static str, &'static str)> {
    QUANTITIES.iter().map(|quantity| (quantity.name, quantity.meaning))
}
