#![no_main]

use farlink_wire::DecodedPacket;

// Any bytes are a packet or an error; a packet that was read is written and read again as the same.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let summed = DecodedPacket::parse(input);
    let Ok(packet) = DecodedPacket::parse_unsummed(input) else {
        assert!(summed.is_err());
        return;
    };
    assert!(summed.is_err() || summed.as_ref() == Ok(&packet));
    if let Ok(bytes) = packet.encode() {
        assert_eq!(DecodedPacket::parse(&bytes), Ok(packet));
    }
});
