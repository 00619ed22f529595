//! One TCP flow, as in a speed test on the web: the rate that users get.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use units::BitsPerSec;
use world::{TcpListener, TcpStream};

use super::{Bench, Way, speed};

/// Duration of the flow.
const SPAN: Duration = Duration::from_secs(30);
/// The flow begins with slow start, which is not counted.
const WARM_UP: Duration = Duration::from_secs(5);

/// A flow of Linux 6's CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Payload delivered to the application, over the 30 s after the first five.
    pub goodput: BitsPerSec,
    /// Retransmitted segments.
    pub retransmitted_segments: u64,
    /// The sender's smoothed round trip at the end, which shows the queueing delay.
    pub srtt: Option<Duration>,
}

pub(super) fn measure(bench: &Bench<'_>, way: Way) -> Option<Bulk> {
    if bench.links(way).iter().all(|link| link.rate.mean().time_for(1500).is_zero()) {
        return None;
    }
    let mut setup = bench.set_up(way);
    let to = setup.to;
    setup.plan.spawn(setup.sender, async move {
        if let Ok(mut stream) = TcpStream::connect(to).await {
            let chunk = vec![0; 64 * 1024];
            while stream.write_all(&chunk).await.is_ok() {}
        }
    });
    let (bytes, report) = setup
        .plan
        .run(setup.receiver, async move {
            let received = Rc::new(Cell::new(0));
            world::spawn(receive(to, Rc::clone(&received)));
            world::sleep(WARM_UP).await;
            let before = received.get();
            world::sleep(SPAN).await;
            let report = world::sim::report().expect("the test runs in the simulated world");
            (received.get() - before, report)
        })
        .ok()?;
    let sender = report.endpoints.iter().find(|end| end.active);
    let stats = sender.and_then(|end| end.stats.as_ref());
    Some(Bulk {
        goodput: speed::rate(bytes, SPAN),
        retransmitted_segments: stats.map_or(0, |stats| stats.retransmitted_segments),
        srtt: stats.and_then(|stats| stats.srtt),
    })
}

/// Receives from the only sender.
async fn receive(at: std::net::SocketAddr, received: Rc<Cell<u64>>) {
    let listener = TcpListener::bind(at).expect("a fresh node's ports are free");
    let Ok((mut stream, _)) = listener.accept().await else { return };
    let mut buf = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = stream.read(&mut buf).await {
        received.set(received.get() + len as u64);
    }
}
