//! The flow by the running kernel, in real time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use congestion::Algorithm;
use kernel::{SenderState, pin_congestion_control, sender_state};
use units::Time;

use super::{
    Acknowledgement, CHUNK_BYTES, ComparedFlow, DataPacket, FlowBuffers, FlowTrace, REQUEST_BYTES,
    RequestResponse, source,
};
use crate::{
    AccessSide, EmulationResult, Error, Fate, ObservedPacket, Observer, Passage, Passages,
    Punctuality, Testbed, TimingError, realtime,
};

const PORT: u16 = 8080;
/// A flow without progress for this long is given up.
const STALLED: Duration = Duration::from_secs(60);

/// One flow of the kernel.
#[derive(Clone, Debug)]
pub struct KernelMeasurement {
    /// Trace at the link.
    pub trace: FlowTrace,
    /// Punctuality of the emulator.
    pub punctuality: Punctuality,
    /// Reason why the flow's times are not those of the link, if so.
    pub invalid: Option<TimingError>,
    /// True if the emulator's thread had precedence.
    pub realtime: bool,
}

/// Sends `flow` over a testbed of its own.
pub fn measure(flow: &ComparedFlow) -> Result<KernelMeasurement, Error> {
    let testbed = &Testbed::new()?;
    // The results of earlier flows to the same address must not matter.
    testbed.set_sysctl("ipv4/tcp_no_metrics_save", "1")?;
    if flow.buffers == FlowBuffers::Ample {
        testbed.set_sysctl("ipv4/tcp_rmem", "4096 16777216 16777216")?;
        testbed.set_sysctl("ipv4/tcp_wmem", "4096 67108864 67108864")?;
    }
    let topology = flow.topology();
    let emulator = testbed.emulator(topology, &source())?;
    let control = emulator.control();
    let accepted = Arc::new(OnceLock::new());
    let listener = listen(testbed, flow.congestion)?;
    let server = serve(testbed, listener, flow.exchanges.clone(), accepted.clone())?;
    let client = browse(testbed, flow.exchanges.clone())?;
    let states = SenderStates { accepted, states: Vec::new() };
    let emulation =
        std::thread::spawn(move || emulator.observed_by((Passages::default(), states)).run());
    let outcome = join(client, "client").and_then(|()| join(server, "server"));
    control.stop();
    let EmulationResult { snapshot, observer: (passages, states), .. } =
        join(emulation, "emulator")?;
    outcome?;
    Ok(KernelMeasurement {
        trace: trace(&passages.0, &states.states),
        punctuality: snapshot.punctuality,
        invalid: snapshot.check().err(),
        realtime: snapshot.realtime,
    })
}

fn join<T>(thread: JoinHandle<Result<T, Error>>, name: &'static str) -> Result<T, Error> {
    thread.join().map_err(|_| Error::Panicked(name))?
}

fn listen(testbed: &Testbed, congestion: Algorithm) -> Result<TcpListener, Error> {
    testbed.namespace(AccessSide::Server).run(move || {
        let listener = TcpListener::bind((AccessSide::Server.address(), PORT))
            .map_err(Error::io("failed to listen"))?;
        pin_congestion_control(&listener, kernel_name(congestion))?;
        Ok(listener)
    })
}

/// The kernel's name of `congestion`. Use of HyStart by CUBIC is a machine-wide setting (a module parameter).
pub fn kernel_name(congestion: Algorithm) -> &'static str {
    match congestion {
        Algorithm::Reno => "reno",
        Algorithm::Cubic | Algorithm::CubicWithoutHystart => "cubic",
        Algorithm::Bbr => "bbr",
    }
}

/// Answers each request with the response of its exchange.
fn serve(
    testbed: &Testbed,
    listener: TcpListener,
    exchanges: Vec<RequestResponse>,
    accepted: Arc<OnceLock<TcpStream>>,
) -> Result<JoinHandle<Result<(), Error>>, Error> {
    testbed.namespace(AccessSide::Server).spawn(move || {
        realtime::prioritise();
        let answer = || {
            let (mut stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(STALLED))?;
            let _ = accepted.set(stream.try_clone()?);
            let chunk = vec![0; CHUNK_BYTES];
            for exchange in &exchanges {
                stream.read_exact(&mut [0; REQUEST_BYTES])?;
                let mut left = exchange.response_bytes as usize;
                while left > 0 {
                    let len = left.min(chunk.len());
                    stream.write_all(&chunk[..len])?;
                    left -= len;
                }
            }
            // The client closes once it has everything.
            stream.read(&mut [0]).map(drop)
        };
        answer().map_err(Error::io("the server failed"))
    })
}

/// Requests and reads, as the exchanges specify.
fn browse(
    testbed: &Testbed,
    exchanges: Vec<RequestResponse>,
) -> Result<JoinHandle<Result<(), Error>>, Error> {
    testbed.namespace(AccessSide::Client).spawn(move || {
        realtime::prioritise();
        let ask = || {
            let mut stream = TcpStream::connect((AccessSide::Server.address(), PORT))?;
            stream.set_read_timeout(Some(STALLED))?;
            let mut chunk = vec![0; CHUNK_BYTES];
            for exchange in &exchanges {
                think(exchange.think);
                stream.write_all(&[0; REQUEST_BYTES])?;
                let mut left = exchange.response_bytes as usize;
                while left > 0 {
                    let most = left.min(chunk.len());
                    let len = stream.read(&mut chunk[..most])?;
                    if len == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    left -= len;
                }
            }
            Ok(())
        };
        ask().map_err(Error::io("the client failed"))
    })
}

#[expect(clippy::disallowed_methods, reason = "real time: this client is a person who thinks")]
fn think(span: Duration) {
    std::thread::sleep(span);
}

/// Samples the sender's state after each packet that reaches it. The receiving kernel is done with a packet when the call that hands it over
/// returns, so its socket can be queried right after each acknowledgement.
struct SenderStates {
    accepted: Arc<OnceLock<TcpStream>>,
    /// States, each with the packet's number.
    states: Vec<(u64, SenderState)>,
}

impl Observer for SenderStates {
    fn delivered(&mut self, _: Time, _: Time, packet: &ObservedPacket<'_>) {
        if packet.from == AccessSide::Client
            && let Some(stream) = self.accepted.get()
            && let Ok(state) = sender_state(stream)
        {
            self.states.push((packet.number, state));
        }
    }
}

/// Turns the observations into the flow's trace.
fn trace(passages: &[Passage], states: &[(u64, SenderState)]) -> FlowTrace {
    let Some(origin) = TraceOrigin::find(passages) else { return FlowTrace::default() };
    let data = passages.iter().filter_map(|passage| origin.data(passage));
    let acknowledgements = states
        .iter()
        .filter_map(|(number, state)| origin.acknowledgement(&passages[*number as usize], state));
    FlowTrace { data: data.collect(), acknowledgements: acknowledgements.collect() }
}

/// Origin of a trace's times and sequence numbers.
struct TraceOrigin {
    began: Time,
    /// The server's initial sequence number.
    initial: u32,
    /// Window scale shift of the client.
    scale: u8,
}

impl TraceOrigin {
    fn find(passages: &[Passage]) -> Option<TraceOrigin> {
        let syn = |from| {
            passages.iter().find_map(|passage| {
                let tcp = passage.tcp.filter(|tcp| passage.from == from && tcp.is_syn())?;
                Some((passage.arrived, tcp))
            })
        };
        let ((began, asked), (_, answered)) = (syn(AccessSide::Client)?, syn(AccessSide::Server)?);
        let scale = asked.window_scale.unwrap_or(0);
        Some(TraceOrigin { began, initial: answered.seq, scale })
    }

    fn time(&self, time: Time) -> Time {
        Time::ZERO + (time - self.began)
    }

    fn number(&self, number: u32) -> u64 {
        u64::from(number.wrapping_sub(self.initial))
    }

    fn data(&self, passage: &Passage) -> Option<DataPacket> {
        let tcp = passage.tcp.filter(|tcp| tcp.payload_bytes > 0)?;
        let arrives = match passage.fate {
            Fate::Delivered { due, .. } => Some(self.time(due)),
            Fate::Underway | Fate::Dropped(_) => None,
        };
        (passage.from == AccessSide::Server).then(|| DataPacket {
            at: self.time(passage.arrived),
            seq: self.number(tcp.seq),
            len: tcp.payload_bytes,
            arrives,
        })
    }

    fn acknowledgement(&self, passage: &Passage, state: &SenderState) -> Option<Acknowledgement> {
        let tcp = passage.tcp.filter(|tcp| tcp.is_ack())?;
        let Fate::Delivered { due, .. } = passage.fate else { return None };
        Some(Acknowledgement {
            at: self.time(due),
            ack: self.number(tcp.ack),
            window_bytes: u64::from(tcp.window) << self.scale,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
        })
    }
}
