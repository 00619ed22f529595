//! `farlink pep`: one end of a performance enhancing proxy.

use std::io;
use std::net::SocketAddr;
use std::process;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anstream::eprintln;
use nix::sys::signal::{SigSet, Signal};
use pep::config::{ConfigError, LocalPlan, PepListener, RemotePlan};
use pep::{Ending, ForwardTarget, LegAcceptor, LegConnector, Local, PrivateKey, Remote, admin};
use world::TcpListener;
use world::real::Config;

use super::{output, secret};
use crate::args::{Pep, PepEnd};
use crate::failure::{CliError, ExitCode};

/// Grace period for connections after the operator asked for the end.
const DRAIN: Duration = Duration::from_secs(20);

const TPROXY_NEEDS: &str = "TPROXY requires CAP_NET_ADMIN and an IPv4 listening address; `by = \"redirect\"` requires neither";

pub fn run(command: &Pep) -> Result<ExitCode, CliError> {
    match command {
        Pep::Local(half) => local(half),
        Pep::Remote(half) => remote(half),
        Pep::Key => key(),
    }
}

fn key() -> Result<ExitCode, CliError> {
    let key = PrivateKey::generate().map_err(CliError::machine)?;
    eprintln!("public key (`peer` in the other end's configuration): {}", key.public());
    output::print(format!("{}\n", key.reveal()))?;
    Ok(ExitCode::Success)
}

fn local(half: &PepEnd) -> Result<ExitCode, CliError> {
    let plan = LocalPlan::load(half.file()).map_err(refused)?;
    if half.check.is_some() {
        return check(half, &plan.keys.0, &near_end(&plan));
    }
    let signals = block_signals()?;
    in_world(async move {
        // All ports are bound before any client is served, so a failure is reported at once.
        let bound = plan.listeners.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
        let local = Local::start(plan.settings, &LegConnector::new(&plan.keys.0, plan.keys.1));
        if let Some(at) = plan.metrics {
            let (counters, leg) = (Rc::clone(local.counters()), Rc::clone(&local));
            drop(world::spawn(admin::tell(listen(at)?, counters, move || leg.is_up())));
        }
        obey(signals, local.ending().clone());
        let serving: Vec<_> = bound
            .into_iter()
            .map(|(listener, target)| world::spawn(Rc::clone(&local).serve(listener, target)))
            .collect();
        for listener in serving {
            listener.await;
        }
        Ok(ExitCode::Success)
    })
}

fn remote(half: &PepEnd) -> Result<ExitCode, CliError> {
    let plan = RemotePlan::load(half.file()).map_err(refused)?;
    if half.check.is_some() {
        return check(half, &plan.keys.0, &far_end(&plan));
    }
    let signals = block_signals()?;
    in_world(async move {
        let remote = Remote::new(plan.settings, LegAcceptor::new(&plan.keys.0, plan.keys.1));
        let port =
            remote.listen(plan.listen).map_err(|error| cannot_listen(plan.listen, &error))?;
        eprintln!("listening on {}", port.local_addr().unwrap_or(plan.listen));
        if let Some(at) = plan.metrics {
            let counters = Rc::clone(remote.counters());
            drop(world::spawn(admin::tell(listen(at)?, counters, || true)));
        }
        obey(signals, remote.ending().clone());
        remote.serve(port).await;
        Ok(ExitCode::Success)
    })
}

fn in_world(main: impl Future<Output = Result<ExitCode, CliError>>) -> Result<ExitCode, CliError> {
    let (seed, visit) = secret()?;
    let config = Config::new(chance::RandomSource::new(seed, visit));
    world::real::run(config, main).map_err(CliError::machine)?
}

fn bind(listener: &PepListener) -> Result<(TcpListener, ForwardTarget), CliError> {
    let bound = if listener.transparent {
        tell_where(listener.at, TcpListener::bind_transparent(listener.at))
            .map_err(|failure| failure.hint(TPROXY_NEEDS.to_owned()))?
    } else {
        listen(listener.at)?
    };
    Ok((bound, listener.target))
}

fn listen(at: SocketAddr) -> Result<TcpListener, CliError> {
    tell_where(at, TcpListener::bind(at))
}

/// Tells the operator the address where `bound` listens, or why `at` has no listener.
fn tell_where(at: SocketAddr, bound: io::Result<TcpListener>) -> Result<TcpListener, CliError> {
    let listener = bound.map_err(|error| cannot_listen(at, &error))?;
    eprintln!("listening on {}", listener.local_addr().unwrap_or(at));
    Ok(listener)
}

fn cannot_listen(at: SocketAddr, error: &io::Error) -> CliError {
    CliError::machine(format!("cannot listen on {at}: {error}"))
}

/// Blocks SIGTERM and Ctrl-C, on this thread and those that it will start.
fn block_signals() -> Result<SigSet, CliError> {
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    signals.thread_block().map_err(CliError::machine)?;
    Ok(signals)
}

/// Handles signals: the first one ends the process in order, the second at once.
#[expect(clippy::disallowed_methods, reason = "these threads live beside the world, in real time")]
fn obey(signals: SigSet, ending: Ending) {
    // The thread lives as long as the process.
    drop(thread::spawn(move || {
        if signals.wait().is_err() {
            return;
        }
        eprintln!("finishing requests in progress");
        ending.drain();
        drop(thread::spawn(move || {
            thread::sleep(DRAIN);
            ending.end();
        }));
        if signals.wait().is_ok() {
            process::exit(ExitCode::Interrupted as i32);
        }
    }));
}

fn check(half: &PepEnd, own: &PrivateKey, what: &str) -> Result<ExitCode, CliError> {
    let path = half.file().display();
    output::print(format!("{path}: configuration is valid\npublic key: {}\n{what}", own.public()))?;
    Ok(ExitCode::Success)
}

fn near_end(plan: &LocalPlan) -> String {
    let mut text = format!("far end: {}, {}\n", plan.settings.far, plan.keys.1);
    for listener in &plan.listeners {
        let to = match listener.target {
            ForwardTarget::Fixed(target) => format!("to {target}"),
            ForwardTarget::Asked if listener.transparent => {
                "to the clients' destinations (TPROXY)".to_owned()
            }
            ForwardTarget::Asked => "to the clients' destinations (REDIRECT)".to_owned(),
        };
        text.push_str(&format!("forwards {} {to}\n", listener.at));
    }
    text.push_str(&format!("clear-text HTTP on ports {:?}\n", plan.settings.http_ports));
    text
}

fn far_end(plan: &RemotePlan) -> String {
    let reach = match &plan.settings.reach.only[..] {
        [] => "everywhere but itself".to_owned(),
        only => only.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let depth = plan.settings.http.depth;
    let (near, at) = (plan.keys.1, plan.listen);
    format!("near end: {near}\nlistens on {at}\nconnects to: {reach}\nprefetches {depth} levels\n")
}

fn refused(error: ConfigError) -> CliError {
    CliError::bad_input(error)
}
