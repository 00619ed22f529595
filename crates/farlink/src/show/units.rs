//! Spans and sizes for people.

/// `ns` as seconds or milliseconds with three figures.
pub fn span(ns: u64) -> String {
    span_f64(ns as f64)
}

/// The same for a statistic of spans.
pub use report::answer::span as span_f64;

/// Bytes in KB or MB (powers of 1000).
pub fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e6 => format!("{:.2} MB", n / 1e6),
        n if n >= 1e3 => format!("{:.0} KB", n / 1e3),
        n => format!("{n:.0} B"),
    }
}

/// `1 host`, `7 hosts`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_or_so() {
        assert_eq!(span(2_345_678_901), "2.35 s");
        assert_eq!(span(234_567_890), "235 ms");
        assert_eq!(span(23_456_789), "23.5 ms");
        assert_eq!(bytes(1_234_567.0), "1.23 MB");
    }
}
