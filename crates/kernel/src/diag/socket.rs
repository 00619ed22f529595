//! A socket that asks for, or is told of, all others.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};

use super::message::{Family, Message, dump, messages, seen};
use crate::{Connection, Error, Snapshot};

/// The kernel fills datagrams of at most 32 KiB.
const DATAGRAM: usize = 1 << 15;
/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, as bits.
const DESTROYED: u32 = 1 << 0 | 1 << 2;

/// One socket of the namespace.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Which connection it ends.
    pub connection: Connection,
    /// How it stands.
    pub snapshot: Snapshot,
}

/// Asks for the TCP sockets of a network namespace.
#[derive(Debug)]
pub struct Diag {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl Diag {
    /// For the namespace that the calling thread is in.
    ///
    /// # Errors
    /// If the kernel was built without `CONFIG_INET_DIAG`.
    pub fn open() -> Result<Diag, Error> {
        Ok(Diag { fd: netlink(SockFlag::SOCK_CLOEXEC)?, buffer: vec![0; DATAGRAM] })
    }

    /// All connections now; one that opens or closes meanwhile may be missing.
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

/// Is told of each TCP socket that ends.
#[derive(Debug)]
pub(super) struct Obituaries {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl Obituaries {
    /// From now on, in the namespace that the calling thread is in.
    pub(super) fn open() -> Result<Obituaries, Error> {
        let fd = netlink(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, DESTROYED))
            .map_err(Error::system("failed to ask for notices of closed TCP sockets"))?;
        Ok(Obituaries { fd, buffer: vec![0; DATAGRAM] })
    }

    /// The next ones, and nothing when all were read. The kernel drops notices that nobody reads in time; reading goes on behind them.
    pub(super) fn next(&mut self) -> Result<Vec<Seen>, Error> {
        match recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
            Ok(length) => {
                let socket = |message| match message {
                    Message::Socket(body) => seen(body),
                    _ => None,
                };
                Ok(messages(&self.buffer[..length]).filter_map(socket).collect())
            }
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(Vec::new()),
            Err(errno) => {
                Err(Error::System { what: "failed to read of closed TCP sockets", errno })
            }
        }
    }
}

fn netlink(flags: SockFlag) -> Result<OwnedFd, Error> {
    socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkSockDiag)
        .map_err(Error::system(
            "failed to open a socket of INET_DIAG (the kernel needs CONFIG_INET_DIAG)",
        ))
}
