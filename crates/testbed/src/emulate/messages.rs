//! Messages between the processes of an emulated journey, as lines of JSON over a socket pair.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use emu::Wire;
use net::{DropCause, Energy, LinkStats, Transition};
use record::{EmulationRecord, PepCounters, Proxied, VisitRecord};
use scenario::Scenario;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use units::Time;
use world::report::Endpoint;

use super::capture::Frame;
use super::capture::RetransmissionCounter;
use crate::tour::{ArrivedBody, Detail, Shown};

/// First message to every process: the journey.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JourneyOrder {
    pub(super) scenario: Scenario,
    /// Number of the client that it is for; unused by processes other than clients.
    pub(super) client: u32,
    pub(super) seed: u64,
    pub(super) detail: Detail,
    /// The browser's program, if there is one.
    pub(super) chromium: Option<PathBuf>,
    /// Kind of the wires, if it is given.
    pub(super) wire: Option<Wire>,
}

/// Final answer of the supervisor to farlink.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SupervisorAnswer {
    /// The measured journey.
    Emulated(Box<Emulated>),
    /// Reason for the failure.
    Failed(String),
}

/// An emulated journey.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Emulated {
    /// Start of its world: nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) began_ns: u64,
    pub(super) visits: Vec<VisitRecord>,
    pub(super) punctuality: EmulationRecord,
    /// Reason why its times are not those of the network, if they are not.
    pub(super) invalid: Option<String>,
    /// The ends of its connections with their series, if requested.
    pub(super) endpoints: Vec<Endpoint>,
    /// Its packets, if requested.
    pub(super) frames: Vec<Frame>,
    pub(super) notes: Vec<String>,
    pub(super) shown: Vec<Shown>,
    /// Bodies that arrived, if requested.
    pub(super) bodies: Vec<ArrivedBody>,
}

/// Message of a node to the supervisor after reading the page, and of the client also after settling.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Prepared {
    /// Success: it can continue.
    Ready,
    /// Failure.
    Failed(String),
}

/// Message of the supervisor to the client to prepare for the page; the network does not exist yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Settle {
    /// Directory for files, if it needs any. It vanishes with the sandbox.
    pub(super) files: Option<PathBuf>,
}

/// Message of the supervisor to begin.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct StartSignal {
    /// Start of the journey's world: nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) began_ns: u64,
}

/// Message of the servers' node, and of the proxy's, once it listens on all ports.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListeningSignal;

/// Messages of a client's node to the supervisor during the journey.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromClient {
    /// It wants the [`NetworkReport`].
    Ask,
    /// The journey is over.
    Done {
        visits: Vec<VisitRecord>,
        /// With series; empty if they are not requested.
        endpoints: Vec<Endpoint>,
        /// Notes for readers: objects that the browser did not load, and its complaints.
        notes: Vec<String>,
        /// Pictures by a real browser, by visit, if one loaded the page.
        shown: Vec<Shown>,
        /// Bodies that arrived, if requested and the loader is farlink's own.
        bodies: Vec<ArrivedBody>,
    },
    /// It cannot continue.
    Failed(String),
}

/// Events so far, except those that only the client's own kernel knows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NetworkReport {
    /// In the order of the topology's links.
    pub(super) links: Vec<LinkDone>,
    /// By client.
    pub(super) radios: Vec<RadioDone>,
    pub(super) drops: Vec<DroppedPacket>,
    pub(super) sent_again: Vec<RetransmissionCounter>,
    pub(super) servers: ServerReport,
}

/// Counters of a link.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LinkDone {
    pub(super) stats: LinkStats,
    /// By client.
    pub(super) delivered_bytes: Vec<u64>,
    pub(super) busy_periods: Vec<(Time, Time)>,
}

/// Activity of a client's radio.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RadioDone {
    pub(super) transitions: Vec<Transition>,
    pub(super) energy: Energy,
    pub(super) tail: Energy,
}

/// A packet that did not arrive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct DroppedPacket {
    pub(super) at_ns: u64,
    pub(super) link: usize,
    pub(super) user: u32,
    pub(super) wire_bytes: u32,
    pub(super) cause: DropCause,
}

/// Query to the servers' node, and to the proxy's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AskServers;

/// The servers' side of every connection so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerReport {
    pub(super) endpoints: Vec<Endpoint>,
    /// Time for which HTTP's windows limited connections, by the client's address, in nanoseconds.
    pub(super) limited: Vec<(SocketAddr, u64)>,
    /// Steps of a proxy for each request.
    pub(super) proxied: Vec<Proxied>,
    /// Counters of a PEP.
    pub(super) carried: Option<PepCounters>,
}

impl ServerReport {
    /// Merges two reports.
    pub(super) fn and(mut self, other: ServerReport) -> ServerReport {
        self.endpoints.extend(other.endpoints);
        self.limited.extend(other.limited);
        self.proxied.extend(other.proxied);
        self.carried = self.carried.or(other.carried);
        self
    }
}

impl From<emu::EmulatedDrop> for DroppedPacket {
    fn from(drop: emu::EmulatedDrop) -> DroppedPacket {
        let emu::EmulatedDrop { at, link, user, wire_bytes, cause } = drop;
        DroppedPacket { at_ns: at.as_nanos(), link, user, wire_bytes, cause }
    }
}

impl NetworkReport {
    /// Report of a network without any traffic.
    pub(super) fn of_idle(links: usize) -> NetworkReport {
        NetworkReport {
            links: vec![LinkDone::default(); links],
            radios: Vec::new(),
            drops: Vec::new(),
            sent_again: Vec::new(),
            servers: ServerReport::default(),
        }
    }
}

/// One end of a socket pair.
pub(super) struct Channel {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

/// Error of passing a message.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChannelError {
    /// The other process is gone.
    #[error("it ended before it had answered")]
    Closed,
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text received is not the expected message.
    #[error("it sent something else than expected: {0}")]
    Message(#[from] serde_json::Error),
}

impl Channel {
    /// This end of a pair.
    pub(super) fn new(stream: UnixStream) -> io::Result<Channel> {
        Ok(Channel { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// Sends one message.
    pub(super) fn send(&mut self, message: &impl Serialize) -> Result<(), ChannelError> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        Ok(self.writer.write_all(&line)?)
    }

    /// Waits for the next message.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<T, ChannelError> {
        let mut line = String::new();
        match self.reader.read_line(&mut line)? {
            0 => Err(ChannelError::Closed),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_whole_and_an_end_is_noticed() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut near = Channel::new(near).unwrap();
        let mut far = Channel::new(far).unwrap();
        near.send(&("two\nlines", 1)).unwrap();
        near.send(&("next", 2)).unwrap();
        assert_eq!(far.receive::<(String, u8)>().unwrap(), ("two\nlines".to_owned(), 1));
        assert!(matches!(far.receive::<u8>(), Err(ChannelError::Message(_))));
        drop(near);
        assert!(matches!(far.receive::<u8>(), Err(ChannelError::Closed)));
    }
}
