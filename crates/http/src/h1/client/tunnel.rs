//! A client's tunnel through a proxy (`CONNECT`, RFC 9110 section 9.3.6).
//!
//! The proxy is asked by HTTP/1.1 in clear text. Left out: authentication.

use bytes::Bytes;
use http::{Method, Request};
use world::TcpStream;

use super::{Connection, Settings};
use crate::{Priority, Progress, RequestError};

/// Asks the proxy at the other end of `tcp` for a tunnel to `authority`, a host and its port: subsequent writes arrive
/// there. For far ends that do not speak first.
///
/// # Errors
/// If the proxy refuses, or bytes follow its answer.
pub async fn through(tcp: TcpStream, authority: &str) -> Result<TcpStream, RequestError> {
    match led(tcp, authority).await? {
        (tcp, ahead) if ahead.is_empty() => Ok(tcp),
        _ => Err(RequestError::Protocol("the proxy sent data behind its response".to_owned())),
    }
}

/// The same for any far end, with the bytes that it has sent already.
///
/// # Errors
/// If the proxy refuses.
pub async fn led(tcp: TcpStream, authority: &str) -> Result<(TcpStream, Bytes), RequestError> {
    let request = Request::builder().method(Method::CONNECT).uri(authority).body(Bytes::new());
    let request = request.map_err(|error| RequestError::Unsendable(error.to_string()))?;
    let mut answer = Answer::default();
    let mut connection = Connection::new(tcp, Settings::default());
    connection.fetch(&request, Priority::Highest, &mut answer).await?;
    match answer.status {
        200..=299 => Ok(connection.into_stream()),
        status => Err(RequestError::Refused(format!("it answered {status} to CONNECT"))),
    }
}

/// The proxy's answer.
#[derive(Default)]
struct Answer {
    status: u16,
}

impl Progress for Answer {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}

    fn head(&mut self, status: u16, _head_bytes: u64) {
        self.status = status;
    }

    fn data(&mut self, _piece: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use chance::RandomSource;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use world::TcpListener;
    use world::sim::SimPlan;

    use super::*;

    const PROXY: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 3128);

    /// The outcome of a tunnel request to a proxy that gives this answer and then echoes.
    fn asked(answer: &'static str) -> Result<String, String> {
        let mut plan = SimPlan::new(RandomSource::new(1, 0));
        let tcp = Arc::new(tcp::Config::default());
        let client = plan.node([10, 0, 0, 1].into(), Arc::clone(&tcp));
        let proxy = plan.node(PROXY.ip(), tcp);
        plan.route(client, proxy, &[]);
        plan.route(proxy, client, &[]);
        plan.spawn(proxy, async move {
            let (mut stream, _) = TcpListener::bind(PROXY).unwrap().accept().await.unwrap();
            let mut head = [0; 256];
            let read = stream.read(&mut head).await.unwrap();
            assert_eq!(&head[..read], b"CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            let mut word = [0; 5];
            if stream.read_exact(&mut word).await.is_ok() {
                stream.write_all(&word).await.unwrap();
            }
        });
        let asked = async {
            let tcp = TcpStream::connect(PROXY).await.unwrap();
            let mut tunnel = through(tcp, "a.test:443").await.map_err(|error| error.to_string())?;
            tunnel.write_all(b"hello").await.unwrap();
            let mut word = [0; 5];
            tunnel.read_exact(&mut word).await.unwrap();
            Ok(String::from_utf8(word.to_vec()).unwrap())
        };
        plan.run(client, asked).unwrap()
    }

    #[test]
    fn what_follows_the_answer_passes() {
        assert_eq!(asked("HTTP/1.1 200 Connection established\r\n\r\n"), Ok("hello".to_owned()));
    }

    #[test]
    fn a_refusal_is_told() {
        let refused = asked("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").unwrap_err();
        assert!(refused.contains("403"), "{refused}");
        let talks = asked("HTTP/1.1 200 OK\r\n\r\nwelcome").unwrap_err();
        assert!(talks.contains("behind its response"), "{talks}");
    }
}
