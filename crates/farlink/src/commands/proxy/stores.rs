//! The cache of a running proxy, which survives any change of configuration except its own settings; its disk tier
//! survives even those.

use std::sync::Arc;
use std::time::Duration;

use anstream::eprintln;
use proxy::caching::{CacheStore, DiskSettings, DiskTier};
use proxy::config::ProxyConfig;

use crate::commands::secret;
use crate::failure::CliError;

/// Stored responses.
pub struct CacheStores {
    /// The date, since 1970, at which the world's clock began.
    start: Duration,
    current: Option<Arc<CacheStore>>,
    disk: Option<(DiskSettings, Arc<DiskTier>)>,
}

impl CacheStores {
    /// An empty one.
    pub fn new(start: Duration) -> CacheStores {
        CacheStores { start, current: None, disk: None }
    }

    /// The cache that `settings` ask for, if any.
    pub fn of(&mut self, settings: &ProxyConfig) -> Result<Option<Arc<CacheStore>>, CliError> {
        let Some(cache) = &settings.cache else {
            (self.current, self.disk) = (None, None);
            return Ok(None);
        };
        let path = |disk: &DiskSettings| disk.path.clone();
        let had = self.disk.as_ref().map(|(had, _)| path(had));
        let same_disk = had == settings.disk.as_ref().map(path);
        let same = self.current.as_ref().filter(|store| same_disk && store.settings() == cache);
        if let Some(store) = same {
            return Ok(Some(Arc::clone(store)));
        }
        let secret = secret()?;
        self.disk = settings.disk.as_ref().map(|disk| self.disk_at(disk)).transpose()?;
        let store = match &self.disk {
            None => CacheStore::new(cache.clone(), secret, self.start),
            Some((_, disk)) => {
                CacheStore::with_disk(cache.clone(), secret, Arc::clone(disk), self.start)
            }
        };
        self.current = Some(Arc::clone(&store));
        Ok(Some(store))
    }

    /// Waits until everything meant for the disk is written.
    pub fn finish(&self) {
        if let Some((_, disk)) = &self.disk {
            disk.finish();
        }
    }

    fn disk_at(&self, settings: &DiskSettings) -> Result<(DiskSettings, Arc<DiskTier>), CliError> {
        if let Some((had, disk)) = self.disk.as_ref().filter(|(had, _)| had.path == settings.path) {
            if had != settings {
                eprintln!("warning: new limits of the disk cache take effect after a restart");
            }
            return Ok((had.clone(), Arc::clone(disk)));
        }
        let place = settings.path.display().to_string();
        let warn =
            |error: &_| eprintln!("warning: {error}; disk cache disabled, retrying in a minute");
        let (disk, found) = DiskTier::open(settings, secret()?, warn).map_err(|error| {
            let hint =
                "cache.disk.path must be a writable directory that no other proxy uses".to_owned();
            CliError::machine(format!("cannot open the disk cache {place}: {error}")).hint(hint)
        })?;
        let dropped = match found.dropped {
            0 => String::new(),
            bytes => format!("; dropped {bytes} damaged bytes"),
        };
        eprintln!(
            "disk cache {place}: {} responses, {} bytes{dropped}",
            found.entries, found.bytes
        );
        Ok((settings.clone(), Arc::new(disk)))
    }
}
