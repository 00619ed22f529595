//! Serves a page to any browser, over the machine's own sockets.
//!
//! Usage: `serve_page PAGE [ADDRESS [none|tls12|tls13 [h1|h2]]]` (default 127.0.0.1:8080, none, h2)
//!
//! PAGE is whatever `farlink load` takes. Its objects have bytes that make a browser load them all, its
//! hosts answer at one address. `h1` offers HTTP/1.1 only; `h2` both, in clear text by the
//! client's first bytes. The certificate is RSA: browsers take no Ed25519. A browser that is to find all
//! hosts here and trust the certificate is, for example:
//!
//! `chromium --host-resolver-rules="MAP * 127.0.0.1:8443" --ignore-certificate-errors https://HOST/`

use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use farlink_proxy::{Site, VirtualHosts, Workers, origin};
use http_stack::server::Acceptor;
use http_stack::tls::{self, Chain, Identity, Protocol, Security};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let spec =
        arguments.first().ok_or("which page? Usage: serve_page PAGE [ADDRESS [TLS [h1|h2]]]")?;
    let address: SocketAddr = argument(1, "127.0.0.1:8080").parse()?;
    let security = security(argument(2, "none"))?;
    let protocols = protocols(argument(3, "h2"))?;

    let browsable = page::browsable(&page::open(spec)?)?;
    browsable.notes.iter().for_each(|note| println!("note: {note}"));
    let page = &browsable.page;
    let site = Arc::new(Site::browsable(&browsable));
    let config = world::real::Config::new(chance::Source::new(1, 0));
    world::real::run(config, async {
        let listener = world::TcpListener::bind(address)?;
        let scheme = if security == Security::None { "http" } else { "https" };
        let document = page.root();
        println!("{} requests at {}", page.objects.len(), listener.local_addr()?);
        println!("{scheme}://{}{}", page.host_of(document).name, document.path);
        let factors = vec![1.0; page.objects.len()].into();
        let hosts = Rc::new(VirtualHosts::new(page, &site, Workers::default(), &factors));
        origin::serve(listener, acceptor(security, &protocols), hosts).await
    })??;
    Ok(())
}

fn security(name: &str) -> Result<Security, String> {
    let known = [Security::None, Security::Tls12, Security::Tls13];
    known
        .into_iter()
        .find(|security| security.name() == name)
        .ok_or_else(|| format!("there is no security `{name}`; known: none, tls12, tls13"))
}

fn protocols(name: &str) -> Result<Vec<Protocol>, String> {
    match name {
        "h1" => Ok(vec![Protocol::H1]),
        "h2" => Ok(vec![Protocol::H2, Protocol::H1]),
        _ => Err(format!("there is no protocol `{name}`; known: h1, h2")),
    }
}

fn acceptor(security: Security, protocols: &[Protocol]) -> Acceptor {
    let settings = tls::Settings::default();
    let server =
        |version| tls::Server::new(&settings, version, Identity::Rsa2048, Chain::Whole, protocols);
    Acceptor { tls: security.version().map(server), ..Acceptor::new(security) }
}
