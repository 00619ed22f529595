//! One direction of the network during a visit, configured against delivered, and the activity of the client's radio.

use serde::{Deserialize, Serialize};

/// Account of a link over one visit. Bytes are those of IP packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Name of the link: `down`, `up`, or that of a farther hop.
    pub name: String,
    /// Configured rate, the mean of a trace; `None`: unlimited.
    pub configured_bit_per_s: Option<u64>,
    /// Configured propagation delay, one way.
    pub configured_delay_ns: u64,
    /// Configured long-run loss, in packets of 10^9; `None`: losses are listed.
    pub configured_loss_ppb: Option<u64>,
    /// Packets offered to the link.
    pub offered_packets: u64,
    /// Bytes offered to the link.
    pub offered_bytes: u64,
    /// Duplicates made by the link.
    pub duplicated_packets: u64,
    /// Packets delivered.
    pub delivered_packets: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Packets lost at random or by a list.
    pub lost_packets: u64,
    /// Packets dropped because the queue was full.
    pub queue_full_packets: u64,
    /// Packets dropped by queue management while there was room.
    pub managed_packets: u64,
    /// Packets dropped because they exceeded the MTU.
    pub too_big_packets: u64,
    /// Packets marked with ECN.
    pub marked_packets: u64,
    /// Packets that were overtaken.
    pub reordered_packets: u64,
    /// Bytes served while the link was busy, over that time; `None` if it never was or is unlimited.
    pub delivered_bit_per_s: Option<u64>,
    /// Total busy time of the link.
    pub busy_ns: u64,
    /// Total queueing time of packets.
    pub waited_ns: u64,
    /// Minimum end-to-end time of a packet without queueing: service and propagation.
    pub least_unqueued_ns: u64,
    /// Mean end-to-end time without queueing.
    pub mean_unqueued_ns: u64,
    /// Maximum one-way time of a packet, end to end.
    pub most_one_way_ns: u64,
    /// Maximum queue length, in packets.
    pub max_queue_packets: u64,
    /// Maximum queue length, in bytes.
    pub max_queue_bytes: u64,
}

/// A radio's account, from navigation start to the visit's end. Energies are microjoules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioRecord {
    /// The radio, as written in a network's settings: `radio=umts`.
    pub radio: String,
    /// Number of promotions to a better connected state, with packets waiting.
    pub promotions: u32,
    /// Total energy spent during the visit.
    pub energy_uj: u64,
    /// Part of it spent on sending, on top of the cost of states.
    pub up_uj: u64,
    /// Part of it spent on receiving.
    pub down_uj: u64,
    /// Tail energy: spent after the visit until the radio is at rest, if nothing else is sent.
    pub tail_uj: u64,
    /// States that the radio was in.
    pub states: Vec<RadioStateRecord>,
}

/// Time and energy of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioStateRecord {
    /// Name of the state, in the words of its standard.
    pub state: String,
    /// Total time in it.
    pub span_ns: u64,
    /// Energy spent in it.
    pub energy_uj: u64,
}
