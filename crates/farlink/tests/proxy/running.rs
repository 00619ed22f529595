//! A running proxy, and raw requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use crate::common::until;
use crate::common::{Desk, send_signal};
use crate::origin::Origin;

/// A proxy process, killed when dropped.
pub struct Running {
    pub address: SocketAddr,
    pub admin: Option<SocketAddr>,
    pub child: Child,
    pub desk: Desk,
    said: Arc<Mutex<String>>,
}

/// Arguments of the proxy.
pub const ARGUMENTS: &[&str] = &["proxy", "--config", "proxy.toml"];

/// Rules that let a proxy reach the tests' origins.
pub const TEST_RULES: &str = "[forward]\nnetworks = [\"127.0.0.0/8\"]\nports = [\"1024-65535\"]\ntunnel_ports = [\"1024-65535\"]\n";

impl Running {
    /// A proxy with this configuration, which names no listeners.
    pub fn start(config: &str) -> Running {
        Running::start_on(config, "[[listen]]\naddress = \"127.0.0.1:0\"\n", |_| {})
    }

    /// A proxy with the listeners in `listen`; `prepare` puts files on its desk.
    pub fn start_on(config: &str, listen: &str, prepare: impl Fn(&Desk)) -> Running {
        let desk = Desk::new();
        prepare(&desk);
        desk.put("proxy.toml", format!("workers = 2\n{config}\n{listen}"));
        let command = desk.command(ARGUMENTS);
        Running::begin(desk, command)
    }

    /// A proxy with the configuration on the desk, started by this command.
    pub fn begin(desk: Desk, mut command: Command) -> Running {
        let config = desk.read("proxy.toml");
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(child.stderr.take().unwrap());
        let (mut address, mut admin) = (None, None);
        while address.is_none() || (config.contains("[admin]") && admin.is_none()) {
            let mut line = String::new();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the proxy ended: {config}");
            let line = line.trim();
            if let Some(place) = line.strip_prefix("listening on ") {
                address = Some(place.parse().unwrap());
            } else if let Some(place) = line.strip_prefix("serving metrics and health on http://") {
                admin = Some(place.trim_end_matches('/').parse().unwrap());
            }
        }
        // The rest of its standard error needs a reader.
        let said = Arc::<Mutex<String>>::default();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                *heard.lock().unwrap() += &(line + "\n");
            }
        });
        Running { address: address.unwrap(), admin, child, desk, said }
    }

    /// Ends the proxy by `signal` and starts it again.
    pub fn again_after(mut self, signal: &str) -> Running {
        self.signal(signal);
        self.child.wait().unwrap();
        let desk = std::mem::replace(&mut self.desk, Desk::new());
        let command = desk.command(ARGUMENTS);
        Running::begin(desk, command)
    }

    /// Its messages since it began to listen.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// The answer of the admin port to `path`.
    pub fn ask_admin(&self, method: &str, path: &str) -> String {
        let admin = self.admin.expect("it has an operator's port");
        raw(
            admin,
            &format!("{method} {path} HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n"),
        )
    }

    /// A metric's value.
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.ask_admin("GET", "/metrics");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
    }

    /// Sends `text` and returns everything received until the proxy closes the connection.
    pub fn raw(&self, text: &str) -> String {
        raw(self.address, text)
    }

    /// GET of an absolute URL.
    pub fn get(&self, url: &str) -> String {
        self.raw(&format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    }

    pub fn signal(&self, name: &str) {
        send_signal(&self.child, name);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The same as [`raw`], for a proxy that may be gone.
pub fn try_raw(address: SocketAddr, text: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

pub fn raw(address: SocketAddr, text: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is an end, too.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A forward proxy for tests, and an origin that it may reach.
pub fn forward(more: &str) -> (Running, Origin) {
    (Running::start(&format!("{more}\n{TEST_RULES}")), Origin::start())
}
