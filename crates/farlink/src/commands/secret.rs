//! Numbers that nobody outside should guess: what keys the cache's hash, and what the threads of proxies draw their chances from.

use proxy::caching::Store;

use crate::failure::Failure;

/// Two numbers of the machine's randomness.
pub fn secret() -> Result<(u64, u64), Failure> {
    Store::secret().map_err(|_| Failure::machine("this machine has no randomness"))
}
