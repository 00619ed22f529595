//! Exhausted windows of the satellite leg, simulated: a stream that fills its window waits, others do not, and nothing hangs or is
//! lost.

use crate::common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use common::{LEGS, Leg, SERVER, Sky, at, near, pattern};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use world::{TcpListener, TcpStream};

/// A stream's window on the leg: HTTP/2's initial window.
const WINDOW_BYTES: u32 = 65_535;
/// More bytes than the window and all buffers on the way hold.
const MUCH: usize = 4 << 20;
/// Time by which every buffer on the way is full: 4 MiB would take 36 s down and 275 s up.
const FULL: Duration = Duration::from_secs(200);

/// Both ends, with `streams` streams of the smallest window.
fn narrow(leg: Leg, streams: u32) -> Sky {
    let set = move |leg: &mut farlink_pep::leg::LegSettings| {
        (leg.streams, leg.stream_window_bytes) = (streams, WINDOW_BYTES);
    };
    Sky::over(leg, 1, "")
        .with_far_end_set(
            move |settings| set(&mut settings.leg),
            |remote, listener| remote.serve(listener),
        )
        .with_near_end(move |settings| set(&mut settings.leg))
}

/// Echoes the input on port 7 after the input's end.
async fn echo() {
    let listener = TcpListener::bind(at(SERVER, 7)).unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        drop(world::spawn(async move {
            let mut all = Vec::new();
            if stream.read_to_end(&mut all).await.is_ok() {
                drop(stream.write_all(&all).await);
                drop(stream.shutdown().await);
            }
        }));
    }
}

async fn comes_back(bytes: usize) -> bool {
    let sent = pattern(bytes);
    let mut stream = TcpStream::connect(near()).await.unwrap();
    stream.write_all(&sent).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    sent == received
}

/// Writes `MUCH` in pieces, counted in `written`, and then ends its direction.
async fn write_much(stream: &mut TcpStream, written: &Cell<usize>) {
    for piece in pattern(MUCH).chunks(10_000) {
        stream.write_all(piece).await.unwrap();
        written.set(written.get() + piece.len());
    }
    stream.shutdown().await.unwrap();
}

/// Waits until the writer is blocked; returns the number of bytes written.
async fn stands_still(written: &Cell<usize>) -> usize {
    world::sleep(FULL).await;
    let stood_at = written.get();
    world::sleep(Duration::from_secs(10)).await;
    assert_eq!(written.get(), stood_at, "it goes on");
    assert!(stood_at < MUCH, "all of it found room");
    stood_at
}

#[test]
fn a_download_that_is_not_read_exhausts_its_window_and_hangs_nobody() {
    for leg in LEGS {
        let written = Rc::new(Cell::new(0));
        let count = Rc::clone(&written);
        let sky = narrow(leg, 256).with_server(async move {
            drop(world::spawn(echo()));
            let listener = TcpListener::bind(at(SERVER, 80)).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            write_much(&mut stream, &count).await;
            std::future::pending().await
        });
        sky.run(async move {
            let mut slow = TcpStream::connect(at("10.0.0.2", 80)).await.unwrap();
            stands_still(&written).await;
            assert!(comes_back(20_000).await, "another connection passes");
            let mut all = Vec::new();
            slow.read_to_end(&mut all).await.unwrap();
            assert!(all == pattern(MUCH), "{} of {MUCH} bytes", all.len());
        });
    }
}

/// Clients that upload `MUCH` to servers which read nothing until they are told to, and then everything.
fn uploads(sky: Sky, uploads: usize, meanwhile: impl AsyncFnOnce() + 'static) {
    let (go, received) = (Rc::new(Notify::new()), Rc::new(RefCell::new(Vec::new())));
    let (told, put) = (Rc::clone(&go), Rc::clone(&received));
    let sky = sky.with_server(async move {
        drop(world::spawn(echo()));
        let listener = TcpListener::bind(at(SERVER, 443)).unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (told, put) = (Rc::clone(&told), Rc::clone(&put));
            drop(world::spawn(async move {
                told.notified().await;
                let mut all = Vec::new();
                stream.read_to_end(&mut all).await.unwrap();
                put.borrow_mut().push(all);
            }));
        }
    });
    sky.run(async move {
        let writers: Vec<_> = (0..uploads)
            .map(|_| {
                let written = Rc::new(Cell::new(0));
                let count = Rc::clone(&written);
                let writer = world::spawn(async move {
                    let mut stream = TcpStream::connect(at("10.0.0.2", 443)).await.unwrap();
                    write_much(&mut stream, &count).await;
                    // It stays until the server has ended, too.
                    stream.read_to_end(&mut Vec::new()).await.unwrap();
                });
                (writer, written)
            })
            .collect();
        for (_, written) in &writers {
            stands_still(written).await;
        }
        meanwhile().await;
        go.notify_waiters();
        for (writer, _) in writers {
            writer.await;
        }
        let received = received.borrow();
        assert_eq!(received.len(), uploads);
        assert!(received.iter().all(|all| *all == pattern(MUCH)));
    });
}

#[test]
fn a_huge_upload_that_is_not_read_exhausts_its_window_and_hangs_nobody() {
    for leg in LEGS {
        uploads(narrow(leg, 256), 1, async || {
            assert!(comes_back(20_000).await, "another connection passes");
        });
    }
}

/// Nothing hangs when no stream is left, either: the next connection goes directly.
#[test]
fn uploads_that_exhaust_every_stream_hang_nobody() {
    for leg in LEGS {
        uploads(narrow(leg, 2), 2, async || {
            assert!(comes_back(20_000).await, "another connection passes");
        });
    }
}
