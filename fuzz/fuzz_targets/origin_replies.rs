#![no_main]

// As the proxy's tests call it.
extern crate farlink_http as http_stack;

#[path = "../../crates/proxy/tests/origins/check.rs"]
mod check;
#[path = "../../crates/proxy/tests/origins/town.rs"]
#[allow(dead_code)]
mod town;

libfuzzer_sys::fuzz_target!(|input: &[u8]| check::check_replies(input));
