//! Connections redirected in the simulated world: taken over in the name of their original destination.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use farlink_world as world;
use net::LinkConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::sim::SimPlan;
use world::{TcpListener, TcpStream};

async fn says(listener: TcpListener, word: &'static [u8]) {
    while let Ok((mut stream, _)) = listener.accept().await {
        stream.write_all(word).await.unwrap();
    }
}

async fn asked(at: SocketAddr) -> std::io::Result<(SocketAddr, Vec<u8>, Duration)> {
    let began = world::now();
    let mut stream = TcpStream::connect(at).await?;
    let mut word = Vec::new();
    stream.read_to_end(&mut word).await?;
    Ok((stream.peer_addr()?, word, world::now().since(began)))
}

#[test]
fn a_third_answers_in_the_other_s_name_on_the_ports_that_it_takes() {
    let mut plan = SimPlan::new(RandomSource::new(1, 0));
    let tcp = Arc::new(tcp::Config::default());
    let mut node = |address: &str| plan.node(address.parse().unwrap(), Arc::clone(&tcp));
    let (client, other) = (node("10.0.0.1"), node("10.0.0.4"));
    let (taker, server) = (node("10.0.0.2"), node("10.0.0.3"));
    let [near, far] = [1, 50].map(|ms| LinkConfig::delay(Duration::from_millis(ms)));
    let near = [plan.link("near/up", near.clone()), plan.link("near/down", near)];
    let far = [plan.link("up", far.clone()), plan.link("down", far)];
    plan.route(client, server, &near[..1]);
    plan.route(server, client, &near[1..]);
    plan.lead(client, server, taker);
    for from in [taker, other] {
        plan.route(from, server, &far[..1]);
        plan.route(server, from, &far[1..]);
    }
    let at = |port| SocketAddr::new("10.0.0.3".parse().unwrap(), port);
    plan.spawn(server, async move {
        drop(world::spawn(says(TcpListener::bind(at(80)).unwrap(), b"server")));
        says(TcpListener::bind(at(443)).unwrap(), b"server").await;
    });
    plan.spawn(taker, async move {
        let listener = TcpListener::bind_transparent(at(80)).unwrap();
        assert_eq!(listener.local_addr().unwrap(), at(80));
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_eq!(stream.original_destination().unwrap(), at(80));
        // It reaches the server itself, unlike the client.
        let (_, word, _) = asked(at(80)).await.unwrap();
        stream.write_all(&[b"taken from the ", &word[..]].concat()).await.unwrap();
    });
    let (told, heard) = tokio::sync::oneshot::channel();
    plan.spawn(other, async move {
        let _ = told.send(asked(at(80)).await);
    });
    let (taken, refused, past) = plan
        .run(client, async move { (asked(at(80)).await, asked(at(443)).await, heard.await) })
        .unwrap();
    let (peer, word, took) = taken.unwrap();
    assert_eq!((peer, &word[..]), (at(80), &b"taken from the server"[..]));
    // A handshake with the taker, and two round trips of its own to the server.
    let ms = |ms| Duration::from_millis(ms);
    assert!(took >= ms(202) && took < ms(206), "{took:?}");
    assert!(refused.is_err(), "nobody listens there for the server");
    assert_eq!(past.unwrap().unwrap().1, b"server");
}
