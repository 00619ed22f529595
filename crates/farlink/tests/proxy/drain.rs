//! The end under load: whoever has been let in is answered.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::running::{connect, forward};

#[test]
fn a_body_that_is_on_its_way_comes_to_its_end() {
    let (mut proxy, origin) = forward("");
    let mut streams: Vec<TcpStream> = (0..4).map(|_| connect(proxy.address)).collect();
    for stream in &mut streams {
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/big"));
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 1_000]).unwrap();
    }
    proxy.signal("-TERM");
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.len() > 4_999_000, "{}", rest.len());
    }
    assert!(proxy.child.wait().unwrap().success());
}
