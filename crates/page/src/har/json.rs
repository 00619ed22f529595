//! Lenient access to JSON: a number may be a string, a field may be missing or null.

use serde_json::Value;

/// The field `name` of an object; `Null` if absent.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    value.get(name).unwrap_or(&NULL)
}

/// A number, or a string that holds one.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => s.trim().parse().ok(),
        _ => None,
    }
    .filter(|n| n.is_finite())
}

/// A count of bytes: a number of 0 or more. Tools write -1 for "not known".
pub(super) fn bytes(value: &Value) -> Option<u64> {
    // Beyond 2^53 a JSON number is not a plausible count.
    number(value).filter(|n| (0.0..9.007e15).contains(n)).map(|n| n.round() as u64)
}

/// A non-empty string.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|s| !s.is_empty())
}

/// `true`, `"true"` or a 1.
pub(super) fn truth(value: &Value) -> bool {
    match value {
        Value::Bool(b) => *b,
        Value::String(s) => matches!(s.as_str(), "true" | "1"),
        other => number(other) == Some(1.0),
    }
}
