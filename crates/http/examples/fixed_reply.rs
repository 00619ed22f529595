//! An HTTP/1.1 server that answers everything with the same 1 KiB, on one core: the cost of a request without any
//! lookup. `scripts/bench-gate/run.sh` measures it beside another server.
//!
//! Usage: `fixed_reply ADDRESS` (default 127.0.0.1:8080)

use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use farlink_http::h1::server::{Core, Settings, serve};
use farlink_http::timer_wheel::Wheel;
use farlink_http::{Answer, Handler, Reply, RequestHead};
use http::{HeaderMap, HeaderValue, StatusCode, header};

struct Fixed(Reply);

impl Handler for Fixed {
    fn handle(&self, _request: RequestHead<'_>) -> Answer {
        Answer::Ready(self.0.clone())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let address: SocketAddr = address.parse()?;
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, answer_all(address))??;
    Ok(())
}

async fn answer_all(address: SocketAddr) -> std::io::Result<()> {
    let mut fields = HeaderMap::new();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    let reply = Reply::new(StatusCode::OK, fields, Bytes::from_static(&[b'x'; 1024]));
    let handler = Rc::new(Fixed(reply));
    let core = Rc::new(Core::new(Settings::default(), Wheel::new()));
    let listener = world::TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let (handler, core) = (Rc::clone(&handler), Rc::clone(&core));
        drop(world::spawn(async move { serve(stream, handler, &core).await }));
    }
}
