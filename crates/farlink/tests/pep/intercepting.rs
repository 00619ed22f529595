//! Connections that a router's kernel redirects to the near end, by the rules of docs/pep.md: their clients name
//! the server, and reach it through both halves. The rest of the router's traffic is forwarded as usual.
//!
//! Four private network namespaces in a row: client, near end, far end, server. Skipped, visibly, if `unshare`,
//! `ip` or `nft` is missing or not permitted.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::common::Desk;
use crate::ends::{End, connect, far_end, key, read_all, until};
use crate::origin::pattern;

const DOCUMENT: &str = include_str!("../../../../docs/pep.md");

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 1, 1);
/// The near end's address on the clients' side.
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 9, 1, 2);
/// The far end's address as the near end sees it, and as the server does.
const FAR: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 2, 2), Ipv4Addr::new(10, 9, 3, 1)];
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 3, 2);
const NEAR_PORT: u16 = 9402;
/// A port that the rules name, and one that they do not.
const LED: u16 = 443;
const NOT_LED: u16 = 444;

/// Creates the namespaces. Names of namespaces are kept in /run, so this is private. Each is joined to the next by
/// its `wan0` and the other's `lan0`.
const ROW: &str = r#"set -e
mount -t tmpfs none /run
for name in client near far server; do ip netns add $name; ip -n $name link set lo up; done
join() {
  ip link add wan0 netns $1 type veth peer name lan0 netns $2
  ip -n $1 address add 10.9.$3.1/24 dev wan0; ip -n $1 link set wan0 up
  ip -n $2 address add 10.9.$3.2/24 dev lan0; ip -n $2 link set lan0 up
}
join client near 1; join near far 2; join far server 3
ip -n client route add default via 10.9.1.2
ip -n near route add default via 10.9.2.2
ip -n far route add 10.9.1.0/24 via 10.9.2.1
ip -n server route add default via 10.9.3.1
for router in near far; do nsenter --net=/run/netns/$router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'; done
nsenter --net=/run/netns/near sh -ec "$FARLINK_RULES"
"#;

#[test]
fn what_is_redirected_goes_where_its_client_wanted() {
    in_a_row_of_namespaces("redirect");
}

#[test]
fn what_tproxy_takes_over_goes_where_its_client_wanted() {
    in_a_row_of_namespaces("tproxy");
}

/// Runs [`inside`] with the near end's kernel redirecting connections by the document's rules.
fn in_a_row_of_namespaces(by: &str) {
    let run = |then: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c"])
            .arg(format!("{ROW}{then}"))
            .arg(std::env::current_exe().unwrap())
            .env("FARLINK_RULES", rules(by))
            .env("FARLINK_INTERCEPT_BY", by);
        command
    };
    let can = run("").stderr(Stdio::inherit()).status();
    if !can.is_ok_and(|status| status.success()) {
        println!("skipped: unshare, ip or nft is missing, or may not be used here");
        return;
    }
    let ran = run("exec \"$0\" --ignored --exact intercepting::inside").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// The document's commands for `by = "..."`.
fn rules(by: &str) -> &str {
    let (_, behind) = DOCUMENT.split_once(&format!("<!-- by = \"{by}\" -->\n```sh\n")).unwrap();
    behind.split_once("```").unwrap().0
}

#[test]
#[ignore = "runs in the namespaces that the other tests make"]
fn inside() {
    let by = std::env::var("FARLINK_INTERCEPT_BY").unwrap();
    for port in [LED, NOT_LED] {
        within("server", || serve(SocketAddrV4::new(SERVER, port)));
    }
    let desk = Desk::new();
    let (near_key, far_key) = (key(&desk, "near.key"), key(&desk, "far.key"));
    let far = within("far", || far_end(&desk, SocketAddr::from((FAR[0], 0)), &near_key, ""));
    let intercept = format!("[[intercept]]\nlisten = '0.0.0.0:{NEAR_PORT}'\nby = '{by}'");
    let config = format!(
        "far = '{}'\nkey = 'near.key'\npeer = '{far_key}'\nmetrics = '127.0.0.1:0'\n{intercept}\n",
        far.at
    );
    let near = within("near", || End::start(&desk, "local", &config));
    let counts = |name| (within("near", || near.count(name)), within("far", || far.count(name)));
    until("the leg stands", || within("near", || near.is_well()));

    let sent = pattern(300_000);
    assert_eq!(ask(SERVER, LED, &sent), answer(&sent, FAR[1]));
    assert_eq!(counts("connections_split_total"), (1, 1));

    assert_eq!(ask(SERVER, NOT_LED, &sent), answer(&sent, CLIENT));
    // A client that asks for the near end itself would be led back to it for ever.
    assert_eq!(ask(NEAR, NEAR_PORT, b""), b"");
    assert_eq!(counts("connections_split_total"), (1, 1));
    assert_eq!(within("near", || near.count("refused_total")), 1);
}

/// Runs `act` in a namespace; threads that it starts stay there.
fn within<T: Send>(namespace: &str, act: impl FnOnce() -> T + Send) -> T {
    let enter_and_act = || {
        let namespace = File::open(format!("/run/netns/{namespace}")).unwrap();
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        act()
    };
    thread::scope(|scope| scope.spawn(enter_and_act).join().unwrap())
}

/// Answers with the bytes received, and the client's address.
fn serve(at: SocketAddrV4) {
    let listener = TcpListener::bind(at).unwrap();
    thread::spawn(move || {
        while let Ok((mut tcp, peer)) = listener.accept() {
            let (all, _) = read_all(&mut tcp);
            let SocketAddr::V4(peer) = peer else { return };
            drop(tcp.write_all(&answer(&all, *peer.ip())));
        }
    });
}

fn answer(to: &[u8], from: Ipv4Addr) -> Vec<u8> {
    [to, format!(", from {from}").as_bytes()].concat()
}

/// The answer to the client.
fn ask(host: Ipv4Addr, port: u16, question: &[u8]) -> Vec<u8> {
    let mut tcp: TcpStream = within("client", || connect(SocketAddr::from((host, port))));
    tcp.write_all(question).unwrap();
    drop(tcp.shutdown(Shutdown::Write));
    read_all(&mut tcp).0
}
