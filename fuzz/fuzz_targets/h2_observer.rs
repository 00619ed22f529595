#![no_main]

use farlink_http::h2::frame::{FrameHead, Frames};

/// The frames found in `pieces`.
fn found<'a>(mut frames: Frames, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<FrameHead> {
    let mut found = Vec::new();
    for piece in pieces {
        frames.feed(piece, |frame| found.push(frame));
    }
    found
}

// The first byte says how the rest is cut: no cut may change what is found.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    let size = usize::from(*size).max(1);
    for frames in [Frames::of_client(), Frames::of_server()] {
        let whole = found(frames.clone(), std::iter::once(bytes));
        assert_eq!(found(frames, bytes.chunks(size)), whole);
        let on_wire: u64 = whole.iter().map(FrameHead::wire_bytes).sum();
        assert!(on_wire <= bytes.len() as u64);
    }
});
