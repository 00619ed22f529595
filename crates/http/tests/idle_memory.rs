//! Memory of an idle connection between requests: counted in the allocator, touched or not.

mod common;

use std::net::SocketAddr;

use allocations::{Counting, held_bytes, watch};
use common::{Echo, any, in_world};
use farlink_http::client::Opening;
use farlink_http::server::Acceptor;
use tls::{Protocol, Security};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Serves on a separate thread until the process ends.
fn start(security: Security) -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        watch();
        let config = world::real::Config::new(chance::RandomSource::new(1, 0));
        world::real::run(config, async move {
            let server = any::listen(Echo, Acceptor::new(security));
            tell.send(server.address).expect("the test waits");
            std::future::pending::<()>().await;
        })
    });
    told.recv().expect("the server listens")
}

/// Bytes held for each connection that has received a response of 1 KiB and is idle.
fn held_at_rest(protocol: Protocol, security: Security) -> isize {
    /// The first connections include the cost of shared state.
    const FIRST: usize = 20;
    const MORE: usize = 100;
    let address = start(security);
    let (tell, told) = std::sync::mpsc::channel();
    in_world(async move {
        let mut resting = Vec::new();
        let mut held = 0;
        for number in 0..FIRST + MORE {
            if number == FIRST {
                held = held_bytes();
            }
            let opening = Opening::new(address, "any.farlink.test", security, protocol);
            let mut connection = any::open(opening).await;
            any::fetch(&mut connection, &any::get("/1024")).await.expect("an answer");
            resting.push(connection);
        }
        // The last connection may still be cleaning up.
        world::sleep(std::time::Duration::from_millis(50)).await;
        let more = held_bytes() - held;
        tell.send(more / MORE as isize).expect("the test waits");
    });
    told.recv().expect("the world has told")
}

/// One test, since the allocation counter is global.
#[test]
fn a_connection_at_rest_holds_little() {
    for (protocol, security, most) in [
        (Protocol::H1, Security::None, 4 * 1024),
        (Protocol::H1, Security::Tls13, 12 * 1024),
        // h2 keeps 28 KiB of buffers; an idle connection has touched the start of each.
        (Protocol::H2, Security::None, 40 * 1024),
        (Protocol::H2, Security::Tls13, 45 * 1024),
    ] {
        let held = held_at_rest(protocol, security);
        println!("{protocol} over {security}: {held} bytes");
        assert!(held <= most, "{protocol} over {security}: {held} bytes, wanted at most {most}");
    }
}
