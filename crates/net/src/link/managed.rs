//! A link whose queue is managed: who is dropped is decided when the server is free, so service is an
//! event of its own.

use chance::Stream;
use units::Time;

use crate::queue::{CodelQueue, Depth, Discipline, DropHead, Drops, FqCodel, PieQueue, Queued};
use crate::server::{Server, Service};
use crate::{DropCause, LinkConfig, Management};

pub(super) struct Managed<P> {
    discipline: Box<dyn Discipline<P> + Send>,
    server: Server,
    /// Since when somebody waits.
    waiting_since: Time,
    /// When the server takes the next packet.
    serves_at: Option<Time>,
}

impl<P: Send + 'static> Managed<P> {
    /// A managed queue; `None` for droptail, which needs none of this.
    pub(super) fn new(config: &LinkConfig, stream: Stream) -> Option<Managed<P>> {
        let LinkConfig { queue, mtu, .. } = *config;
        let discipline: Box<dyn Discipline<P> + Send> = match config.management {
            Management::DropTail => return None,
            Management::DropHead => Box::new(DropHead::new(queue)),
            Management::Codel(codel) => Box::new(CodelQueue::new(codel, queue, mtu)),
            Management::FqCodel(codel) => Box::new(FqCodel::new(codel, queue, mtu)),
            Management::Pie(pie) => Box::new(PieQueue::new(pie, queue, mtu, stream)),
        };
        let server = Server::new(&config.rate);
        Some(Managed { discipline, server, waiting_since: Time::ZERO, serves_at: None })
    }
}

impl<P> Managed<P> {
    /// A packet joins the queue. The services that were due before must have been run.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut Drops<P>,
    ) -> Result<(), DropCause> {
        let was_empty = self.depth().packets == 0;
        let outcome = self.discipline.enqueue(now, packet, drops);
        if was_empty {
            self.waiting_since = now;
            self.plan();
        }
        outcome
    }

    /// When the next service begins.
    pub(super) fn serves_at(&self) -> Option<Time> {
        self.serves_at
    }

    /// Whether a service is due by `now`.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.serves_at.is_some_and(|at| at <= now)
    }

    /// Runs the next service, if it is due by `now`. A discipline that drops all it has leaves the server
    /// idle.
    pub(super) fn serve(
        &mut self,
        now: Time,
        drops: &mut Drops<P>,
    ) -> Option<(Queued<P>, Service)> {
        while let Some(at) = self.serves_at.filter(|at| *at <= now) {
            let packet = self.discipline.dequeue(at, drops);
            let served = packet.map(|packet| {
                let service = self.server.serve(self.waiting_since, packet.packet.wire_bytes);
                (packet, service)
            });
            self.plan();
            if served.is_some() {
                return served;
            }
        }
        None
    }

    pub(super) fn depth(&self) -> Depth {
        self.discipline.depth()
    }

    fn plan(&mut self) {
        let at = self.server.starts(self.waiting_since);
        self.serves_at = (self.depth().packets > 0 && at < Time::NEVER).then_some(at);
    }
}
