//! A transport as settings of the running kernel.
//!
//! A [`tcp::Config`] is mapped knob by knob (`knobs`): to a sysctl of a network namespace, to an option of the route that connections take, to an
//! option of the interface, or to a [`Refusal`] with its reason. Settings without a knob that affect TCP's behaviour are pinned to the shipped value
//! of Linux 6 (`pins`), since parts of a new namespace are copied from the machine's own.
//!
//! All of it affects every socket of the namespace, whoever owns it. Nothing here is meant for the machine's own namespace.
//!
//! Source: Linux 6.18 `Documentation/networking/ip-sysctl.rst`, `net/ipv4/sysctl_net_ipv4.c`; ip-route(8), ip-link(8).

mod knobs;
mod pins;
mod refusal;

use std::fmt;
use std::io;

pub use refusal::{Refusal, Refused};

use crate::Error;

/// Settings to apply before the first connection is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    sysctls: Vec<Sysctl>,
    route: Vec<Setting>,
    link: Vec<Setting>,
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
pub struct Setting {
    /// Its name in `ip`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
}

impl Settings {
    /// Settings that make the kernel behave as `config` specifies.
    ///
    /// # Errors
    /// If the kernel cannot: all knobs concerned, and the reasons.
    pub fn for_config(config: &tcp::Config) -> Result<Settings, Refusal> {
        let mut settings = Settings { sysctls: pins::all(), ..Settings::default() };
        let refused: Vec<Refused> = knobs::all()
            .filter_map(|(knob, mapping)| mapping.apply(knob, config, &mut settings).err())
            .collect();
        if refused.is_empty() { Ok(settings) } else { Err(Refusal(refused)) }
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
        self.route.push(Setting { name, value: value.to_string() });
    }

    fn link(&mut self, name: &'static str, value: impl fmt::Display) {
        self.link.push(Setting { name, value: value.to_string() });
    }
}

fn joined(settings: &[Setting]) -> String {
    settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(" ")
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

#[cfg(test)]
mod tests;
