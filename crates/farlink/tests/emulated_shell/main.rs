//! `farlink shell` as people use it: programs inside, their view and measurements, and the end.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "processes run and end in the machine's own time")]

#[path = "../common/mod.rs"]
mod common;
mod real_time;
#[path = "../remains/mod.rs"]
mod remains;

use common::Desk;

const NETWORK: &str = "rtt=40ms,down=10mbit,up=2mbit";

#[test]
fn what_cannot_be_run_is_refused_first() {
    let desk = Desk::new();
    let shell = |arguments: &str| desk.farlink(&format!("shell {arguments}"));
    let ran = shell(&format!("--network {NETWORK} -- no-such-command"));
    assert_eq!((ran.code, ran.out.as_str()), (127, ""));
    assert!(ran.err.contains("command not found: `no-such-command`"), "{}", ran.err);
    assert_eq!(shell(&format!("--network {NETWORK} -- /etc/passwd")).code, 126);
    shell(&format!("--network {NETWORK}")).refused(&["are a terminal", "-- COMMAND"]);
    shell("--network 3g-fats -- true").refused(&["did you mean `3g-fast`?"]);
    shell("-- true").refused(&["--network"]);
    shell(&format!("--network {NETWORK} --host-loopback 0 -- true")).refused(&["from 1 to 65535"]);
    assert!(desk.names().is_empty());
}

#[test]
fn the_inside_part_runs_nowhere_else() {
    let ran = Desk::new().farlink(&format!("shell-inside --network {NETWORK} -- true"));
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("inside a sandbox"), "{}", ran.err);
}
