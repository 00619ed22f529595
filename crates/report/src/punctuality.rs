//! Punctuality of a run's emulator: only if it is on time are page load times the network's.

use std::collections::BTreeSet;

use record::EmulationRecord;

use super::number::{grouped, ms};

/// Totals over the emulators of a run's visits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    visits: u64,
    packets: u64,
    worst_p99_ns: u64,
    worst_ns: u64,
    repeated: u64,
    without_precedence: u64,
    kernels: BTreeSet<String>,
}

impl Punctuality {
    /// Counts the emulator of one visit.
    pub fn take(&mut self, visit: &EmulationRecord) {
        self.visits += 1;
        self.packets += visit.delivered_packets;
        self.worst_p99_ns = self.worst_p99_ns.max(visit.late_p99_ns);
        self.worst_ns = self.worst_ns.max(visit.late_max_ns);
        self.repeated += u64::from(visit.attempts.saturating_sub(1));
        self.without_precedence += u64::from(!visit.realtime);
        self.kernels.insert(visit.kernel.clone());
    }

    /// Name and value of each; empty if nothing was emulated.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        if self.visits == 0 {
            return Vec::new();
        }
        let late = |ns: u64| format!("{} ms", ms(ns as f64 / 1e6));
        let kernels: Vec<&str> = self.kernels.iter().map(String::as_str).collect();
        let mut facts = vec![
            ("emulated with the TCP of", format!("Linux {}", kernels.join(", "))),
            ("visits emulated", grouped(self.visits)),
            ("packets delivered", grouped(self.packets)),
            ("p99 packet lateness of a visit, at most", late(self.worst_p99_ns)),
            ("maximum packet lateness", late(self.worst_ns)),
            ("attempts discarded because of late packets", grouped(self.repeated)),
        ];
        if self.without_precedence > 0 {
            let visits = grouped(self.without_precedence);
            facts.push(("visits emulated without real-time priority", visits));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts() {
        assert!(Punctuality::default().facts().is_empty());
        let visit = |late_max_ns, attempts| EmulationRecord {
            delivered_packets: 1000,
            late_p50_ns: 40_000,
            late_p99_ns: late_max_ns / 4,
            late_max_ns,
            realtime: true,
            attempts,
            kernel: "6.1".to_owned(),
        };
        let mut punctuality = Punctuality::default();
        punctuality.take(&visit(1_200_000, 1));
        punctuality.take(&visit(400_000, 3));
        let facts = punctuality.facts();
        let of = |name: &str| &facts.iter().find(|(known, _)| known.contains(name)).unwrap().1;
        assert_eq!(of("TCP"), "Linux 6.1");
        assert_eq!(of("p99"), "0.30 ms");
        assert_eq!(of("maximum"), "1.20 ms");
        assert_eq!(of("discarded"), "2");
        assert_eq!(facts.len(), 6);
    }
}
