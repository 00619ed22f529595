//! Health of an origin's servers, from requests and checks; shared by all cores. No I/O.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::uri::PathAndQuery;

/// Settings of failover and health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSettings {
    /// Connect timeout of one of several servers, after which the next is tried.
    pub connect_timeout: Duration,
    /// Number of consecutive failures that eject a server; 0 for never.
    pub max_fails: u32,
    /// Duration of an ejection. After it, one more failure ejects the server again, and an answer clears its failures.
    pub fail_timeout: Duration,
    /// Active health checks.
    pub check: Option<HealthCheck>,
}

/// A periodic request that checks whether a server works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Target of the GET. A status of 2xx or 3xx is a success.
    pub path: PathAndQuery,
    /// Interval between checks.
    pub interval: Duration,
    /// Timeout of one check.
    pub timeout: Duration,
    /// Consecutive successes that bring a server up.
    pub rise: u32,
    /// Consecutive failures that take it down.
    pub fall: u32,
}

impl Default for HealthSettings {
    /// nginx's `fail_timeout`.
    fn default() -> HealthSettings {
        HealthSettings {
            connect_timeout: Duration::from_secs(2),
            max_fails: 3,
            fail_timeout: Duration::from_secs(10),
            check: None,
        }
    }
}

impl HealthCheck {
    /// HAProxy's `rise` and `fall`.
    pub fn new(path: PathAndQuery) -> HealthCheck {
        let (interval, timeout) = (Duration::from_secs(5), Duration::from_secs(2));
        HealthCheck { path, interval, timeout, rise: 2, fall: 3 }
    }
}

/// The health of some servers, each known by its index.
#[derive(Debug)]
pub struct Health {
    settings: HealthSettings,
    servers: Mutex<Vec<ServerHealth>>,
}

#[derive(Clone, Debug, Default)]
struct ServerHealth {
    /// Consecutive failures of requests.
    fails: u32,
    /// End of its ejection, as Unix time.
    ejected_until: Option<Duration>,
    /// True if checks have taken it down.
    is_down: bool,
    /// Consecutive checks that contradict `is_down`.
    contradictions: u32,
    failures: u64,
    ejections: u64,
    /// Answers by the first digit of their status, from 1.
    answers: [u64; 5],
    answering: Duration,
}

/// A request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// True if it failed by the server's fault; `None` if by another's.
    pub is_failure: Option<bool>,
    /// The answer's status, if there was one.
    pub status: Option<u16>,
    /// Time from the request to the answer's head.
    pub took: Duration,
}

/// The server to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerChoice {
    /// Its index.
    pub index: usize,
    /// True if there are more to try.
    pub has_more: bool,
}

/// Metrics of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTally {
    /// True if it takes its turns.
    pub is_up: bool,
    /// Requests and checks that failed.
    pub failures: u64,
    /// Number of ejections by requests and checks.
    pub ejections: u64,
    /// Answers by the first digit of their status, from 1.
    pub answers: [u64; 5],
    /// Sum of the times from a request to its answer's head.
    pub answering: Duration,
}

impl Health {
    /// This many servers, all healthy.
    pub fn new(settings: HealthSettings, servers: usize) -> Health {
        Health { settings, servers: Mutex::new(vec![ServerHealth::default(); servers]) }
    }

    /// Settings of failover and health checks.
    pub fn settings(&self) -> &HealthSettings {
        &self.settings
    }

    /// The next server in turn, beginning with that at `turn`, that is up and not among those `tried`; failing that, one that is
    /// down. `None` if all were tried.
    pub fn choose(&self, turn: usize, tried: &[usize], now: Duration) -> Option<ServerChoice> {
        let servers = self.lock();
        let count = servers.len();
        let left = || (0..count).map(|k| (turn % count + k) % count).filter(|i| !tried.contains(i));
        let index = left().find(|index| servers[*index].is_up(now)).or_else(|| left().next())?;
        Some(ServerChoice { index, has_more: left().count() > 1 })
    }

    /// Records a request to a server.
    pub fn note(&self, index: usize, attempt: Attempt, now: Duration) {
        let HealthSettings { max_fails, fail_timeout, .. } = self.settings;
        let mut servers = self.lock();
        let server = &mut servers[index];
        let class = attempt.status.map(|status| usize::from(status / 100).wrapping_sub(1));
        if let Some(answers) = class.and_then(|class| server.answers.get_mut(class)) {
            *answers += 1;
            server.answering += attempt.took;
        }
        let Some(is_failure) = attempt.is_failure else { return };
        if !is_failure {
            (server.fails, server.ejected_until) = (0, None);
            return;
        }
        server.failures += 1;
        server.fails = server.fails.saturating_add(1);
        // A failure does not prolong the ejection of a server that was asked for lack of others.
        let is_ejected = server.ejected_until.is_some_and(|until| now < until);
        if max_fails > 0 && server.fails >= max_fails && !is_ejected {
            server.ejected_until = Some(now + fail_timeout);
            server.ejections += 1;
        }
    }

    /// Records a check's success or failure at a server.
    pub fn note_check(&self, index: usize, is_failure: bool) {
        let Some(HealthCheck { rise, fall, .. }) = self.settings.check else { return };
        let mut servers = self.lock();
        let server = &mut servers[index];
        server.failures += u64::from(is_failure);
        if is_failure == server.is_down {
            server.contradictions = 0;
            return;
        }
        server.contradictions += 1;
        if server.contradictions >= if is_failure { fall } else { rise } {
            (server.is_down, server.contradictions) = (is_failure, 0);
            server.ejections += u64::from(is_failure);
            if !is_failure {
                (server.fails, server.ejected_until) = (0, None);
            }
        }
    }

    /// Metrics of the servers.
    pub fn tally(&self, now: Duration) -> Vec<ServerTally> {
        let tally = |server: &ServerHealth| ServerTally {
            is_up: server.is_up(now),
            failures: server.failures,
            ejections: server.ejections,
            answers: server.answers,
            answering: server.answering,
        };
        self.lock().iter().map(tally).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ServerHealth>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerHealth {
    fn is_up(&self, now: Duration) -> bool {
        !self.is_down && self.ejected_until.is_none_or(|until| until <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn refused() -> Attempt {
        Attempt { is_failure: Some(true), status: None, took: secs(1) }
    }

    fn answered(status: u16) -> Attempt {
        Attempt { is_failure: Some(false), status: Some(status), took: secs(2) }
    }

    fn chosen(health: &Health, turn: usize, tried: &[usize], now: u64) -> Option<usize> {
        health.choose(turn, tried, secs(now)).map(|choice| choice.index)
    }

    #[test]
    fn servers_take_turns_and_ejected_ones_come_last() {
        let health = Health::new(HealthSettings::default(), 3);
        let turns: Vec<_> = (0..4).map(|turn| chosen(&health, turn, &[], 0)).collect();
        assert_eq!(turns, [Some(0), Some(1), Some(2), Some(0)]);
        health.note(1, refused(), secs(0));
        health.note(1, refused(), secs(0));
        assert_eq!(chosen(&health, 1, &[], 0), Some(1), "two failures are not three");
        health.note(1, refused(), secs(0));
        assert_eq!(chosen(&health, 1, &[], 9), Some(2));
        assert_eq!(chosen(&health, 1, &[2, 0], 9), Some(1), "for want of others");
        assert_eq!(chosen(&health, 1, &[2, 0, 1], 9), None);
        assert_eq!(chosen(&health, 1, &[], 10), Some(1), "it has returned");
        let tally = health.tally(secs(9))[1];
        assert_eq!((tally.is_up, tally.failures, tally.ejections), (false, 3, 1));
        health.note(1, refused(), secs(10));
        assert_eq!(chosen(&health, 1, &[], 11), Some(2), "one more failure is enough then");
        health.note(1, answered(204), secs(12));
        health.note(1, refused(), secs(12));
        assert_eq!(chosen(&health, 1, &[], 12), Some(1), "an answer forgives all");
        let tally = health.tally(secs(12))[1];
        assert_eq!((tally.answers, tally.answering), ([0, 1, 0, 0, 0], secs(2)));
    }

    #[test]
    fn checks_take_a_server_down_and_bring_it_up() {
        let check = Some(HealthCheck::new(PathAndQuery::from_static("/health")));
        let health = Health::new(HealthSettings { check, ..HealthSettings::default() }, 2);
        let ups = |outcomes: &[bool]| {
            outcomes.iter().for_each(|is_failure| health.note_check(0, *is_failure));
            health.tally(secs(0))[0].is_up
        };
        assert!(ups(&[true, true, false, true, true]), "no three in a row");
        assert!(!ups(&[true]));
        assert_eq!(chosen(&health, 0, &[], 0), Some(1));
        assert!(!ups(&[false, true, false]), "no two in a row");
        assert!(ups(&[false]));
    }
}
