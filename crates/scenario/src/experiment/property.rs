//! A property of a network as an axis has it: a value of its own, or one that follows another axis.

use units::BitsPerSec;

use super::{Problem, Refusal};
use crate::NetworkSpec;

/// One value of a network's property.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// As a network of its own, so that equal values written differently are equal.
    Own(NetworkSpec),
    /// An uplink with the downlink's rate divided by this.
    DownBy(u64),
}

impl Property {
    /// Reads what was typed for `key`; `has_down` says whether the experiment states a downlink.
    pub fn read(key: &str, typed: &str, has_down: bool) -> Result<Property, Problem> {
        let divisor = typed.strip_prefix("down/").filter(|_| key == "up");
        if let Some(divisor) = divisor {
            return match divisor.parse() {
                Ok(divisor) if has_down && divisor > 0 => Ok(Property::DownBy(divisor)),
                Ok(divisor) if divisor > 0 => Err(refused(
                    "a part of the downlink needs the downlink's rate",
                    "give `network.down`, too: a profile's own rate is not known where grids are made",
                )),
                _ => Err(refused(
                    "the downlink is divided by a whole number above 0",
                    "write `up = \"down/2\"`",
                )),
            };
        }
        let mut property = NetworkSpec::default();
        match property.set(key, typed) {
            Ok(()) => Ok(Property::Own(property)),
            Err(error) => Err(Problem::Network { source: error }),
        }
    }

    /// Puts the value into a network, whose downlink is there already.
    pub fn apply(&self, network: &mut NetworkSpec) {
        match self {
            Property::Own(property) => network.overlay(property),
            Property::DownBy(divisor) => {
                network.up_bit_per_s = network.down_bit_per_s.map(|down| part(down, *divisor));
            }
        }
    }
}

/// A rate divided; what has no limit has none in parts either.
fn part(rate: u64, divisor: u64) -> u64 {
    match rate == BitsPerSec::UNLIMITED.0 {
        true => rate,
        false => (rate / divisor).max(1),
    }
}

fn refused(message: &str, hint: &str) -> Problem {
    let refusal = Refusal { message: message.to_owned(), hint: Some(hint.to_owned()) };
    Problem::Refused { key: "network.up".into(), refusal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uplink_may_follow_the_downlink() {
        let mut network = NetworkSpec::parse("rtt=1ms,down=150kbit,up=1mbit").unwrap();
        let half = Property::read("up", "down/2", true).unwrap();
        half.apply(&mut network);
        assert_eq!(network.up_bit_per_s, Some(75_000));
        network.set("down", "unlimited").unwrap();
        half.apply(&mut network);
        assert_eq!(network.up_bit_per_s, Some(BitsPerSec::UNLIMITED.0));
        Property::read("up", "3mbit", false).unwrap().apply(&mut network);
        assert_eq!(network.up_bit_per_s, Some(3_000_000));
    }

    #[test]
    fn what_cannot_be_followed_says_so() {
        let message =
            |key, typed, has_down| Property::read(key, typed, has_down).unwrap_err().to_string();
        assert!(message("up", "down/2", false).contains("needs the downlink's rate"));
        assert!(message("up", "down/0", true).contains("a whole number above 0"));
        assert!(message("up", "down/x", true).contains("a whole number above 0"));
        assert!(message("down", "down/2", true).contains("network property `down`"));
    }
}
