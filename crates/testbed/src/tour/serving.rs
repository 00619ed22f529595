//! A scenario's priorities and settings of sending, converted for HTTP.

use browser::{Priorities, Pushes};
use http_stack::server::Acceptor;
use proxy::PushPolicy;

use scenario::{NotsentLowat, Push, Scenario, Scheduler, Serving};

/// The client's mapping of resource types to priorities, if it has one.
pub(super) fn priorities(scenario: &Scenario) -> Result<Option<Priorities>, String> {
    let Some(priorities) = &scenario.priorities else { return Ok(None) };
    Priorities::open(&priorities.name).map(Some).map_err(|error| error.to_string())
}

/// The reason why the servers cannot schedule by this mapping.
pub(super) fn contradiction(scenario: &Scenario, priorities: &Priorities) -> Option<&'static str> {
    let is_spdy = scenario.stack.protocol.is_spdy();
    match scenario.serving.scheduler? {
        Scheduler::Tree if priorities.tree().is_none() => {
            Some("this mapping says nothing of HTTP/2's tree, which scheduler tree reads")
        }
        Scheduler::Strict | Scheduler::Rfc9218 if !is_spdy && !priorities.has_field() => Some(
            "with this mapping requests have no `priority` field, which schedulers strict and rfc9218 read in HTTP/2",
        ),
        _ => None,
    }
}

/// The scenario's settings of sending, completed by those of its proxy's preset.
pub(super) fn of(scenario: &Scenario) -> Serving {
    let like = scenario.route.preset().filter(|_| scenario.route.asks_proxy());
    let usual = like.and_then(|preset| preset.frame_bytes);
    let frame_bytes = scenario.serving.frame_bytes.or(usual);
    Serving { frame_bytes, ..scenario.serving }
}

/// Configures an acceptor by the scenario.
pub(super) fn set(acceptor: &mut Acceptor, serving: Serving) {
    if let Some(scheduler) = serving.scheduler.map(scheduler) {
        acceptor.h2.scheduler = scheduler;
        if let Some(policy) = scheduler.spdy() {
            acceptor.spdy.policy = policy;
        }
    }
    if let Some(bytes) = serving.frame_bytes {
        acceptor.h2.chunk_bytes = bytes as usize;
        acceptor.spdy.chunk_bytes = bytes as usize;
    }
    match serving.notsent_lowat {
        Some(NotsentLowat::Bytes(bytes)) => acceptor.notsent_lowat_bytes = Some(bytes),
        Some(NotsentLowat::Unlimited) => acceptor.notsent_lowat_bytes = None,
        None => {}
    }
}

/// Push policy of the servers.
pub(super) fn push(serving: Serving) -> PushPolicy {
    match serving.push {
        None | Some(Push::None) => PushPolicy::None,
        Some(Push::Css) => PushPolicy::Stylesheets,
        Some(Push::Blocking) => PushPolicy::Blocking,
        Some(Push::All) => PushPolicy::All,
    }
}

/// Treatment of pushes by the client.
pub(super) fn pushes(serving: Serving) -> Pushes {
    match push(serving) {
        PushPolicy::None => Pushes::Refused,
        _ => Pushes::Taken,
    }
}

/// The scheduler of this name.
pub(super) fn scheduler(scheduler: Scheduler) -> http_stack::Scheduler {
    match scheduler {
        Scheduler::Fifo => http_stack::Scheduler::Fifo,
        Scheduler::RoundRobin => http_stack::Scheduler::RoundRobin,
        Scheduler::Strict => http_stack::Scheduler::Strict,
        Scheduler::Tree => http_stack::Scheduler::Tree,
        Scheduler::Rfc9218 => http_stack::Scheduler::Rfc9218,
    }
}
