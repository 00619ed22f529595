//! Ports of this machine's loopback, reachable inside on request.
//!
//! The listener is at the far side of the emulated network; connections to it come in through the links. Each is
//! joined, byte for byte, to a connection to this machine's loopback, which is not part of the emulation. A side at
//! its end closes its direction only.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anstream::eprintln;

/// Joins every connection that `listener` accepts to `127.0.0.1:port`, for as long as the process lives.
pub fn start(listener: TcpListener, port: u16) {
    thread::spawn(move || {
        for inside in listener.incoming() {
            let joined = inside.and_then(|inside| join(inside, port));
            if let Err(error) = joined {
                eprintln!("warning: a connection to 127.0.0.1:{port} from inside failed: {error}");
            }
        }
    });
}

/// Starts two threads, one a direction, that end with the connection.
fn join(inside: TcpStream, port: u16) -> io::Result<()> {
    let outside = Arc::new(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?);
    let inside = Arc::new(inside);
    // No Nagle's algorithm: these bytes have waited at their writer already.
    inside.set_nodelay(true)?;
    outside.set_nodelay(true)?;
    for (from, to) in [(&inside, &outside), (&outside, &inside)] {
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        thread::spawn(move || carry(&from, &to));
    }
    Ok(())
}

/// Copies until the end, and passes the end on; an error in one direction ends the other one, too.
fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let (said, other) = match io::copy(&mut from, &mut to) {
        Ok(_) => (to.shutdown(Shutdown::Write), Ok(())),
        Err(_) => (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both)),
    };
    // A connection that is already gone need not be shut down.
    let _ = said.and(other);
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn half_closed_connections_still_answer() {
        let host = TcpListener::bind("127.0.0.1:0").unwrap();
        let inside = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = inside.local_addr().unwrap();
        start(inside, host.local_addr().unwrap().port());
        let server = thread::spawn(move || {
            let (mut stream, _) = host.accept().unwrap();
            let mut request = Vec::new();
            // Ends only if the client's end does.
            stream.read_to_end(&mut request).unwrap();
            request.reverse();
            stream.write_all(&request).unwrap();
        });
        let request: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut client = TcpStream::connect(entrance).unwrap();
        client.write_all(&request).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        server.join().unwrap();
        answer.reverse();
        assert!(answer == request);
    }

    #[test]
    fn nobody_listening_closes_the_connection() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = gone.local_addr().unwrap().port();
        drop(gone);
        let inside = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = inside.local_addr().unwrap();
        start(inside, port);
        let mut client = TcpStream::connect(entrance).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap_or_default(), 0);
    }
}
