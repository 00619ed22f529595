//! A scratch directory with farlink in it, as a user at a shell has it.

// Each test file is a separate program and uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

/// The program under test: the one that was built with the tests, or a copy if the tester may not read that.
pub fn program() -> PathBuf {
    std::env::var_os("FARLINK_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_farlink").into(), PathBuf::from)
}

/// Returns true if TAP devices are available here: many containers have no /dev/net/tun.
pub fn has_tap() -> bool {
    let missing = emu::diagnosis::missing(Some(emu::Wire::Tap));
    for (capability, lack) in &missing {
        println!("skipped: {capability}: {}", lack.why);
    }
    missing.is_empty()
}

/// Returns true if this machine can emulate and has a Chromium.
pub fn has_emulated_chromium(desk: &Desk) -> bool {
    let namespaces = emu::diagnosis::missing(None).is_empty();
    let doctor = desk.farlink("doctor").out;
    let chromium = doctor.lines().any(|line| line.contains("Chromium 1"));
    if !(namespaces && chromium) {
        println!("skipped: no namespaces or no Chromium here (farlink doctor says why)");
    }
    namespaces && chromium
}

/// A working directory for commands; removed when the test ends.
pub struct Desk(TempDir);

/// Result of a command.
pub struct Ran {
    /// Its exit code.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Desk {
    pub fn new() -> Desk {
        Desk(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts a file on the desk.
    pub fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("the desk can be written to");
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names of everything on the desk, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The command `farlink ARGUMENTS`, not started, without the tester's own colour settings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        // A test that runs in the background ignores Ctrl-C, and so would all its children.
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal")
            .arg(program())
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs `farlink ARGUMENTS`, split at spaces.
    pub fn farlink(&self, arguments: &str) -> Ran {
        self.run(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().expect("farlink can be started");
        Ran::new(&output)
    }

    /// Opens a store with plain SQLite.
    pub fn sqlite(&self, name: &str) -> Connection {
        sqlite(&self.path(name))
    }
}

impl Ran {
    pub fn new(output: &Output) -> Ran {
        Ran {
            code: output.status.code().expect("farlink ends by itself"),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The output of a successful command.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// The lines of JSON that a successful command printed.
    #[track_caller]
    pub fn json(self) -> Vec<Value> {
        json_lines(&self.ok())
    }

    /// The message of a refusal: exit code 2, one error, no output, and every one of `parts` in the message.
    #[track_caller]
    pub fn refused(self, parts: &[&str]) -> String {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.starts_with("error: "), "{}", self.err);
        assert_eq!(self.err.matches("error: ").count(), 1, "{}", self.err);
        assert!(self.err.matches("hint: ").count() <= 1, "{}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not in: {}", self.err);
        }
        self.err
    }
}

/// Checks that `farlink ARGUMENTS` is refused on an empty desk, and leaves it empty.
#[track_caller]
pub fn refuses(arguments: &str, parts: &[&str]) {
    let desk = Desk::new();
    desk.farlink(arguments).refused(parts);
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

/// The median load time of independent loads, in nanoseconds.
pub fn median_ns(desk: &Desk, page: &str, options: &str, repetitions: usize) -> f64 {
    let loads = desk.farlink(&format!("load {page} -n {repetitions} --json {options}")).json();
    let mut times: Vec<f64> = loads.iter().map(|load| load["plt_ms"].as_f64().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    (times[(repetitions - 1) / 2] + times[repetitions / 2]) / 2.0 * 1e6
}

/// Parses lines of JSON.
#[track_caller]
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Sends a signal, as `kill -NAME` does.
pub fn send_signal(child: &Child, name: &str) {
    let kill = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(kill.expect("there is a kill command").success());
}

/// Waits for a condition that other threads or processes bring about.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "other threads and processes take the machine's time"
)]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    const PATIENCE: Duration = Duration::from_secs(20);
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it did not come about in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn sqlite(path: &Path) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .expect("SQLite opens a store");
    // Another process may be writing to it.
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection
}

/// The complete digest of a run; `None` while the run is not complete.
pub fn digest(store: &Connection, run: i64) -> Option<String> {
    store.query_row("SELECT digest FROM run WHERE id = ?1", [run], |row| row.get(0)).unwrap()
}

/// Number of journeys in a store; 0 if there is no store yet.
pub fn journeys(path: &Path) -> u64 {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(connection) = Connection::open_with_flags(path, flags) else { return 0 };
    let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    connection.query_row("SELECT count(*) FROM journey", [], count).unwrap_or(0) as u64
}

/// A page of `n` small objects and one of each arm and distance: `4 * repetitions` journeys.
pub fn experiment(repetitions: u32) -> String {
    format!(
        "format = 1\nname = \"test\"\nrepetitions = {repetitions}\n\n\
         [page]\nname = \"synthetic:12x10KB\"\n\n\
         [network]\nbase = \"cable\"\nrtt = [\"20ms\", \"100ms\"]\nloss = \"1%\"\n\n\
         [stack]\nprotocol = [\"h1\", \"h2\"]\n"
    )
}

/// The lines of one of a report's CSV files, below the column names.
pub fn report_rows<'a>(report: &'a str, id: &str) -> Vec<&'a str> {
    let place = format!("id=\"{id}\" class=\"csv\">");
    let Some((_, rest)) = report.split_once(&place) else { return Vec::new() };
    rest.split("</pre>").next().unwrap().lines().skip(1).collect()
}
