//! Socket options that have no safe wrapper.

use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, socklen_t};
use nix::errno::Errno;

use crate::TcpInfo;

/// Plain C data: any bytes are a valid value, and all of its bytes are initialised.
///
/// # Safety
/// Implement it for integers and for C structures of integers without padding between fields that matter to the kernel.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for c_int {}
// SAFETY: two integers without padding.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: integers, laid out without padding.
unsafe impl Plain for TcpInfo {}
// SAFETY: bytes.
unsafe impl<const N: usize> Plain for [u8; N] {}

/// `setsockopt`
///
/// # Errors
/// As the kernel's.
pub fn set<T: Plain>(socket: impl AsFd, level: c_int, name: c_int, value: T) -> Result<(), Errno> {
    let len = mem::size_of::<T>() as socklen_t;
    // SAFETY: the pointer is valid for `len` bytes during the call, which only reads them.
    let result = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, len)
    };
    Errno::result(result).map(drop)
}

/// `getsockopt`; bytes that an older kernel does not fill are zero.
///
/// # Errors
/// As the kernel's.
pub fn get<T: Plain>(socket: impl AsFd, level: c_int, name: c_int) -> Result<T, Errno> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = mem::size_of::<T>() as socklen_t;
    // SAFETY: the pointer is valid for `len` bytes, and the kernel writes no more than that.
    let result = unsafe {
        let value = value.as_mut_ptr().cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value, &raw mut len)
    };
    Errno::result(result)?;
    // SAFETY: all bytes were zeroed, some overwritten; any bytes are a valid value of a `Plain` type.
    Ok(unsafe { value.assume_init() })
}

/// Reads a value from the beginning of `bytes`; missing bytes are zero.
pub(crate) fn from_bytes<T: Plain>(bytes: &[u8]) -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    let len = bytes.len().min(mem::size_of::<T>());
    // SAFETY: both pointers are valid for `len` bytes and do not overlap; all bytes were zeroed, and any bytes are a valid value of a
    // `Plain` type.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_mut_ptr().cast(), len);
        value.assume_init()
    }
}
