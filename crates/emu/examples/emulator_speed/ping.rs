//! Echo requests, as ping(8) sends them: the kernel answers, and timestamps replies on arrival (RFC 792).

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use farlink_emu::{AccessSide, ObservedPacket, Observer};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn,
    recvmsg, sendto, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use units::Time;

const INTERVAL: Duration = Duration::from_millis(20);
/// Echoes that do not count: the kernel begins to timestamp packets some time after the first request for timestamps, and an unstamped packet
/// seems to arrive when it is read, an interval later.
const UNSTAMPED: u16 = 10;
const IPV4_HEADER: usize = 20;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// The size that ping uses.
const ECHO_BYTES: usize = 64;

/// Socket that echoes are sent from.
pub struct EchoSocket(OwnedFd);

impl EchoSocket {
    /// Opens it in the calling thread's namespace.
    pub fn open() -> EchoSocket {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp)
            .expect("root of a namespace may open raw sockets");
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).expect("Linux stamps packets");
        EchoSocket(socket)
    }
}

/// Round trip of each echo.
pub struct Pings {
    rtts: BTreeMap<u16, Duration>,
}

impl Pings {
    /// Sends echo requests to the server for `span`.
    #[expect(clippy::disallowed_methods, reason = "real time")]
    pub fn send(EchoSocket(socket): &EchoSocket, span: Duration) -> Pings {
        let mut rtts = BTreeMap::new();
        let mut sent = Vec::new();
        for seq in 0..(span.as_millis() / INTERVAL.as_millis()) as u16 {
            let to = SockaddrIn::from(std::net::SocketAddrV4::new(AccessSide::Server.address(), 0));
            sent.push(now());
            sendto(socket.as_raw_fd(), &request(seq), &to, MsgFlags::empty())
                .expect("the server can be reached");
            std::thread::sleep(INTERVAL);
            while let Some((seq, stamp)) = receive(socket) {
                rtts.insert(seq, stamp.saturating_sub(sent[usize::from(seq)]));
            }
        }
        Pings { rtts }
    }

    /// Excess of each echo's round trip over the time its packets were on the links, in milliseconds.
    pub fn errors(&self, echoes: &Echoes) -> Vec<f64> {
        let error = |(seq, rtt): (&u16, &Duration)| {
            let on_links = echoes.arrived.get(seq)?.since(*echoes.left.get(seq)?);
            Some((rtt.as_secs_f64() - on_links.as_secs_f64()) * 1e3)
        };
        self.rtts.range(UNSTAMPED..).filter_map(error).collect()
    }
}

/// Times at which requests left the client and replies were due there.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    left: BTreeMap<u16, Time>,
    arrived: BTreeMap<u16, Time>,
}

impl Observer for Echoes {
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        if packet.from == AccessSide::Client
            && let Some(seq) = echo(packet, ECHO_REQUEST)
        {
            self.left.insert(seq, at);
        }
    }

    fn delivered(&mut self, due: Time, _: Time, packet: &ObservedPacket<'_>) {
        if packet.from == AccessSide::Server
            && let Some(seq) = echo(packet, ECHO_REPLY)
        {
            self.arrived.insert(seq, due);
        }
    }
}

/// The number of an echo of this kind.
fn echo(packet: &ObservedPacket<'_>, kind: u8) -> Option<u16> {
    // Most packets have another length: their bytes need not be put together.
    if packet.wire_bytes() as usize != IPV4_HEADER + ECHO_BYTES {
        return None;
    }
    number(&packet.ip_packet(), kind)
}

fn number(packet: &[u8], kind: u8) -> Option<u16> {
    let echo = packet.get(IPV4_HEADER..IPV4_HEADER + 8)?;
    (packet[9] == 1 && echo[0] == kind).then(|| u16::from_be_bytes([echo[6], echo[7]]))
}

fn request(seq: u16) -> [u8; ECHO_BYTES] {
    let mut echo = [0; ECHO_BYTES];
    echo[0] = ECHO_REQUEST;
    echo[6..8].copy_from_slice(&seq.to_be_bytes());
    // The only words that are not zero; the checksum is the complement of their sum (RFC 1071).
    let sum = u32::from(ECHO_REQUEST) * 256 + u32::from(seq);
    let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    echo[2..4].copy_from_slice(&checksum.to_be_bytes());
    echo
}

/// The next reply's number and arrival time.
fn receive(socket: &OwnedFd) -> Option<(u16, Duration)> {
    let mut packet = [0; 256];
    let mut control = nix::cmsg_space!(TimeSpec);
    loop {
        let mut slices = [IoSliceMut::new(&mut packet)];
        let message = recvmsg::<()>(
            socket.as_raw_fd(),
            &mut slices,
            Some(&mut control),
            MsgFlags::MSG_DONTWAIT,
        );
        let message = message.ok()?;
        let stamp = message.cmsgs().ok()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
            _ => None,
        })?;
        let len = message.bytes;
        if let Some(seq) = number(&packet[..len], ECHO_REPLY) {
            return Some((seq, stamp));
        }
    }
}

fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock").into()
}
