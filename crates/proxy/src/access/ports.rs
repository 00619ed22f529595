//! Sets of ports.

use std::fmt;
use std::ops::RangeInclusive;

/// Ports, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<RangeInclusive<u16>>);

impl Ports {
    /// Common ports of web servers: 80, 443, 8000, 8080, 8443 and 8888.
    pub fn of_the_web() -> Ports {
        Ports([80, 443, 8000, 8080, 8443, 8888].map(|port| port..=port).to_vec())
    }

    /// All ports.
    pub fn any() -> Ports {
        Ports(vec![1..=u16::MAX])
    }

    /// One port.
    pub fn only(port: u16) -> Ports {
        Ports(vec![port..=port])
    }

    /// These ranges.
    pub fn of(ranges: Vec<RangeInclusive<u16>>) -> Ports {
        Ports(ranges)
    }

    /// Returns true if `port` is among them.
    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.contains(&port))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_contained_and_shown() {
        let ports = Ports::of(vec![80..=80, 8000..=8099]);
        assert!(ports.contains(80) && ports.contains(8099) && !ports.contains(8100));
        assert_eq!(ports.to_string(), "80, 8000-8099");
        assert!(Ports::of_the_web().contains(443) && !Ports::of_the_web().contains(25));
    }
}
