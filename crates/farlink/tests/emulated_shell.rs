//! `farlink shell` as people use it: what runs inside, what it sees and measures, and how it ends. Where the machine makes no
//! namespaces all is skipped, and says so; in continuous integration it fails instead.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "processes run and end in the machine's own time")]

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Desk, Ran};

const NETWORK: &str = "rtt=40ms,down=10mbit,up=2mbit";
/// A busy machine spoils one measurement, not all.
const ATTEMPTS: usize = 5;

/// A desk, where the machine can emulate.
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

/// Repeats a measurement that farlink itself calls invalid, or that the machine's load spoilt.
#[track_caller]
fn measured<T: std::fmt::Debug>(
    measure: impl Fn() -> Ran,
    read: impl Fn(&str) -> T,
    good: impl Fn(&T) -> bool,
) {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let ran = measure();
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let found = read(&ran.out);
        if good(&found) {
            return;
        }
        seen.push((found, ran.err));
    }
    panic!("{seen:?}");
}

#[test]
fn exit_codes_are_the_commands() {
    let Some(desk) = desk() else { return };
    assert_eq!(inside(&desk, &[], "exit 7").code, 7);
    assert_eq!(inside(&desk, &[], "kill -9 $$").code, 128 + 9);
    let ran = inside(&desk, &[], "echo out; echo err >&2");
    assert_eq!(ran.out, "out\n");
    assert!(ran.err.contains("err\n") && ran.err.contains("farlink: carried "), "{}", ran.err);
}

#[test]
fn what_cannot_be_run_is_refused_first() {
    let desk = Desk::new();
    let shell = |arguments: &str| desk.farlink(&format!("shell {arguments}"));
    let ran = shell(&format!("--network {NETWORK} -- no-such-command"));
    assert_eq!((ran.code, ran.out.as_str()), (127, ""));
    assert!(ran.err.contains("there is no command `no-such-command`"), "{}", ran.err);
    assert_eq!(shell(&format!("--network {NETWORK} -- /etc/passwd")).code, 126);
    shell(&format!("--network {NETWORK}")).refused(&["no terminal", "-- COMMAND"]);
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

#[test]
fn a_program_sees_its_user_and_the_emulated_network() {
    let Some(desk) = desk() else { return };
    desk.put("mine.txt", "mine");
    let out = inside(&desk, &[], "cat mine.txt; id -u; ls -n new 2>&1 | head -c 0; touch new; \
         stat -c %u new; echo $FARLINK_NETWORK; grep server.farlink /etc/hosts | head -n 1; grep -c : /proc/net/dev").ok();
    let lines: Vec<&str> = out.lines().collect();
    let user = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap();
    let user = user.trim();
    assert_eq!(lines, [&format!("mine{user}"), user, NETWORK, "10.0.0.2 server.farlink", "2"]);
    assert!(desk.path("new").exists(), "files are the user's own");
}

#[test]
fn ping_measures_the_round_trip() {
    let Some(desk) = desk() else { return };
    if !is_installed("ping") {
        return;
    }
    let least = |out: &str| -> f64 {
        let times = out.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
        times.and_then(|times| times.split('/').next()?.parse().ok()).expect(out)
    };
    for family in ["-4", "-6"] {
        let ping = format!("ping {family} -c 5 -i 0.2 server.farlink");
        measured(|| inside(&desk, &[], &ping), least, |least| (40.0..41.0).contains(least));
    }
}

#[test]
fn networks_lie_one_behind_the_other() {
    let Some(desk) = desk() else { return };
    if !is_installed("ping") {
        return;
    }
    let far = ["--network", "rtt=30ms,down=100mbit,up=100mbit", "--log", "log.json"];
    let ran = inside(&desk, &far, "ping -c 3 -i 0.2 server.farlink");
    assert!(ran.ok().contains("time=7"), "40 + 30 ms");
    let log: serde_json::Value = serde_json::from_str(&desk.read("log.json")).unwrap();
    let names: Vec<_> = log["links"].as_array().unwrap().iter().map(|link| &link["name"]).collect();
    assert_eq!(names, ["up", "down", "hop/1/up", "hop/1/down"]);
    assert!(log["links"][2]["delivered_packets"].as_u64() >= Some(3));
}

#[test]
fn iperf_measures_the_rate() {
    let Some(desk) = desk() else { return };
    if !is_installed("iperf3") {
        return;
    }
    let rate = |out: &str| -> f64 {
        let report: serde_json::Value = serde_json::from_str(out).expect(out);
        report["end"]["sum_received"]["bits_per_second"].as_f64().expect(out)
    };
    // Payload: 1448 of 1500 bytes, and the time until the window has opened.
    measured(
        || inside(&desk, &["--server", "iperf3 -s"], "iperf3 -c server.farlink -R -t 3 -O 1 -J"),
        rate,
        |rate| (9.3e6..9.7e6).contains(rate),
    );
}

#[test]
fn losses_are_in_the_log_one_by_one() {
    let Some(desk) = desk() else { return };
    if !is_installed("ping") {
        return;
    }
    let network = "rtt=4ms,down=10mbit,up=10mbit,up.loss=30%";
    let log = |seed: &str| {
        let arguments = ["shell", "--network", network, "--seed", seed, "--log", "log.json"];
        let command = ["--", "ping", "-q", "-c", "60", "-i", "0.005", "server.farlink"];
        let ran = desk.run(&[&arguments[..], &command].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let log: serde_json::Value = serde_json::from_str(&desk.read("log.json")).unwrap();
        let drops = log["drops"].as_array().unwrap().len() as u64;
        assert_eq!(log["links"][0]["lost_packets"], drops);
        assert_eq!(log["links"][0]["delivered_packets"], 60 - drops);
        assert!(log["drops"].as_array().unwrap().iter().all(|drop| drop["cause"] == "loss"));
        drops
    };
    assert!((6..=33).contains(&log("1")), "30 % of 60, at five standard deviations");
    assert_eq!(log("1"), log("1"), "the same seed, the same losses");
}

#[test]
fn the_hosts_loopback_is_reachable_where_asked_for() {
    let Some(desk) = desk() else { return };
    if !is_installed("curl") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let len = stream.read(&mut request).unwrap();
        assert!(request[..len].starts_with(b"GET /x HTTP/1.1\r\nHost: server.farlink:81\r\n"));
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nfrom the host").unwrap();
        // The end is told by half-closing.
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let open = format!("{port}=81");
    let curl = "curl -sS -w ' %{time_connect}' http://server.farlink:81/x";
    let out = inside(&desk, &["--host-loopback", &open], curl).ok();
    server.join().unwrap();
    let connect: f64 = out.strip_prefix("from the host ").expect(&out).parse().unwrap();
    assert!(connect >= 0.040, "through the links: {connect}");
    let refused = inside(&desk, &[], &format!("curl -sS http://server.farlink:{port}/"));
    assert_eq!(refused.code, 7, "not where nobody asked for it");
}

/// Answers everything with a page that writes what the browser measured into itself.
fn serve_timings(listener: TcpListener) {
    const PAGE: &str = "<p id=p></p><script>const [n] = performance.getEntriesByType('navigation');\
        p.textContent = `answer ${n.responseStart - n.requestStart} ms`</script>";
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // A connection that the browser opens in reserve says nothing.
            std::thread::spawn(move || {
                if stream.read(&mut [0; 4096]).is_ok_and(|len| len > 0) {
                    let head = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n";
                    let _ = stream.write_all(format!("{head}{PAGE}").as_bytes());
                }
            });
        }
    });
}

#[test]
fn chromium_measures_the_round_trip() {
    let Some(desk) = desk() else { return };
    if !is_installed("chromium") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = format!("{}=80", listener.local_addr().unwrap().port());
    serve_timings(listener);
    // Chromium's own sandbox works inside; root it refuses.
    let chromium = "test $(id -u) = 0 && no=--no-sandbox; chromium $no --headless=new --disable-gpu \
        --user-data-dir=profile --dump-dom http://server.farlink/ 2>errors || { cat errors; exit 1; }";
    let answer = |out: &str| -> f64 {
        let rest = out.split("<p id=\"p\">answer ").nth(1).expect(out);
        rest.split(" ms").next().and_then(|number| number.parse().ok()).expect(out)
    };
    measured(
        || inside(&desk, &["--host-loopback", &open], chromium),
        answer,
        |answer| (40.0..50.0).contains(answer),
    );
}

#[test]
fn servers_that_do_not_come_up_are_told() {
    let Some(desk) = desk() else { return };
    let ran = inside(&desk, &["--server", "exit 4"], "echo started");
    ran.refused(&["the server command ended before it listened: exit status: 4"]);
}

/// Starts a command inside and waits until it says that it runs.
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

/// A terminal of 24 rows and 80 columns with `farlink shell` at it.
struct Terminal {
    ours: std::fs::File,
    farlink: Child,
    seen: String,
}

impl Terminal {
    fn start(desk: &Desk) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
        set_size(&ours, 24, 80);
        let mut command = desk.command(&["shell", "--network", NETWORK]);
        command.env("SHELL", "/bin/sh").env("PS1", "$ ");
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap());
        let farlink = command.stderr(theirs).spawn().unwrap();
        Terminal { ours: ours.into(), farlink, seen: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads on until this has been shown since the last time.
    #[track_caller]
    fn await_text(&mut self, text: &str) {
        let began = Instant::now();
        let mut buffer = [0; 4096];
        while !self.seen.contains(text) {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "`{text}` is not in {:?}",
                self.seen
            );
            // At the end of the last program at the terminal: EIO.
            let len = self.ours.read(&mut buffer).unwrap_or_else(|_| panic!("{:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..len]));
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }
}

fn set_size(terminal: impl std::os::fd::AsFd, rows: u16, columns: u16) {
    use rustix::termios::{Winsize, tcsetwinsize};
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

#[test]
fn a_shell_at_a_terminal_has_a_line_about_the_links() {
    let Some(desk) = desk() else { return };
    let mut terminal = Terminal::start(&desk);
    let settings = rustix::termios::tcgetattr(&terminal.ours).unwrap();
    terminal.await_text("$ ");
    terminal.await_text("\x1b[24;1H\x1b[2K\x1b[7mdown 0.0 kbit/s, queue 0 ms | up ");
    terminal.press("stty size; echo $((6 * 7))\r");
    terminal.await_text("23 80\r\n");
    terminal.await_text("42");
    // Keys mean to the shell what they always do.
    terminal.press("sh -c 'echo star\"\"ted; exec sleep 100'\r");
    terminal.await_text("started\r\n");
    terminal.press("\x03");
    terminal.await_text("$ ");
    terminal.press("echo $?\r");
    terminal.await_text("130\r\n");
    set_size(&terminal.ours, 30, 100);
    // Outside of a session of its own nobody tells farlink.
    signal(&terminal.farlink, "WINCH");
    terminal.await_text("\x1b[30;1H");
    terminal.press("stty size\r");
    terminal.await_text("29 100\r\n");
    terminal.press("exit 3\r");
    terminal.await_text("farlink: carried ");
    terminal.await_text("\x1b[r\x1b[30;1H\x1b[2K");
    assert_eq!(terminal.farlink.wait().unwrap().code(), Some(3));
    let after = rustix::termios::tcgetattr(&terminal.ours).unwrap();
    assert_eq!(format!("{after:?}"), format!("{settings:?}"), "the terminal is as it was");
}

#[test]
fn a_shell_that_is_ended_leaves_the_terminal_as_it_was() {
    let Some(desk) = desk() else { return };
    let mut terminal = Terminal::start(&desk);
    terminal.await_text("down 0.0 kbit/s");
    signal(&terminal.farlink, "TERM");
    terminal.await_text("\x1b[r\x1b[24;1H\x1b[2K");
    assert_eq!(terminal.farlink.wait().unwrap().code(), Some(128 + 15));
    let modes = rustix::termios::tcgetattr(&terminal.ours).unwrap().local_modes;
    assert!(
        modes.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON)
    );
}

/// What the machine would have of a sandbox: its processes, here those with `marker` among their arguments, and mounts. Namespaces
/// without either do not exist (namespaces(7)).
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    processes: usize,
    mounts: usize,
}

fn traces(marker: &str) -> Traces {
    let is_marked = |process: &std::fs::DirEntry| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == marker.as_bytes())
    };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    Traces {
        processes: std::fs::read_dir("/proc").unwrap().flatten().filter(is_marked).count(),
        mounts: mounts.lines().count(),
    }
}

/// Waits until no process is left, and looks at the rest.
#[track_caller]
fn assert_gone(desk: &Desk, marker: &str, before: &Traces) {
    let began = Instant::now();
    while traces(marker).processes > 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "left: {:?}", traces(marker));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(&traces(marker), before);
    assert!(desk.names().is_empty(), "no temporary files: {:?}", desk.names());
}

/// `farlink shell` with this script, whose temporary files would be on the desk.
fn marked(desk: &Desk, script: &str, marker: &str) -> Command {
    let arguments = ["shell", "--network", NETWORK, "--", "sh", "-c", script, marker];
    let mut command = desk.command(&arguments);
    command.env("TMPDIR", desk.path("")).stderr(Stdio::null());
    command
}

/// Kills farlink at times between its first instruction and long after the command has started.
fn killed(times: u64) {
    let Some(desk) = desk() else { return };
    for round in 0..times {
        let marker = format!("farlink-shell-{}-{round}", std::process::id());
        let before = traces(&marker);
        let mut command = marked(&desk, "setsid sleep 300 & sleep 300", &marker);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 200 / times));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_gone(&desk, &marker, &before);
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

/// One after the other.
fn in_a_row(times: u64) {
    let Some(desk) = desk() else { return };
    let marker = format!("farlink-shell-{}", std::process::id());
    let before = traces(&marker);
    for _ in 0..times {
        assert!(marked(&desk, "sleep 300 &", &marker).status().unwrap().success());
        assert_gone(&desk, &marker, &before);
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

/// Runs `farlink shell` in surroundings that a script of sh makes, in which `"$@"` is the command to execute.
fn in_surroundings(desk: &Desk, script: &str) -> Ran {
    let farlink = env!("CARGO_BIN_EXE_farlink");
    let arguments = ["-c", script, "sh", farlink, "shell", "--network", NETWORK, "--", "true"];
    let mut command = Command::new("/bin/sh");
    Ran::new(&command.args(arguments).current_dir(desk.path("")).output().unwrap())
}

#[test]
fn without_user_namespaces_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    // Root of a user namespace that allows no others, and without the capabilities that would spare one.
    let ran = in_surroundings(
        &desk,
        "exec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces
         exec setpriv --bounding-set=-all --inh-caps=-all -- \"$@\"' sh \"$@\"",
    );
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("error: this machine does not emulate networks"), "{}", ran.err);
    assert!(
        ran.err.contains("user namespaces: user.max_user_namespaces allows no more (0)"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("hint: sudo sysctl -w user.max_user_namespaces="), "{}", ran.err);
}

#[test]
fn without_network_namespaces_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    let ran = in_surroundings(
        &desk,
        "exec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces; exec \"$@\"' sh \"$@\"",
    );
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("the limit of namespaces is reached"), "{}", ran.err);
    assert!(ran.err.contains("user.max_net_namespaces="), "{}", ran.err);
}

#[test]
fn without_iproute2_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    let ran = in_surroundings(
        &desk,
        "mkdir bin && ln -s /bin/true bin/true && exec env PATH=\"$PWD/bin\" \"$@\"",
    );
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("iproute2: there is no `ip` on PATH"), "{}", ran.err);
    assert!(ran.err.contains("apt-get install iproute2"), "{}", ran.err);
}

#[test]
fn the_doctor_tries_everything() {
    let Some(desk) = desk() else { return };
    let out = desk.farlink("doctor").ok();
    for part in
        ["user namespaces", "virtual Ethernet (veth)", "packet sockets", "emulated networks"]
    {
        assert!(out.contains(&format!("  yes  {part}: ")), "{out}");
    }
    let mut command = desk.command(&["doctor"]);
    let without = Ran::new(&command.env("PATH", "/nowhere").output().unwrap()).ok();
    assert!(without.contains("   no  iproute2: there is no `ip` on PATH"), "{without}");
    assert!(without.contains("to mend it: sudo apt-get install iproute2"), "{without}");
    assert!(without.contains("   no  emulated networks: "), "{without}");
    assert!(desk.names().is_empty());
}
