//! One TCP flow at full speed, and its cost.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use farlink_emu::{AccessSide, Error, Testbed};
use kernel::{TcpInfo, pin_congestion_control};
use nix::time::{ClockId, clock_gettime};

const PORT: u16 = 5001;
const CHUNK_BYTES: usize = 256 * 1024;
/// Time after which slow start is over.
const WARM_UP: Duration = Duration::from_secs(2);

/// Results of a flow over the measured interval.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Payload received, bits per second.
    pub goodput: f64,
    /// Processor time of this whole program for each Gbit of payload, seconds.
    pub cpu_per_gbit: f64,
    /// Segments sent again.
    pub retransmitted: u32,
}

/// A running flow.
pub struct Bulk {
    received: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    sender: TcpStream,
}

impl Bulk {
    /// Starts a flow from the server to the client.
    pub fn start(testbed: &Testbed) -> Result<Bulk, Error> {
        let listener = testbed.namespace(AccessSide::Server).run(|| {
            let listener = TcpListener::bind((AccessSide::Server.address(), PORT)).map_err(io)?;
            pin_congestion_control(&listener, "cubic")?;
            Ok(listener)
        })?;
        let (received, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, is_over) = (Arc::clone(&received), Arc::clone(&over));
        testbed.namespace(AccessSide::Client).spawn(move || {
            let mut stream =
                TcpStream::connect((AccessSide::Server.address(), PORT)).map_err(io)?;
            let mut chunk = vec![0; CHUNK_BYTES];
            while !is_over.load(Ordering::Relaxed) {
                let len = stream.read(&mut chunk).map_err(io)?;
                count.fetch_add(len as u64, Ordering::Relaxed);
            }
            Ok(())
        })?;
        let (sender, _) = listener.accept().map_err(io)?;
        let mut stream = sender.try_clone().map_err(io)?;
        let is_over = Arc::clone(&over);
        thread::spawn(move || {
            let chunk = vec![0; CHUNK_BYTES];
            // Ends with an error when the reader does.
            while !is_over.load(Ordering::Relaxed) && stream.write_all(&chunk).is_ok() {}
        });
        Ok(Bulk { received, over, sender })
    }

    /// Measures the flow for `span`, then ends it.
    #[expect(clippy::disallowed_methods, reason = "real time")]
    pub fn measure(self, span: Duration) -> Measured {
        thread::sleep(WARM_UP);
        let before = self.look();
        thread::sleep(span.saturating_sub(WARM_UP).max(Duration::from_secs(1)));
        let after = self.look();
        self.over.store(true, Ordering::Relaxed);
        let bits = (after.bytes - before.bytes) as f64 * 8.0;
        Measured {
            goodput: bits / (after.at - before.at).as_secs_f64(),
            cpu_per_gbit: (after.cpu - before.cpu).as_secs_f64() / (bits / 1e9),
            retransmitted: after.retransmitted - before.retransmitted,
        }
    }

    fn look(&self) -> Look {
        let clock = |id| clock_gettime(id).expect("Linux has this clock").into();
        Look {
            at: clock(ClockId::CLOCK_MONOTONIC),
            cpu: clock(ClockId::CLOCK_PROCESS_CPUTIME_ID),
            bytes: self.received.load(Ordering::Relaxed),
            retransmitted: TcpInfo::of(&self.sender).map_or(0, |info| info.total_retrans),
        }
    }
}

struct Look {
    at: Duration,
    cpu: Duration,
    bytes: u64,
    retransmitted: u32,
}

fn io(source: std::io::Error) -> Error {
    Error::Io { what: "the flow failed".into(), source }
}
