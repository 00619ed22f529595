//! Where the fields of an IPv4 packet with TCP lie. No more than the emulator needs; nothing is validated beyond lengths.
//!
//! Source: RFC 791 section 3.1, RFC 9293 section 3.1.

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_TCP: u8 = 6;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const CWR: u8 = 0x80;

/// Byte offsets of the headers of one Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    /// Of the TCP header; the IPv4 header lies at [`ETHERNET`].
    pub(crate) tcp: usize,
    /// Of the payload.
    pub(crate) payload: usize,
    /// Of the end of the packet: a short frame is padded.
    pub(crate) end: usize,
}

/// Looks for IPv4 with an unfragmented TCP segment in a frame.
pub(crate) fn locate(frame: &[u8]) -> Option<Offsets> {
    let (ethernet, ip) = frame.split_at_checked(ETHERNET)?;
    if ethernet[12..] != ETHERTYPE_IPV4 || ip.len() < 20 || ip[0] >> 4 != 4 {
        return None;
    }
    let header = usize::from(ip[0] & 0xf) * 4;
    let total = usize::from(read_u16(ip, 2));
    let fragment = read_u16(ip, 6) & 0x3fff;
    if ip[9] != PROTOCOL_TCP || fragment != 0 || header < 20 || total > ip.len() {
        return None;
    }
    let tcp = ip.get(header..total)?;
    let tcp_header = usize::from(tcp.get(12)? >> 4) * 4;
    if tcp.len() < 20 || tcp_header < 20 || tcp_header > tcp.len() {
        return None;
    }
    let tcp = ETHERNET + header;
    Some(Offsets { tcp, payload: tcp + tcp_header, end: ETHERNET + total })
}

impl Offsets {
    /// Length of the IP packet.
    pub(crate) fn wire_bytes(&self) -> usize {
        self.end - ETHERNET
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.end - self.payload
    }
}

/// The numbers of one TCP segment on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpNumbers {
    /// Sequence number of the first byte, or of the SYN or FIN.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// The flags' octet.
    pub flags: u8,
    /// The window as it stands in the header, not scaled.
    pub window: u16,
    /// The shift to apply to all later windows of this end, where it is offered.
    pub window_scale: Option<u8>,
    /// Bytes of payload.
    pub payload_bytes: u32,
}

impl TcpNumbers {
    pub(crate) fn read(frame: &[u8], at: &Offsets) -> TcpNumbers {
        TcpNumbers {
            seq: read_u32(frame, at.tcp + 4),
            ack: read_u32(frame, at.tcp + 8),
            flags: frame[at.tcp + 13],
            window: read_u16(frame, at.tcp + 14),
            window_scale: window_scale(&frame[at.tcp + 20..at.payload]),
            payload_bytes: at.payload_bytes() as u32,
        }
    }

    /// It opens a connection.
    pub fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Its acknowledgement number counts.
    pub fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }
}

/// Looks for the window scale option (RFC 7323 section 2.2).
fn window_scale(mut options: &[u8]) -> Option<u8> {
    loop {
        match *options {
            [3, 3, shift, ..] => return Some(shift),
            [1, ref rest @ ..] => options = rest,
            [kind, len, ..] if kind > 1 && len >= 2 => options = options.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

pub(crate) fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The Internet checksum's sum (RFC 1071), not yet inverted.
pub(crate) fn ones_sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_scale_is_found_among_other_options() {
        assert_eq!(window_scale(&[2, 4, 5, 180, 4, 2, 1, 3, 3, 10]), Some(10));
        assert_eq!(window_scale(&[1, 1, 8, 10, 3, 3, 7, 0, 0, 0, 0, 0]), None);
        assert_eq!(window_scale(&[2, 0, 3, 3, 7]), None, "a broken option ends the search");
        assert_eq!(window_scale(&[5, 200]), None);
    }
}
