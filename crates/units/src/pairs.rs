//! Reader of `key=value` lists: `rtt=100ms,loss=1%`, `linux-6,iw=32`.
//!
//! The single parser of such lists, so that blanks, empty items and repeated keys are treated alike everywhere.

use thiserror::Error;

/// One item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValue<'a> {
    /// Text before the first `=`, or the whole item.
    pub key: &'a str,
    /// Text after it; `None` without a `=`.
    pub value: Option<&'a str>,
}

/// A key that occurs twice in a list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{key}` is set twice")]
pub struct DuplicateKeyError {
    /// The key.
    pub key: String,
}

/// The items of `text` between commas, without surrounding blanks. Empty items are left out.
pub fn pairs(text: &str) -> Result<Vec<KeyValue<'_>>, DuplicateKeyError> {
    separated(text, ',')
}

/// The items of `text` between `separator`s.
pub fn separated(text: &str, separator: char) -> Result<Vec<KeyValue<'_>>, DuplicateKeyError> {
    let mut items: Vec<KeyValue<'_>> = Vec::new();
    for item in text.split(separator).map(str::trim).filter(|item| !item.is_empty()) {
        let pair = match item.split_once('=') {
            Some((key, value)) => KeyValue { key: key.trim(), value: Some(value.trim()) },
            None => KeyValue { key: item, value: None },
        };
        if items.iter().any(|known| known.key == pair.key) {
            return Err(DuplicateKeyError { key: pair.key.to_owned() });
        }
        items.push(pair);
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_trimmed_and_split_at_the_first_sign() {
        let pair = |key, value| KeyValue { key, value };
        assert_eq!(
            pairs(" linux-6 , iw = 32,,a=b=c,").unwrap(),
            [pair("linux-6", None), pair("iw", Some("32")), pair("a", Some("b=c"))]
        );
        assert_eq!(pairs(" ").unwrap(), []);
        assert_eq!(separated("shard=2~inline", '~').unwrap().len(), 2);
    }

    #[test]
    fn a_key_stands_once() {
        let message = |text| pairs(text).unwrap_err().to_string();
        assert_eq!(message("rtt=1ms,rtt=2ms"), "`rtt` is set twice");
        assert_eq!(message("css, css"), "`css` is set twice");
    }
}
