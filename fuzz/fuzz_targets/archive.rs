#![no_main]
//! Web archives, and the messages in their records.

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Ok(archived) = farlink_archive::parse(input) {
        // What was read can be written, and is read back.
        let mut file = std::io::Cursor::new(Vec::new());
        farlink_archive::wacz::write(&archived.load, "fuzz", &mut file).expect("memory is enough");
        farlink_archive::parse(file.get_ref()).expect("our own archive is whole");
    }
});
