//! Unpredictable numbers: the key of the cache's hash, and the seeds of the proxy's threads.

use proxy::caching::Store;

use crate::failure::Failure;

/// Two numbers from the machine's source of randomness.
pub fn secret() -> Result<(u64, u64), Failure> {
    Store::secret().map_err(|_| Failure::machine("this machine has no randomness"))
}
