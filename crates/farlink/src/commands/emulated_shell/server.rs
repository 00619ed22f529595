//! A command at the network's far side.

use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;
use std::{fs, io};

use anstream::eprintln;
use emu::sandbox::RunAs;
use emu::{AccessSide, NetNamespace, Testbed};

use crate::failure::CliError;

/// Time limit for the server to begin to listen.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(5);
/// `TCP_LISTEN` as `/proc/net/tcp` writes it (`include/net/tcp_states.h`).
const LISTENING: &str = "0A";
/// `TCP_CLOSE`: the state of a bound datagram socket (proc(5)).
const BOUND: &str = "07";

/// The server, which ends with the sandbox.
pub struct FarSideServer {
    child: Child,
}

impl FarSideServer {
    /// Starts it, and waits until one more socket is listening there.
    pub fn start(testbed: &Testbed, text: &str) -> Result<FarSideServer, CliError> {
        let mut command = Command::new("/bin/sh");
        let said = io::stderr().as_fd().try_clone_to_owned().map_err(CliError::machine)?;
        command.args(["-c", text]).stdin(Stdio::null()).stdout(said);
        let namespace = testbed.namespace(AccessSide::Server);
        // Sockets for ports of this machine's loopback.
        let others = waiting_sockets(namespace)?;
        let child = namespace.start(&mut command, RunAs::Caller).map_err(CliError::machine)?;
        let mut server = FarSideServer { child };
        server.await_readiness(namespace, others)?;
        Ok(server)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reports that the server ended before the command did, unless its status is success.
    pub fn tell_end(&self, status: ExitStatus) {
        if !status.success() {
            eprintln!("warning: the server command exited first: {status}");
        }
    }

    fn await_readiness(&mut self, namespace: &NetNamespace, others: usize) -> Result<(), CliError> {
        let mut left = PATIENCE;
        while waiting_sockets(namespace)? <= others {
            if let Some(status) = self.child.try_wait().map_err(CliError::machine)? {
                return Err(CliError::bad_input(format!(
                    "the server command exited before it listened: {status}"
                )));
            }
            if left.is_zero() {
                let seconds = PATIENCE.as_secs();
                eprintln!("warning: the server command is not listening after {seconds} s");
                break;
            }
            pause();
            left = left.saturating_sub(STEP);
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "real time: another process is getting ready")]
fn pause() {
    thread::sleep(STEP);
}

/// Number of sockets of this namespace that wait for clients.
fn waiting_sockets(namespace: &NetNamespace) -> Result<usize, CliError> {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
    let job = move || {
        // With IPv6 off there is no table for it.
        let tables = [("tcp", LISTENING), ("tcp6", LISTENING), ("udp", BOUND), ("udp6", BOUND)];
        Ok(tables.iter().map(|(name, state)| count(&read(name).unwrap_or_default(), state)).sum())
    };
    namespace.run(job).map_err(CliError::machine)
}

/// Number of sockets of a table in this state, which is its fourth column.
fn count(table: &str, state: &str) -> usize {
    table.lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some(state)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_told_from_others() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:1F91 0100007F:9000 01 00000000:00000000\n";
        assert_eq!(count(table, LISTENING), 1);
        assert_eq!(count(table, BOUND), 0);
        assert_eq!(count("", LISTENING), 0);
    }
}
