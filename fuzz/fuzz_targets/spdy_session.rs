#![no_main]

#[path = "../../crates/spdy/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::check_session(input));
