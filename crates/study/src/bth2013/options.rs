//! A call of `run.py`: one combination of network and protocol, by its options.

use super::terms::{Read, loss, number};
use super::{Conditions, FileError, NetType, Place, Protocol, Uplink};

/// The options of a call that determine the measurement. Network parameters are text, as they are to `run.py`.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// `-t`.
    pub times: u32,
    /// `-p`.
    pub protocol: Protocol,
    /// `-s`.
    pub ssl: bool,
    /// `-n`.
    pub network: NetType,
    /// `-l`.
    pub loss: &'a str,
    /// `-u`, in kbit/s.
    pub up: &'a str,
    /// `-d`, in kbit/s.
    pub down: &'a str,
    /// `-r`, in milliseconds.
    pub rtt: &'a str,
}

impl Options<'_> {
    /// The conditions to measure.
    ///
    /// # Errors
    /// A value that the network cannot have.
    pub fn conditions(self) -> Result<Conditions, FileError> {
        let Options { times, protocol, ssl, network, .. } = self;
        if times == 0 {
            return wrong("-t", Err("0 loads measure nothing: give one at the least".to_owned()));
        }
        Ok(Conditions {
            protocol,
            ssl,
            network,
            loss: wrong("-l", loss(self.loss))?,
            down_kbit: vec![wrong("-d", number(self.down, "kbit/s"))?],
            up: Uplink::Kbit(wrong("-u", number(self.up, "kbit/s"))?),
            rtt_ms: vec![wrong("-r", number(self.rtt, "ms"))?],
            times,
            notes: Vec::new(),
        })
    }
}

fn wrong<T>(option: &'static str, read: Result<T, String>) -> Read<T> {
    read.map_err(|message| FileError {
        file: "run.py".to_owned(),
        place: Place::Option(option),
        message,
        hint: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_combination() {
        let call = Options {
            times: 10,
            protocol: Protocol::Spdy,
            ssl: true,
            network: NetType::Edge,
            loss: "0.03",
            up: "64",
            down: "240",
            rtt: "150",
        };
        let conditions = call.conditions().unwrap();
        assert_eq!((conditions.up, conditions.times), (Uplink::Kbit(64), 10));
        assert_eq!((&conditions.down_kbit[..], &conditions.rtt_ms[..]), (&[240][..], &[150][..]));
        let refused = Options { rtt: "fast", ..call }.conditions().unwrap_err().to_string();
        assert_eq!(refused, "run.py -r: `fast` is no whole number of ms above zero");
        let refused = Options { loss: "3", ..call }.conditions().unwrap_err().to_string();
        assert!(refused.starts_with("run.py -l: `3` is no share"), "{refused}");
    }
}
