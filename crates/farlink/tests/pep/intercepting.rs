//! Connections that the kernel leads to the near end, by nftables' `redirect`: their clients name the server, and reach it
//! through both halves. In a network namespace of an own user namespace; skipped, visibly, where `unshare` or `nft` does not work.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use socket2::{Domain, Socket, Type};

use crate::common::Desk;
use crate::ends::{ANYWHERE, End, far_end, key, read_all, until};

const SERVER: [u8; 4] = [10, 9, 0, 1];
/// What comes from here is led to the near end. Everything else is not: the far end's connections would come back for ever.
const CLIENT: [u8; 4] = [10, 9, 0, 3];
const NEAR_PORT: u16 = 9402;

const ADDRESSES: &str =
    "ip link set lo up && ip address add 10.9.0.1/32 dev lo && ip address add 10.9.0.3/32 dev lo";

const REDIRECT: &str = "nft 'add table ip farlink
add chain ip farlink leading { type nat hook output priority -100 ; }
add rule ip farlink leading ip saddr 10.9.0.3 tcp dport 7777 redirect to :9402'";

#[test]
fn what_is_redirected_goes_where_its_client_wanted() {
    in_a_namespace("redirect", REDIRECT);
}

/// Runs [`inside`] where the kernel leads connections as `rules` say.
fn in_a_namespace(by: &str, rules: &str) {
    let can = Command::new("unshare")
        .args(["-rn", "sh", "-c", &format!("{ADDRESSES} && {rules}")])
        .stderr(Stdio::inherit())
        .status();
    if !can.is_ok_and(|status| status.success()) {
        println!("skipped: unshare, ip or nft is missing, or may not be used here");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let run = "exec \"$0\" --ignored --exact intercepting::inside";
    let ran = Command::new("unshare")
        .args(["-rn", "sh", "-c", &format!("{ADDRESSES} && {rules} && {run}")])
        .arg(this)
        .env("FARLINK_INTERCEPT_BY", by)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "runs in the namespace that the other tests make"]
fn inside() {
    let by = std::env::var("FARLINK_INTERCEPT_BY").unwrap();
    let server = SocketAddr::from((SERVER, 7777));
    serve(server);
    let desk = Desk::new();
    let (near_key, far_key) = (key(&desk, "near.key"), key(&desk, "far.key"));
    let far = far_end(&desk, ANYWHERE, &near_key, "");
    let near = End::start(
        &desk,
        "local",
        &format!(
            "far = '{}'\nkey = 'near.key'\npeer = '{far_key}'\nmetrics = '127.0.0.1:0'\n[[intercept]]\nlisten = '0.0.0.0:{NEAR_PORT}'\nby = '{by}'\n",
            far.at
        ),
    );
    until("the leg stands", || near.is_well());
    let mut tcp = connect_from(CLIENT, server);
    tcp.write_all(b"hello").unwrap();
    tcp.shutdown(std::net::Shutdown::Write).unwrap();
    let (answer, ended) = read_all(&mut tcp);
    ended.unwrap();
    assert_eq!(answer, b"hello, far end");
    assert_eq!(near.count("connections_split_total"), 1);
    assert_eq!(far.count("connections_split_total"), 1);
    // Who asks for the near end itself would be led back to it for ever.
    let mut tcp = connect_from(CLIENT, SocketAddr::from((SERVER, NEAR_PORT)));
    let (answer, _) = read_all(&mut tcp);
    assert_eq!(answer, b"");
    assert_eq!(near.count("refused_total"), 1);
}

/// Answers with what came and, if it was not the client, from whom.
fn serve(at: SocketAddr) {
    let listener = std::net::TcpListener::bind(at).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut tcp, peer)) = listener.accept() {
            let (all, _) = read_all(&mut tcp);
            let from =
                if peer.ip() == std::net::IpAddr::from(CLIENT) { "client" } else { "far end" };
            drop(tcp.write_all(&[&all[..], b", ", from.as_bytes()].concat()));
        }
    });
}

fn connect_from(source: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let tcp = TcpStream::from(socket);
    tcp.set_read_timeout(Some(crate::ends::PATIENCE)).unwrap();
    tcp
}
