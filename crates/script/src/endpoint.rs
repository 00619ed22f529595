//! One endpoint of TCP as a subject: segments arrive, calls are made, segments leave. Its configuration.

use std::fmt;
use std::sync::Arc;

use tcp::{Config, Connection, Flags, Segment};
use units::Time;

use crate::problem::ScriptProblem;
use crate::script::ScriptSetting;
use crate::stage::Subject;

mod condition;
mod grammar;
mod pattern;
mod segments;

use condition::FieldCondition;
use grammar::AppCall;
use pattern::{Expectation, Pattern};
use segments::SequenceNumbers;

pub(crate) use condition::quantities;
pub(crate) use grammar::steps;

/// Input to an endpoint.
#[derive(Debug)]
pub(crate) enum Input {
    /// A segment arrives.
    Arrival(Pattern),
    /// The application acts, all in one go.
    Calls(Vec<AppCall>),
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Arrival(pattern) => write!(f, "< {pattern}"),
            Input::Calls(calls) => {
                let calls: Vec<_> = calls.iter().map(AppCall::to_string).collect();
                f.write_str(&calls.join("; "))
            }
        }
    }
}

/// A segment that left.
pub(crate) struct DepartedSegment(Segment);

impl fmt::Display for DepartedSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "> {}", pattern::show_segment(&self.0))
    }
}

/// The endpoint under test, and its peer's state.
pub(crate) struct EndpointUnderTest {
    config: Arc<Config>,
    connection: Option<Connection>,
    peer: PeerState,
    expected: Expectation,
}

/// Default fields of an arriving segment.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// End of all data sent by the peer.
    next: u64,
    /// Its last acknowledgement and window.
    ack: u64,
    window_bytes: u64,
    /// The timestamp of the last segment from the endpoint; none without the option.
    echo: Option<Time>,
    /// Nothing has left the endpoint yet: the peer cannot know the options that it will offer.
    first: bool,
}

impl PeerState {
    /// A window that never limits a script that does not mention it.
    const WINDOW_BYTES: u64 = 1 << 20;

    fn new() -> PeerState {
        PeerState {
            next: 0,
            ack: 0,
            window_bytes: PeerState::WINDOW_BYTES,
            echo: None,
            first: true,
        }
    }
}

impl EndpointUnderTest {
    fn new(config: Arc<Config>) -> EndpointUnderTest {
        EndpointUnderTest {
            config,
            connection: None,
            peer: PeerState::new(),
            expected: Expectation::default(),
        }
    }

    fn arrive(&mut self, now: Time, pattern: &Pattern) -> Result<(), String> {
        let segment = pattern.segment(now, &mut self.peer)?;
        match &mut self.connection {
            Some(connection) => connection.handle(now, segment),
            None if segment.is(Flags::SYN) && !segment.is(Flags::ACK) => {
                let config = self.config.clone();
                self.connection = Some(Connection::accept(config, now, &segment));
            }
            None => return Err("there is no connection yet: only a SYN can arrive".to_owned()),
        }
        Ok(())
    }

    fn call(&mut self, now: Time, call: AppCall) -> Result<(), String> {
        match (&mut self.connection, call) {
            (None, AppCall::Connect) => {
                self.connection = Some(Connection::connect(self.config.clone(), now));
                Ok(())
            }
            (Some(_), AppCall::Connect) => Err("there is a connection already".to_owned()),
            (None, _) => Err("there is no connection yet".to_owned()),
            (Some(connection), call) => call.make(now, connection),
        }
    }
}

impl Subject for EndpointUnderTest {
    type Input = Input;
    type Output = Pattern;
    type EndpointCheckheckCheck = FieldCondition;
    type EndpointLeftoverLeftovereLeftover = DepartedSegment;

    fn apply(&mut self, now: Time, input: &Input) -> Result<(), String> {
        match input {
            Input::Arrival(pattern) => self.arrive(now, pattern),
            Input::Calls(calls) => calls.iter().try_for_each(|call| self.call(now, *call)),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.connection.as_ref()?.deadline()
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn poll(&mut self, now: Time) -> Option<DepartedSegment> {
        let segment = self.connection.as_mut()?.poll(now)?;
        self.peer.echo = segment.timestamps.map(|stamps| stamps.value);
        self.peer.first = false;
        Some(DepartedSegment(segment))
    }

    /// Timers may run for minutes: a script may end at any point.
    fn unfinished(&self) -> Option<String> {
        None
    }

    fn compare(&mut self, expected: &Pattern, left: &DepartedSegment) -> Result<(), String> {
        self.expected.compare(expected, &left.0)
    }

    fn check(&self, condition: &FieldCondition) -> Result<(), String> {
        match &self.connection {
            Some(connection) => condition.check(connection),
            None => Err("there is no connection yet".to_owned()),
        }
    }
}

/// The configuration of the endpoint.
#[derive(Debug)]
pub(crate) struct EndpointSettings {
    config: Arc<Config>,
}

/// The payload of an Ethernet packet without options: the largest possible segment.
const LARGEST_MSS: u32 = 1460;

impl EndpointSettings {
    /// Parses the `config` lines. A generation comes first, if there is one.
    pub(crate) fn parse(settings: &[ScriptSetting]) -> Result<EndpointSettings, ScriptProblem> {
        let mut config = Config::default();
        for (index, setting) in settings.iter().enumerate() {
            let ScriptSetting { text, span } = setting;
            let wrong = |message: String| ScriptProblem::new(span.clone(), message);
            match text.split_once('=') {
                Some((name, number)) if name.trim() == "mss" => {
                    config.mss = segment_size(number.trim()).map_err(wrong)?;
                }
                Some((name, value)) => {
                    config
                        .set(name.trim(), value.trim())
                        .map_err(|error| wrong(error.to_string()))?;
                }
                None if index == 0 => {
                    config = Config::parse(text).map_err(|error| wrong(error.to_string()))?;
                }
                None => {
                    return Err(wrong(format!("`{text}` has no value")).help(
                        "write `name=value`; a generation, such as `linux-3.2`, comes first",
                    ));
                }
            }
        }
        Ok(EndpointSettings { config: Arc::new(config) })
    }

    pub(crate) fn endpoint(&self) -> EndpointUnderTest {
        EndpointUnderTest::new(self.config.clone())
    }

    pub(crate) fn numbers(&self) -> SequenceNumbers {
        SequenceNumbers { mss: self.config.mss }
    }
}

fn segment_size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| (1..=LARGEST_MSS).contains(size));
    size.ok_or_else(|| format!("a full segment has from 1 to {LARGEST_MSS} bytes, not `{text}`"))
}
