//! Serves a page to any browser, over the machine's own sockets.
//!
//! Usage: `serve_page PAGE [ADDRESS [none|tls12|tls13 [PROTOCOL]]]` (default 127.0.0.1:8080, none, h2)
//!
//! PAGE is any page that `farlink load` takes. Its objects have bytes that make a browser load them all, its hosts answer at one address. PROTOCOL
//! `h1` offers HTTP/1.1 only; `h2` both, in clear text by the client's first bytes. Over UDP alone, with TLS 1.3: `h3-deployed`; `h3-matched` to the
//! TCP of Linux 6; `h3-as-quic-go`: NewReno and an initial window of 32 packets. The certificate is RSA: browsers do not accept Ed25519. For
//! example, a browser finds all hosts here and trusts the certificate with:
//!
//! `chromium --host-resolver-rules="MAP * 127.0.0.1:8443" --ignore-certificate-errors https://HOST/`

use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use farlink_proxy::{Listen, Meters, SiteReplies, UdpPort, VirtualHosts, WorkerPool, origin};
use http_stack::h3;
use http_stack::h3::settings::Server;
use http_stack::server::Acceptor;
use quic::{Congestion, QuinnController, Transport};
use tls::{ChainKind, Identity, Protocol, Security};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let spec =
        arguments.first().ok_or("which page? Usage: serve_page PAGE [ADDRESS [TLS [PROTOCOL]]]")?;
    let address: SocketAddr = argument(1, "127.0.0.1:8080").parse()?;
    let security = security(argument(2, "none"))?;
    let offer = offer(argument(3, "h2"))?;

    let browsable = page::browsable(&page::open(spec)?)?;
    browsable.notes.iter().for_each(|note| println!("note: {note}"));
    let page = &browsable.page;
    let site = Arc::new(SiteReplies::browsable(&browsable));
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, async {
        let scheme = if security == Security::None { "http" } else { "https" };
        let document = page.root();
        println!("{} requests at {address}", page.objects.len());
        println!("{scheme}://{}{}", page.host_of(document).name, document.path);
        let factors = vec![1.0; page.objects.len()].into();
        let hosts = Rc::new(VirtualHosts::new(
            page,
            0..page.hosts.len(),
            &site,
            WorkerPool::default(),
            &factors,
        ));
        let (acceptor, udp) = ports(offer, security);
        origin::run(Listen { address, acceptor, udp }, hosts, Meters::default()).await
    })??;
    Ok(())
}

/// Protocols offered.
enum Offer {
    Tcp(Vec<Protocol>),
    Quic(Transport),
}

fn offer(name: &str) -> Result<Offer, String> {
    Ok(match name {
        "h1" => Offer::Tcp(vec![Protocol::H1]),
        "h2" => Offer::Tcp(vec![Protocol::H2, Protocol::H1]),
        "h3-deployed" => Offer::Quic(Transport::QUINN),
        "h3-matched" => Offer::Quic(Transport::matching(&tcp::Config::default())),
        // quic-go's internal/congestion/cubic_sender.go: Reno, initialCongestionWindow 32 packets, of 1,280 bytes at first.
        "h3-as-quic-go" => Offer::Quic(Transport {
            congestion: Congestion::Quinn(QuinnController::NewReno),
            initial_window_bytes: 32 * 1280,
            ..Transport::QUINN
        }),
        _ => {
            let known = "h1, h2, h3-deployed, h3-matched, h3-as-quic-go";
            return Err(format!("there is no protocol `{name}`; known: {known}"));
        }
    })
}

fn ports(offer: Offer, security: Security) -> (Acceptor, UdpPort) {
    let settings = tls::Settings { identity: Identity::Rsa2048, ..tls::Settings::default() };
    match offer {
        Offer::Tcp(protocols) => (over_tcp(security, &settings, &protocols), UdpPort::Closed),
        Offer::Quic(transport) => {
            let h3 = h3::Acceptor::new(&settings, Server::over(transport));
            (Acceptor::new(security), UdpPort::H3(h3))
        }
    }
}

fn security(name: &str) -> Result<Security, String> {
    let known = [Security::None, Security::Tls12, Security::Tls13];
    known
        .into_iter()
        .find(|security| security.name() == name)
        .ok_or_else(|| format!("there is no security `{name}`; known: none, tls12, tls13"))
}

fn over_tcp(security: Security, settings: &tls::Settings, protocols: &[Protocol]) -> Acceptor {
    let server = |version| {
        tls::Server::new(settings, version, Identity::Rsa2048, ChainKind::Whole, protocols)
    };
    Acceptor { tls: security.version().map(server), ..Acceptor::new(security) }
}
