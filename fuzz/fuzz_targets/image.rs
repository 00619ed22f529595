#![no_main]
//! Images that the proxy encodes again.

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some(webp) = farlink_proxy::images::smaller(input, 60) {
        assert!(webp.len() < input.len());
        assert!(webp.starts_with(b"RIFF"));
    }
});
