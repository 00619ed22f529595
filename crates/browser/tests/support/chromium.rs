//! A Chromium, and an origin for it on loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use chance::Source;
use farlink_browser::chromium::{Chromium, ChromiumVisit, Launch, Look, Sandbox, Settings};
use farlink_browser::{Arm, LoadPlan};
use http_stack::client::Protocol;
use http_stack::server::Acceptor;
use http_stack::tls::{self, Identity, Security};
use page::{Browsable, Page};
use proxy::{Site, VirtualHosts, Workers, origin};

/// The browser of this machine, if it has one.
#[expect(clippy::disallowed_methods, reason = "a test looks for the browser as the CLI does")]
pub fn installed() -> Option<Chromium> {
    let named = std::env::var("FARLINK_CHROMIUM").ok();
    let path = std::env::var("PATH").ok();
    match Chromium::find(named.as_deref().map(AsRef::as_ref), path.as_deref().map(AsRef::as_ref)) {
        Ok(chromium) => Some(chromium),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// All hosts of a page on one port of loopback, served by a thread that lives as long as the process.
pub fn serve(page: &Page, site: Site, protocol: Protocol, security: Security) -> SocketAddr {
    let page = page.clone();
    let (bound, address) = mpsc::channel();
    thread::spawn(move || {
        let config = world::real::Config { source: Source::new(1, 0), hosts: BTreeMap::new() };
        world::real::run(config, async {
            let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
            let listener = world::TcpListener::bind(loopback).unwrap();
            bound.send(listener.local_addr().unwrap()).unwrap();
            let settings = tls::Settings {
                identity: Identity::Rsa2048,
                protocols: vec![protocol],
                ..tls::Settings::default()
            };
            let factors = vec![1.0; page.objects.len()].into();
            let site = Arc::new(site);
            let hosts = VirtualHosts::new(&page, &site, Workers::default(), &factors);
            let acceptor = Acceptor::with_tls(security, &settings);
            origin::serve(listener, acceptor, Rc::new(hosts)).await.unwrap();
        })
        .unwrap();
    });
    address.recv().unwrap()
}

/// A plan in which all hosts of a page are at `address`.
pub fn plan(page: &Page, address: SocketAddr, protocol: Protocol, security: Security) -> LoadPlan {
    let arm = Arm { protocol, security, port: address.port(), blocked: false };
    LoadPlan::new(Arc::new(page.clone()), vec![arm; page.hosts.len()])
}

/// What starts `chromium` with these names.
pub fn launch(chromium: Chromium, profile: &Path, hosts: Vec<(String, SocketAddr)>) -> Launch {
    let root = rustix::process::geteuid().is_root();
    Launch {
        chromium,
        profile: profile.to_owned(),
        hosts,
        trusted_keys: vec![Identity::Rsa2048.public_key_sha256()],
        sandbox: if root { Sandbox::None } else { Sandbox::Own },
        addresses: true,
    }
}

/// One visit over TLS 1.3 by a browser of its own.
pub fn visit(chromium: &Chromium, browsable: &Browsable, protocol: Protocol) -> ChromiumVisit {
    let scratch = Scratch::new(protocol.name());
    let page = &browsable.page;
    let address = serve(page, Site::browsable(browsable), protocol, Security::Tls13);
    let plan = plan(page, address, protocol, Security::Tls13);
    let hosts = page.hosts.iter().map(|host| (host.name.clone(), address)).collect();
    let launch = launch(chromium.clone(), &scratch.0, hosts);
    let mut running = launch.start(|mut command: Command| command.spawn()).unwrap();
    let visit = running.context().unwrap().visit(&plan, &settings()).unwrap();
    running.close();
    visit
}

/// The recordings that lie beside the workspace, if they do.
pub fn recordings() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folders = ["../shared/data/har", "../../shared/data/har"].map(|folder| root.join(folder));
    let folder = folders.iter().find(|folder| folder.is_dir());
    let entries = folder.into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut recordings: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    recordings.sort();
    recordings
}

/// Settings for a visit in the machine's own time.
pub fn settings() -> Settings {
    let limit = Duration::from_secs(60);
    Settings { began: Duration::ZERO, limit, slowdown: 1.0, look: Look::default() }
}

/// A directory that is removed when the test is over.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let name = format!("farlink-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
