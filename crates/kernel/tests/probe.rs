//! Traces come and go: none leaves anything behind, even if its process was killed. Their content is compared in `crates/emu/tests/tcp_series.rs`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use farlink_kernel::monotonic;
use farlink_kernel::probe::{Probe, TraceScope};

/// Set in the program that dies while it traces.
const DOOMED: &str = "FARLINK_KERNEL_TEST_DOOMED";

fn wanted(port: u16) -> TraceScope {
    TraceScope { ports: vec![port], segment_bytes: 1448 }
}

/// Number of instances of a process. Looks from its own mount namespace, for tracefs may not be mounted.
fn instances(process: u32) -> usize {
    let script = "grep -q ' /sys/kernel/tracing ' /proc/mounts || mount -t tracefs t /sys/kernel/tracing; ls /sys/kernel/tracing/instances";
    let output = Command::new("unshare").args(["-m", "sh", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    names.lines().filter(|name| name.starts_with(&format!("farlink-{process}-"))).count()
}

/// In one test, since other tests' traces would be counted.
#[test]
fn root_traces_and_leaves_nothing_behind() {
    #[expect(clippy::disallowed_methods, reason = "the test tells itself what it is to do")]
    let doomed = std::env::var(DOOMED).is_ok();
    if doomed {
        let _probe = Probe::start(wanted(1)).unwrap();
        std::process::abort();
    }
    match Probe::start(wanted(1)) {
        Ok(probe) => drop(probe.finish(monotonic()).unwrap()),
        Err(error) => {
            assert!(error.to_string().contains("needs root of the machine"), "{error}");
            return println!("skipped: {error}");
        }
    }
    let mut doomed = Command::new(std::env::current_exe().unwrap());
    doomed.args(["--exact", "root_traces_and_leaves_nothing_behind"]).env(DOOMED, "1");
    let mut doomed = doomed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(!doomed.wait().unwrap().success(), "it was to die");
    assert_eq!(instances(doomed.id()), 1, "what it left behind");

    let (one, other) = (Probe::start(wanted(1)).unwrap(), Probe::start(wanted(1)).unwrap());
    assert_eq!(instances(doomed.id()), 0, "the next trace removes it");
    assert_eq!(instances(std::process::id()), 2, "but none that is in use");
    one.finish(monotonic()).unwrap();
    other.finish(monotonic()).unwrap();
    assert_eq!(instances(std::process::id()), 0);
    show_one_port_alone();
}

fn show_one_port_alone() {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [traced, other] = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
    let probe = Probe::start(wanted(traced.port())).unwrap();
    for listener in &listeners {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 100]).unwrap();
        server.read_exact(&mut [0; 100]).unwrap();
    }
    let motions = probe.finish(monotonic()).unwrap().motions;
    let of = |address| motions.keys().filter(move |connection| connection.local == address).count();
    assert_eq!((of(traced), of(other)), (1, 0), "{:?}", motions.keys());
}
