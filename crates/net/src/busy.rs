//! Busy periods of a link: stretches of time during which packets waited for its server or were in service.

use units::Time;

/// Most periods that are kept of a link; later ones are not recorded.
const MOST_PERIODS: usize = 1 << 16;

/// Busy periods of a link in chronological order, disjoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusyPeriods(Vec<(Time, Time)>);

impl BusyPeriods {
    pub(crate) fn as_slice(&self) -> &[(Time, Time)] {
        &self.0
    }

    /// A packet that came at `from` left the server at `until`.
    #[inline]
    pub(crate) fn note(&mut self, from: Time, until: Time) {
        let count = self.0.len();
        match self.0.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ if count < MOST_PERIODS && from < until => self.0.push((from, until)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_overlap_are_one_period() {
        let ms = Time::from_millis;
        let mut busy = BusyPeriods::default();
        for (from, until) in [(0, 2), (1, 4), (4, 6), (7, 7), (8, 9)] {
            busy.note(ms(from), ms(until));
        }
        assert_eq!(busy.as_slice(), [(ms(0), ms(6)), (ms(8), ms(9))]);
    }
}
