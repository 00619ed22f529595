//! A ready answer allocates nothing: counted in the allocator.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use allocations::{Counting, count};
use bytes::Bytes;
use common::{in_world, listen};
use farlink_http::h1::server::Settings;
use farlink_http::{Answer, Handler, Reply, RequestHead};
use http::{HeaderMap, StatusCode};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Answers always the same, and notes the number of allocations at each request.
struct Noting {
    reply: Reply,
    noted: Rc<RefCell<Vec<u64>>>,
}

impl Handler for Noting {
    fn handle(&self, _request: RequestHead<'_>) -> Answer {
        self.noted.borrow_mut().push(count());
        Answer::Ready(self.reply.clone())
    }
}

/// Requests `batches` times `batch` responses at once, from a separate thread.
fn ask(address: std::net::SocketAddr, batch: usize, batches: usize, response_bytes: usize) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).expect("the server listens");
    let request = "GET /a HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n".repeat(batch);
    let mut answer = vec![0; batch * response_bytes];
    for _ in 0..batches {
        stream.write_all(request.as_bytes()).expect("the server reads");
        stream.read_exact(&mut answer).expect("the server answers");
    }
}

#[test]
fn ready_answers_allocate_nothing() {
    for (body_bytes, batch) in [(1024, 1), (1024, 8), (100_000, 1)] {
        in_world(async move {
            let body = Bytes::from(vec![b'x'; body_bytes]);
            let reply = Reply::new(StatusCode::OK, HeaderMap::new(), body);
            let response_bytes = reply.head.h1.len() + body_bytes;
            let noted = Rc::new(RefCell::new(Vec::with_capacity(4096)));
            let handler = Noting { reply, noted: Rc::clone(&noted) };
            let server = listen(handler, Settings::default());
            let (address, (tell, told)) = (server.address, tokio::sync::oneshot::channel());
            std::thread::spawn(move || {
                ask(address, batch, 200, response_bytes);
                tell.send(()).expect("the test waits");
            });
            told.await.expect("the client is content");
            let noted = noted.borrow();
            assert_eq!(noted.len(), 200 * batch);
            assert!(noted[0] > 0, "the allocator counts");
            // The first requests size the buffers.
            let (early, late) = (noted[20 * batch], noted[199 * batch]);
            assert_eq!(late - early, 0, "{batch} requests at once for {body_bytes} bytes");
        });
    }
}
