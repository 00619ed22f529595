//! `INET_DIAG`: kernel state of all TCP sockets of a network namespace, whoever owns them, without privilege.
//!
//! There are two ways, and [`Follower`] uses both: a dump of all sockets, requested periodically, and a notice of each
//! socket that is destroyed, with its last counters, so that events after the last poll are not lost. Sockets in
//! TIME-WAIT have nothing to report and are left out.
//!
//! A dump walks the whole table of the machine's connections: 0.8 ms on a machine with memory. A namespace with its own table
//! (`tcp_child_ehash_entries`) is dumped in some 15 us, which also makes the age of a poll when it is noted matter less.
//!
//! Source: sock_diag(7); Linux 6.18 `include/uapi/linux/inet_diag.h`, `net/ipv4/inet_diag.c`, `net/core/sock_diag.c`.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use nix::unistd::Pid;
use units::Time;

use crate::{Connection, ConnectionSnapshot, Error, Motions, monotonic, note_change, sockopt};

mod message;

use message::{DiagMessage, TableFamily, dump, messages, seen};

/// A thread that polls all connections of a namespace, and keeps the changes.
#[derive(Debug)]
pub struct Follower {
    /// Dropped to stop it.
    stop: Sender<()>,
    thread: JoinHandle<Result<Motions, Error>>,
}

impl Follower {
    /// Starts to follow the connections of the calling thread's namespace, polling once per `every`; times count from `began` on
    /// `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// If the kernel was built without `INET_DIAG`.
    pub fn start(every: Duration, began: Duration) -> Result<Follower, Error> {
        let view = FollowerThread {
            diag: Diag::open()?,
            destroyed: DestroyNotices::open()?,
            began,
            motions: Motions::new(),
        };
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut view = view;
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                view.look()?;
            }
            view.poll_last()
        });
        Ok(Follower { stop, thread })
    }

    /// Polls a last time and ends.
    ///
    /// # Errors
    /// If a poll had failed.
    pub fn finish(self) -> Result<Motions, Error> {
        drop(self.stop);
        self.thread.join().expect("the follower's thread does not panic")
    }
}

struct FollowerThread {
    diag: Diag,
    destroyed: DestroyNotices,
    began: Duration,
    motions: Motions,
}

impl FollowerThread {
    fn look(&mut self) -> Result<(), Error> {
        let ended = self.destroyed.waiting()?;
        self.note(&ended);
        let open = self.diag.connections()?;
        self.note(&open);
        Ok(())
    }

    /// The last poll. Connections that end just now are seen open or ended, or both, in this order.
    fn poll_last(mut self) -> Result<Motions, Error> {
        let open = self.diag.connections()?;
        self.note(&open);
        let ended = self.destroyed.up_to_now()?;
        self.note(&ended);
        Ok(self.motions)
    }

    fn note(&mut self, all: &[SocketState]) {
        let now = Time::ZERO + monotonic().saturating_sub(self.began);
        // A listener, or a socket that was never connected, has no other end.
        for SocketState { connection, snapshot } in
            all.iter().filter(|seen| seen.connection.peer.port() != 0)
        {
            let motion = self.motions.entry(*connection).or_default();
            note_change(&mut motion.samples, now, snapshot);
        }
    }
}

// Netlink sockets that query all others, or are notified of their end.

/// The kernel fills datagrams of at most 32 KiB.
const DATAGRAM: usize = 1 << 15;
/// Time within which the kernel has to send a notice, in milliseconds.
const PATIENCE: u16 = 5000;
/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, as bits.
const DESTROYED: u32 = 1 << 0 | 1 << 2;

/// One socket of the namespace.
#[derive(Clone, Copy, Debug)]
pub struct SocketState {
    /// The connection to which it belongs.
    pub connection: Connection,
    /// Its state.
    pub snapshot: ConnectionSnapshot,
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
    pub fn connections(&mut self) -> Result<Vec<SocketState>, Error> {
        let mut all = Vec::new();
        for family in TableFamily::BOTH {
            self.dump(family, &mut all).map_err(Error::system(
                "failed to query TCP sockets (the kernel needs CONFIG_INET_TCP_DIAG)",
            ))?;
        }
        Ok(all)
    }

    fn dump(&mut self, family: TableFamily, all: &mut Vec<SocketState>) -> Result<(), Errno> {
        send(self.fd.as_raw_fd(), &dump(family), MsgFlags::empty())?;
        loop {
            let length = recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            for message in messages(&self.buffer[..length]) {
                match message {
                    DiagMessage::Socket(body) => all.extend(seen(body)),
                    DiagMessage::Done => return Ok(()),
                    DiagMessage::Refused(errno) => return Err(Errno::from_raw(errno)),
                    DiagMessage::Other => {}
                }
            }
        }
    }
}

/// Receives a notice of each TCP socket that ends.
#[derive(Debug)]
struct DestroyNotices {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl DestroyNotices {
    /// Receives notices from now on, in the namespace of the calling thread.
    fn open() -> Result<DestroyNotices, Error> {
        let fd = netlink(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, DESTROYED))
            .map_err(Error::system("failed to subscribe to closed TCP sockets"))?;
        Ok(DestroyNotices { fd, buffer: vec![0; DATAGRAM] })
    }

    /// Notices that have come since the last call.
    fn waiting(&mut self) -> Result<Vec<SocketState>, Error> {
        let mut all = Vec::new();
        while let Some(more) = self.receive()? {
            all.extend(more);
        }
        Ok(all)
    }

    /// Notices of all sockets that have ended by now. Each processor sends the notices of sockets that ended on it with some delay, in order: a
    /// marker's notice comes after those that are wanted. Moves the calling thread from processor to processor meanwhile.
    fn up_to_now(&mut self) -> Result<Vec<SocketState>, Error> {
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
    fn receive(&mut self) -> Result<Option<Vec<SocketState>>, Error> {
        match recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
            Ok(length) => {
                let socket = |message| match message {
                    DiagMessage::Socket(body) => seen(body),
                    _ => None,
                };
                Ok(Some(messages(&self.buffer[..length]).filter_map(socket).collect()))
            }
            Err(Errno::EAGAIN) => Ok(None),
            Err(Errno::ENOBUFS) => Ok(Some(Vec::new())),
            Err(errno) => {
                Err(Error::System { what: "failed to read notices of closed TCP sockets", errno })
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
