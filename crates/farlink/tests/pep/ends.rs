//! The two halves, as separate processes, and the operator's view of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

pub use crate::common::until;
use crate::common::{Desk, send_signal};

/// Time limit of every wait in a test.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Leg settings of both halves: a far end that is silent is considered dead after two seconds.
const QUICK: &str = "[leg]\nkeep-alive = '1s'\ndead-after = '1s'\n";

/// Carriers of the leg.
pub const LEGS: [&str; 3] = ["", "over = 'quic'\n", "over = 'quic'\nfec = 10\n"];

/// A port that the kernel chooses.
pub const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// One half. It is killed when dropped.
pub struct End {
    pub child: Child,
    /// Its address.
    pub at: SocketAddr,
    metrics: SocketAddr,
}

/// Both halves, before an origin.
pub struct Pair {
    desk: Desk,
    /// `[leg]` of both halves.
    leg: String,
    origin: SocketAddr,
    pub near: End,
    pub far: End,
}

impl End {
    /// Starts a half by `config`, which names one listener and `metrics`.
    pub fn start(desk: &Desk, half: &str, config: &str) -> End {
        let file = format!("{half}.toml");
        desk.put(&file, config);
        let mut command = desk.command(&["pep", half, "--config", &file]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut place = || {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            let place = line.trim().strip_prefix("listening on ");
            place.unwrap_or_else(|| panic!("{half} said {line}")).parse().unwrap()
        };
        let (at, metrics) = (place(), place());
        // Standard error is drained: a full pipe would stop the process.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        End { child, at, metrics }
    }

    /// The value of one of its counters.
    pub fn count(&self, name: &str) -> u64 {
        let text = self.operator("/metrics");
        let name = format!("farlink_pep_{name} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name));
        value.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
    }

    /// Returns true if it is healthy: for a near end, if its far end is reachable.
    pub fn is_well(&self) -> bool {
        self.operator("/health").starts_with("HTTP/1.1 200 ")
    }

    fn operator(&self, path: &str) -> String {
        let mut tcp = connect(self.metrics);
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        tcp.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        tcp.read_to_string(&mut text).unwrap();
        text
    }

    /// Sends a signal, as `kill` does.
    pub fn signal(&self, name: &str) {
        send_signal(&self.child, name);
    }

    /// Waits for its orderly end.
    pub fn ends(mut self) {
        until("it ends", || self.child.try_wait().unwrap().is_some());
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its resident memory.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }
}

impl Drop for End {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Pair {
    /// Both halves before `origin`, parsed if `is_http`; the leg is up.
    pub fn start(origin: SocketAddr, is_http: bool) -> Pair {
        Pair::start_with(origin, is_http, "")
    }

    /// The same with `more` in both halves' `[leg]`.
    pub fn start_with(origin: SocketAddr, is_http: bool, more: &str) -> Pair {
        let desk = Desk::new();
        let (near_key, far_key) = (key(&desk, "near.key"), key(&desk, "far.key"));
        let far = far_end(&desk, ANYWHERE, &near_key, more);
        let near = near_end(&desk, ANYWHERE, far.at, origin, &far_key, is_http, more);
        until("the leg stands", || near.is_well());
        Pair { desk, leg: more.to_owned(), origin, near, far }
    }

    /// Starts a far end at the address of the last one, which may still run; returns the last one.
    pub fn start_far_end_again(&mut self) -> End {
        let near_key = self.desk.read("near.key.public");
        let far = far_end(&self.desk, self.far.at, &near_key, &self.leg);
        std::mem::replace(&mut self.far, far)
    }

    /// Starts a near end that passes everything unread, at the address of the last one; returns the last one.
    pub fn start_near_end_again(&mut self) -> End {
        let far_key = self.desk.read("far.key.public");
        let (at, far) = (self.near.at, self.far.at);
        let near = near_end(&self.desk, at, far, self.origin, &far_key, false, &self.leg);
        until("its leg stands", || near.is_well());
        std::mem::replace(&mut self.near, near)
    }
}

/// Writes a new key to a file; returns its public key.
pub fn key(desk: &Desk, name: &str) -> String {
    let made = desk.command(&["pep", "key"]).output().unwrap();
    desk.put(name, &made.stdout);
    let said = String::from_utf8(made.stderr).unwrap();
    let public = said.trim().rsplit_once(' ').unwrap().1.to_owned();
    desk.put(&format!("{name}.public"), &public);
    public
}

/// A far end with `far.key` that admits the key of `peer`, and may reach loopback.
pub fn far_end(desk: &Desk, listen: SocketAddr, peer: &str, leg: &str) -> End {
    let config = format!(
        "listen = '{listen}'\nkey = 'far.key'\npeer = '{peer}'\nalso = ['127.0.0.0/8']\nmetrics = '127.0.0.1:0'\n{QUICK}{leg}"
    );
    End::start(desk, "remote", &config)
}

/// A near end with `near.key` that carries to `origin`.
pub fn near_end(
    desk: &Desk,
    listen: SocketAddr,
    far: SocketAddr,
    origin: SocketAddr,
    peer: &str,
    is_http: bool,
    leg: &str,
) -> End {
    let ports = if is_http { origin.port().to_string() } else { String::new() };
    let config = format!(
        "far = '{far}'\nkey = 'near.key'\npeer = '{peer}'\nhttp-ports = [{ports}]\nmetrics = '127.0.0.1:0'\n{QUICK}{leg}\n[[forward]]\nlisten = '{listen}'\nto = '{origin}'\n"
    );
    End::start(desk, "local", &config)
}

pub fn connect(to: SocketAddr) -> TcpStream {
    let tcp = TcpStream::connect(to).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    tcp
}

/// Reads to the end, or to the first error; returns the bytes received in either case.
pub fn read_all(tcp: &mut TcpStream) -> (Vec<u8>, std::io::Result<()>) {
    let mut all = Vec::new();
    let ended = tcp.read_to_end(&mut all).map(drop);
    (all, ended)
}
