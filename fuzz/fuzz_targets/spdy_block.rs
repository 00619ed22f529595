#![no_main]

#[path = "../../crates/spdy/tests/checks/block.rs"]
mod block;

libfuzzer_sys::fuzz_target!(|input: &[u8]| block::check_block(input));
