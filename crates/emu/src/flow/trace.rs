//! Trace of one flow at the link. Times count from the SYN's entry; sequence numbers from the SYN's, which is 0.

use std::collections::BTreeMap;
use std::time::Duration;

use units::Time;

/// A data packet towards the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// Time of entry into the link.
    pub at: Time,
    /// Sequence number of its first byte.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Time of departure from the link; none if it was dropped.
    pub arrives: Option<Time>,
}

impl DataPacket {
    /// Sequence number after its last byte.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// An acknowledgement that reached the server, and the sender's window right after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Time of departure from the link.
    pub at: Time,
    /// Cumulative acknowledgement: all bytes before this one had arrived.
    pub ack: u64,
    /// The client's receive window from there.
    pub window_bytes: u64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; none before the first reduction.
    pub ssthresh: Option<u32>,
}

/// A flow as seen at the link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Data packets in the order in which they entered the link.
    pub data: Vec<DataPacket>,
    /// Acknowledgements in the order in which they left it.
    pub acknowledgements: Vec<Acknowledgement>,
}

impl Trace {
    /// Time at which the client had all of `total` bytes, in order.
    pub fn completion(&self, total: u64) -> Option<Duration> {
        let mut arrivals: Vec<(Time, u64, u64)> = self
            .data
            .iter()
            .filter_map(|packet| Some((packet.arrives?, packet.seq, packet.end())))
            .collect();
        arrivals.sort_unstable();
        let mut next = 1;
        let mut ahead = BTreeMap::new();
        for (at, seq, end) in arrivals {
            let known = ahead.entry(seq).or_insert(end);
            *known = end.max(*known);
            while let Some(first) = ahead.first_entry().filter(|first| *first.key() <= next) {
                next = next.max(first.remove());
            }
            if next > total {
                return Some(at - Time::ZERO);
            }
        }
        None
    }

    /// The first bytes of all packets that repeat data, in the order of sending.
    pub fn retransmissions(&self) -> Vec<u64> {
        let mut highest = 0;
        let mut again = Vec::new();
        for packet in &self.data {
            if packet.seq < highest {
                again.push(packet.seq);
            }
            highest = highest.max(packet.end());
        }
        again
    }

    /// Packets that the link dropped.
    pub fn dropped(&self) -> usize {
        self.data.iter().filter(|packet| packet.arrives.is_none()).count()
    }

    /// Congestion window at the end of each round: when everything sent before the round began is acknowledged. The
    /// round in which the flow ends does not count.
    pub fn rounds(&self) -> Vec<u32> {
        let all = self.data.iter().map(DataPacket::end).max().unwrap_or(0);
        let mut sent = self.data.iter().peekable();
        let (mut highest, mut acknowledged, mut round_ends) = (0, 1, None);
        let mut windows = Vec::new();
        for ack in &self.acknowledgements {
            while let Some(packet) = sent.next_if(|packet| packet.at < ack.at) {
                highest = packet.end().max(highest);
            }
            if ack.ack <= acknowledged || ack.ack >= all {
                continue;
            }
            acknowledged = ack.ack;
            if acknowledged >= *round_ends.get_or_insert(highest) {
                windows.push(ack.cwnd);
                round_ends = Some(highest.max(acknowledged + 1));
            }
        }
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(at: u64, seq: u64, arrives: Option<u64>) -> DataPacket {
        DataPacket {
            at: Time::from_millis(at),
            seq,
            len: 10,
            arrives: arrives.map(Time::from_millis),
        }
    }

    fn ack(at: u64, ack: u64, cwnd: u32) -> Acknowledgement {
        Acknowledgement { at: Time::from_millis(at), ack, window_bytes: 0, cwnd, ssthresh: None }
    }

    #[test]
    fn completion_waits_for_what_was_repeated() {
        let trace = Trace {
            data: vec![
                packet(0, 1, None),
                packet(1, 11, Some(51)),
                packet(100, 1, Some(150)),
                packet(101, 11, Some(151)),
            ],
            acknowledgements: Vec::new(),
        };
        assert_eq!(trace.completion(20), Some(Duration::from_millis(150)));
        assert_eq!(trace.completion(21), None);
        assert_eq!((trace.retransmissions(), trace.dropped()), (vec![1, 11], 1));
    }

    #[test]
    fn a_round_ends_when_what_was_out_at_its_beginning_is_acknowledged() {
        let sent = |n| [0, 0, 100, 100, 100, 100, 100, 201, 201][n];
        let data = (0..9).map(|n| packet(sent(n), 1 + 10 * n as u64, None));
        let trace = Trace {
            data: data.collect(),
            acknowledgements: vec![
                ack(100, 11, 3),
                ack(101, 21, 4),
                ack(200, 41, 5),
                ack(201, 71, 6),
                ack(300, 91, 7),
            ],
        };
        assert_eq!(trace.rounds(), [4, 6]);
    }
}
