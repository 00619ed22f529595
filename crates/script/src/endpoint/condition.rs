//! Checks of an endpoint's state: `cwnd=10`, `rto>=200ms`, `ca_state=Recovery`.

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use tcp::Connection;

use crate::cursor::Cursor;
use crate::problem::{ScriptProblem, suggestion};
use crate::when::span;

/// One comparison.
#[derive(Debug, Clone)]
pub(crate) struct FieldCondition {
    quantity: &'static ConditionField,
    relation: Relation,
    wanted: QuantityValue,
}

/// A quantity to check.
struct ConditionField {
    name: &'static str,
    kind: QuantityKind,
    meaning: &'static str,
    read: fn(&Connection) -> QuantityValue,
}

impl fmt::Debug for ConditionField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuantityKind {
    Count,
    Span,
    Word,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum QuantityValue {
    Count(u64),
    Span(Duration),
    Word(String),
}

impl QuantityValue {
    fn count(n: impl Into<u64>) -> QuantityValue {
        QuantityValue::Count(n.into())
    }

    fn none() -> QuantityValue {
        QuantityValue::Word("none".to_owned())
    }

    fn optional<T>(value: Option<T>, read: impl Fn(T) -> QuantityValue) -> QuantityValue {
        value.map_or_else(QuantityValue::none, read)
    }

    fn yes(fact: bool) -> QuantityValue {
        QuantityValue::Word(if fact { "yes" } else { "no" }.to_owned())
    }

    fn word(value: impl fmt::Debug) -> QuantityValue {
        QuantityValue::Word(format!("{value:?}"))
    }

    /// Numbers of one kind are ordered; words are equal or not.
    fn compare(&self, other: &QuantityValue) -> Option<Ordering> {
        match (self, other) {
            (QuantityValue::Count(a), QuantityValue::Count(b)) => Some(a.cmp(b)),
            (QuantityValue::Span(a), QuantityValue::Span(b)) => Some(a.cmp(b)),
            _ => (self == other).then_some(Ordering::Equal),
        }
    }
}

impl fmt::Display for QuantityValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuantityValue::Count(n) => write!(f, "{n}"),
            QuantityValue::Span(span) => write!(f, "{span:?}"),
            QuantityValue::Word(word) => f.write_str(word),
        }
    }
}

const fn quantity(
    name: &'static str,
    kind: QuantityKind,
    meaning: &'static str,
    read: fn(&Connection) -> QuantityValue,
) -> ConditionField {
    ConditionField { name, kind, meaning, read }
}

/// All quantities. Names are those of [`tcp::Stats`] and of `struct tcp_info`.
static QUANTITIES: [ConditionField; 27] = [
    quantity("cwnd", QuantityKind::Count, "congestion window, segments", |c| {
        QuantityValue::count(c.stats().cwnd)
    }),
    quantity(
        "ssthresh",
        QuantityKind::Count,
        "slow start threshold, segments; `none` before the first congestion",
        |c| QuantityValue::optional(c.stats().ssthresh, QuantityValue::count),
    ),
    quantity("in_flight", QuantityKind::Count, "segments believed in the network", |c| {
        QuantityValue::count(c.stats().in_flight)
    }),
    quantity(
        "srtt",
        QuantityKind::Span,
        "smoothed round trip; `none` before the first sample",
        |c| QuantityValue::optional(c.stats().srtt, QuantityValue::Span),
    ),
    quantity("rttvar", QuantityKind::Span, "variance term of the timeout", |c| {
        QuantityValue::Span(c.stats().rttvar)
    }),
    quantity("min_rtt", QuantityKind::Span, "smallest round trip of late", |c| {
        QuantityValue::optional(c.stats().min_rtt, QuantityValue::Span)
    }),
    quantity(
        "rcv_rtt",
        QuantityKind::Span,
        "round trip as the receiving half knows it; `none` before it does",
        |c| QuantityValue::optional(c.rcv_rtt(), QuantityValue::Span),
    ),
    quantity("rto", QuantityKind::Span, "retransmission timeout, back-off included", |c| {
        QuantityValue::Span(c.stats().rto)
    }),
    quantity(
        "ca_state",
        QuantityKind::Word,
        "`Open`, `Disorder`, `Cwr`, `Recovery` or `Loss`",
        |c| QuantityValue::word(c.stats().congestion_state),
    ),
    quantity(
        "state",
        QuantityKind::Word,
        "state of the connection: `Established`, `FinWait1`, ...",
        |c| QuantityValue::word(c.state()),
    ),
    quantity(
        "error",
        QuantityKind::Word,
        "`none`, `Refused`, `Reset`, `TimedOut` or `Aborted`",
        |c| QuantityValue::optional(c.error(), QuantityValue::word),
    ),
    quantity("closed", QuantityKind::Word, "`yes` once it is over", |c| {
        QuantityValue::yes(c.is_closed())
    }),
    quantity("readable", QuantityKind::Word, "`yes` if a read would tell something", |c| {
        QuantityValue::yes(c.is_readable())
    }),
    quantity("writable", QuantityKind::Word, "`yes` if a writer should be woken", |c| {
        QuantityValue::yes(c.is_writable())
    }),
    quantity("eof", QuantityKind::Word, "`yes` once the peer has finished and all is read", |c| {
        QuantityValue::yes(c.at_eof())
    }),
    quantity("timeouts", QuantityKind::Count, "expiries of the retransmission timer", |c| {
        QuantityValue::count(c.stats().timeouts)
    }),
    quantity("retransmitted", QuantityKind::Count, "segments sent again", |c| {
        QuantityValue::count(c.stats().retransmitted_segments)
    }),
    quantity("undone", QuantityKind::Count, "window reductions taken back", |c| {
        QuantityValue::count(c.stats().undone_reductions)
    }),
    quantity("sent_bytes", QuantityKind::Count, "payload sent, each byte once", |c| {
        QuantityValue::count(c.stats().bytes_sent)
    }),
    quantity("received_bytes", QuantityKind::Count, "payload received in order", |c| {
        QuantityValue::count(c.stats().bytes_received)
    }),
    quantity("unacked_bytes", QuantityKind::Count, "written and not acknowledged", |c| {
        QuantityValue::count(c.stats().unacknowledged_bytes)
    }),
    quantity("unsent_bytes", QuantityKind::Count, "written and not sent", |c| {
        QuantityValue::count(c.stats().unsent_bytes)
    }),
    quantity("peer_window", QuantityKind::Count, "the peer's window, bytes", |c| {
        QuantityValue::count(c.stats().peer_window_bytes)
    }),
    quantity("segments_sent", QuantityKind::Count, "segments of any kind", |c| {
        QuantityValue::count(c.stats().segments_sent)
    }),
    quantity("busy", QuantityKind::Span, "time with data to send or in flight", |c| {
        QuantityValue::Span(c.stats().busy)
    }),
    quantity("rwnd_limited", QuantityKind::Span, "of that, held back by the peer's window", |c| {
        QuantityValue::Span(c.stats().rwnd_limited)
    }),
    quantity("sndbuf_limited", QuantityKind::Span, "of that, held back by the send buffer", |c| {
        QuantityValue::Span(c.stats().sndbuf_limited)
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
    fn parse(cursor: &mut Cursor<'_>) -> Result<Relation, ScriptProblem> {
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

impl FieldCondition {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<FieldCondition, ScriptProblem> {
        let from = cursor.mark();
        let name = cursor.word();
        let Some(quantity) = QUANTITIES.iter().find(|quantity| quantity.name == name) else {
            if name.is_empty() {
                return Err(cursor.unexpected("what to compare, for example `cwnd=10`"));
            }
            let names = QUANTITIES.iter().map(|quantity| quantity.name);
            let message = format!("unknown quantity `{name}`");
            return Err(
                ScriptProblem::new(cursor.since(from), message).label(suggestion(name, names))
            );
        };
        let relation = Relation::parse(cursor)?;
        let wanted = if cursor.peek().is_some_and(char::is_alphabetic) {
            QuantityValue::Word(cursor.word().to_owned())
        } else {
            match quantity.kind {
                QuantityKind::Count => QuantityValue::Count(cursor.number(quantity.name)?),
                QuantityKind::Span => QuantityValue::Span(span(cursor)?),
                QuantityKind::Word => return Err(cursor.unexpected("a word")),
            }
        };
        Ok(FieldCondition { quantity, relation, wanted })
    }

    pub(crate) fn check(&self, connection: &Connection) -> Result<(), String> {
        let found = (self.quantity.read)(connection);
        if self.relation.holds(found.compare(&self.wanted)) {
            return Ok(());
        }
        Err(format!("expected {self}, but it is {found}"))
    }
}

impl fmt::Display for FieldCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.quantity.name, self.relation.sign(), self.wanted)
    }
}

/// All quantities: name and meaning.
pub(crate) fn quantities() -> impl Iterator<Item = (&'static str, &'static str)> {
    QUANTITIES.iter().map(|quantity| (quantity.name, quantity.meaning))
}
