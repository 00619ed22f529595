//! RFC 9218's urgency of a response: the `priority` field and the payload of PRIORITY_UPDATE.

use std::fmt;

/// The urgency of a response, and whether it is incremental.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgency {
    /// 0, the most urgent, to 7 (section 4.1).
    pub level: u8,
    /// True if it may share the connection with others of its level (section 4.2).
    pub is_incremental: bool,
}

/// The default (section 4).
impl Default for Urgency {
    fn default() -> Urgency {
        Urgency { level: 3, is_incremental: false }
    }
}

impl Urgency {
    /// The lowest urgency.
    pub const LEAST: u8 = 7;

    /// Parses a field's value. Unknown parts are ignored (section 4). Of RFC 8941's dictionaries only the syntax of
    /// these two parameters is supported: integers and booleans, parameters skipped.
    pub fn parse(value: &[u8]) -> Urgency {
        let mut urgency = Urgency::default();
        for member in value.split(|byte| *byte == b',') {
            let member = member.split(|byte| *byte == b';').next().unwrap_or_default();
            match member.trim_ascii() {
                [b'u', b'=', level @ b'0'..=b'7'] => urgency.level = level - b'0',
                b"i" | b"i=?1" => urgency.is_incremental = true,
                b"i=?0" => urgency.is_incremental = false,
                _ => {}
            }
        }
        urgency
    }
}

/// The field's value, without defaults: possibly empty.
impl fmt::Display for Urgency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.level == Urgency::default().level, self.is_incremental) {
            (true, false) => Ok(()),
            (true, true) => f.write_str("i"),
            (false, false) => write!(f, "u={}", self.level),
            (false, true) => write!(f, "u={}, i", self.level),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_reads_back(level in 0..=Urgency::LEAST, is_incremental: bool) {
            let urgency = Urgency { level, is_incremental };
            prop_assert_eq!(Urgency::parse(urgency.to_string().as_bytes()), urgency);
        }

        #[test]
        fn any_bytes_are_some_urgency(value: Vec<u8>) {
            prop_assert!(Urgency::parse(&value).level <= Urgency::LEAST);
        }
    }

    #[test]
    fn what_is_not_understood_counts_as_not_said() {
        let read = |text: &str| Urgency::parse(text.as_bytes()).to_string();
        assert_eq!(read("u=8, i=?1;x=2"), "i");
        assert_eq!(read(" i ,u=0;y"), "u=0, i");
        assert_eq!(read("u=2.0, u, i=1"), "");
    }
}
