//! Data that survives a run stopped in the middle - by Ctrl-C, by a kill, by a full disk - and the completion by
//! the same command: nothing lost, nothing measured twice, the same digest in the end.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Desk, Ran, digest, experiment, journeys, send_signal, sqlite};

/// Enough journeys to occupy one worker for seconds.
const REPETITIONS: u32 = 150;
const ALL: u64 = 4 * REPETITIONS as u64;

/// The digest of an uninterrupted run.
fn undisturbed(repetitions: u32) -> String {
    let desk = Desk::new();
    desk.put("e.toml", experiment(repetitions));
    desk.farlink("run e.toml").ok();
    digest(&desk.sqlite("farlink.sqlite"), 1).expect("the run is complete")
}

/// Starts the run and waits until the store holds some journeys.
fn started(desk: &Desk) -> Child {
    desk.put("e.toml", experiment(REPETITIONS));
    let mut command = desk.command(&["run", "e.toml", "-j", "1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while journeys(&desk.path("farlink.sqlite")) < 5 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was stopped");
        std::thread::yield_now();
    }
    child
}

/// Checks that the same command completes the run, with the result of an uninterrupted one.
#[track_caller]
fn goes_on(desk: &Desk, stored: u64) {
    assert!((5..ALL).contains(&stored), "{stored}");
    let ran = desk.farlink("run e.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = format!("resuming run 1: {stored} of {ALL} journeys stored");
    assert!(ran.err.contains(&said), "{}", ran.err);
    let store = desk.sqlite("farlink.sqlite");
    let count = |sql: &str| store.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as u64;
    assert_eq!(count("SELECT count(*) FROM run"), 1);
    assert_eq!(count("SELECT count(*) FROM journey"), ALL);
    assert_eq!(count("SELECT count(DISTINCT position) FROM journey"), ALL);
    assert_eq!(count("SELECT count(*) FROM visit"), ALL);
    assert_eq!(digest(&store, 1).unwrap(), undisturbed(REPETITIONS));
}

#[test]
fn ctrl_c_ends_a_run_in_order_and_it_goes_on() {
    let desk = Desk::new();
    let child = started(&desk);
    send_signal(&child, "INT");
    let ran = Ran::new(&child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (130, ""), "{}", ran.err);
    let stored = journeys(&desk.path("farlink.sqlite"));
    let said =
        format!("interrupted after {stored} of {ALL} journeys; run the same command to resume");
    assert!(ran.err.contains(&said), "{}", ran.err);
    let runs = desk.farlink("runs").ok();
    assert!(runs.contains("interrupted") && runs.contains(&format!("{stored}/{ALL}")), "{runs}");

    let report = desk.farlink("report");
    assert_eq!(report.code, 0, "{}", report.err);
    let partial = format!("run 1 is incomplete: the report covers {stored} of {ALL} journeys");
    assert!(report.err.contains(&partial), "{}", report.err);
    goes_on(&desk, stored);
}

#[test]
fn a_killed_run_goes_on() {
    let desk = Desk::new();
    let child = started(&desk);
    send_signal(&child, "KILL");
    let status = child.wait_with_output().unwrap().status;
    assert_eq!(status.signal(), Some(9));
    let stored = journeys(&desk.path("farlink.sqlite"));
    let runs = desk.farlink("runs").ok();
    assert!(runs.contains(&format!("{stored}/{ALL}")), "{runs}");
    goes_on(&desk, stored);
}

/// A shell script run with `farlink` as `$0`.
fn shell(desk: &Desk, script: &str) -> Ran {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_farlink")).current_dir(desk.path(""));
    Ran::new(&command.stdin(Stdio::null()).output().unwrap())
}

/// Journeys that need more space than the disks and files below have.
const FILLING: u32 = 100;

#[test]
fn a_file_that_may_not_grow_ends_a_run_and_it_goes_on() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(FILLING));
    // In units of 512 bytes: 512 KiB. The signal that comes with the limit is ignored, so that the write fails as
    // it does on a disk.
    let ran = shell(&desk, "trap '' XFSZ; ulimit -f 1024; exec \"$0\" run e.toml");
    stopped_for_want_of_room(&ran, &desk.path("farlink.sqlite"));
    let ran = desk.farlink("run e.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("resuming run 1: "), "{}", ran.err);
    assert_eq!(digest(&desk.sqlite("farlink.sqlite"), 1).unwrap(), undisturbed(FILLING));
}

#[track_caller]
fn stopped_for_want_of_room(ran: &Ran, store: &Path) {
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.starts_with("error: ") && ran.err.contains("farlink.sqlite"), "{}", ran.err);
    let stored = journeys(store);
    assert!((1..4 * u64::from(FILLING)).contains(&stored), "{stored}");
}

#[test]
fn a_full_disk_ends_a_run_and_it_goes_on() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(FILLING));
    std::fs::create_dir(desk.path("disk")).unwrap();
    // A private disk of 512 KiB that goes with the shell; later it is enlarged.
    let script = "mount -t tmpfs -o size=512k none disk || exit 77
        \"$0\" run e.toml --store disk/farlink.sqlite 2>first.err; echo $? >first.code
        cp disk/farlink.sqlite* .
        mount -o remount,size=64m disk
        \"$0\" run e.toml --store disk/farlink.sqlite 2>second.err; echo $? >second.code
        cp disk/farlink.sqlite second.sqlite";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_farlink")]);
    match command.current_dir(desk.path("")).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {}
        _ => {
            println!("skipped: this user may not mount a disk of his own");
            return;
        }
    }
    let code = |name: &str| desk.read(name).trim().parse::<i32>().unwrap();
    let first = Ran { code: code("first.code"), out: String::new(), err: desk.read("first.err") };
    stopped_for_want_of_room(&first, &desk.path("farlink.sqlite"));
    assert!(first.err.contains("the disk that holds disk/farlink.sqlite is full"), "{}", first.err);
    assert!(first.err.contains("make room and run the same command again"), "{}", first.err);
    assert_eq!(code("second.code"), 0, "{}", desk.read("second.err"));
    assert!(desk.read("second.err").contains("resuming run 1: "));
    assert_eq!(digest(&sqlite(&desk.path("second.sqlite")), 1).unwrap(), undisturbed(FILLING));
}
