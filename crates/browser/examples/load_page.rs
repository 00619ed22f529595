//! Loads a page over the machine's own sockets, from the proxy crate's example `serve_page`.
//!
//! Usage: `load_page PAGE ADDRESS [none|tls12|tls13 [h1|h2|h3 [DEVICE]]]` (default none, h2, zero)
//!
//! All the page's hosts are assumed to be at ADDRESS. The visit's times depend on the machine. Any server will do
//! that presents the RSA certificate of `crates/tls/assets` and answers each path with as many bytes as `load_page
//! PAGE list` says: a line `PATH BYTES` per object.

use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use farlink_browser::{Browser, Device, HostStack, LoadPlan, Policy, ProxyMode, Session};
use http_stack::client::Protocol;
use tls::Security;

const LIMIT: Duration = Duration::from_secs(600);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let [spec, address, ..] = arguments.as_slice() else {
        return Err("usage: load_page PAGE ADDRESS [none|tls12|tls13 [h1|h2|h3 [DEVICE]]]".into());
    };
    let page = Arc::new(page::open(spec)?);
    if address == "list" {
        for object in &page.objects {
            println!("{} {}", object.path, object.body_bytes);
        }
        return Ok(());
    }
    let address: SocketAddr = address.parse()?;
    let security = security(argument(2, "none"))?;
    let protocol = protocol(argument(3, "h2"))?;
    let device = Device::named(argument(4, "zero"))?;

    let hosts = page.hosts.iter().map(|host| (host.name.clone(), address.ip())).collect();
    let arm = HostStack {
        protocol,
        pipelined: false,
        security,
        port: address.port(),
        way: ProxyMode::Direct,
        blocked: false,
    };
    let plan = Arc::new(LoadPlan::new(Arc::clone(&page), vec![arm; page.hosts.len()]));
    let browser = Rc::new(Browser::new(Policy::named("chrome")?, device, 0.0));
    let config = world::real::Config { hosts, ..world::real::Config::new(RandomSource::new(1, 0)) };
    // Connections of HTTP/3 close by their world's clock: the session ends inside it.
    let visited = world::real::run(config, async move {
        Rc::new(Session::new(browser, Rc::default())).visit(&plan, LIMIT).await
    })?;
    let plt = visited.plt?;
    let ttfb = visited.ttfb.unwrap_or_default();
    let failed = visited.objects.iter().filter(|object| object.error.is_some()).count();
    println!(
        "load event {:.3} s, first byte {:.3} s, {} requests ({failed} failed), {} connections",
        plt.as_secs_f64(),
        ttfb.as_secs_f64(),
        visited.objects.len(),
        visited.connections.len()
    );
    Ok(())
}

fn security(name: &str) -> Result<Security, String> {
    let known = [Security::None, Security::Tls12, Security::Tls13];
    known
        .into_iter()
        .find(|security| security.name() == name)
        .ok_or_else(|| format!("there is no security `{name}`; known: none, tls12, tls13"))
}

fn protocol(name: &str) -> Result<Protocol, String> {
    let known = [Protocol::H1, Protocol::H2, Protocol::H3];
    known
        .into_iter()
        .find(|protocol| protocol.name() == name)
        .ok_or_else(|| format!("there is no protocol `{name}`; known: h1, h2, h3"))
}
