//! Removes the queueing discipline of an interface.
//!
//! A veth has none. A TAP device gets the machine's default, and if that is `fq`, it paces every flow's packets: TCP's behaviour would depend on
//! the kind of wire.
//!
//! Source: rtnetlink(7), Linux 6.18 `net/sched/sch_api.c` (`tc_modify_qdisc`), `net/sched/sch_generic.c` (`noqueue_qdisc_ops`).

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

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
