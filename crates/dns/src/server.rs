//! The recursive resolver: knows all names of a page, and takes extra time for those that its cache does not hold.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use simple_dns::TYPE;
use units::Time;
use world::UdpSocket;

use super::message::{DnsQuestion, HostRecords, MOST_BYTES, answer, read_question};
use crate::message::HttpsRecord;

/// Names and their addresses.
pub type Zone = BTreeMap<String, IpAddr>;

/// A recursive resolver.
#[derive(Clone, Debug)]
pub struct RecursiveResolver {
    /// The existing names.
    pub zone: Zone,
    /// The HTTPS record of every existing name; none: names have no HTTPS record.
    pub service: Option<HttpsRecord>,
    /// Time that every answer takes.
    pub think: Duration,
    /// Probability that a name's records are cached when they are first queried.
    pub hit_ratio: f64,
    /// Extra time to fetch records that are not cached.
    pub miss: Duration,
}

impl RecursiveResolver {
    /// Binds the port; from then on no query is lost.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub fn bind(self, address: SocketAddr) -> io::Result<Listening> {
        let popular = self.zone.keys().filter(|name| self.is_popular(name));
        let kinds = [TYPE::A, TYPE::AAAA, TYPE::HTTPS].map(u16::from);
        let held = popular.flat_map(|name| kinds.map(|kind| ((name.clone(), kind), Time::ZERO)));
        let held = held.collect();
        Ok(Listening { socket: Rc::new(UdpSocket::bind(address)?), server: self, held })
    }

    /// Returns true if other clients have queried `name` recently.
    fn is_popular(&self, name: &str) -> bool {
        world::stream(&format!("dns/cache/{name}")).happens(self.hit_ratio)
    }
}

/// A resolver's port.
pub struct Listening {
    socket: Rc<UdpSocket>,
    server: RecursiveResolver,
    /// Cached records, and since when: from the beginning, or from the moment that they were fetched after the first query.
    held: BTreeMap<(String, u16), Time>,
}

impl Listening {
    /// Answers until the socket fails.
    pub async fn serve(self) {
        self.serve_noting(|_| ()).await;
    }

    /// Answers until the socket fails; `unknown` is called with each name asked for that does not exist.
    pub async fn serve_noting(mut self, unknown: impl Fn(&str)) {
        let mut datagram = [0; MOST_BYTES];
        while let Ok((bytes, from)) = self.socket.recv_from(&mut datagram).await {
            // Anything but a query goes unanswered.
            if let Some(asked) = read_question(&datagram[..bytes]) {
                if !self.server.zone.contains_key(&asked.name) {
                    unknown(&asked.name);
                }
                let key = (asked.name.clone(), u16::from(asked.kind));
                let had = world::now() + self.server.miss;
                let since = *self.held.entry(key).or_insert(had);
                self.answer(&asked, from, since);
            }
        }
    }

    fn answer(&self, asked: &DnsQuestion, to: SocketAddr, since: Time) {
        let service = self.server.service.as_ref();
        let known = self.server.zone.get(&asked.name);
        let known = known.map(|address| HostRecords { address: *address, service });
        let Ok(reply) = answer(asked, known) else { return };
        let ready = since.max(world::now()) + self.server.think;
        let socket = Rc::clone(&self.socket);
        world::spawn(async move {
            world::sleep_until(ready).await;
            // An answer that cannot be sent is lost like any other.
            let _ = socket.send_to(&reply, to).await;
        });
    }
}
