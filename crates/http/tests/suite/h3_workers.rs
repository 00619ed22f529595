//! Several workers behind one HTTP/3 port, each with its own thread and world, and address validation.

use crate::common;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::any::{fetch, get, open};
use common::{Echo, in_world};
use farlink_http::client::{Opening, Protocol};
use farlink_http::h3::settings::Server;
use farlink_http::h3::{Acceptor, Listener, Steering};
use tls::Security;
use tokio::sync::watch;

const WORKERS: u16 = 3;

/// Serves at `address` as `worker` until `end` changes; returns the address.
fn serve(
    address: SocketAddr,
    acceptor: &Acceptor,
    (steering, worker): (Steering, u16),
    mut end: watch::Receiver<()>,
) -> (SocketAddr, thread::JoinHandle<()>) {
    let (tell, told) = mpsc::channel();
    let acceptor = acceptor.clone();
    let thread = thread::spawn(move || {
        let config = world::real::Config::new(chance::RandomSource::new(u64::from(worker), 0));
        let main = async {
            let listener = Listener::join(address, &acceptor, (&steering, worker)).unwrap();
            tell.send(listener.local_addr()).unwrap();
            drop(world::spawn(async move {
                while let Some(incoming) = listener.accept().await {
                    drop(world::spawn(async move { drop(incoming.serve(Rc::new(Echo)).await) }));
                }
            }));
            let _ = end.changed().await;
        };
        world::real::run(config, main).unwrap();
    });
    (told.recv().unwrap(), thread)
}

#[test]
fn a_client_that_moves_stays_with_its_worker() {
    let steering = Steering::new(WORKERS);
    let acceptor = Acceptor::new(&tls::Settings::default(), Server::PUBLIC);
    let (over, end) = watch::channel(());
    let mut address: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let mut threads = Vec::new();
    for worker in 0..WORKERS {
        let (bound, thread) = serve(address, &acceptor, (steering.clone(), worker), end.clone());
        address = bound;
        threads.push(thread);
    }
    in_world(async move {
        let clients: Vec<_> = (0..24)
            .map(|_| {
                let opening =
                    Opening::new(address, "any.farlink.test", Security::Tls13, Protocol::H3);
                world::spawn(async move {
                    let mut opening = opening;
                    opening.h3.migrate_at = Some(world::now() + Duration::from_millis(400));
                    let mut connection = open(opening).await;
                    fetch(&mut connection, &get("/10000")).await.unwrap();
                    world::sleep(Duration::from_millis(500)).await;
                    let seen = fetch(&mut connection, &get("/300000")).await.unwrap();
                    assert_eq!(seen.body.len(), 300_000);
                })
            })
            .collect();
        for client in clients {
            client.await;
        }
    });
    // Two in three reach another worker: the chance that none of 24 does is 1 in 10^11.
    assert!(steering.handed_over() > 100, "{} packets", steering.handed_over());
    drop(over);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
