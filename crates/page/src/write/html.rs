//! A document of an exact size whose references end at exact bytes.

use super::files::filler;
use crate::Kind;

/// The icon keeps a browser from asking for `/favicon.ico`, which is not part of the page.
const OPENING: &str = "<!doctype html><link rel=icon href=data:,><body>";

/// A document of `bytes` bytes (more, if the tags need it). Each of `references` is a link, its kind
/// and the number of bytes that are to end with its tag.
pub(super) fn document(bytes: u64, references: &[(u64, String, Kind)]) -> Vec<u8> {
    let mut text = OPENING.as_bytes().to_vec();
    if references
        .iter()
        .any(|(at, link, kind)| (*at as usize) < OPENING.len() + tag(link, *kind).len())
    {
        // No room for an opening before the first reference: HTML needs none (HTML standard,
        // section 13.1.2.4, optional tags).
        text.clear();
    }
    for (at, link, kind) in references {
        let tag = tag(link, *kind);
        let at = (*at).min(bytes) as usize;
        pad(&mut text, at.saturating_sub(tag.len()));
        text.extend_from_slice(tag.as_bytes());
    }
    pad(&mut text, bytes as usize);
    text
}

/// Fills up to `bytes` with a comment, or with spaces where none fits.
fn pad(text: &mut Vec<u8>, bytes: usize) {
    const COMMENT: (&[u8], &[u8]) = (b"<!--", b"-->");
    let missing = bytes.saturating_sub(text.len());
    match missing.checked_sub(COMMENT.0.len() + COMMENT.1.len()) {
        Some(inside) => {
            text.extend_from_slice(COMMENT.0);
            filler(text, inside);
            text.extend_from_slice(COMMENT.1);
        }
        None => text.resize(text.len() + missing, b' '),
    }
}

/// The element that makes a browser request `link` as what it is.
fn tag(link: &str, kind: Kind) -> String {
    match kind {
        Kind::Image => format!("<img src=\"{link}\">"),
        Kind::Stylesheet => format!("<link rel=stylesheet href=\"{link}\">"),
        Kind::Script => format!("<script src=\"{link}\"></script>"),
        Kind::Document => format!("<iframe src=\"{link}\"></iframe>"),
        Kind::Font => format!("<link rel=preload as=font crossorigin href=\"{link}\">"),
        Kind::Media => format!("<audio preload=auto src=\"{link}\"></audio>"),
        Kind::Data | Kind::Other | Kind::Redirect => {
            format!("<script>fetch(\"{link}\",{{mode:\"no-cors\"}})</script>")
        }
    }
}
