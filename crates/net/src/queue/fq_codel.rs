//! FQ-CoDel: RFC 8290 as Linux implements it (`sch_fq_codel.c`).
//!
//! Flows are hashed into 1024 queues, each under CoDel, and served by deficit round robin with a quantum of one
//! packet; new flows come first. On overflow, the longest queue loses up to half of itself from its head. Two flows
//! may share a queue, as in Linux. Not modelled: `memory_limit` (32 MB of kernel memory).

use std::collections::VecDeque;

use units::Time;

use super::codel::CodelControl;
use super::{Discipline, DroppedPackets, PacketFifo, QueueDepth, Queued};
use crate::{Codel, DropCause, QueueLimit};

/// Number of queues that flows are hashed into: `flows`, RFC 8290 section 5.2.3.
const FLOWS: usize = 1024;
/// Quantum of a flow: an Ethernet frame, RFC 8290 section 5.2.4.
const QUANTUM_BYTES: i64 = 1514;
/// Maximum number of packets dropped at once on overflow: `drop_batch_size`.
const DROP_BATCH: usize = 64;

/// All queues together.
pub(crate) struct FqCodel<P> {
    params: Codel,
    mtu: u32,
    limit: QueueLimit,
    flows: Vec<FlowQueue<P>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    depth: QueueDepth,
}

struct FlowQueue<P> {
    backlog: PacketFifo<P>,
    deficit: i64,
    is_listed: bool,
    control: CodelControl,
}

impl<P> FlowQueue<P> {
    fn new() -> FlowQueue<P> {
        let (backlog, control) = (PacketFifo::new(), CodelControl::new());
        FlowQueue { backlog, deficit: 0, is_listed: false, control }
    }

    fn take(&mut self, depth: &mut QueueDepth) -> Option<Queued<P>> {
        let packet = self.backlog.take()?;
        depth.bytes -= u64::from(packet.packet.wire_bytes);
        depth.packets -= 1;
        Some(packet)
    }
}

impl<P> FqCodel<P> {
    pub(crate) fn new(params: Codel, limit: QueueLimit, mtu: u32) -> FqCodel<P> {
        FqCodel {
            params,
            mtu,
            limit,
            flows: (0..FLOWS).map(|_| FlowQueue::new()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            depth: QueueDepth::default(),
        }
    }

    /// `fq_codel_drop`: drops from the head of the queue with the most bytes, until half of them are gone.
    fn make_room(&mut self, now: Time, drops: &mut DroppedPackets<P>) {
        let fattest = |flows: &[FlowQueue<P>]| {
            // The first of several equals, as in the kernel's loop.
            let most = flows.iter().map(|flow| flow.backlog.bytes()).max()?;
            flows.iter().position(|flow| flow.backlog.bytes() == most)
        };
        let Some(index) = fattest(&self.flows) else { return };
        let flow = &mut self.flows[index];
        let threshold = flow.backlog.bytes() / 2;
        let mut gone = 0;
        for _ in 0..DROP_BATCH {
            let Some(packet) = flow.take(&mut self.depth) else { break };
            gone += u64::from(packet.packet.wire_bytes);
            drops.push_back(packet.into_drop(now, DropCause::QueueFull));
            flow.control.count = flow.control.count.wrapping_add(1);
            if gone >= threshold {
                break;
            }
        }
    }

    /// The flow whose turn it is, and whether it is a new one: the first new one, else the first old one.
    fn turn(&self) -> Option<(usize, bool)> {
        let new = self.new.front().map(|flow| (*flow, true));
        new.or_else(|| self.old.front().map(|flow| (*flow, false)))
    }

    fn take_off_list(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}

impl<P> Discipline<P> for FqCodel<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut DroppedPackets<P>,
    ) -> Result<(), DropCause> {
        // `reciprocal_scale` of the kernel.
        let index = ((u64::from(packet.packet.flow) * FLOWS as u64) >> 32) as usize;
        let flow = &mut self.flows[index];
        self.depth.bytes += u64::from(packet.packet.wire_bytes);
        self.depth.packets += 1;
        flow.backlog.push(packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = QUANTUM_BYTES;
            self.new.push_back(index);
        }
        if !self.limit.holds(self.depth.packets, self.depth.bytes) {
            self.make_room(now, drops);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, drops: &mut DroppedPackets<P>) -> Option<Queued<P>> {
        loop {
            let (index, is_new) = self.turn()?;
            let FqCodel { params, mtu, flows, depth, .. } = self;
            let flow = &mut flows[index];
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM_BYTES;
                self.take_off_list(is_new);
                self.old.push_back(index);
                continue;
            }
            let FlowQueue { control, .. } = flow;
            let mut control = std::mem::replace(control, CodelControl::new());
            let take = || {
                let packet = flow.take(depth);
                (packet, depth.bytes)
            };
            let packet = control.dequeue(now, params, *mtu, take, drops);
            self.flows[index].control = control;
            match packet {
                Some(packet) => {
                    self.flows[index].deficit -= i64::from(packet.packet.wire_bytes);
                    return Some(packet);
                }
                // A new flow that runs empty passes through the old ones, lest it starve them.
                None => {
                    self.take_off_list(is_new);
                    if is_new && !self.old.is_empty() {
                        self.old.push_back(index);
                    } else {
                        self.flows[index].is_listed = false;
                    }
                }
            }
        }
    }

    fn depth(&self) -> QueueDepth {
        self.depth
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    /// Hashes that map to queues 1 and 2.
    const FLOW_1: u32 = 1 << 22;
    const FLOW_2: u32 = 2 << 22;

    fn fill(queue: &mut FqCodel<u32>, flow: u32, packets: u32, drops: &mut DroppedPackets<u32>) {
        for body in 0..packets {
            let queued = packet(Time::ZERO, flow, false, flow + body);
            queue.enqueue(Time::ZERO, queued, drops).expect("it drops from others");
        }
    }

    #[test]
    fn flows_take_turns_whatever_they_offer() {
        let mut queue = FqCodel::new(Codel::default(), QueueLimit::Packets(10_240), 1500);
        let mut drops = DroppedPackets::new();
        fill(&mut queue, FLOW_1, 100, &mut drops);
        fill(&mut queue, FLOW_2, 10, &mut drops);
        let left: Vec<u32> = (0..20)
            .filter_map(|_| queue.dequeue(Time::ZERO, &mut drops))
            .map(|packet| packet.packet.flow)
            .collect();
        assert_eq!(left.iter().filter(|flow| **flow == FLOW_2).count(), 10);
        assert!(drops.is_empty());
    }

    /// RFC 8290, section 4.2: a flow that has just begun is served before those with a standing queue.
    #[test]
    fn a_new_flow_comes_first() {
        let mut queue = FqCodel::new(Codel::default(), QueueLimit::Packets(10_240), 1500);
        let mut drops = DroppedPackets::new();
        fill(&mut queue, FLOW_1, 100, &mut drops);
        for _ in 0..3 {
            queue.dequeue(Time::ZERO, &mut drops);
        }
        fill(&mut queue, FLOW_2, 1, &mut drops);
        let next = queue.dequeue(Time::ZERO, &mut drops).expect("100 packets wait");
        assert_eq!(next.packet.flow, FLOW_2);
    }

    #[test]
    fn the_fattest_flow_pays_for_the_lack_of_room() {
        let mut queue = FqCodel::new(Codel::default(), QueueLimit::Packets(50), 1500);
        let mut drops = DroppedPackets::new();
        fill(&mut queue, FLOW_2, 5, &mut drops);
        fill(&mut queue, FLOW_1, 46, &mut drops);
        // Half of the 46 packets' bytes, from the head.
        assert_eq!(drops.len(), 23);
        assert!(drops.iter().map(|drop| drop.body).eq(FLOW_1..FLOW_1 + 23));
        assert_eq!(queue.depth().packets, 28);
    }
}
