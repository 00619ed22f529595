//! Several clients behind one hop: shared state, and state of each client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use farlink_world as world;
use farlink_world::report::WorldReport;
use farlink_world::sim::SimPlan;
use farlink_world::{TcpListener, TcpStream};
use net::{Network, RadioState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SERVER: &str = "10.0.0.2:80";

/// Results of the clients of one world.
struct Shared {
    /// Completion time of each client.
    done: Vec<Duration>,
    report: WorldReport,
}

/// Clients that request this many bytes each at the same time.
fn ask_together(network: &str, bytes: &[usize]) -> Shared {
    let network = Network::parse(network).unwrap();
    let mut plan = SimPlan::new(RandomSource::new(1, 0));
    let address = |last: usize| -> IpAddr { format!("10.0.1.{last}").parse().unwrap() };
    let server_at: SocketAddr = SERVER.parse().unwrap();
    let server = plan.node(server_at.ip(), Arc::default());
    let (up, down) = (plan.link("up", network.up), plan.link("down", network.down));
    let mut ends = Vec::new();
    for (number, bytes) in bytes.iter().copied().enumerate() {
        let client = plan.node(address(number), Arc::default());
        plan.client(client, number as u32, RandomSource::new(1, number as u64));
        plan.route(client, server, &[up]);
        plan.route(server, client, &[down]);
        if let Some(radio) = &network.radio {
            plan.radio(&format!("client/{number}"), radio.clone(), client, [up, down]);
        }
        let (told, end) = tokio::sync::oneshot::channel();
        plan.spawn(client, async move {
            let mut stream = TcpStream::connect(server_at).await.unwrap();
            stream.write_all(&(bytes as u64).to_be_bytes()).await.unwrap();
            stream.read_exact(&mut vec![0; bytes]).await.unwrap();
            let _ = told.send((world::now() - units::Time::ZERO, world::stream("own").next_u64()));
        });
        ends.push(end);
    }
    plan.spawn(server, async move {
        let listener = TcpListener::bind(server_at).unwrap();
        while let Ok((mut stream, _)) = listener.accept().await {
            world::spawn(async move {
                let mut bytes = [0; 8];
                stream.read_exact(&mut bytes).await.unwrap();
                let body = vec![0; u64::from_be_bytes(bytes) as usize];
                stream.write_all(&body).await.unwrap();
            });
        }
    });
    let run = plan.run(server, async move {
        let mut all = Vec::new();
        for end in ends {
            all.push(end.await.unwrap());
        }
        (all, world::sim::report().unwrap())
    });
    let (all, report) = run.unwrap();
    let draws: std::collections::BTreeSet<u64> = all.iter().map(|(_, draw)| *draw).collect();
    assert_eq!(draws.len(), bytes.len(), "each client draws for himself");
    Shared { done: all.into_iter().map(|(done, _)| done).collect(), report }
}

const CELL: &str = "rtt=100ms,down=2mbit,up=1mbit,queue=1000pkt";

#[test]
fn turns_protect_who_asks_for_little() {
    let alone = ask_together(CELL, &[100_000]).done[0];
    let beside = |scheduler| {
        ask_together(&format!("{CELL},scheduler={scheduler}"), &[100_000, 5_000_000]).done[0]
    };
    let (fifo, turns, fair) = (beside("fifo"), beside("round-robin"), beside("proportional-fair"));
    assert!(turns < 2 * alone && fair < 2 * alone, "{alone:?} alone, {turns:?}, {fair:?}");
    assert!(turns < fifo && fair < fifo, "{fifo:?} in one queue, {turns:?}, {fair:?}");
}

#[test]
fn equal_clients_get_equal_shares() {
    let Shared { done, report } =
        ask_together(&format!("{CELL},scheduler=round-robin"), &[1_000_000; 3]);
    let (first, last) = (done.iter().min().unwrap(), done.iter().max().unwrap());
    assert!(*last - *first < Duration::from_millis(200), "{done:?}");
    for link in &report.links {
        let by_client: u64 = link.delivered_bytes.iter().sum();
        assert_eq!(by_client, link.stats.delivered_bytes, "{}", link.name);
        assert_eq!(link.delivered_bytes.len(), 3);
    }
}

#[test]
fn each_has_a_radio_of_his_own() {
    let Shared { report, .. } = ask_together(&format!("{CELL},radio=umts"), &[3_000_000, 100]);
    let [busy, calm] = &report.radios[..] else { panic!("two radios: {:?}", report.radios) };
    assert_eq!((busy.name.as_str(), calm.name.as_str()), ("client/0", "client/1"));
    for radio in [busy, calm] {
        assert!(radio.transitions.iter().any(|change| change.to == RadioState::Dch));
    }
    assert_ne!(busy.transitions, calm.transitions);
    assert!(busy.energy.joules() > 0.0);
}

#[test]
fn drops_are_told_by_client() {
    let short = CELL.replace("1000pkt", "10pkt");
    let Shared { report, .. } =
        ask_together(&format!("{short},scheduler=round-robin"), &[20_000, 3_000_000]);
    assert!(report.drops.iter().any(|drop| drop.user == 1));
    assert!(report.drops.iter().all(|drop| drop.user == 1), "the other's queue had room");
}
