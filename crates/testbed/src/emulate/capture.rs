//! Every packet of an emulated journey, as sent and received by its hosts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use emu::{Observer, Side, Sighting};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::Time;

/// A packet at the interface of one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Time since the start of the journey.
    pub at_ns: u64,
    /// True on the client's side.
    pub client: bool,
    /// The client's number.
    pub user: u32,
    /// True if the packet was sent, false if received.
    pub out: bool,
    /// The IP packet.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub bytes: Vec<u8>,
}

/// Records all packets, in the order in which they crossed.
#[derive(Default)]
pub(super) struct Capture(pub(super) Vec<Frame>);

impl Observer for Capture {
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        self.take(at, packet.from, true, packet);
    }

    fn delivered(&mut self, _due: Time, left: Time, packet: &Sighting<'_>) {
        self.take(left, packet.from.peer(), false, packet);
    }
}

impl Capture {
    fn take(&mut self, at: Time, side: Side, out: bool, packet: &Sighting<'_>) {
        let (at_ns, client) = (at.as_nanos(), side == Side::Client);
        self.0.push(Frame { at_ns, client, user: packet.user, out, bytes: packet.ip_packet() });
    }
}

fn encode<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}
