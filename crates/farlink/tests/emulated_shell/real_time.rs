//! Tests in namespaces and real time. On a machine without namespaces all are skipped with a message; in continuous
//! integration they fail instead.

mod ends;
mod inside;
mod surroundings;
mod terminal;

use std::io::Read;
use std::process::{Child, Command, Stdio};

use crate::NETWORK;
use crate::common::{Desk, Ran};

/// A desk, if the machine can emulate.
fn desk() -> Option<Desk> {
    let desk = Desk::new();
    let ran = desk.farlink(&format!("shell --network {NETWORK} -- true"));
    if ran.code == 0 {
        return Some(desk);
    }
    let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!ci, "no emulation on this machine: {}", ran.err);
    assert_eq!(ran.code, 3, "{}", ran.err);
    println!("skipped: no emulation on this machine: {}", ran.err);
    None
}

/// Runs a script of sh inside.
fn inside(desk: &Desk, options: &[&str], script: &str) -> Ran {
    let network = ["shell", "--network", NETWORK];
    desk.run(&[&network[..], options, &["--", "sh", "-c", script]].concat())
}

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

/// Starts a command inside and waits until it reports that it runs.
fn started(desk: &Desk, script: &str) -> Child {
    let mut command = desk.command(&["shell", "--network", NETWORK, "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).expect("it says `ready`");
    child
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(kill.expect("there is a kill command").success());
}
