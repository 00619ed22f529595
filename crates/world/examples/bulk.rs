//! One bulk transfer over one bottleneck in virtual time, as a line of CSV: for the comparison with ns-3 in `scripts/ns3`, and
//! for the number of packets per second of CPU time of the simulated TCP.
//!
//! `cargo run --release -p farlink-world --example bulk -- NETWORK reno|cubic BYTES SEED`
//!
//! The receiver opens the connection, the sender sends `BYTES` as fast as TCP permits; buffers never limit it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chance::RandomSource;
use farlink_world::report::WorldReport;
use farlink_world::sim::{self, SimPlan};
use farlink_world::{TcpListener, TcpStream, now};
use net::Network;
use rustix::time::{ClockId, clock_gettime};
use tcp::{Config, ReceiveBufferPolicy, SendBufferPolicy};
use tokio::io::AsyncWriteExt;

/// Larger than any bottleneck of the comparison.
const BUFFER_BYTES: u64 = 256 << 20;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [network, congestion, bytes, seed] = args.as_slice() else {
        eprintln!("usage: bulk NETWORK reno|cubic BYTES SEED");
        return ExitCode::from(2);
    };
    match transfer(network, congestion, bytes, seed) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("bulk: {message}");
            ExitCode::from(2)
        }
    }
}

/// `completion s, goodput bit/s, timeouts, packets delivered, CPU s`
fn transfer(network: &str, congestion: &str, bytes: &str, seed: &str) -> Result<String, String> {
    let network = Network::parse(network).map_err(|error| error.to_string())?;
    let bytes: usize = bytes.parse().map_err(|_| format!("`{bytes}` is not a number of bytes"))?;
    let seed: u64 = seed.parse().map_err(|_| format!("`{seed}` is not a seed"))?;
    let congestion = match congestion {
        "reno" => congestion::Algorithm::Reno,
        "cubic" => congestion::Algorithm::Cubic,
        other => return Err(format!("`{other}` is neither reno nor cubic")),
    };
    let config = Arc::new(Config {
        congestion,
        send_buffer: SendBufferPolicy::LINUX_6.fixed(BUFFER_BYTES),
        receive_buffer: ReceiveBufferPolicy {
            initial_bytes: BUFFER_BYTES,
            max_bytes: BUFFER_BYTES,
            ..ReceiveBufferPolicy::LINUX_6
        },
        ..Config::default()
    });
    let started = cpu_seconds();
    let (completion, report) = simulate(&network, &config, bytes, seed)?;
    let cpu = cpu_seconds() - started;
    let packets: u64 = report.links.iter().map(|link| link.stats.delivered_packets).sum();
    let server = report.endpoints.iter().find(|end| !end.active);
    let timeouts = server.and_then(|end| end.stats.as_ref()).map_or(0, |stats| stats.timeouts);
    let seconds = completion.as_secs_f64();
    let goodput = bytes as f64 * 8.0 / seconds;
    Ok(format!("{seconds:.6},{goodput:.0},{timeouts},{packets},{cpu:.4}"))
}

/// Duration of the transfer from the SYN on, and the world's report.
fn simulate(
    network: &Network,
    config: &Arc<Config>,
    bytes: usize,
    seed: u64,
) -> Result<(Duration, WorldReport), String> {
    let mut plan = SimPlan::new(RandomSource::new(seed, 0));
    plan.limit(Duration::from_secs(100_000));
    let addresses = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
    let [client, server] = addresses.map(|address| plan.node(address, Arc::clone(config)));
    let up = plan.link("up", network.up.clone());
    let down = plan.link("down", network.down.clone());
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    let at = SocketAddr::new(addresses[1], 80);
    plan.spawn(server, async move {
        let listener = TcpListener::bind(at).expect("a fresh node's ports are free");
        let Ok((mut stream, _)) = listener.accept().await else { return };
        let chunk = Bytes::from(vec![0; 256 * 1024]);
        let mut left = bytes;
        while left > 0 {
            let part = chunk.slice(..left.min(chunk.len()));
            left -= part.len();
            if stream.write_bytes(part).await.is_err() {
                return;
            }
        }
        let _ = stream.shutdown().await;
    });
    plan.run(client, async move {
        let mut received = 0;
        let mut stream = TcpStream::connect(at).await.map_err(|error| error.to_string())?;
        while received < bytes {
            match stream.read_bytes(256 * 1024).await {
                Ok(data) if !data.is_empty() => received += data.len(),
                other => return Err(format!("the transfer broke off: {other:?}")),
            }
        }
        let report = sim::report().expect("this runs in the simulated world");
        Ok((now() - units::Time::ZERO, report))
    })
    .map_err(|error| error.to_string())?
}

fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}
