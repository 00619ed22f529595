//! A Chromium, and an origin for it on loopback.

#![allow(dead_code, reason = "each test uses a part")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use browser::{HostStack, LoadPlan, ProxyMode};
use chance::RandomSource;
use farlink_chromium::{
    Chromium, ChromiumSandbox, ChromiumSettings, Launch, OtherNames, Running, Viewport,
};
use http_stack::client::Protocol;
use http_stack::server::Acceptor;
use page::{Browsable, Page};
use proxy::{SiteReplies, VirtualHosts, WorkerPool, origin};
use rustix::process::Pid;
use tls::{Identity, Security};

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

/// A page with its bytes, served on one port of loopback by a thread that lives as long as the process.
pub struct Stage {
    pub page: Page,
    pub plan: LoadPlan,
    pub notes: Vec<String>,
    address: SocketAddr,
}

impl Stage {
    /// Serves `page` over TLS 1.3.
    pub fn new(page: &Page, protocol: Protocol) -> Stage {
        let browsable = page::browsable(page).unwrap();
        let address = serve(&browsable, protocol);
        let Browsable { page, notes, .. } = browsable;
        let arm = HostStack {
            protocol,
            pipelined: false,
            security: Security::Tls13,
            // The port in the page's URLs; the browser is told the real one.
            port: 443,
            way: ProxyMode::Direct,
            blocked: false,
        };
        let plan = LoadPlan::new(Arc::new(page.clone()), vec![arm; page.hosts.len()]);
        Stage { page, plan, notes, address }
    }
}

fn serve(browsable: &Browsable, protocol: Protocol) -> SocketAddr {
    let page = browsable.page.clone();
    let site = Arc::new(SiteReplies::browsable(browsable));
    let (bound, address) = mpsc::channel();
    thread::spawn(move || {
        let config = world::real::Config::new(RandomSource::new(1, 0));
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
            let hosts = VirtualHosts::new(
                &page,
                0..page.hosts.len(),
                &site,
                WorkerPool::default(),
                &factors,
            );
            let acceptor = Acceptor::with_tls(Security::Tls13, &settings);
            origin::serve(listener, acceptor, Rc::new(hosts)).await.unwrap();
        })
        .unwrap();
    });
    address.recv().unwrap()
}

/// Starts a browser in which the stages' hosts have their addresses.
pub fn start(chromium: &Chromium, scratch: &Scratch, stages: &[Stage]) -> Running {
    let hosts = stages
        .iter()
        .flat_map(|stage| stage.page.hosts.iter().map(|host| (host.name.clone(), stage.address)));
    let root = rustix::process::geteuid().is_root();
    let launch = Launch {
        chromium: chromium.clone(),
        profile: scratch.0.clone(),
        hosts: hosts.collect(),
        other_names: OtherNames::NotFound,
        proxy: None,
        trusted_keys: vec![Identity::Rsa2048.public_key_sha256()],
        trusts_all: false,
        quic_hosts: Vec::new(),
        sandbox: if root { ChromiumSandbox::None } else { ChromiumSandbox::Own },
        addresses: true,
        has_devtools_port: false,
    };
    let pid = scratch.0.join("pid");
    launch
        .start(|mut command| {
            let child = command.spawn()?;
            std::fs::write(pid, child.id().to_string())?;
            Ok(child)
        })
        .unwrap()
}

/// The process group of the browser that was started with this profile.
pub fn group_of(scratch: &Scratch) -> Pid {
    let pid = std::fs::read_to_string(scratch.0.join("pid")).unwrap();
    Pid::from_raw(pid.parse().unwrap()).unwrap()
}

/// The processes of a group that have not ended, as `/proc` shows them.
pub fn alive(group: Pid) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let stats = processes
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("stat")).ok());
    let group = group.as_raw_nonzero().to_string();
    stats
        .filter(|stat| {
            // proc_pid_stat(5): after the name in brackets: state, parent, process group.
            let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
            !["Z", "X"].contains(&fields[0]) && fields[2] == group
        })
        .collect()
}

/// The recordings beside the workspace, if they exist.
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
pub fn settings() -> ChromiumSettings {
    let limit = Duration::from_secs(60);
    ChromiumSettings { began: Duration::ZERO, limit, slowdown: 1.0, look: Viewport::default() }
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
