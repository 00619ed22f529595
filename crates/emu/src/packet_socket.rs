//! A packet socket on one interface: frames in with their arrival times, frames out past the queueing discipline.
//!
//! Source: packet(7). Each frame is preceded by a `virtio_net_hdr`, so that neither the sender's segmentation nor its checksums are undone
//! by the kernel on the way.

use std::io::{IoSlice, IoSliceMut};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use kernel::sockopt;
use libc::c_int;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg,
    sendmsg, socket,
};

use crate::memory::ReceiveBuffers;
use crate::superpacket::FrameSegment;
use crate::wire::{ArrivedFrame, BUFFER_BYTES};
use crate::{EmulatorClock, Error};

/// Receive buffer for superpackets that wait while the emulator is not scheduled, in bytes of kernel memory. Only root may exceed `rmem_max`.
const RECEIVE_MEMORY: c_int = 32 << 20;
/// Error message if there are no packet sockets.
pub(crate) const REFUSED: &str = "failed to open a packet socket (needs CAP_NET_RAW)";

/// The emulator's end of a veth pair.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    buffers: ReceiveBuffers,
    control: Vec<u8>,
    /// Headers of the last packet sent.
    headers: Vec<u8>,
}

impl PacketSocket {
    /// Opens one on an interface of the calling thread's namespace.
    pub(crate) fn open(interface: &str) -> Result<PacketSocket, Error> {
        let fd = unbound().map_err(Error::system(REFUSED))?;
        configure(&fd).map_err(Error::system("failed to configure a packet socket"))?;
        let index = if_nametoindex(interface)
            .map_err(Error::system("failed to find the emulator's interface"))?;
        bind(&fd, index).map_err(Error::system("failed to bind a packet socket"))?;
        let control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        Ok(PacketSocket {
            fd,
            buffers: ReceiveBuffers::new(BUFFER_BYTES),
            control,
            headers: Vec::new(),
        })
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The next frame that came in, if there is one.
    pub(crate) fn receive(&mut self, clock: &EmulatorClock) -> Result<Option<ArrivedFrame>, Error> {
        let mut slices = [IoSliceMut::new(self.buffers.current())];
        let control = Some(&mut self.control[..]);
        let received =
            recvmsg::<()>(self.fd.as_raw_fd(), &mut slices, control, MsgFlags::MSG_DONTWAIT);
        let (len, stamp) = match received {
            Ok(message) => {
                let stamp = message.cmsgs().ok().and_then(|mut messages| {
                    messages.find_map(|message| match message {
                        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
                        _ => None,
                    })
                });
                (message.bytes, stamp)
            }
            Err(Errno::EAGAIN) => return Ok(None),
            Err(errno) => return Err(Error::System { what: "failed to receive a packet", errno }),
        };
        let at = stamp.map_or_else(|| clock.now(), |stamp| clock.of_stamp(stamp));
        Ok(Some(ArrivedFrame::new(at, self.buffers.take(len))))
    }

    /// Sends the packets from `first` to `last`, which are neighbours, at once. Returns false if the far end refuses them: its
    /// interface is down, or its queue full.
    pub(crate) fn send(
        &mut self,
        first: &FrameSegment,
        last: &FrameSegment,
        marked: bool,
    ) -> Result<bool, Error> {
        let (vnet, payload) = first.through(last, marked, &mut self.headers);
        let vnet = vnet.to_bytes();
        let slices = [IoSlice::new(&vnet), IoSlice::new(&self.headers), IoSlice::new(payload)];
        match sendmsg::<()>(self.fd.as_raw_fd(), &slices, &[], MsgFlags::MSG_DONTWAIT, None) {
            Ok(_) => Ok(true),
            Err(
                Errno::EAGAIN
                | Errno::ENOBUFS
                | Errno::ENETDOWN
                | Errno::ENXIO
                | Errno::EMSGSIZE
                | Errno::EINVAL,
            ) => Ok(false),
            Err(errno) => Err(Error::System { what: "failed to send a packet", errno }),
        }
    }

    /// Frames lost since the last call because they were not read in time.
    pub(crate) fn overruns(&self) -> Result<u64, Error> {
        sockopt::get::<libc::tpacket_stats>(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)
            .map(|statistics| statistics.tp_drops.into())
            .map_err(Error::system("failed to read a packet socket's statistics"))
    }
}

/// Opens and configures an unbound packet socket; system calls only.
pub(crate) fn attempt() -> Result<(), Errno> {
    configure(&unbound()?)
}

/// Protocol 0: nothing arrives before the socket is bound.
fn unbound() -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(AddressFamily::Packet, SockType::Raw, flags, None::<SockProtocol>)
}

fn configure(fd: &OwnedFd) -> Result<(), Errno> {
    let on: c_int = 1;
    sockopt::set(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, on)?;
    sockopt::set(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, on)?;
    sockopt::set(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, on)?;
    sockopt::set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, on)?;
    sockopt::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_MEMORY)
        .or_else(|_| sockopt::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_MEMORY))
}

fn bind(fd: &OwnedFd, index: u32) -> Result<(), Errno> {
    // SAFETY: a structure of integers, for which zeros are a valid value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as c_int;
    let len = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is valid for `len` bytes during the call, which only reads it.
    let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) };
    Errno::result(result).map(drop)
}
