#![no_main]

#[path = "../../crates/http/tests/checks/pipelined.rs"]
mod pipelined;

libfuzzer_sys::fuzz_target!(|input: &[u8]| pipelined::check_pipeline(input));
