//! The table of knobs: the kernel setting behind each, or the one value that the kernel has.

use std::time::Duration;

use congestion::Algorithm;
use tcp::{AckPolicy, Config, EcnPolicy, Frto, Knob, MetricsUse, TailLossProbe, TsoSegments};

use super::{KernelKnobs, UnsupportedKnob};

/// Reason why a knob cannot have a value.
type RefusalReason = &'static str;

/// Mapping of a knob to kernel settings.
pub(super) enum Mapping {
    /// One sysctl.
    Sysctl(&'static str, fn(&Config) -> Result<String, RefusalReason>),
    /// One option of the route.
    Route(&'static str, fn(&Config) -> Result<String, RefusalReason>),
    /// Settings that depend on its value.
    Several(fn(&Config, &mut KernelKnobs) -> Result<(), RefusalReason>),
    /// None: the kernel has this value.
    Fixed(&'static str, RefusalReason),
    /// The same, with an approximation of other values.
    Near(&'static str, RefusalReason, &'static str),
}

/// Every knob with its mapping.
pub(super) fn all() -> impl Iterator<Item = (&'static Knob, &'static Mapping)> {
    Knob::all().iter().map(|knob| {
        let entry = MAPPINGS.iter().find(|(name, _)| *name == knob.name());
        (knob, &entry.expect("every knob has a mapping, as a test shows").1)
    })
}

impl Mapping {
    /// Sets the knob as in `config`.
    pub(super) fn apply(
        &self,
        knob: &'static Knob,
        config: &Config,
        settings: &mut KernelKnobs,
    ) -> Result<(), UnsupportedKnob> {
        let value = knob.get(config);
        let mut instead = None;
        let result = match *self {
            Mapping::Sysctl(name, text) => text(config).map(|text| settings.sysctl(name, text)),
            Mapping::Route(name, text) => text(config).map(|text| settings.route(name, text)),
            Mapping::Several(set) => set(config, settings),
            Mapping::Fixed(only, _) | Mapping::Near(only, ..) if value == only => Ok(()),
            Mapping::Fixed(_, reason) => Err(reason),
            Mapping::Near(_, reason, near) => {
                instead = Some(near);
                Err(reason)
            }
        };
        result.map_err(|reason| UnsupportedKnob { knob: knob.name(), value, reason, instead })
    }
}

use Mapping::{Fixed, Near, Route, Several, Sysctl};

const OTHER_GENERATION: RefusalReason = "the running kernel behaves as Linux 6";

const MAPPINGS: &[(&str, Mapping)] = &[
    ("iw", Route("initcwnd", |config| number(config.initial_window))),
    ("cc", Route("congctl", congestion_control)),
    ("cc-era", Fixed("linux-6", OTHER_GENERATION)),
    ("pacing", Fixed("off", PACING)),
    ("ecn", Sysctl("ipv4/tcp_ecn", |config| number(ecn(config.ecn)))),
    ("timestamps", Sysctl("ipv4/tcp_timestamps", |config| switch(config.timestamps))),
    ("sack", Sysctl("ipv4/tcp_sack", |config| switch(config.sack))),
    ("dsack", Sysctl("ipv4/tcp_dsack", |config| switch(config.dsack))),
    ("initial-rto", Fixed("1s", "it is a constant of the kernel (`TCP_TIMEOUT_INIT`)")),
    ("min-rto", Route("rto_min", min_rto)),
    ("max-rto", Sysctl("ipv4/tcp_rto_max_ms", max_rto)),
    ("syn-retries", Sysctl("ipv4/tcp_syn_retries", syn_retries)),
    (
        "syn-linear-timeouts",
        Sysctl("ipv4/tcp_syn_linear_timeouts", |config| number(config.syn_linear_timeouts)),
    ),
    ("syn-ack-retries", Sysctl("ipv4/tcp_synack_retries", |config| number(config.syn_ack_retries))),
    ("syn-loss-window", Fixed("one-unless-needless", OTHER_GENERATION)),
    ("handshake-rtt", Fixed("counts", OTHER_GENERATION)),
    ("retries", Sysctl("ipv4/tcp_retries2", |config| number(config.retries))),
    ("hz", Fixed("exact", "the kernel was built with its tick (`CONFIG_HZ`)")),
    ("rtt-samples", Fixed("transmissions", OTHER_GENERATION)),
    ("growth", Fixed("per-segment", OTHER_GENERATION)),
    (
        "slow-start-after-idle",
        Sysctl("ipv4/tcp_slow_start_after_idle", |config| switch(config.slow_start_after_idle)),
    ),
    ("idle-restart", Fixed("at-write", OTHER_GENERATION)),
    (
        "reset-rtt-after-idle",
        Near(
            "off",
            "no kernel forgets the round trip",
            "`min-rto=3s` has its effect after idleness, and at all other times, too",
        ),
    ),
    ("loss-detection", Fixed("rack", "Linux has nothing but RACK since 6.17")),
    ("early-retransmit", Fixed("off", "Linux has none since 4.12")),
    ("tlp", Sysctl("ipv4/tcp_early_retrans", tail_loss_probe)),
    ("reduction", Fixed("prr-6", OTHER_GENERATION)),
    ("frto", Sysctl("ipv4/tcp_frto", frto)),
    (
        "frto-response",
        Fixed("rate-halving", "it belongs to the F-RTO of RFC 4138, which Linux had up to 3.9"),
    ),
    ("loss-window", Fixed("in-flight-plus-one", OTHER_GENERATION)),
    ("metrics", Sysctl("ipv4/tcp_no_metrics_save", metrics)),
    ("metrics-lifetime", Fixed("3600s", "it is a constant of the kernel (`TCP_METRICS_TIMEOUT`)")),
    ("tso-segments", Several(tso_segments)),
    (
        "nagle",
        Fixed("off", "farlink's own sockets and those of browsers turn it off (`TCP_NODELAY`)"),
    ),
    ("sndbuf", Sysctl("ipv4/tcp_wmem", send_buffer)),
    ("sndbuf-max", Sysctl("ipv4/tcp_wmem", send_buffer)),
    ("notsent-lowat", Sysctl("ipv4/tcp_notsent_lowat", notsent_lowat)),
    ("rcvbuf", Sysctl("ipv4/tcp_rmem", receive_buffer)),
    ("rcvbuf-max", Sysctl("ipv4/tcp_rmem", receive_buffer)),
    ("rwnd", Several(first_window)),
    ("rcv-tuning", Fixed("linux-6", OTHER_GENERATION)),
    ("acks", Several(acknowledgements)),
    ("time-wait", Fixed("60s", "it is a constant of the kernel (`TCP_TIMEWAIT_LEN`)")),
];

const PACING: RefusalReason = "the kernel paces where the controller, an option of each socket or the queueing discipline fq asks for it; farlink sets \
    neither of the latter";

fn number(value: impl ToString) -> Result<String, RefusalReason> {
    Ok(value.to_string())
}

fn switch(on: bool) -> Result<String, RefusalReason> {
    number(u8::from(on))
}

/// By route: a congestion control that is not allowed to all users is refused by the sysctl, even to root of a namespace.
fn congestion_control(config: &Config) -> Result<String, RefusalReason> {
    match config.congestion {
        Algorithm::Reno => number("reno"),
        Algorithm::Cubic => number("cubic"),
        Algorithm::Bbr => number("bbr"),
        Algorithm::CubicWithoutHystart => Err(
            "HyStart is turned off for the whole machine only (`/sys/module/tcp_cubic/parameters/hystart`)",
        ),
    }
}

fn ecn(policy: EcnPolicy) -> u8 {
    match policy {
        EcnPolicy::Off => 0,
        EcnPolicy::Active => 1,
        EcnPolicy::Passive => 2,
    }
}

/// By route, which every kernel supports; it overrides `tcp_rto_min_us`. Below 200 ms it also shortens the kernel's delayed acknowledgements
/// (`tcp_delack_max`).
fn min_rto(config: &Config) -> Result<String, RefusalReason> {
    let millis = whole_millis(config.min_rto).ok_or("a route takes whole milliseconds")?;
    Ok(format!("{millis}ms"))
}

fn max_rto(config: &Config) -> Result<String, RefusalReason> {
    let millis = whole_millis(config.max_rto).filter(|millis| (1000..=120_000).contains(millis));
    number(millis.ok_or("`tcp_rto_max_ms` takes whole milliseconds from 1 s to 120 s")?)
}

fn whole_millis(span: Duration) -> Option<u128> {
    let millis = span.as_millis();
    (millis > 0 && span.as_nanos().is_multiple_of(1_000_000)).then_some(millis)
}

fn syn_retries(config: &Config) -> Result<String, RefusalReason> {
    if config.syn_retries == 0 {
        Err("`tcp_syn_retries` is at least 1")
    } else {
        number(config.syn_retries)
    }
}

fn tail_loss_probe(config: &Config) -> Result<String, RefusalReason> {
    match config.tail_loss_probe {
        TailLossProbe::Off => number(0),
        TailLossProbe::Linux6 => number(3),
        TailLossProbe::Linux310 => Err(OTHER_GENERATION),
    }
}

fn frto(config: &Config) -> Result<String, RefusalReason> {
    match config.frto {
        Frto::Off => number(0),
        Frto::Rfc5682 => number(2),
        Frto::Rfc4138 => Err(OTHER_GENERATION),
    }
}

fn metrics(config: &Config) -> Result<String, RefusalReason> {
    match config.metrics {
        MetricsUse::Off => number(1),
        MetricsUse::Linux6 => number(0),
        MetricsUse::Linux3 => {
            Err("Linux 6 uses a remembered round trip for the first timeout alone")
        }
    }
}

/// The interface's limit becomes the socket's (`sk_gso_max_segs`).
fn tso_segments(config: &Config, to: &mut KernelKnobs) -> Result<(), RefusalReason> {
    if config.tso_segments == TsoSegments::One {
        to.link("gso_max_segs", 1);
    }
    Ok(())
}

/// Buffer that a socket may always have, even when memory is scarce.
const LEAST_BUFFER: u64 = 4096;
/// The kernel counts buffers in an `int`.
const LARGEST_BUFFER: u64 = i32::MAX as u64;

fn buffer(initial: u64, max: u64) -> Result<String, RefusalReason> {
    if max > LARGEST_BUFFER {
        return Err("the kernel's buffers hold less than 2 GiB");
    }
    if max < initial {
        return Err("a buffer starts with its largest size at most");
    }
    Ok(format!("{} {initial} {max}", LEAST_BUFFER.min(initial)))
}

fn send_buffer(config: &Config) -> Result<String, RefusalReason> {
    let policy = &config.send_buffer;
    let six = tcp::SendBufferPolicy::LINUX_6;
    if (policy.segment_memory_bytes, policy.expands_at_start)
        != (six.segment_memory_bytes, six.expands_at_start)
    {
        return Err(OTHER_GENERATION);
    }
    buffer(policy.initial_bytes, policy.max_bytes)
}

/// Half of the kernel's memory is window (`TCP_DEFAULT_SCALING_RATIO`).
fn receive_buffer(config: &Config) -> Result<String, RefusalReason> {
    let policy = &config.receive_buffer;
    buffer(policy.initial_bytes.saturating_mul(2), policy.max_bytes.saturating_mul(2))
}

fn notsent_lowat(config: &Config) -> Result<String, RefusalReason> {
    let unlimited = u64::from(u32::MAX);
    number(config.notsent_lowat.unwrap_or(unlimited).min(unlimited))
}

fn first_window(config: &Config, to: &mut KernelKnobs) -> Result<(), RefusalReason> {
    if let Some(segments) = config.receive_buffer.first_window {
        to.route("initrwnd", segments);
    }
    Ok(())
}

fn acknowledgements(config: &Config, to: &mut KernelKnobs) -> Result<(), RefusalReason> {
    if config.ack_policy == AckPolicy::LINUX {
        return Ok(());
    }
    if config.ack_policy == AckPolicy::EVERY_SEGMENT {
        to.route("quickack", 1);
    } else if config.ack_policy != AckPolicy::LINUX_3 {
        return Err("the kernel acknowledges as Linux does");
    }
    to.sysctl("ipv4/tcp_comp_sack_nr", 0);
    Ok(())
}
