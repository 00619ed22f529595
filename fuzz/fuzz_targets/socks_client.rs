#![no_main]

#[path = "../../crates/http/tests/checks/socks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::check_client(input));
