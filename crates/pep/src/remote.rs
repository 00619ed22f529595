//! The far end: where servers are, beyond the satellite.
//!
//! It connects to the address that a client asked for and to no other, and to that only within its [`Reach`].

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ::http::{Request, Response, StatusCode};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use world::{TcpListener, TcpStream};

use crate::counters::Counters;
use crate::ending::{Ending, Stage};
use crate::http::{self, Fetcher};
use crate::leg::{self, Acceptor};
use crate::port;
use crate::race::{First, race};
use crate::rules::Reach;
use crate::split::{self, Ask, Ended, Splice};

/// How a far end is set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The leg.
    pub leg: leg::Settings,
    /// Where it connects to.
    pub reach: Reach,
    /// How long a connection may be silent.
    pub idle: Duration,
    /// How long a server may take to accept a connection.
    pub connect: Duration,
    /// What is fetched unasked.
    pub http: http::Settings,
}

impl Default for Settings {
    /// Everywhere but to itself; silence of a quarter of an hour, ten seconds to connect.
    fn default() -> Settings {
        Settings {
            leg: leg::Settings::default(),
            reach: Reach::default(),
            idle: Duration::from_secs(900),
            connect: Duration::from_secs(10),
            http: http::Settings::default(),
        }
    }
}

/// The far end.
pub struct Remote {
    settings: Settings,
    acceptor: Acceptor,
    fetcher: Rc<Fetcher>,
    counters: Rc<Counters>,
    ending: Ending,
}

impl Remote {
    /// A far end that serves nobody yet.
    pub fn new(settings: Settings, acceptor: Acceptor) -> Rc<Remote> {
        let counters = Rc::<Counters>::default();
        let Settings { http, connect, .. } = settings;
        let reach = settings.reach.clone();
        let fetcher = Fetcher::new(http, reach, connect, Rc::clone(&counters));
        Rc::new(Remote { settings, acceptor, fetcher, counters, ending: Ending::default() })
    }

    /// What it has done.
    pub fn counters(&self) -> &Rc<Counters> {
        &self.counters
    }

    /// Tells it to end.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Serves the near ends that connect to `listener`, until it is told to end and what is there has ended.
    pub async fn serve(self: Rc<Remote>, listener: TcpListener) {
        let carry = |tcp: TcpStream| {
            let remote = Rc::clone(&self);
            async move {
                if remote.channel(tcp).await.is_err() {
                    remote.counters.refused.add(1);
                }
            }
        };
        port::serve(listener, &self.ending, carry).await;
    }

    /// Serves one channel until it is lost, or has been told to end and is empty.
    async fn channel(self: &Rc<Remote>, tcp: TcpStream) -> io::Result<()> {
        let mut connection = leg::accept(tcp, &self.acceptor, &self.settings.leg).await?;
        let pings = connection.ping_pong().expect("nobody has taken them");
        let serving = async {
            let mut stage = Stage::Draining;
            loop {
                match race(connection.accept(), self.ending.reached(stage)).await {
                    First::One(Some(Ok((request, respond)))) => {
                        let remote = Rc::clone(self);
                        drop(world::spawn(async move {
                            race(
                                remote.stream(request, respond),
                                remote.ending.reached(Stage::Over),
                            )
                            .await;
                        }));
                    }
                    First::One(_) => break,
                    First::Other(()) if stage == Stage::Draining => {
                        connection.graceful_shutdown();
                        stage = Stage::Over;
                    }
                    First::Other(()) => break,
                }
            }
        };
        // Whichever is first: the connection is dropped and its streams break.
        race(serving, leg::until_gone(pings, &self.settings.leg)).await;
        Ok(())
    }

    async fn stream(&self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (head, body) = request.into_parts();
        match Ask::from_request(Request::from_parts(head, ())) {
            Ok(Ask::Tunnel(target)) if self.settings.reach.allows(target) => {
                self.tunnel(target, body, respond).await;
            }
            Ok(Ask::Fetch { target, client, request }) if self.settings.reach.allows(target) => {
                Rc::clone(&self.fetcher).serve(target, client, request, respond).await;
            }
            Ok(_) => self.refuse(&mut respond, StatusCode::FORBIDDEN),
            Err(_) => self.refuse(&mut respond, StatusCode::BAD_REQUEST),
        }
    }

    fn refuse(&self, respond: &mut SendResponse<Bytes>, status: StatusCode) {
        self.counters.refused.add(1);
        answer(respond, status, true);
    }

    async fn tunnel(&self, target: SocketAddr, body: RecvStream, mut respond: SendResponse<Bytes>) {
        let connecting = split::connect(target, self.settings.connect);
        let tcp = match race(connecting, poll_fn(|cx| respond.poll_reset(cx))).await {
            First::One(Ok(tcp)) => tcp,
            First::One(Err(error)) => {
                let timed_out = error.kind() == io::ErrorKind::TimedOut;
                let gateway =
                    if timed_out { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
                answer(&mut respond, gateway, true);
                return;
            }
            // The client is gone.
            First::Other(_) => return,
        };
        let Some(stream) = answer(&mut respond, StatusCode::OK, false) else { return };
        self.counters.split.add(1);
        let splice = Splice::accepted(tcp, stream, body, self.settings.idle, &self.counters);
        if splice.run().await != Ended::Orderly {
            self.counters.broken.add(1);
        }
    }
}

/// Answers with nothing but a status; `None` if the stream is gone.
fn answer(
    respond: &mut SendResponse<Bytes>,
    status: StatusCode,
    ends: bool,
) -> Option<h2::SendStream<Bytes>> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let stream = respond.send_response(response, ends).ok()?;
    if ends {
        // RFC 9113 section 8.1: the client need not send the rest.
        respond.send_reset(Reason::NO_ERROR);
    }
    Some(stream)
}
