//! The messages: netlink's header, a request, and the replies. All numbers are in the machine's own byte order except ports and addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::SocketState;
use crate::connection::paces;
use crate::{Connection, ConnectionSnapshot, sockopt};

/// `struct nlmsghdr`
const HEADER: usize = 16;
/// `struct inet_diag_req_v2`
const REQUEST: usize = 56;
/// `struct inet_diag_msg`
const MESSAGE: usize = 72;
/// `SOCK_DIAG_BY_FAMILY`
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Attributes: `INET_DIAG_INFO`, `INET_DIAG_CONG`.
const INFO: u16 = 2;
const CONGESTION: u16 = 4;
/// All states but TIME-WAIT (6), CLOSE (7), LISTEN (10) and NEW-SYN-RECV (12).
const STATES: u32 = 0b1011_0011_1110;

/// Address family: the kernel keeps one table per family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableFamily {
    V4,
    V6,
}

impl TableFamily {
    pub(super) const BOTH: [TableFamily; 2] = [TableFamily::V4, TableFamily::V6];

    fn number(self) -> u8 {
        match self {
            TableFamily::V4 => libc::AF_INET as u8,
            TableFamily::V6 => libc::AF_INET6 as u8,
        }
    }
}

/// The request for a dump of all TCP sockets of a family.
pub(super) fn dump(family: TableFamily) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    // Sequence number and port: the socket has one request at a time.
    bytes.extend([0; 8]);
    let wanted = 1 << (INFO - 1) | 1 << (CONGESTION - 1);
    bytes.extend([family.number(), libc::IPPROTO_TCP as u8, wanted, 0]);
    bytes.extend(STATES.to_ne_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

/// One message of a datagram.
#[derive(Debug)]
pub(super) enum DiagMessage<'a> {
    /// Body for [`seen`] to parse.
    Socket(&'a [u8]),
    Done,
    /// An errno.
    Refused(i32),
    /// Something else, or malformed.
    Other,
}

/// The messages of a datagram, in their order; truncated ones are omitted.
pub(super) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = DiagMessage<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(datagram, 0)? as usize;
        let message = datagram.get(..length).filter(|message| message.len() >= HEADER)?;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(read(message))
    })
}

fn read(message: &[u8]) -> DiagMessage<'_> {
    let (header, body) = message.split_at(HEADER);
    match u16_at(header, 4) {
        Some(NLMSG_DONE) => DiagMessage::Done,
        Some(NLMSG_ERROR) => u32_at(body, 0).map_or(DiagMessage::Other, |errno| {
            DiagMessage::Refused((errno as i32).wrapping_neg())
        }),
        Some(BY_FAMILY) => DiagMessage::Socket(body),
        _ => DiagMessage::Other,
    }
}

/// Reads `struct inet_diag_msg` and its attributes.
pub(super) fn seen(body: &[u8]) -> Option<SocketState> {
    let (message, attributes) = body.split_at_checked(MESSAGE)?;
    let end = |port: usize, at: usize| {
        let address = address(message[0], &message[at..at + 16])?;
        let port = u16::from_be_bytes([message[port], message[port + 1]]);
        Some(SocketAddr::new(address, port))
    };
    let cookie = u64::from(u32_at(message, 44)?) | u64::from(u32_at(message, 48)?) << 32;
    let connection = Connection { local: end(4, 8)?, peer: end(6, 24)?, cookie };
    let attribute = |wanted| attributes_of(attributes).find(|(kind, _)| *kind == wanted);
    let (_, info) = attribute(INFO)?;
    let snapshot = ConnectionSnapshot {
        info: sockopt::from_bytes(info),
        unacknowledged_bytes: u32_at(message, 60)?.into(),
        paced: attribute(CONGESTION).is_some_and(|(_, name)| paces(name)),
    };
    Some(SocketState { connection, snapshot })
}

/// An address of four or of sixteen bytes; IPv4-mapped IPv6 addresses become IPv4.
fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    if i32::from(family) == libc::AF_INET {
        return Some(Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?).into());
    }
    let address = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
    (i32::from(family) == libc::AF_INET6).then(|| IpAddr::from(address).to_canonical())
}

/// `struct nlattr` after `struct nlattr`: kind and value.
fn attributes_of(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)?;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_has_the_kernels_length_and_names_its_states() {
        let request = dump(TableFamily::V6);
        assert_eq!(request.len(), 72);
        assert_eq!(request[16..20], [10, 6, 0b1010, 0]);
        let excluded = [6, 7, 10, 12].iter().fold(0, |set, state| set | 1 << state);
        assert_eq!(STATES & excluded, 0);
    }

    #[test]
    fn an_error_tells_its_number() {
        let mut message = 20_u32.to_ne_bytes().to_vec();
        message.extend(NLMSG_ERROR.to_ne_bytes());
        message.resize(HEADER, 0);
        message.extend((-libc::EPERM).to_ne_bytes());
        let read: Vec<DiagMessage> = messages(&message).collect();
        assert!(matches!(read[..], [DiagMessage::Refused(libc::EPERM)]), "{read:?}");
    }

    proptest! {
        #[test]
        fn any_datagram_is_survived(bytes: Vec<u8>, length in 0u32..200, body: [u8; 32]) {
            messages(&bytes).for_each(drop);
            let header = [&length.to_ne_bytes()[..], &BY_FAMILY.to_ne_bytes(), &[0; 10]].concat();
            messages(&[header, body.repeat(5)].concat()).for_each(drop);
        }

        #[test]
        fn any_socket_is_survived(
            family in prop::sample::select(vec![0, 2, 10]),
            message: [u8; 32],
            length: u8,
        ) {
            let mut body = message.repeat(4);
            body[0] = family;
            body[MESSAGE] = length;
            body[MESSAGE + 1] = 0;
            let _ = seen(&body);
            let _ = seen(&body[..usize::from(length) / 2]);
        }
    }
}
