#![no_main]

// Any text is refused with a place, or runs to an answer.
use farlink_script::PacketScript;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(script) = PacketScript::parse("fuzz.pkt", text) {
        let _ = script.run();
    }
});
