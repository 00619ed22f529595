//! Runs a test in its own namespaces, by way of a second process: as root if the caller is root, and as root of a new user namespace,
//! as an ordinary user would. If the machine forbids user namespaces, that is skipped, with a message; in continuous integration
//! it fails instead.

use std::process::Command;

use farlink_emu::{Privilege, isolated};

/// Environment variable set in the program that runs inside.
const INSIDE: &str = "FARLINK_EMU_TEST_INSIDE";

/// Runs `job` as root; `test` is the calling test's name.
pub fn as_root(test: &str, job: fn()) {
    if Privilege::available() == Privilege::Root {
        within(test, Privilege::Root, job);
    } else {
        println!("skipped: not run by root");
    }
}

/// Runs `job` as an ordinary user; `test` is the calling test's name.
pub fn as_an_ordinary_user(test: &str, job: fn()) {
    within(test, Privilege::Rootless, job);
}

fn within(test: &str, privilege: Privilege, job: fn()) {
    if variable(INSIDE).is_some() {
        return job();
    }
    let program = std::env::current_exe().expect("a running test has a file");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    match isolated(&mut command, privilege).status() {
        Ok(status) => assert!(status.success(), "the test inside failed: {status}"),
        Err(error) if variable("CI").as_deref() != Some("true") => {
            println!("skipped: no namespaces on this machine ({error})");
        }
        Err(error) => panic!("no namespaces on this machine: {error}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "the test tells itself where it runs")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
