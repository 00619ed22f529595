//! One direction of the network during a visit: what was configured beside what was delivered.

use serde::{Deserialize, Serialize};

/// The proof of a link, over one visit. Bytes are those of IP packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Which link: `down`, `up`, or that of a hop beyond.
    pub name: String,
    /// The rate of its description, the mean of a trace; `None`: no limit.
    pub configured_bit_per_s: Option<u64>,
    /// The propagation of its description, one way.
    pub configured_delay_ns: u64,
    /// The loss of its description in the long run, in packets of 10^9; `None`: losses are listed.
    pub configured_loss_ppb: Option<u64>,
    /// Packets handed to it.
    pub offered_packets: u64,
    /// Bytes handed to it.
    pub offered_bytes: u64,
    /// Copies that it made.
    pub duplicated_packets: u64,
    /// Packets that arrived.
    pub delivered_packets: u64,
    /// Bytes that arrived.
    pub delivered_bytes: u64,
    /// Packets lost at random or by a list.
    pub lost_packets: u64,
    /// Packets dropped for want of room.
    pub queue_full_packets: u64,
    /// Packets dropped by queue management while there was room.
    pub managed_packets: u64,
    /// Packets dropped because they were larger than the MTU.
    pub too_big_packets: u64,
    /// Packets marked with ECN.
    pub marked_packets: u64,
    /// Packets that were overtaken.
    pub reordered_packets: u64,
    /// Bytes served while it was busy, over that time; `None`: it never was, or has no limit.
    pub delivered_bit_per_s: Option<u64>,
    /// How long it was busy.
    pub busy_ns: u64,
    /// How long packets waited for it, all together.
    pub waited_ns: u64,
    /// The least time that a packet took from end to end without waiting: service and propagation.
    pub least_unqueued_ns: u64,
    /// The mean of these times.
    pub mean_unqueued_ns: u64,
    /// The longest that a packet took from end to end.
    pub most_one_way_ns: u64,
    /// The most packets that waited at once.
    pub max_queue_packets: u64,
    /// The most bytes that waited at once.
    pub max_queue_bytes: u64,
}
