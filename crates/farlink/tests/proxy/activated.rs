//! Ports that are opened before the proxy starts, as by systemd: sockets from descriptor 3 on (sd_listen_fds(3)).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::Desk;
use crate::origin::{Origin, object};
use crate::running::{ARGUMENTS, Running, TEST_RULES};

/// A proxy on this desk, which gets `socket` as systemd would pass it.
fn command(desk: &Desk, socket: &TcpListener) -> Command {
    let plain = desk.command(ARGUMENTS);
    let mut command = Command::new("sh");
    let script = r#"exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@""#;
    command.args(["-c", script, "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().expect("a desk"));
    command.stdin(Stdio::from(OwnedFd::from(socket.try_clone().unwrap())));
    command
}

fn desk(address: &str) -> Desk {
    let desk = Desk::new();
    desk.put(
        "proxy.toml",
        format!("workers = 2\n[[listen]]\naddress = \"{address}\"\n{TEST_RULES}"),
    );
    desk
}

#[test]
fn connections_wait_while_no_proxy_runs() {
    let origin = Origin::start();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let url = origin.url("/object/7");
    let start = || {
        let desk = desk(&address.to_string());
        let command = command(&desk, &socket);
        Running::begin(desk, command)
    };
    let mut first = start();
    assert_eq!(first.address, address);
    assert!(first.get(&url).as_bytes().ends_with(&object(7)));
    first.signal("TERM");
    assert!(first.child.wait().unwrap().success());
    assert!(!first.said().contains("warning"), "{}", first.said());
    // Nobody is there, and the port is open.
    let mut waiting = TcpStream::connect(address).unwrap();
    let request = format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    waiting.write_all(request.as_bytes()).unwrap();
    let second = start();
    waiting.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = Vec::new();
    waiting.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&object(7)), "{}", String::from_utf8_lossy(&answer));
    drop(second);
}

#[test]
fn a_socket_without_a_listener_is_refused() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let desk = desk("127.0.0.1:0");
    let output = command(&desk, &socket).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in [
        &format!("systemd passed a socket for {address}"),
        "no listener has that address",
        "[[listen]]",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
