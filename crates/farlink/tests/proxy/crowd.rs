//! Clients that keep sending requests while proxies end and begin.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::running::until;

/// Outcome of a client's attempt.
pub enum Asked {
    /// The complete answer arrived.
    Answered,
    /// The connection was refused.
    Refused,
    /// The connection was closed before any byte arrived.
    TurnedAway,
}

/// The clients' request, and the expected answer.
#[derive(Clone)]
pub struct Wanted {
    pub address: SocketAddr,
    pub url: String,
    pub body: Vec<u8>,
}

impl Wanted {
    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(20))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(stream)
    }

    /// Sends a request on a new connection. Any answer must be complete.
    pub fn ask(&self) -> Asked {
        let Ok(mut stream) = self.connect() else { return Asked::Refused };
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", self.url);
        let mut answer = Vec::new();
        let asked = stream.write_all(request.as_bytes());
        let asked = asked.and_then(|()| stream.read_to_end(&mut answer));
        if answer.is_empty() {
            return Asked::TurnedAway;
        }
        let text = String::from_utf8_lossy(&answer);
        let is_whole = answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(&self.body);
        assert!(asked.is_ok() && is_whole, "{asked:?}: {text}");
        Asked::Answered
    }

    /// Sends requests on one connection, until the proxy announces its end, or `is_over`.
    fn ask_on(&self, is_over: impl Fn() -> bool, answered: &AtomicUsize) -> std::io::Result<()> {
        let stream = self.connect()?;
        let mut reader = BufReader::new(&stream);
        while !is_over() {
            write!(&stream, "GET {} HTTP/1.1\r\nHost: x\r\n\r\n", self.url)?;
            let is_last = self.read_answer(&mut reader)?;
            answered.fetch_add(1, Ordering::Relaxed);
            if is_last {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads an answer; returns true if it is the connection's last.
    fn read_answer(&self, reader: &mut impl BufRead) -> std::io::Result<bool> {
        let (mut status, mut is_last) = (String::new(), false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => break,
                line if status.is_empty() => status = line.to_owned(),
                line => is_last |= line.eq_ignore_ascii_case("connection: close"),
            }
        }
        let mut body = vec![0; self.body.len()];
        reader.read_exact(&mut body)?;
        assert!(status.starts_with("HTTP/1.1 200") && body == self.body, "{status}");
        Ok(is_last)
    }
}

/// Clients at work, half of them with a connection for each request, half with persistent connections.
pub struct Crowd {
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// Starts `count` clients. Each fails if one of its requests does.
    pub fn gather(count: usize, wanted: &Wanted) -> Crowd {
        let (is_over, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let client = |number: usize| {
            let (wanted, is_over, answered) = (wanted.clone(), is_over.clone(), answered.clone());
            let is_over = move || is_over.load(Ordering::Relaxed);
            thread::spawn(move || {
                while !is_over() {
                    if number.is_multiple_of(2) {
                        assert!(matches!(wanted.ask(), Asked::Answered), "it is answered");
                        answered.fetch_add(1, Ordering::Relaxed);
                    } else {
                        wanted.ask_on(&is_over, &answered).expect("it is answered");
                    }
                }
            })
        };
        let clients = (0..count).map(client).collect();
        Crowd { is_over, answered, clients }
    }

    /// Waits until this many more requests have been answered.
    pub fn wait_for(&self, more: usize) {
        let goal = self.answered.load(Ordering::Relaxed) + more;
        until("they are answered", || self.answered.load(Ordering::Relaxed) > goal);
    }

    /// Stops the clients; returns the number of requests answered, and of clients with a failed request.
    pub fn disperse(self) -> (usize, usize) {
        self.is_over.store(true, Ordering::Relaxed);
        let failed = self.clients.into_iter().filter_map(|client| client.join().err()).count();
        (self.answered.load(Ordering::Relaxed), failed)
    }
}
