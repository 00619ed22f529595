//! References in texts without a grammar: pieces between quotes, brackets and blanks.

use url::Url;

use super::{Mention, Requested};

/// Maximum length of URLs that are requested by a literal.
const LONGEST: usize = 2048;

/// Requested addresses that `text` spells, relative to the first of `bases` that yields one.
pub(super) fn mentions(
    text: &str,
    bases: &[&Url],
    requested: &Requested<'_>,
    is_followed: bool,
) -> Vec<(String, Mention)> {
    let mut found = Vec::new();
    for piece in text.split(is_separator) {
        if piece.is_empty() || piece.len() > LONGEST || !piece.contains(['/', '.']) {
            continue;
        }
        let link = unescaped(piece);
        if let Some(address) = bases.iter().find_map(|base| requested.find(base, &link)) {
            // A piece lies within the text that it was split from.
            let at = piece.as_ptr() as usize - text.as_ptr() as usize + piece.len();
            found.push((address, Mention { at, of: text.len(), is_followed, blocks: false }));
        }
    }
    found
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '<' | '>')
}

/// Undoes escapes: JSON and JavaScript may write a slash as `\/` and an ampersand as `\u0026`.
fn unescaped(piece: &str) -> String {
    piece.replace("\\u0026", "&").replace("\\u002F", "/").replace('\\', "")
}
