//! An origin that answers by path, well or badly.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// It lives as long as the tests.
#[derive(Clone)]
pub struct Origin {
    pub address: SocketAddr,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

/// A request as it arrived.
struct Request {
    head: String,
    path: String,
    body_bytes: usize,
}

/// Fate of a connection after an answer.
#[derive(PartialEq)]
enum After {
    Keep,
    Close,
}

impl Origin {
    pub fn start() -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
        let address = listener.local_addr().unwrap();
        let origin = Origin { address, requests: Arc::default(), connections: Arc::default() };
        let serving = origin.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let serving = serving.clone();
                thread::spawn(move || serving.serve(stream));
            }
        });
        origin
    }

    /// Number of requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        while let Some(request) = read(&mut reader) {
            let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
            match answer(&mut stream, &request, number) {
                Ok(After::Keep) => {}
                _ => return,
            }
        }
    }
}

/// The body of `/text`.
pub fn text() -> String {
    (0..4_000).map(|number| format!("line {number}\n")).collect()
}

/// Length of the body of `/large-cached`.
pub const LARGE_BYTES: usize = 18_000_000;

/// The body of `/object/NUMBER`: up to 20 KB, unique to it.
pub fn object(number: u64) -> Vec<u8> {
    let length = number.wrapping_mul(7_919) % 20_000 + 1;
    let mut state = number + 1;
    (0..length)
        .map(|_| {
            // Knuth's linear congruential generator (MMIX).
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + (state >> 33) as u8 % 26
        })
        .collect()
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let path = head.split(' ').nth(1)?.to_owned();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body_bytes = 0;
    if lower.contains("transfer-encoding: chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            body_bytes += size;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = length {
        reader.read_exact(&mut vec![0; length]).ok()?;
        body_bytes = length;
    }
    Some(Request { head, path, body_bytes })
}

fn answer(stream: &mut TcpStream, request: &Request, number: usize) -> std::io::Result<After> {
    let Request { head, path, body_bytes } = request;
    let is_head = head.starts_with("HEAD ");
    let mut whole = |fields: &str, body: &[u8]| {
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n", body.len())?;
        if is_head { Ok(()) } else { stream.write_all(body) }
    };
    let kind = path.split('?').next().unwrap_or_default();
    match kind {
        "/echo" => whole("", format!("{head}{body_bytes} bytes").as_bytes())?,
        "/big" => whole("", &vec![b'x'; 5_000_000])?,
        "/text" => whole("Content-Type: text/plain\r\n", text().as_bytes())?,
        "/large-cached" => whole("Cache-Control: max-age=60\r\n", &vec![b'x'; LARGE_BYTES])?,
        "/cached" => {
            whole("Cache-Control: max-age=60\r\nETag: \"1\"\r\n", format!("{number}").as_bytes())?
        }
        "/slow-cached" => {
            thread::sleep(Duration::from_millis(400));
            whole("Cache-Control: max-age=60\r\n", format!("{number}").as_bytes())?;
        }
        _ if kind.starts_with("/object/") => {
            let number = kind["/object/".len()..].parse().unwrap_or_default();
            whole("Cache-Control: max-age=3600\r\n", &object(number))?
        }
        "/validated" if head.to_ascii_lowercase().contains("if-none-match: \"v\"") => {
            stream.write_all(
                b"HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\nCache-Control: no-cache\r\n\r\n",
            )?;
        }
        "/validated" => whole("ETag: \"v\"\r\nCache-Control: no-cache\r\n", b"once")?,
        "/slow" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")?;
            thread::sleep(Duration::from_millis(1_500));
            stream.write_all(b"def")?;
        }
        "/chunked" => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")?;
            thread::sleep(Duration::from_millis(50));
            stream.write_all(b"3\r\ndef\r\n0\r\n\r\n")?;
        }
        "/dies" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")?;
            return Ok(After::Close);
        }
        "/dies-chunked" => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")?;
            return Ok(After::Close);
        }
        "/garbage" => {
            stream.write_all(b"\x00\x01 what is this\r\n\r\n")?;
            return Ok(After::Close);
        }
        "/two-lengths" => {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            )?;
            return Ok(After::Close);
        }
        "/stalls" => thread::sleep(Duration::from_secs(5)),
        "/silent-close" => {
            whole("", format!("{number}").as_bytes())?;
            return Ok(After::Close);
        }
        _ => whole("", format!("hello {number}").as_bytes())?,
    }
    Ok(After::Keep)
}
