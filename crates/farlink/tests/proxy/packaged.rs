//! Command lines in `packaging/`: this program understands those of the systemd unit and of the container file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Desk, program};

/// Path of the program that both expect.
const PROGRAM: &str = "/usr/bin/farlink";
const CONFIGURATION: &str = "/etc/farlink/proxy.toml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped(name: &str) -> String {
    fs::read_to_string(root().join("packaging").join(name)).unwrap()
}

/// Checks that the program accepts these arguments: with the shipped configuration, which is checked instead of served.
#[track_caller]
fn understood(arguments: &[&str]) {
    let path = root().join("packaging/proxy.toml");
    let path = path.to_str().unwrap();
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| match *argument {
            "--config" => "--check",
            CONFIGURATION => path,
            other => other,
        })
        .collect();
    assert!(arguments.starts_with(&["proxy", "--check"]), "{arguments:?}");
    Desk::new().run(&arguments).ok();
}

#[test]
fn what_the_unit_starts_is_understood() {
    let unit = shipped("farlink-proxy.service");
    let mut kinds = Vec::new();
    for line in unit.lines().filter(|line| line.starts_with("Exec")) {
        let (kind, command) = line.split_once('=').unwrap();
        let words: Vec<&str> = command.split_whitespace().collect();
        if words[0] == PROGRAM {
            understood(&words[1..]);
            kinds.push(kind);
        }
    }
    assert_eq!(kinds, ["ExecStartPre", "ExecStart", "ExecReload"]);
}

#[test]
fn systemd_takes_the_unit() {
    let desk = Desk::new();
    let here = program();
    let unit = shipped("farlink-proxy.service").replace(PROGRAM, here.to_str().unwrap());
    desk.put("farlink-proxy.service", unit);
    let verify = |file: &str| -> Option<Output> {
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--man=no"]).arg(desk.path(file));
        command.env("SYSTEMD_LOG_LEVEL", "warning").output().ok()
    };
    let Some(verified) = verify("farlink-proxy.service") else {
        println!("skipped: systemd-analyze: install your system's package systemd");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && !said.contains("farlink-proxy.service"), "{said}");
}

#[test]
fn what_the_container_starts_is_understood_and_what_it_copies_is_there() {
    let file = shipped("Containerfile");
    let mut command = Vec::new();
    for line in file.lines() {
        let Some((instruction, rest)) = line.split_once(' ') else { continue };
        match instruction {
            "COPY" => {
                let from = rest.split_whitespace().next().unwrap();
                let is_built = from == "target/release/farlink";
                assert!(is_built || root().join(from).is_file(), "{from} is not there");
            }
            "ENTRYPOINT" | "CMD" => {
                command.extend(serde_json::from_str::<Vec<String>>(rest).unwrap());
            }
            _ => {}
        }
    }
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    assert_eq!(words[0], PROGRAM);
    understood(&words[1..]);
}
