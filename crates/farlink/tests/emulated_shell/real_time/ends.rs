//! The end of `farlink shell`: nothing is left behind.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{desk, signal, started};
use crate::NETWORK;
use crate::common::Desk;
use crate::remains::{assert_gone, traces};

#[test]
fn signals_reach_the_command() {
    let Some(desk) = desk() else { return };
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let mut child = started(&desk, "echo ready; exec sleep 100");
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{name}");
        let mut child = started(
            &desk,
            &format!("trap 'exit 9' {name}; echo ready; while :; do sleep 0.1; done"),
        );
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(9), "{name}, handled");
    }
}

#[test]
fn commands_that_do_not_heed_a_signal_are_ended() {
    let Some(desk) = desk() else { return };
    let mut child = started(&desk, "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    let began = Instant::now();
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// `farlink shell` with this script, with temporary files on the desk.
fn marked(desk: &Desk, script: &str, marker: &str) -> Command {
    let arguments = ["shell", "--network", NETWORK, "--", "sh", "-c", script, marker];
    let mut command = desk.command(&arguments);
    command.env("TMPDIR", desk.path("")).stderr(Stdio::null());
    command
}

/// Kills farlink at times from its first instruction until long after the command has started.
fn killed(times: u64) {
    let Some(desk) = desk() else { return };
    for round in 0..times {
        let marker = format!("farlink-killed-{}-{round}-of-{times}", std::process::id());
        let before = traces(&marker);
        let mut command = marked(&desk, "setsid sleep 300 & sleep 300", &marker);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 200 / times));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_gone(&marker, &before);
        assert!(desk.names().is_empty(), "no temporary files: {:?}", desk.names());
    }
}

#[test]
fn killed_it_leaves_nothing() {
    killed(5);
}

#[test]
#[ignore = "the same, at 20 more times"]
fn killed_at_many_times_it_leaves_nothing() {
    killed(20);
}

/// Runs commands one after the other.
fn in_a_row(times: u64) {
    let Some(desk) = desk() else { return };
    let marker = format!("farlink-row-of-{times}-{}", std::process::id());
    let before = traces(&marker);
    for _ in 0..times {
        assert!(marked(&desk, "sleep 300 &", &marker).status().unwrap().success());
        assert_gone(&marker, &before);
        assert!(desk.names().is_empty(), "no temporary files: {:?}", desk.names());
    }
}

#[test]
fn three_in_a_row_leave_nothing() {
    in_a_row(3);
}

#[test]
#[ignore = "the same, a hundred times"]
fn a_hundred_in_a_row_leave_nothing() {
    in_a_row(100);
}
