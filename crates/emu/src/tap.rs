//! A TAP device at an end, without a queueing discipline: the end's `eth0`, whose other side is a descriptor held by the emulator.
//!
//! Frames have the same `virtio_net_hdr` as on a packet socket: neither the sender's segmentation nor its checksums are undone.
//! Writing a frame hands it to the end, whose kernel processes it within the call. Arrival timestamps are missing:
//! a frame arrives when it is read. The device exists as long as its descriptor is open.
//!
//! Source: Linux 6.18 `Documentation/networking/tuntap.rst`, `drivers/net/tun.c` (`tun_get_user`, `tun_do_read`, `tun_net_xmit`). Left out:
//! several queues; `IFF_NAPI`, which was measured to cost a quarter more processor time for single packets and to gain nothing.

use std::ffi::{c_char, c_short, c_uint, c_ulong};
use std::fs::File;
use std::io::IoSlice;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use nix::sys::stat::Mode;
use nix::sys::uio::writev;
use nix::unistd::read;

use crate::memory::ReceiveBuffers;
use crate::superpacket::FrameSegment;
use crate::wire::{ArrivedFrame, BUFFER_BYTES};
use crate::{EmulatorClock, Error};

const CLONE_DEVICE: &str = "/dev/net/tun";
/// Work that the kernel need not do before it hands a frame over.
const OFFLOADS: c_uint =
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
/// The same for large UDP sends, since Linux 6.2.
const UDP_OFFLOADS: c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;
/// The namespace's table of interfaces with their counters (proc_pid_net(5)): one page is enough for an end.
const STATISTICS: &str = "/proc/thread-self/net/dev";
const STATISTICS_BYTES: usize = 4096;
/// Index of transmit drops among the numbers of a line.
const TRANSMIT_DROPS: usize = 11;

/// A TAP device. It vanishes with this value and all that is [attached](TapDevice::attach).
#[derive(Debug)]
pub(crate) struct TapDevice {
    interface: &'static str,
    fd: OwnedFd,
    statistics: File,
}

impl TapDevice {
    /// Frames that may wait while the emulator is not scheduled, as the device's queue length: as many small ones as in a packet socket.
    pub(crate) const QUEUE: u32 = 16384;

    /// Creates one in the calling thread's namespace.
    pub(crate) fn create(interface: &'static str) -> Result<TapDevice, Error> {
        let fd = make(interface)
            .map_err(Error::system("failed to make a TAP device by way of /dev/net/tun"))?;
        remove_qdisc(interface)
            .map_err(Error::system("failed to remove a TAP device's queueing discipline"))?;
        let statistics =
            File::open(STATISTICS).map_err(Error::io(format!("failed to open {STATISTICS}")))?;
        Ok(TapDevice { interface, fd, statistics })
    }

    /// The device for an emulator. Frames sent before are discarded.
    pub(crate) fn attach(&self) -> Result<Tap, Error> {
        let copied = |error| Error::io("failed to copy a descriptor")(error);
        let device = TapDevice {
            interface: self.interface,
            fd: self.fd.try_clone().map_err(copied)?,
            statistics: self.statistics.try_clone().map_err(copied)?,
        };
        let (buffers, headers) = (ReceiveBuffers::new(BUFFER_BYTES), Vec::new());
        let mut tap = Tap { device, drops: 0, buffers, headers };
        while tap.take()?.is_some() {}
        tap.overruns()?;
        Ok(tap)
    }
}

/// The emulator's side of a TAP device.
pub(crate) struct Tap {
    device: TapDevice,
    /// Drops counted before.
    drops: u64,
    buffers: ReceiveBuffers,
    /// Headers of the last packet sent.
    headers: Vec<u8>,
}

impl Tap {
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.fd.as_fd()
    }

    /// The next frame that came in, if there is one.
    pub(crate) fn receive(&mut self, clock: &EmulatorClock) -> Result<Option<ArrivedFrame>, Error> {
        let Some(len) = self.take()? else { return Ok(None) };
        Ok(Some(ArrivedFrame::new(clock.now(), self.buffers.take(len))))
    }

    /// Reads a frame; returns its length.
    fn take(&mut self) -> Result<Option<usize>, Error> {
        match read(&self.device.fd, self.buffers.current()) {
            Ok(len) => Ok(Some(len)),
            Err(Errno::EAGAIN) => Ok(None),
            Err(errno) => Err(Error::System { what: "failed to read from a TAP device", errno }),
        }
    }

    /// Hands the packets from `first` to `last` over at once. Returns false if the interface is down.
    pub(crate) fn send(
        &mut self,
        first: &FrameSegment,
        last: &FrameSegment,
        marked: bool,
    ) -> Result<bool, Error> {
        let (vnet, payload) = first.through(last, marked, &mut self.headers);
        let vnet = vnet.to_bytes();
        let slices = [IoSlice::new(&vnet), IoSlice::new(&self.headers), IoSlice::new(payload)];
        match writev(&self.device.fd, &slices) {
            Ok(_) => Ok(true),
            Err(Errno::EIO | Errno::EAGAIN | Errno::ENOBUFS | Errno::EINVAL) => Ok(false),
            Err(errno) => Err(Error::System { what: "failed to write to a TAP device", errno }),
        }
    }

    /// Frames lost since the last call because the queue was full.
    pub(crate) fn overruns(&mut self) -> Result<u64, Error> {
        let mut page = [0; STATISTICS_BYTES];
        let len = self
            .device
            .statistics
            .read_at(&mut page, 0)
            .map_err(Error::io("failed to read a TAP device's statistics"))?;
        let text = String::from_utf8_lossy(&page[..len]);
        let before = self.drops;
        self.drops = transmit_drops(&text, self.device.interface).unwrap_or(before);
        Ok(self.drops - before)
    }
}

/// Creates one that is removed at once; system calls only.
pub(crate) fn attempt() -> Result<(), Errno> {
    make("farlink0").map(drop)
}

fn make(interface: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let fd = open(CLONE_DEVICE, flags, Mode::empty())?;
    // SAFETY: a structure of integers, for which zeros are a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    for (slot, byte) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *slot = byte as c_char;
    }
    let kind = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = kind as c_short;
    // SAFETY: the pointer is valid during the call, which reads and writes a structure of this type.
    Errno::result(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    // An older kernel segments datagrams itself.
    offload(&fd, OFFLOADS | UDP_OFFLOADS).or_else(|_| offload(&fd, OFFLOADS))?;
    Ok(fd)
}

fn offload(fd: &OwnedFd, offloads: c_uint) -> Result<(), Errno> {
    let offloads = c_ulong::from(offloads);
    // SAFETY: this request takes an integer and touches no memory of ours.
    Errno::result(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, offloads) }).map(drop)
}

/// Number of frames that an interface has dropped instead of sending them, from the text of `/proc/net/dev`.
fn transmit_drops(text: &str, interface: &str) -> Option<u64> {
    let counts = |line: &'_ str| -> Option<u64> {
        let counts = line.trim_start().strip_prefix(interface)?.strip_prefix(':')?;
        counts.split_whitespace().nth(TRANSMIT_DROPS)?.parse().ok()
    };
    text.lines().find_map(counts)
}

// The queueing discipline of a TAP device. A veth has none. A TAP device gets the machine's default, and if that is `fq`,
// it paces every flow's packets: TCP's behaviour would depend on the kind of wire.
//
// Source: rtnetlink(7), Linux 6.18 `net/sched/sch_api.c` (`tc_modify_qdisc`), `net/sched/sch_generic.c` (`noqueue_qdisc_ops`).

const NETLINK_HEADER: usize = 16;
/// `nlmsghdr`, `tcmsg`, and an attribute with the new discipline's name.
const REQUEST_LENGTH: usize = NETLINK_HEADER + 20 + 4 + NOQUEUE.len();
const NOQUEUE: &[u8; 8] = b"noqueue\0";
/// `include/uapi/linux/rtnetlink.h`.
const TCA_KIND: u16 = 1;
/// `include/uapi/linux/pkt_sched.h`.
const TC_H_ROOT: u32 = u32::MAX;

/// Lets an interface of the calling thread's namespace transmit at once.
fn remove_qdisc(interface: &str) -> Result<(), Errno> {
    let index = if_nametoindex(interface)?;
    let fd = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    send(fd.as_raw_fd(), &qdisc_request(index), MsgFlags::empty())?;
    let mut answer = [0; 4 * REQUEST_LENGTH];
    let len = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match acknowledgement(&answer[..len])? {
        // A kernel without CONFIG_NET_SCHED has only a first-in, first-out queue, which is empty while the device takes everything.
        None | Some(Errno::EOPNOTSUPP) => Ok(()),
        Some(errno) => Err(errno),
    }
}

fn qdisc_request(index: u32) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let mut message = Vec::with_capacity(REQUEST_LENGTH);
    message.extend((REQUEST_LENGTH as u32).to_ne_bytes());
    message.extend(libc::RTM_NEWQDISC.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    // Sequence number and sender matter only for several requests; family and padding are zero.
    message.extend([0; 8 + 4]);
    message.extend(index.to_ne_bytes());
    // The kernel chooses a handle.
    message.extend(0_u32.to_ne_bytes());
    message.extend(TC_H_ROOT.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend((4 + NOQUEUE.len() as u16).to_ne_bytes());
    message.extend(TCA_KIND.to_ne_bytes());
    message.extend(NOQUEUE);
    message
}

/// Error number in an acknowledgement: `nlmsgerr` begins with a negative error number, or zero.
fn acknowledgement(answer: &[u8]) -> Result<Option<Errno>, Errno> {
    let code =
        answer.get(NETLINK_HEADER..NETLINK_HEADER + 4).and_then(|bytes| bytes.try_into().ok());
    let code = i32::from_ne_bytes(code.ok_or(Errno::EBADMSG)?);
    Ok((code != 0).then(|| Errno::from_raw(-code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_interface() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    1    0     0          0         0        0       0    0    2    0     0       0          0
  eth0:     516       6    0    3    0     0          0         0     1006      13    0   17    0     0       0          0
";
        assert_eq!(transmit_drops(text, "eth0"), Some(17));
        assert_eq!(transmit_drops(text, "lo"), Some(2));
        assert_eq!(transmit_drops(text, "eth"), None);
        assert_eq!(transmit_drops("eth0: 1 2", "eth0"), None);
    }

    #[test]
    fn the_request_is_as_long_as_it_says() {
        let message = qdisc_request(7);
        assert_eq!(message.len(), REQUEST_LENGTH);
        assert_eq!(message[..4], (REQUEST_LENGTH as u32).to_ne_bytes());
        assert_eq!(message[NETLINK_HEADER + 4..NETLINK_HEADER + 8], 7_u32.to_ne_bytes());
        assert!(message.ends_with(NOQUEUE));
    }

    #[test]
    fn acknowledgements_are_read() {
        let answer = |code: i32| [&[0; NETLINK_HEADER][..], &code.to_ne_bytes()].concat();
        assert_eq!(acknowledgement(&answer(0)), Ok(None));
        assert_eq!(acknowledgement(&answer(-libc::EPERM)), Ok(Some(Errno::EPERM)));
        assert_eq!(acknowledgement(&[0; 3]), Err(Errno::EBADMSG));
    }
}
