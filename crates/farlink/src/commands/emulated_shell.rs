//! `farlink shell`: a program inside an emulated network.
//!
//! Two farlink processes take part. The one that was started by hand stays outside: it checks the arguments, starts
//! a sandbox, forwards signals, joins the requested ports of this machine's loopback and, for a shell at a
//! terminal, shows the links' status. The other one, [`inside`], is the sandbox's supervisor: it builds the
//! network, runs the emulator and starts the command. Both parse the same command line. Signal numbers go inwards;
//! outwards go first the listeners, then the lines to be shown.

mod account;
pub mod inside;
mod live;
mod proxy;
mod replay;
mod screen;
mod server;
mod signals;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus};
use std::sync::Arc;
use std::{env, thread};

use anstream::eprintln;
use emu::sandbox::{Sandbox, receive_listener};
use net::Network;
use nix::poll::{PollFd, PollFlags, poll};

use crate::args::Shell;
use crate::failure::CliError;

use self::signals::{SandboxWatch, ShellSignals};

pub use self::replay::{H3_VARIABLE, KEY_VARIABLE, PROXY_VARIABLE, ShellReplayServer};

/// Carries out `farlink shell`; returns the command's exit code.
pub fn run(args: &Shell) -> Result<process::ExitCode, CliError> {
    networks(args)?;
    check_command(&args.command)?;
    ShellReplayServer::open(&args.replay)?;
    let signals = ShellSignals::take()?;
    let code = match args.command.is_empty() {
        true => live::run(args, signals)?,
        false => {
            let sandbox = start(args, inside::command())?;
            await_end(SandboxWatch::new(sandbox, signals))?
        }
    };
    Ok(process::ExitCode::from(code))
}

/// The networks named on the command line.
fn networks(args: &Shell) -> Result<Vec<Network>, CliError> {
    let parsed = args.network.iter().map(|text| Network::parse(text));
    parsed.collect::<Result<_, _>>().map_err(CliError::bad_input)
}

/// Starts the part inside and opens the requested ports.
fn start(args: &Shell, inside: process::Command) -> Result<Sandbox, CliError> {
    let wire = super::wire()?;
    let sandbox = Sandbox::start(inside).map_err(|error| CliError::not_emulated(error, wire))?;
    for port in &args.host_loopback {
        // None is sent if something went wrong inside; the error is reported there.
        let Some(listener) = receive_listener(sandbox.channel()).map_err(CliError::machine)? else {
            break;
        };
        relay_loopback(listener, port.host);
    }
    Ok(sandbox)
}

/// Waits for the command, which has our standard streams.
fn await_end(mut watch: SandboxWatch) -> Result<u8, CliError> {
    loop {
        // Interrupted or not: events are handled below.
        let _ = poll(&mut [PollFd::new(watch.signals(), PollFlags::POLLIN)], watch.timeout());
        if let Some(code) = watch.heed()? {
            return Ok(code);
        }
    }
}

/// A shell's exit code for this status: 128 + N if signal N killed it.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Checks that the command can be run at all, before anything is set up.
pub fn check_command(command: &[OsString]) -> Result<(), CliError> {
    let Some(name) = command.first() else {
        return match io::stdin().is_terminal() && io::stdout().is_terminal() {
            true => Ok(()),
            false => Err(CliError::bad_input(
                "a command is required unless standard input and output are a terminal",
            )
            .hint("farlink shell --network 4g -- COMMAND ...".to_owned())),
        };
    };
    let shown = Path::new(name).display();
    match find(name) {
        None => Err(CliError::not_found(format!("command not found: `{shown}`"))),
        Some(file) if is_executable(&file) => Ok(()),
        Some(_) => Err(CliError::not_executable(format!("not executable: `{shown}`"))),
    }
}

/// The command, ready to be started; the caller's shell if none was given.
pub fn prepare(command: &[OsString], networks: &[String]) -> Command {
    let shell = || env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut prepared = match command.split_first() {
        Some((name, arguments)) => {
            let mut prepared = Command::new(name);
            prepared.args(arguments);
            prepared
        }
        None => Command::new(shell().unwrap_or_else(|| "/bin/sh".into())),
    };
    prepared.env("FARLINK_NETWORK", networks.join(" + "));
    prepared
}

/// The file that a shell would run: an executable on PATH takes precedence over a file that is none.
fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|file| file.exists());
    }
    let path = env::var_os("PATH")?;
    let files: Vec<PathBuf> = env::split_paths(&path)
        .map(|folder| folder.join(name))
        .filter(|file| file.is_file())
        .collect();
    let program = files.iter().find(|file| is_executable(file));
    program.or(files.first()).cloned()
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

// Ports of this machine's loopback, reachable inside on request.
//
// The listener is at the far side of the emulated network; connections to it come in through the links. Each is
// joined, byte for byte, to a connection to this machine's loopback, which is not part of the emulation. A side at
// its end closes its direction only.

/// Joins every connection that `listener` accepts to `127.0.0.1:port`, for as long as the process lives.
pub fn relay_loopback(listener: TcpListener, port: u16) {
    thread::spawn(move || {
        for inside in listener.incoming() {
            let joined = inside.and_then(|inside| join(inside, port));
            if let Err(error) = joined {
                eprintln!("warning: a connection to 127.0.0.1:{port} from inside failed: {error}");
            }
        }
    });
}

/// Starts two threads, one a direction, that end with the connection.
fn join(inside: TcpStream, port: u16) -> io::Result<()> {
    let outside = Arc::new(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?);
    let inside = Arc::new(inside);
    // No Nagle's algorithm: these bytes have waited at their writer already.
    inside.set_nodelay(true)?;
    outside.set_nodelay(true)?;
    for (from, to) in [(&inside, &outside), (&outside, &inside)] {
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        thread::spawn(move || carry(&from, &to));
    }
    Ok(())
}

/// Copies until the end, and passes the end on; an error in one direction ends the other one, too.
fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let (said, other) = match io::copy(&mut from, &mut to) {
        Ok(_) => (to.shutdown(Shutdown::Write), Ok(())),
        Err(_) => (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both)),
    };
    // A connection that is already gone need not be shut down.
    let _ = said.and(other);
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::failure::ExitCode;

    fn code(command: &[&str]) -> Option<ExitCode> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        check_command(&command).err().map(|failure| failure.code())
    }

    #[test]
    fn commands_are_looked_for_as_a_shell_does() {
        assert_eq!(code(&["sh", "-c", "whatever"]), None);
        assert_eq!(code(&["/bin/sh"]), None);
        assert_eq!(code(&["no-such-command-here"]), Some(ExitCode::CommandNotFound));
        assert_eq!(code(&["./no/such/file"]), Some(ExitCode::CommandNotFound));
        assert_eq!(code(&["/etc/passwd"]), Some(ExitCode::CommandNotExecutable));
        assert_eq!(code(&["/"]), Some(ExitCode::CommandNotExecutable));
    }

    #[test]
    fn half_closed_connections_still_answer() {
        let host = TcpListener::bind("127.0.0.1:0").unwrap();
        let inside = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = inside.local_addr().unwrap();
        relay_loopback(inside, host.local_addr().unwrap().port());
        let server = thread::spawn(move || {
            let (mut stream, _) = host.accept().unwrap();
            let mut request = Vec::new();
            // Ends only if the client's end does.
            stream.read_to_end(&mut request).unwrap();
            request.reverse();
            stream.write_all(&request).unwrap();
        });
        let request: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut client = TcpStream::connect(entrance).unwrap();
        client.write_all(&request).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        server.join().unwrap();
        answer.reverse();
        assert!(answer == request);
    }

    #[test]
    fn nobody_listening_closes_the_connection() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = gone.local_addr().unwrap().port();
        drop(gone);
        let inside = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = inside.local_addr().unwrap();
        relay_loopback(inside, port);
        let mut client = TcpStream::connect(entrance).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap_or_default(), 0);
    }
}
