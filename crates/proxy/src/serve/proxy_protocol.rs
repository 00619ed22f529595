//! The PROXY protocol, versions 1 and 2 (HAProxy, `doc/proxy-protocol.txt`): before a client's bytes a load balancer tells the client's address.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use proxy_header::{ParseConfig, ProxyHeader};
use tokio::io::{AsyncRead, AsyncReadExt};
use world::TcpStream;

/// Longest wait for the header. Load balancers send it with their first packet; section 5 recommends at least 3 s, for a retransmission.
const WAIT: Duration = Duration::from_secs(5);

/// Length of version 1's longest header (section 2.1), and of the shortest: `PROXY UNKNOWN` and a line end.
const TEXT_BYTES: usize = 107;
const LEAST_TEXT_BYTES: usize = 15;

/// Beginning of version 2's header (section 2.2).
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Longest header of version 2 that is read: addresses and a few kilobytes of extensions.
const BINARY_BYTES: usize = 4_096;

/// Length of version 2's header before the part whose length it states in its last two bytes.
const FIXED_BYTES: usize = 16;

/// Reads the header, and reports its address as the connection's peer. Health checks of the load balancer itself (`LOCAL`, `UNKNOWN`) keep
/// the real one.
///
/// # Errors
/// If the connection begins otherwise (section 2: the protocol must not be guessed), ends or times out.
pub(super) async fn receive(mut tcp: TcpStream) -> io::Result<TcpStream> {
    let client = world::timeout(WAIT, read(&mut tcp)).await;
    if let Some(client) = client.map_err(|_| io::ErrorKind::TimedOut)?? {
        tcp.report_peer(client);
    }
    Ok(tcp)
}

/// Reads the header, and none of what follows. Returns the client that it names; none if the connection is the load balancer's own.
///
/// # Errors
/// If the connection begins otherwise, or ends.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    client(&header(stream).await?)
}

/// The bytes of the header; none of what follows.
async fn header(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut header = vec![0; LEAST_TEXT_BYTES];
    stream.read_exact(&mut header).await?;
    if header.starts_with(SIGNATURE) {
        header.push(stream.read_u8().await?);
        let length = usize::from(u16::from_be_bytes([header[14], header[15]]));
        if length > BINARY_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        header.resize(FIXED_BYTES + length, 0);
        stream.read_exact(&mut header[FIXED_BYTES..]).await?;
        return Ok(header);
    }
    while !header.ends_with(b"\r\n") {
        if header.len() == TEXT_BYTES || !header.starts_with(b"PROXY ") {
            return Err(io::ErrorKind::InvalidData.into());
        }
        header.push(stream.read_u8().await?);
    }
    Ok(header)
}

fn client(header: &[u8]) -> io::Result<Option<SocketAddr>> {
    let config = ParseConfig { include_tlvs: false, allow_v1: true, allow_v2: true };
    let (read, _) = ProxyHeader::parse(header, config)
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(read.proxied_address().map(|address| address.source))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The client that `bytes` begin with, and what is left of them.
    fn read(bytes: &[u8]) -> io::Result<(Option<SocketAddr>, Vec<u8>)> {
        let mut left = bytes;
        let client = at_once(super::read(&mut left))?;
        Ok((client, left.to_vec()))
    }

    /// Runs a future that never waits.
    fn at_once<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(output) => output,
            std::task::Poll::Pending => panic!("a slice never waits"),
        }
    }

    fn address(text: &str) -> Option<SocketAddr> {
        Some(text.parse().expect("an address"))
    }

    #[test]
    fn texts_name_the_client() {
        let text = b"PROXY TCP4 192.0.2.7 203.0.113.1 56324 443\r\nGET /";
        assert_eq!(read(text).unwrap(), (address("192.0.2.7:56324"), b"GET /".to_vec()));
        let text = b"PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n";
        assert_eq!(read(text).unwrap(), (address("[2001:db8::1]:1"), Vec::new()));
        assert_eq!(read(b"PROXY UNKNOWN\r\nx").unwrap(), (None, b"x".to_vec()));
    }

    /// Section 2.2: signature, version 2 and command, family, length, addresses and ports, extensions.
    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = (rest.len() as u16).to_be_bytes();
        [b"\r\n\r\n\0\r\nQUIT\n".as_slice(), &[0x20 | command, family], &length, rest].concat()
    }

    #[test]
    fn binary_headers_name_the_client() {
        let v4 = [192, 0, 2, 7, 203, 0, 113, 1, 0xdc, 4, 1, 187];
        // An extension that is no concern of ours: PP2_TYPE_NOOP.
        let extended = [&v4[..], &[4, 0, 2, 9, 9]].concat();
        for rest in [&v4[..], &extended] {
            let sent = [binary(1, 0x11, rest), b"GET /".to_vec()].concat();
            assert_eq!(read(&sent).unwrap(), (address("192.0.2.7:56324"), b"GET /".to_vec()));
        }
        assert_eq!(read(&binary(0, 0x00, &[])).unwrap().0, None);
    }

    #[test]
    fn anything_else_is_refused() {
        let long = [b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat();
        let huge = [&binary(1, 0x11, &[])[..14], &[0xff, 0xff], &[0; 70_000]].concat();
        let others: [&[u8]; 6] = [
            b"GET / HTTP/1.1\r\nhost: a\r\n\r\n",
            b"PROXY TCP4 300.0.2.7 203.0.113.1 56324 443\r\n",
            b"PROXY",
            &long,
            &huge,
            &binary(1, 0x11, &[1, 2]),
        ];
        for bytes in others {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn hostile_headers_do_no_harm(
            begin in prop::sample::select(vec![&b""[..], b"PROXY ", b"PROXY TCP4 ", SIGNATURE]),
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = read(&[begin, &rest].concat());
        }
    }
}
