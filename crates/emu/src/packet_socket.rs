//! A packet socket on one interface: frames in with their arrival times, frames out past the queueing discipline, which is removed.
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
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, recv, recvmsg,
    send, sendmsg, socket,
};

use crate::memory::ReceiveBuffers;
use crate::superpacket::FrameSegment;
use crate::wire::{ArrivedFrame, BUFFER_BYTES};
use crate::{Clock, Error};

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
    pub(crate) fn receive(&mut self, clock: &Clock) -> Result<Option<ArrivedFrame>, Error> {
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

// Removes the queueing discipline of an interface.
//
// A veth has none. A TAP device gets the machine's default, and if that is `fq`, it paces every flow's packets: TCP's behaviour would depend on
// the kind of wire.
//
// Source: rtnetlink(7), Linux 6.18 `net/sched/sch_api.c` (`tc_modify_qdisc`), `net/sched/sch_generic.c` (`noqueue_qdisc_ops`).

const HEADER: usize = 16;
/// `nlmsghdr`, `tcmsg`, and an attribute with the new discipline's name.
const LENGTH: usize = HEADER + 20 + 4 + NAME.len();
const NAME: &[u8; 8] = b"noqueue\0";
/// `TCA_KIND` (`include/uapi/linux/rtnetlink.h`).
const KIND: u16 = 1;
/// `TC_H_ROOT` (`include/uapi/linux/pkt_sched.h`).
const ROOT: u32 = u32::MAX;

/// Lets an interface of the calling thread's namespace transmit at once.
pub(crate) fn remove(interface: &str) -> Result<(), Errno> {
    let index = if_nametoindex(interface)?;
    let fd = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    send(fd.as_raw_fd(), &request(index), MsgFlags::empty())?;
    let mut answer = [0; 4 * LENGTH];
    let len = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match refusal(&answer[..len])? {
        // A kernel without CONFIG_NET_SCHED has only a first-in, first-out queue, which is empty while the device takes everything.
        None | Some(Errno::EOPNOTSUPP) => Ok(()),
        Some(errno) => Err(errno),
    }
}

fn request(index: u32) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let mut message = Vec::with_capacity(LENGTH);
    message.extend((LENGTH as u32).to_ne_bytes());
    message.extend(libc::RTM_NEWQDISC.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    // Sequence number and sender matter only for several requests; family and padding are zero.
    message.extend([0; 8 + 4]);
    message.extend(index.to_ne_bytes());
    // The kernel chooses a handle.
    message.extend(0_u32.to_ne_bytes());
    message.extend(ROOT.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend((4 + NAME.len() as u16).to_ne_bytes());
    message.extend(KIND.to_ne_bytes());
    message.extend(NAME);
    message
}

/// Error number in an acknowledgement: `nlmsgerr` begins with a negative error number, or zero.
fn refusal(answer: &[u8]) -> Result<Option<Errno>, Errno> {
    let code = answer.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok());
    let code = i32::from_ne_bytes(code.ok_or(Errno::EBADMSG)?);
    Ok((code != 0).then(|| Errno::from_raw(-code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_as_long_as_it_says() {
        let message = request(7);
        assert_eq!(message.len(), LENGTH);
        assert_eq!(message[..4], (LENGTH as u32).to_ne_bytes());
        assert_eq!(message[HEADER + 4..HEADER + 8], 7_u32.to_ne_bytes());
        assert!(message.ends_with(NAME));
    }

    #[test]
    fn acknowledgements_are_read() {
        let answer = |code: i32| [&[0; HEADER][..], &code.to_ne_bytes()].concat();
        assert_eq!(refusal(&answer(0)), Ok(None));
        assert_eq!(refusal(&answer(-libc::EPERM)), Ok(Some(Errno::EPERM)));
        assert_eq!(refusal(&[0; 3]), Err(Errno::EBADMSG));
    }
}
