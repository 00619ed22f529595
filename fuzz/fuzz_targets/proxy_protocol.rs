#![no_main]
//! Headers of the PROXY protocol: what follows one stays, and changes nothing.

use farlink_proxy::serve::proxy_protocol::read;

/// Runs a future that never waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("a slice never waits"),
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut left = input;
    let Ok(client) = at_once(read(&mut left)) else { return };
    let header = &input[..input.len() - left.len()];
    let longer = [header, b"GET / HTTP/1.1\r\n"].concat();
    let mut left = &longer[..];
    assert_eq!(at_once(read(&mut left)).ok(), Some(client));
    assert_eq!(left, b"GET / HTTP/1.1\r\n");
});
