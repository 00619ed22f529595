//! Meaningless bytes that pad a file to its size.

/// Appends `bytes` letters that compress badly and are reproducible.
pub(super) fn filler(text: &mut Vec<u8>, bytes: usize) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    // Knuth's multiplier (TAOCP 3.3.4); the top bits of a linear congruence are random enough here.
    let mut state = text.len() as u64;
    text.extend((0..bytes).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        LETTERS[(state >> 58) as usize]
    }));
}

/// Appends a comment between `open` and `close` up to `bytes` in all, or spaces if none fits.
pub(super) fn comment(text: &mut Vec<u8>, bytes: usize, open: &str, close: &str) {
    let missing = bytes.saturating_sub(text.len());
    match missing.checked_sub(open.len() + close.len()) {
        Some(inside) => {
            text.extend_from_slice(open.as_bytes());
            filler(text, inside);
            text.extend_from_slice(close.as_bytes());
        }
        None => text.resize(text.len() + missing, b' '),
    }
}

/// Code of CSS or JavaScript, which share a comment syntax, padded to `bytes`.
pub(super) fn commented(code: String, bytes: u64) -> Vec<u8> {
    let mut text = code.into_bytes();
    comment(&mut text, bytes as usize, "/*", "*/");
    text
}

/// A JSON text of exactly `bytes`: a string, or a digit if not even the quotes fit.
pub(super) fn json(bytes: u64) -> Vec<u8> {
    let Some(inside) = (bytes as usize).checked_sub(2) else {
        return vec![b'0'; bytes as usize];
    };
    let mut text = vec![b'"'];
    filler(&mut text, inside);
    text.push(b'"');
    text
}

/// A body of filler alone.
pub(super) fn opaque(bytes: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(bytes as usize);
    filler(&mut body, bytes as usize);
    body
}
