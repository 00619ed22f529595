//! Netlink sockets that query all others, or are notified of their end.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use nix::unistd::Pid;

use super::message::{Family, Message, dump, messages, seen};
use crate::{Connection, Error, Snapshot, sockopt};

/// The kernel fills datagrams of at most 32 KiB.
const DATAGRAM: usize = 1 << 15;
/// Time within which the kernel has to send a notice, in milliseconds.
const PATIENCE: u16 = 5000;
/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, as bits.
const DESTROYED: u32 = 1 << 0 | 1 << 2;

/// One socket of the namespace.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The connection to which it belongs.
    pub connection: Connection,
    /// Its state.
    pub snapshot: Snapshot,
}

/// Queries the TCP sockets of a network namespace.
#[derive(Debug)]
pub struct Diag {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl Diag {
    /// Opens one for the namespace of the calling thread.
    ///
    /// # Errors
    /// If the kernel was built without `CONFIG_INET_DIAG`.
    pub fn open() -> Result<Diag, Error> {
        Ok(Diag { fd: netlink(SockFlag::SOCK_CLOEXEC)?, buffer: vec![0; DATAGRAM] })
    }

    /// All current connections; one that opens or closes meanwhile may be missing.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn connections(&mut self) -> Result<Vec<Seen>, Error> {
        let mut all = Vec::new();
        for family in Family::BOTH {
            self.dump(family, &mut all).map_err(Error::system(
                "failed to ask for TCP sockets (the kernel needs CONFIG_INET_TCP_DIAG)",
            ))?;
        }
        Ok(all)
    }

    fn dump(&mut self, family: Family, all: &mut Vec<Seen>) -> Result<(), Errno> {
        send(self.fd.as_raw_fd(), &dump(family), MsgFlags::empty())?;
        loop {
            let length = recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            for message in messages(&self.buffer[..length]) {
                match message {
                    Message::Socket(body) => all.extend(seen(body)),
                    Message::Done => return Ok(()),
                    Message::Refused(errno) => return Err(Errno::from_raw(errno)),
                    Message::Other => {}
                }
            }
        }
    }
}

/// Receives a notice of each TCP socket that ends.
#[derive(Debug)]
pub(super) struct Obituaries {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl Obituaries {
    /// Receives notices from now on, in the namespace of the calling thread.
    pub(super) fn open() -> Result<Obituaries, Error> {
        let fd = netlink(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, DESTROYED))
            .map_err(Error::system("failed to ask for notices of closed TCP sockets"))?;
        Ok(Obituaries { fd, buffer: vec![0; DATAGRAM] })
    }

    /// Notices that have come since the last call.
    pub(super) fn waiting(&mut self) -> Result<Vec<Seen>, Error> {
        let mut all = Vec::new();
        while let Some(more) = self.receive()? {
            all.extend(more);
        }
        Ok(all)
    }

    /// Notices of all sockets that have ended by now. Each processor sends the notices of sockets that ended on it with some delay, in order: a
    /// marker's notice comes after those that are wanted. Moves the calling thread from processor to processor meanwhile.
    pub(super) fn up_to_now(&mut self) -> Result<Vec<Seen>, Error> {
        let mut markers = mark_processors()?;
        let mut all = Vec::new();
        loop {
            let more = self.waiting()?;
            markers.retain(|cookie| !more.iter().any(|seen| seen.connection.cookie == *cookie));
            all.extend(more);
            if markers.is_empty() {
                return Ok(all);
            }
            let mut fds = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
            let ready = poll(&mut fds, PATIENCE)
                .map_err(Error::system("failed to wait for notices of closed TCP sockets"))?;
            if ready == 0 {
                return Err(Error::System {
                    what: "the kernel gave no notice of a TCP socket that was closed",
                    errno: Errno::ETIMEDOUT,
                });
            }
        }
    }

    /// The notices of one datagram; none if nothing waits. The kernel drops notices that are not read in time; reading continues after them.
    fn receive(&mut self) -> Result<Option<Vec<Seen>>, Error> {
        match recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
            Ok(length) => {
                let socket = |message| match message {
                    Message::Socket(body) => seen(body),
                    _ => None,
                };
                Ok(Some(messages(&self.buffer[..length]).filter_map(socket).collect()))
            }
            Err(Errno::EAGAIN) => Ok(None),
            Err(Errno::ENOBUFS) => Ok(Some(Vec::new())),
            Err(errno) => {
                Err(Error::System { what: "failed to read of closed TCP sockets", errno })
            }
        }
    }
}

/// Ends a socket on each processor that the calling thread may use; returns their cookies.
fn mark_processors() -> Result<Vec<u64>, Error> {
    let this = Pid::from_raw(0);
    let failed = "failed to move a thread to another processor";
    let allowed = sched_getaffinity(this).map_err(Error::system(failed))?;
    let is_allowed = |processor: &usize| allowed.is_set(*processor).unwrap_or(false);
    let mut cookies = Vec::new();
    for processor in (0..CpuSet::count()).filter(is_allowed) {
        let mut only = CpuSet::new();
        only.set(processor).map_err(Error::system(failed))?;
        // A processor that has gone offline since sends no notices.
        if sched_setaffinity(this, &only).is_ok() {
            cookies.push(end_a_socket()?);
        }
    }
    sched_setaffinity(this, &allowed).map_err(Error::system(failed))?;
    Ok(cookies)
}

/// Opens a TCP socket and closes it; returns its cookie.
fn end_a_socket() -> Result<u64, Error> {
    let marker = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(Error::system("failed to open a TCP socket"))?;
    sockopt::get(&marker, libc::SOL_SOCKET, libc::SO_COOKIE)
        .map(u64::from_ne_bytes)
        .map_err(Error::system("failed to read SO_COOKIE"))
}

fn netlink(flags: SockFlag) -> Result<OwnedFd, Error> {
    socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkSockDiag)
        .map_err(Error::system(
            "failed to open a socket of INET_DIAG (the kernel needs CONFIG_INET_DIAG)",
        ))
}
