//! The table of knobs: name, values, and place in a [`Config`].

use std::time::Duration;

use congestion::{Algorithm, Era};

use super::{choice, number, show_size, show_span, show_switch, size, span, switch};
use crate::config::named::names;
use crate::config::{AckPolicy, Config};

/// A setting of a transport's text.
pub struct Knob {
    name: &'static str,
    values: &'static str,
    about: &'static str,
    get: fn(&Config) -> String,
    set: fn(&mut Config, &str) -> Result<(), String>,
}

impl Knob {
    /// Every knob, in the order in which a transport is written.
    pub fn all() -> &'static [Knob] {
        KNOBS
    }

    /// The knob of that name.
    pub fn find(name: &str) -> Option<&'static Knob> {
        KNOBS.iter().find(|knob| knob.name == name)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Synopsis of its values.
    pub fn values(&self) -> &'static str {
        self.values
    }

    /// Its meaning, in a phrase.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Its value in `config`, as text that [`Config::parse`] reads.
    pub fn get(&self, config: &Config) -> String {
        (self.get)(config)
    }

    /// Sets it; the error tells the values that it takes.
    pub(super) fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        (self.set)(config, value)
    }
}

/// Rows of the table, by the type of the value.
macro_rules! knobs {
    ($($name:literal $values:literal $about:literal $kind:ident($($at:tt)*);)+) => {
        const KNOBS: &[Knob] = &[$(Knob {
            name: $name,
            values: $values,
            about: $about,
            get: knobs!(@get $kind $($at)*),
            set: knobs!(@set $kind $($at)*),
        }),+];
    };
    (@get number $field:ident $range:expr) => { |config| config.$field.to_string() };
    (@set number $field:ident $range:expr) => {
        |config, text| number(text, $range).map(|value| config.$field = value)
    };
    (@get switch $field:ident) => { |config| show_switch(config.$field) };
    (@set switch $field:ident) => {
        |config, text| switch(text).map(|value| config.$field = value)
    };
    (@get choice $field:ident) => { |config| config.$field.to_string() };
    (@set choice $field:ident) => {
        |config, text| choice(text).map(|value| config.$field = value)
    };
    (@get span $field:ident) => { |config| show_span(config.$field) };
    (@set span $field:ident) => { |config, text| span(text).map(|value| config.$field = value) };
    (@get own $get:expr, $set:expr) => { $get };
    (@set own $get:expr, $set:expr) => { $set };
}

knobs! {
    "iw" "SEGMENTS" "initial window" number(initial_window 1..=1000);
    "cc" "cubic|cubic-without-hystart|reno|bbr" "congestion control" own(
        |config| AlgorithmName::of(config.congestion).to_string(),
        |config, text| choice(text).map(|name: AlgorithmName| config.congestion = name.algorithm())
    );
    "cc-era" "linux-3.0|linux-3.10|linux-6" "whose arithmetic that follows" own(
        |config| EraName::of(config.congestion_era).to_string(),
        |config, text| choice(text).map(|name: EraName| config.congestion_era = name.era())
    );
    "pacing" "off|on|PERCENT/PERCENT" "space segments at so much of window over round trip, in slow start and later" own(
        |config| config.pacing.to_string(),
        |config, text| text.parse().map(|pacing| config.pacing = pacing)
    );
    "ecn" "off|passive|active" "explicit congestion notification" choice(ecn);
    "timestamps" "on|off" "offer timestamps" own(
        |config| show_switch(config.timestamps),
        |config, text| switch(text).map(|on| config.set_timestamps(on))
    );
    "sack" "on|off" "offer selective acknowledgements" switch(sack);
    "dsack" "on|off" "report data that arrived twice" switch(dsack);
    "initial-rto" "TIME" "retransmission timeout before the first sample" span(initial_rto);
    "min-rto" "TIME" "smallest variance term of the timeout" span(min_rto);
    "max-rto" "TIME" "largest timeout" span(max_rto);
    "syn-retries" "COUNT" "retransmissions of a SYN" number(syn_retries 0..=127);
    "syn-linear-timeouts" "COUNT" "of these, before the timeout doubles" number(syn_linear_timeouts 0..=127);
    "syn-ack-retries" "COUNT" "retransmissions of a SYN-ACK" number(syn_ack_retries 0..=127);
    "syn-loss-window" "keep|one-after-two|one-unless-needless" "initial window after lost SYNs" choice(syn_loss_window);
    "handshake-rtt" "needs-timestamps|counts" "worth of the handshake's round trip" choice(handshake_rtt);
    "retries" "COUNT" "doublings of the smallest timeout until a peer is given up" number(retries 1..=100);
    "hz" "TICKS|exact" "ticks of the clock a second" own(
        |config| config.clock.hz().map_or_else(|| "exact".to_owned(), |hz| hz.to_string()),
        |config, text| {
            let hz = if text == "exact" { None } else { Some(ticks(text)?) };
            config.clock = config.clock.with_hz(hz);
            Ok(())
        }
    );
    "rtt-samples" "echo|transmissions" "source of round trips" choice(rtt_sampling);
    "growth" "per-ack|per-segment" "what the window grows by" choice(growth);
    "slow-start-after-idle" "on|off" "cut a window that lay idle" switch(slow_start_after_idle);
    "idle-restart" "at-write|after-first-burst" "when it is cut" choice(idle_restart);
    "reset-rtt-after-idle" "off|on|TIME" "forget the round trip after idleness; the timeout until the next sample (on: 3s)" own(
        |config| forgotten_rto_name(config.reset_rtt_after_idle),
        |config, text| forgotten_rto(text).map(|rto| config.reset_rtt_after_idle = rto)
    );
    "loss-detection" "rack|fack|duplicates" "how losses are found" choice(loss_detection);
    "early-retransmit" "on|off" "fewer duplicates suffice in a small flight" switch(early_retransmit);
    "tlp" "off|linux-3.10|linux-6" "tail loss probe" choice(tail_loss_probe);
    "reduction" "rate-halving|prr-3.2|prr-3.10|prr-6" "how the window comes down" choice(reduction);
    "frto" "off|rfc4138|rfc5682" "test of a timeout for being spurious" choice(frto);
    "frto-response" "rate-halving|conservative|undo" "what follows a spurious one (rfc4138)" choice(spurious_response);
    "loss-window" "one|in-flight-plus-one" "window after a timeout" choice(loss_window);
    "metrics" "off|linux-3|linux-6" "what connections to one peer share" choice(metrics);
    "metrics-lifetime" "TIME" "how long that is remembered" span(metrics_lifetime);
    "tso-segments" "one|autosized" "segments that leave as one burst" choice(tso_segments);
    "nagle" "on|off" "let small segments wait for each other" switch(nagle);
    "sndbuf" "SIZE" "send buffer at the start" own(
        |config| show_size(config.send_buffer.initial_bytes),
        |config, text| size(text).map(|bytes| config.send_buffer.initial_bytes = bytes)
    );
    "sndbuf-max" "SIZE" "send buffer at most" own(
        |config| show_size(config.send_buffer.max_bytes),
        |config, text| size(text).map(|bytes| config.send_buffer.max_bytes = bytes)
    );
    "notsent-lowat" "SIZE|off" "refuse writes while so much waits unsent" own(
        |config| config.notsent_lowat.map_or_else(|| "off".to_owned(), show_size),
        |config, text| {
            config.notsent_lowat = if text == "off" { None } else { Some(size(text)?) };
            Ok(())
        }
    );
    "rcvbuf" "SIZE" "receive buffer at the start, as window" own(
        |config| show_size(config.receive_buffer.initial_bytes),
        |config, text| size(text).map(|bytes| config.receive_buffer.initial_bytes = bytes)
    );
    "rcvbuf-max" "SIZE" "receive buffer at most, as window" own(
        |config| show_size(config.receive_buffer.max_bytes),
        |config, text| size(text).map(|bytes| config.receive_buffer.max_bytes = bytes)
    );
    "rwnd" "SEGMENTS|buffer" "first receive window" own(
        |config| config.receive_buffer.first_window.map_or_else(|| "buffer".to_owned(), |n| n.to_string()),
        |config, text| {
            let window = if text == "buffer" { None } else { Some(number(text, 1..=10_000)?) };
            config.receive_buffer.first_window = window;
            Ok(())
        }
    );
    "rcv-tuning" "linux-3|linux-6" "how the receive buffer grows" own(
        |config| config.receive_buffer.tuning.to_string(),
        |config, text| choice(text).map(|tuning| config.receive_buffer.tuning = tuning)
    );
    "acks" "linux-6|linux-3|windows-7|ios-9|every-segment" "when to acknowledge, as which system" own(
        |config| acks_name(config.ack_policy).to_owned(),
        |config, text| acks(text).map(|policy| config.ack_policy = policy)
    );
    "time-wait" "TIME" "how long the end that closed first lingers" span(time_wait);
}

impl Config {
    /// The payload takes the room that the option leaves.
    fn set_timestamps(&mut self, on: bool) {
        let whole = self.advertised_mss();
        self.timestamps = on;
        self.mss = if on { whole - crate::segment::TIMESTAMPS_BYTES } else { whole };
    }
}

fn forgotten_rto_name(rto: Option<Duration>) -> String {
    match rto {
        None => "off".to_owned(),
        Some(rto) if rto == Config::FORGOTTEN_RTO => "on".to_owned(),
        Some(rto) => show_span(rto),
    }
}

fn forgotten_rto(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "off" => Ok(None),
        "on" => Ok(Some(Config::FORGOTTEN_RTO)),
        _ => match span(text) {
            Ok(rto) if !rto.is_zero() => Ok(Some(rto)),
            _ => Err("off, on, or a span of time such as 3s".to_owned()),
        },
    }
}

fn ticks(text: &str) -> Result<u32, String> {
    number(text, 10..=10_000).map_err(|expected| format!("{expected}, or exact"))
}

fn acks_name(policy: AckPolicy) -> &'static str {
    let known = AckPolicy::NAMED.iter().find(|(known, _)| *known == policy);
    known.map_or("other", |(_, name)| name)
}

fn acks(text: &str) -> Result<AckPolicy, String> {
    let known = AckPolicy::NAMED.iter().find(|(_, name)| *name == text);
    known
        .map(|(policy, _)| *policy)
        .ok_or_else(|| format!("one of {}", AckPolicy::NAMED.map(|(_, name)| name).join(", ")))
}

/// The algorithms by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AlgorithmName {
    Cubic,
    CubicWithoutHystart,
    Reno,
    Bbr,
}

names!(AlgorithmName {
    Cubic => "cubic",
    CubicWithoutHystart => "cubic-without-hystart",
    Reno => "reno",
    Bbr => "bbr",
});

/// The eras by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EraName {
    Linux3_0,
    Linux3_10,
    Linux6,
}

names!(EraName { Linux3_0 => "linux-3.0", Linux3_10 => "linux-3.10", Linux6 => "linux-6" });

impl EraName {
    fn of(era: Era) -> EraName {
        match era {
            Era::Linux3_0 => EraName::Linux3_0,
            Era::Linux3_10 => EraName::Linux3_10,
            Era::Linux6 => EraName::Linux6,
        }
    }

    fn era(self) -> Era {
        match self {
            EraName::Linux3_0 => Era::Linux3_0,
            EraName::Linux3_10 => Era::Linux3_10,
            EraName::Linux6 => Era::Linux6,
        }
    }
}

impl AlgorithmName {
    fn of(algorithm: Algorithm) -> AlgorithmName {
        match algorithm {
            Algorithm::Cubic => AlgorithmName::Cubic,
            Algorithm::CubicWithoutHystart => AlgorithmName::CubicWithoutHystart,
            Algorithm::Reno => AlgorithmName::Reno,
            Algorithm::Bbr => AlgorithmName::Bbr,
        }
    }

    fn algorithm(self) -> Algorithm {
        match self {
            AlgorithmName::Cubic => Algorithm::Cubic,
            AlgorithmName::CubicWithoutHystart => Algorithm::CubicWithoutHystart,
            AlgorithmName::Reno => Algorithm::Reno,
            AlgorithmName::Bbr => Algorithm::Bbr,
        }
    }
}
