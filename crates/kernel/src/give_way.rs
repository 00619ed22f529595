//! Lowers the priority of the calling process.

/// Nice value of the calling process: a tenth of the processor time of others (sched(7)).
const NICE: i32 = 10;

/// Lets all programs of ordinary priority run before the calling process, and before those that it starts: an emulator without
/// precedence over ordinary threads then has it over these.
pub fn give_way() {
    // SAFETY: touches no memory of ours; 0 is the calling process. Lowering the priority is always permitted.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}
