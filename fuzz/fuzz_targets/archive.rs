#![no_main]
//! Recordings of every kind, the messages in them, and the search for their requests.

use farlink_archive::matching::{AskedRequest, RecordedRequests};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Ok(archived) = farlink_archive::read(input) {
        // What was read can be written, and is read back.
        let mut file = std::io::Cursor::new(Vec::new());
        farlink_archive::wacz::write(&archived.loads, "fuzz", &mut file).expect("memory is enough");
        farlink_archive::read(file.get_ref()).expect("our own archive is whole");
        let load = archived.merged();
        let mut requests = RecordedRequests::of(&load.exchanges);
        for request in load.exchanges.iter().map(|exchange| &exchange.request) {
            let (method, url, body) = (&request.method, &request.url, &request.body);
            requests.find(AskedRequest { method, url, range: None, body });
        }
    }
});
