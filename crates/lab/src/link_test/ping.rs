//! Round trips of small datagrams on the idle network.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use units::Time;
use world::UdpSocket;

use super::{Bench, Way};

/// How many pings are sent.
const PINGS: usize = 200;
/// The IP packet of a `ping` with its default of 56 bytes.
const PACKET_BYTES: u32 = 84;
const HEADERS: u32 = 28;
/// Between two pings: never less than this, and never less than two round trips.
const INTERVAL: Duration = Duration::from_millis(200);

/// Round trips measured, beside the one that is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// The delays of both ways and the time that both rates take for the packet.
    pub configured: Duration,
    /// Pings sent.
    pub sent: usize,
    /// The round trips of those that were answered, in the order of sending.
    pub round_trips: Vec<Duration>,
}

impl Ping {
    /// The smallest, mean and largest round trip, if any came back.
    pub fn summary(&self) -> Option<(Duration, Duration, Duration)> {
        let least = self.round_trips.iter().min()?;
        let most = self.round_trips.iter().max()?;
        let mean = self.round_trips.iter().sum::<Duration>() / self.round_trips.len() as u32;
        Some((*least, mean, *most))
    }
}

pub(super) fn measure(bench: &Bench<'_>) -> Ping {
    let network = bench.network;
    let service = |link: &net::LinkConfig| link.rate.mean().time_for(u64::from(PACKET_BYTES));
    let configured = network.rtt()
        + network.up_links().chain(network.down_links()).map(service).sum::<Duration>();
    let interval = INTERVAL.max(2 * configured);
    let mut setup = bench.set_up(Way::Up);
    let (from, to) = (setup.from, setup.to);
    setup.plan.spawn(setup.receiver, async move {
        let socket = UdpSocket::bind(to).expect("a fresh node's ports are free");
        let mut buf = [0; 64];
        while let Ok((len, from)) = socket.recv_from(&mut buf).await {
            let _ = socket.send_to(&buf[..len], from).await;
        }
    });
    let round_trips = setup.plan.run(setup.sender, async move {
        let socket = Rc::new(UdpSocket::bind(from).expect("a fresh node's ports are free"));
        let answers = Rc::new(RefCell::new(Vec::new()));
        world::spawn(collect(Rc::clone(&socket), Rc::clone(&answers)));
        for _ in 0..PINGS {
            let mut body = [0; (PACKET_BYTES - HEADERS) as usize];
            body[..8].copy_from_slice(&world::now().as_nanos().to_be_bytes());
            let _ = socket.send_to(&body, to).await;
            world::sleep(interval).await;
        }
        // The last may still be on its way.
        world::sleep(interval).await;
        answers.take()
    });
    Ping { configured, sent: PINGS, round_trips: round_trips.unwrap_or_default() }
}

/// Takes answers in until the world ends.
async fn collect(socket: Rc<UdpSocket>, answers: Rc<RefCell<Vec<Duration>>>) {
    let mut buf = [0; 64];
    while let Ok((8.., _)) = socket.recv_from(&mut buf).await {
        let stamp = buf[..8].try_into().expect("eight bytes are eight bytes");
        let sent = Time::from_nanos(u64::from_be_bytes(stamp));
        answers.borrow_mut().push(world::now() - sent);
    }
}
