//! Measurements in real time on a shared machine: repeated while the emulator itself reports that it was late.

use std::time::Duration;

use farlink_emu::TimingError;

const ATTEMPTS: u32 = 7;
/// Pause before the second attempt; each further pause is twice as long, 16 s in total. Machines stall for seconds.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Result of one attempt.
pub struct Attempt<L> {
    /// Strict check, valid if the emulator was on time.
    pub strictly: Result<(), String>,
    /// The same within the tolerance that its lateness explains.
    pub loosely: L,
    pub validity: Result<(), TimingError>,
}

/// Repeats a measurement until it is strictly right. A wrong one fails at once if the emulator was on time. On a machine that is never
/// on time the last attempt must be right within its lateness; that is reported.
pub fn agree<L: FnOnce() -> Result<(), String>>(measure: impl Fn() -> Attempt<L>) {
    for number in 1..=ATTEMPTS {
        let attempt = measure();
        match (attempt.strictly, attempt.validity) {
            (Ok(()), Ok(()) | Err(TimingError::Late(_))) => return,
            (Err(why), Ok(())) => panic!("{why}"),
            (_, Err(late @ TimingError::Late(_))) if number == ATTEMPTS => {
                println!("NOT PROVEN: {late} in each of {ATTEMPTS} attempts");
                return (attempt.loosely)().unwrap_or_else(|why| panic!("{why}, though {late}"));
            }
            (_, Err(invalid)) => println!("{invalid}; trying again"),
        }
        pause(FIRST_PAUSE * 2_u32.pow(number - 1));
    }
    panic!("the machine was too busy {ATTEMPTS} times");
}

#[expect(clippy::disallowed_methods, reason = "real time")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}
