//! Cost of a packet on a link, in nanoseconds of wall-clock time:
//! `cargo run --release -p farlink-net --example link_speed [WHICH]`.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the real clock")]

use std::time::{Duration, Instant};

use chance::Source;
use farlink_net::{
    Codel, Emulator, Link, LinkConfig, LossModel, Management, Packet, Pie, ProcessingJitter,
    QueueLimit,
};
use units::{BitsPerSec, Time};

const PACKETS: u64 = 100_000;

fn run(name: &str, config: LinkConfig) {
    if std::env::args().nth(1).is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    let source = Source::new(1, 0);
    let mut best = Duration::MAX;
    for _ in 0..250 {
        let mut link: Link<[u64; 2]> = Link::new(config.clone(), &source, "down");
        let began = Instant::now();
        let mut now = Time::ZERO;
        let mut delivered = 0u64;
        for n in 0..PACKETS {
            now += Duration::from_nanos(100_000 + (n % 7) * 10_000);
            while let Some(packet) = link.poll(now) {
                delivered += packet.body[0] & 1;
            }
            let _ = link.handle(now, Packet::new(1500), [n, n]);
        }
        std::hint::black_box(delivered);
        best = best.min(began.elapsed());
    }
    println!("{name:32} {:6.1} ns a packet", best.as_nanos() as f64 / PACKETS as f64);
}

fn main() {
    let plain =
        LinkConfig::new(BitsPerSec::mbit(100), Duration::from_millis(20), QueueLimit::Packets(100));
    let config = LinkConfig { loss: LossModel::Random(0.01), ..plain };
    let codel = Codel::default();
    let managed = |management| LinkConfig { management, ..config.clone() };
    run("constant rate, droptail", config.clone());
    run(
        "with processing jitter",
        LinkConfig { processing_jitter: ProcessingJitter::UpToOneSerialisation, ..config.clone() },
    );
    run("codel", managed(Management::Codel(codel)));
    run("fq_codel", managed(Management::FqCodel(codel)));
    run("pie", managed(Management::Pie(Pie::default())));
    run(
        "netem",
        LinkConfig {
            emulator: Emulator::Netem,
            queue: QueueLimit::Packets(1000),
            ..config.clone()
        },
    );
    run(
        "dummynet",
        LinkConfig {
            emulator: Emulator::Dummynet {
                tick: Duration::from_millis(1),
                timer: Duration::from_millis(4),
            },
            ..config
        },
    );
}
