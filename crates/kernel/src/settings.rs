//! A transport as settings of the running kernel, and the values that it cannot be set to.
//!
//! A [`tcp::Config`] is mapped knob by knob (`knobs`): to a sysctl of a network namespace, to an option of the route that connections take, to an
//! option of the interface, or to a [`UnsupportedKnobsError`] with its reason. Settings without a knob that affect TCP's behaviour are pinned to the shipped value
//! of Linux 6 (`pins`), since parts of a new namespace are copied from the machine's own.
//!
//! All of it affects every socket of the namespace, whoever owns it. Nothing here is meant for the machine's own namespace.
//!
//! Source: Linux 6.18 `Documentation/networking/ip-sysctl.rst`, `net/ipv4/sysctl_net_ipv4.c`; ip-route(8), ip-link(8).

use std::{fmt, io};

use crate::Error;

mod knobs;

/// Settings to apply before the first connection is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelKnobs {
    sysctls: Vec<Sysctl>,
    route: Vec<IpOption>,
    link: Vec<IpOption>,
}

/// A network sysctl and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its name below `/proc/sys/net`, such as `ipv4/tcp_sack`.
    pub name: &'static str,
    /// The value to write.
    pub value: String,
    /// True if a kernel that does not have it behaves as `value` specifies.
    pub dispensable: bool,
}

/// An option of `ip route` or `ip link`, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpOption {
    /// Its name in `ip`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

impl fmt::Display for IpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
}

impl KernelKnobs {
    /// Settings that make the kernel behave as `config` specifies.
    ///
    /// # Errors
    /// If the kernel cannot: all knobs concerned, and the reasons.
    pub fn for_config(config: &tcp::Config) -> Result<KernelKnobs, UnsupportedKnobsError> {
        let mut settings = KernelKnobs { sysctls: pinned_sysctls(), ..KernelKnobs::default() };
        let refused: Vec<UnsupportedKnob> = knobs::all()
            .filter_map(|(knob, mapping)| mapping.apply(knob, config, &mut settings).err())
            .collect();
        if refused.is_empty() { Ok(settings) } else { Err(UnsupportedKnobsError(refused)) }
    }

    /// The sysctls of the namespace, each once.
    pub fn sysctls(&self) -> &[Sysctl] {
        &self.sysctls
    }

    /// The options of each route used by connections, for `ip route add PREFIX dev DEVICE ...`.
    pub fn route_options(&self) -> String {
        joined(&self.route)
    }

    /// The options of each interface used by connections, for `ip link set DEVICE ...`; empty if there are none.
    pub fn link_options(&self) -> String {
        joined(&self.link)
    }

    /// Writes the sysctls, in the network namespace of the calling thread; requires root of it.
    ///
    /// # Errors
    /// If the kernel lacks a required one, or refuses a value.
    pub fn write_sysctls(&self) -> Result<(), Error> {
        self.sysctls.iter().try_for_each(Sysctl::write)
    }

    /// Sets a sysctl that is already pinned, or a further one.
    fn sysctl(&mut self, name: &'static str, value: impl fmt::Display) {
        let value = value.to_string();
        match self.sysctls.iter_mut().find(|sysctl| sysctl.name == name) {
            // A kernel without it behaves as the pin specifies, no other way.
            Some(pin) if pin.value == value => {}
            Some(pin) => *pin = Sysctl { name, value, dispensable: false },
            None => self.sysctls.push(Sysctl { name, value, dispensable: false }),
        }
    }

    fn route(&mut self, name: &'static str, value: impl fmt::Display) {
        self.route.push(IpOption { name, value: value.to_string() });
    }

    fn link(&mut self, name: &'static str, value: impl fmt::Display) {
        self.link.push(IpOption { name, value: value.to_string() });
    }
}

fn joined(settings: &[IpOption]) -> String {
    settings.iter().map(IpOption::to_string).collect::<Vec<_>>().join(" ")
}

impl Sysctl {
    fn path(&self) -> String {
        format!("/proc/sys/net/{}", self.name)
    }

    /// Its current value, fields separated by single blanks; none if the kernel does not have it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self) -> Result<Option<String>, Error> {
        match std::fs::read_to_string(self.path()) {
            Ok(text) => Ok(Some(text.split_whitespace().collect::<Vec<_>>().join(" "))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(format!("failed to read {}", self.path()))(error)),
        }
    }

    fn write(&self) -> Result<(), Error> {
        match std::fs::write(self.path(), &self.value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.dispensable => Ok(()),
            result => result.map_err(Error::io(format!(
                "failed to set {} to `{}` (needs root of the namespace, and a kernel that has it)",
                self.path(),
                self.value
            ))),
        }
    }
}

// Pinned sysctls: settings that affect the kernel's TCP, independent of the machine's administration.
//
// The values are those shipped with Linux 6.18 (`tcp_sk_init`), which the defaults of [`tcp::Config`] model. Knobs change some of them. A
// kernel that lacks one of these behaves as its value specifies, or, before the version given, in its own way: it is another generation then,
// and a run's record has to say so. Left out: settings that act only under attack, on idle connections or for applications that ask.

const PINS: &[(&str, &str)] = &[
    ("ipv4/tcp_adv_win_scale", "1"),
    ("ipv4/tcp_app_win", "31"),
    ("ipv4/tcp_autocorking", "1"),
    ("ipv4/tcp_backlog_ack_defer", "1"),
    ("ipv4/tcp_comp_sack_delay_ns", "1000000"),
    ("ipv4/tcp_comp_sack_nr", "44"),
    ("ipv4/tcp_comp_sack_slack_ns", "100000"),
    ("ipv4/tcp_dsack", "1"),
    ("ipv4/tcp_early_retrans", "3"),
    ("ipv4/tcp_ecn", "2"),
    ("ipv4/tcp_ecn_fallback", "1"),
    ("ipv4/tcp_fastopen", "1"),
    ("ipv4/tcp_fin_timeout", "60"),
    ("ipv4/tcp_frto", "2"),
    ("ipv4/tcp_limit_output_bytes", "4194304"),
    ("ipv4/tcp_max_reordering", "300"),
    ("ipv4/tcp_min_rtt_wlen", "300"),
    ("ipv4/tcp_min_tso_segs", "2"),
    ("ipv4/tcp_moderate_rcvbuf", "1"),
    ("ipv4/tcp_mtu_probing", "0"),
    ("ipv4/tcp_no_metrics_save", "0"),
    ("ipv4/tcp_no_ssthresh_metrics_save", "1"),
    ("ipv4/tcp_notsent_lowat", "4294967295"),
    ("ipv4/tcp_orphan_retries", "0"),
    ("ipv4/tcp_pacing_ca_ratio", "120"),
    ("ipv4/tcp_pacing_ss_ratio", "200"),
    ("ipv4/tcp_pingpong_thresh", "1"),
    ("ipv4/tcp_plb_enabled", "0"),
    ("ipv4/tcp_recovery", "1"),
    ("ipv4/tcp_reordering", "3"),
    ("ipv4/tcp_retrans_collapse", "1"),
    ("ipv4/tcp_retries1", "3"),
    ("ipv4/tcp_retries2", "15"),
    ("ipv4/tcp_rmem", "4096 131072 33554432"),
    ("ipv4/tcp_rto_max_ms", "120000"),
    ("ipv4/tcp_rto_min_us", "200000"),
    ("ipv4/tcp_sack", "1"),
    ("ipv4/tcp_shrink_window", "0"),
    ("ipv4/tcp_slow_start_after_idle", "1"),
    ("ipv4/tcp_syn_linear_timeouts", "4"),
    ("ipv4/tcp_syn_retries", "6"),
    ("ipv4/tcp_synack_retries", "5"),
    ("ipv4/tcp_thin_linear_timeouts", "0"),
    ("ipv4/tcp_timestamps", "1"),
    ("ipv4/tcp_tso_rtt_log", "9"),
    ("ipv4/tcp_tso_win_divisor", "3"),
    ("ipv4/tcp_window_scaling", "1"),
    ("ipv4/tcp_wmem", "4096 16384 4194304"),
    ("ipv4/tcp_workaround_signed_windows", "0"),
];

/// All of them.
fn pinned_sysctls() -> Vec<Sysctl> {
    let sysctl =
        |&(name, value): &(_, &str)| Sysctl { name, value: value.to_owned(), dispensable: true };
    PINS.iter().map(sysctl).collect()
}

/// One knob that the kernel lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedKnob {
    /// The knob.
    pub knob: &'static str,
    /// Its value.
    pub value: String,
    /// Reason why the kernel cannot.
    pub reason: &'static str,
    /// The closest alternative, if any.
    pub instead: Option<&'static str>,
}

impl fmt::Display for UnsupportedKnob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}={}`: {}", self.knob, self.value, self.reason)?;
        self.instead.map_or(Ok(()), |instead| write!(f, " ({instead})"))
    }
}

/// More than this many belong to an older generation, which differs in much: too many to read.
const SHOWN: usize = 3;

/// All knobs of a transport that the kernel lacks, at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnsupportedKnobsError(pub Vec<UnsupportedKnob>);

impl fmt::Display for UnsupportedKnobsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the kernel's TCP cannot be configured this way; use `--world sim`, which can, or leave out"
        )?;
        for (index, refused) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { " " } else { "; " };
            write!(f, "{separator}{refused}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(
                f,
                "; and {more} more: it is the TCP of another generation (docs/transports.md)"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
