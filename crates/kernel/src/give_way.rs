//! Letting others go first.

/// How much less of a processor the calling process asks for than others: a tenth (sched(7)).
const NICE: i32 = 10;

/// Lets all programs of ordinary priority run before the calling process, and before those that it starts: an emulator that may not have
/// precedence over ordinary threads then has it over these.
pub fn give_way() {
    // SAFETY: touches no memory of ours; 0 is the calling process. One may always ask for less.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}
