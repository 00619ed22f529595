//! A machine without socket filters, as some containers are: simulated by a filter of system calls (seccomp(2)),
//! which needs no privileges.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Offsets in `struct seccomp_data` of the system call's number, and of the lower halves of its second and third
/// argument (a little-endian machine's).
const NUMBER: u32 = 0;
const LEVEL: u32 = 24;
const OPTION: u32 = 32;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn step(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

/// Continues with the next step if the value is `k`, else skips `steps`.
const fn or_skip(k: u32, steps: u8) -> libc::sock_filter {
    libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: steps, k }
}

/// `setsockopt(_, SOL_SOCKET, SO_ATTACH_FILTER, ...)` fails with `ENOPROTOOPT`; everything else is allowed.
static NO_FILTERS: [libc::sock_filter; 8] = [
    step(LOAD, NUMBER),
    or_skip(libc::SYS_setsockopt as u32, 5),
    step(LOAD, LEVEL),
    or_skip(libc::SOL_SOCKET as u32, 3),
    step(LOAD, OPTION),
    or_skip(libc::SO_ATTACH_FILTER as u32, 1),
    step(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOPROTOOPT as u32),
    step(RETURN, libc::SECCOMP_RET_ALLOW),
];

/// Runs `command` so that its process cannot attach socket filters.
pub fn without_filters(command: &mut Command) {
    // SAFETY: between fork and exec `refuse` only calls `prctl`, which is safe there.
    unsafe { command.pre_exec(refuse) };
}

fn refuse() -> io::Result<()> {
    let filter = NO_FILTERS.as_ptr().cast_mut();
    let program = libc::sock_fprog { len: NO_FILTERS.len() as u16, filter };
    // SAFETY: the arguments are all numbers.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: `program` and its steps outlive the call, which copies them.
    done(unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    })
}

fn done(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
