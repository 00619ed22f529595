//! Numbers for people.

/// U+202F, the narrow no-break space that separates thousands and units.
const NARROW: char = '\u{202f}';

/// A whole number with separated thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(NARROW);
        }
        text.push(digit);
    }
    text
}

/// Milliseconds: whole from 100 on, else to four significant digits.
pub fn ms(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => grouped(value.round().max(0.0) as u64),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A count, possibly fractional as a median between two.
pub fn count(value: f64) -> String {
    match value.fract() == 0.0 {
        true => grouped(value.max(0.0) as u64),
        false => format!("{value:.1}"),
    }
}

/// A ratio to the floor.
pub fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// A number without trailing zeros: a value of an axis.
pub fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_can_read_them() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(999), "999");
        assert_eq!(
            (ms(1234.5), ms(99.94), ms(1.234)),
            ("1\u{202f}235".into(), "99.9".into(), "1.23".into())
        );
        assert_eq!((count(6.0), count(6.5)), ("6".into(), "6.5".into()));
        assert_eq!(plain(0.1 + 0.2), "0.3");
    }
}
