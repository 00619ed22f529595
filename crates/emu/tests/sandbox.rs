//! Sandboxes: their inside, and that nothing is left behind.
//!
//! The program runs itself in three roles: the tests, an owner of a sandbox that is there to be killed, and the supervisor of either. If
//! the machine forbids namespaces everything is skipped, with a message; in continuous integration it fails instead.
#![expect(clippy::disallowed_methods, reason = "processes end in the machine's own time")]

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use farlink_emu::sandbox::{HostNames, RunAs, Sandbox, Supervisor};
use farlink_emu::{Error, NetNamespace};
use libtest_mimic::{Arguments, Failed, Trial};

const SUPERVISE: &str = "--supervise";
const OWN: &str = "--own";
/// Time within which the kernel has to end the processes.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(SUPERVISE) => supervise(&arguments.collect::<Vec<_>>()),
        Some(OWN) => own(&arguments.collect::<Vec<_>>()),
        _ => run_tests(),
    }
}

fn run_tests() {
    let trials = match Sandbox::start(supervisor(&["true"])).and_then(|mut sandbox| sandbox.wait())
    {
        Ok(_) => vec![
            Trial::test("shows_its_own_world", shows_its_own_world),
            Trial::test("passes_the_exit_code_on", passes_the_exit_code_on),
            Trial::test("ends_when_dropped", ends_when_dropped),
            Trial::test("ends_with_a_killed_owner", || killed_at_random(5)),
            Trial::test("ends_with_a_killed_owner_at_any_time", || killed_at_random(40))
                .with_ignored_flag(true),
        ],
        Err(error) if !in_continuous_integration() => {
            println!("skipped: no namespaces on this machine ({error})");
            vec![]
        }
        Err(error) => panic!("no namespaces on this machine: {error}"),
    };
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn in_continuous_integration() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Runs a command as a node and exits with its status, or with 99 and the error on the channel.
fn supervise(command: &[String]) {
    let supervisor = Supervisor::enter().unwrap_or_else(|error| panic!("{error}"));
    let node = || -> Result<i32, Error> {
        let names = HostNames::default().with("server.farlink", Ipv4Addr::new(10, 0, 0, 2));
        supervisor.set_names(&names)?;
        let namespace = NetNamespace::new()?;
        let mut command = program(command);
        let child = namespace.start(&mut command, RunAs::Caller)?;
        loop {
            let reaped = supervisor.reap()?;
            if reaped.id == child.id() {
                return Ok(reaped.status.code().unwrap_or(98));
            }
        }
    };
    let code = node().unwrap_or_else(|error| {
        let _ = writeln!(supervisor.channel(), "{error}");
        99
    });
    std::process::exit(code);
}

fn program(command: &[String]) -> Command {
    let (name, arguments) = command.split_first().expect("a command has a name");
    let mut program = Command::new(name);
    program.args(arguments);
    program
}

fn supervisor(node: &[&str]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(SUPERVISE).args(node);
    command
}

/// Owns a sandbox until it is killed.
fn own(node: &[String]) {
    let node: Vec<&str> = node.iter().map(String::as_str).collect();
    let mut sandbox = Sandbox::start(supervisor(&node)).unwrap_or_else(|error| panic!("{error}"));
    let _ = sandbox.wait();
}

/// Output of a shell script inside, by line.
fn printed(script: &str) -> Result<Vec<String>, Failed> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = supervisor(&["sh", "-c", script]);
    command.stdout(writer);
    let mut sandbox = Sandbox::start(command)?;
    let lines = BufReader::new(reader).lines().collect::<Result<_, _>>()?;
    sandbox.wait()?;
    Ok(lines)
}

fn shows_its_own_world() -> Result<(), Failed> {
    let lines = printed(
        "getent hosts server.farlink; id -u; grep -c : /proc/self/net/dev
         ls /proc/self/fd | wc -l; env | grep -c FARLINK_SANDBOX",
    )?;
    let outside = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).output().expect("sh is there");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert!(lines[0].starts_with("10.0.0.2"), "{lines:?}");
    assert_eq!(lines[1], outside("id -u"), "a node is its caller");
    assert_eq!(lines[2], "1", "a loopback interface and no other");
    assert_eq!(lines[3], outside("ls /proc/self/fd | wc -l"), "the channel is not a node's");
    assert_eq!(lines[4], "0", "nor is it told of it");
    Ok(())
}

fn passes_the_exit_code_on() -> Result<(), Failed> {
    let code = |node: &[&str]| Ok::<_, Failed>(Sandbox::start(supervisor(node))?.wait()?.code());
    assert_eq!(code(&["sh", "-c", "exit 7"])?, Some(7));
    assert_eq!(code(&["sh", "-c", "(sleep 0.05; exit 3) & sleep 0.1; exit 8"])?, Some(8));
    let mut sandbox = Sandbox::start(supervisor(&["/nowhere/at/all"]))?;
    let mut message = String::new();
    BufReader::new(sandbox.channel()).read_line(&mut message)?;
    assert!(message.contains("failed to start /nowhere/at/all: No such file"), "{message}");
    assert_eq!(sandbox.wait()?.code(), Some(99));
    Ok(())
}

fn ends_when_dropped() -> Result<(), Failed> {
    let marker = Marker::new("dropped");
    let sandbox = Sandbox::start(supervisor(&marker.daemon()))?;
    marker.await_alive(true);
    drop(sandbox);
    marker.await_alive(false);
    Ok(())
}

/// Kills owners after times that range from their first instruction to long after the node has started.
fn killed_at_random(times: u32) -> Result<(), Failed> {
    for round in 0..times {
        let marker = Marker::new(&format!("killed-{round}"));
        let mut owner = Command::new("/proc/self/exe")
            .arg(OWN)
            .args(marker.daemon())
            .stdin(Stdio::null())
            .spawn()?;
        let micros = u64::from(round) * 60_000 / u64::from(times);
        std::thread::sleep(Duration::from_micros(micros));
        owner.kill()?;
        owner.wait()?;
        marker.await_alive(false);
    }
    Ok(())
}

/// Marks processes by a unique argument.
struct Marker(String);

impl Marker {
    fn new(test: &str) -> Marker {
        Marker(format!("farlink-test-{}-{test}", std::process::id()))
    }

    /// A node with a child in its own session.
    fn daemon(&self) -> Vec<&str> {
        vec!["sh", "-c", "setsid sleep 300 & sleep 300", &self.0]
    }

    /// Waits until processes with this argument exist, or are gone. Besides the node, owner and supervisor have it too.
    fn await_alive(&self, alive: bool) {
        let started = std::time::Instant::now();
        while self.exists() != alive {
            assert!(started.elapsed() < PATIENCE, "processes of {} exist: {}", self.0, !alive);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn exists(&self) -> bool {
        let processes = std::fs::read_dir("/proc").expect("proc is there");
        processes.flatten().any(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|argument| argument == self.0.as_bytes())
        })
    }
}
