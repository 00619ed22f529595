//! Resolution of the tables `[cache]`, `[compression]` and `[images]`.

use cache::{DeltaSeconds, DiskLimits, MemoryLimits, SetCookie, StoragePolicy};
use http::HeaderName;

use super::resolve::{ConfigResolver, field_names};
use super::values::ConfigDuration;
use super::{ConfigError, file};
use crate::caching::{self, DiskSettings};
use crate::compression::{Coding, CompressionSettings};
use crate::images::ImageSettings;

/// Default limit for the size of stored objects: small ones profit most.
const OBJECT_BYTES: u64 = 1 << 20;
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// Each worker may hold sixteen images.
const MOST_IMAGE_BYTES: u64 = 32 << 20;

/// A disk tier drops its oldest eighth at once: each eighth has room for the largest object.
const DISK_OBJECTS: u64 = 8;

impl ConfigResolver<'_> {
    pub(super) fn cache(
        &self,
        typed: &file::CacheTable,
    ) -> Result<caching::CacheSettings, ConfigError> {
        let memory = &typed.memory;
        let bytes = memory.get_ref().0;
        if bytes < LEAST_CACHE_BYTES {
            return Err(ConfigError::new(
                self.source.place(memory.span()),
                "a cache of less than 1MiB holds nothing",
            )
            .remedy("memory = \"256MiB\""));
        }
        let object = typed.object.as_ref().map_or(OBJECT_BYTES, |object| object.get_ref().0);
        if let Some(object) = typed.object.as_ref().filter(|object| object.get_ref().0 > bytes) {
            return Err(ConfigError::new(
                self.source.place(object.span()),
                "one object would exceed the memory",
            )
            .remedy("make `object` smaller, or `memory` larger"));
        }
        let mut policy = StoragePolicy::default();
        if let Some(percent) = typed.heuristic_percent {
            policy.heuristic.percent = percent;
        }
        if let Some(ConfigDuration(span)) = typed.heuristic_at_most {
            policy.heuristic.at_most = DeltaSeconds::new(span.as_secs());
        }
        policy.set_cookie = match typed.set_cookie {
            file::SetCookieSetting::Refuse => SetCookie::Refuse,
            file::SetCookieSetting::Strip => SetCookie::Strip,
            file::SetCookieSetting::Keep => SetCookie::Keep,
        };
        policy.targets = match &typed.targets {
            Some(names) => field_names(names),
            None => vec![HeaderName::from_static("cdn-cache-control")],
        };
        // The index of the disk tier is in memory, too.
        let bytes = bytes - typed.disk.as_ref().map_or(0, |_| index_bytes(bytes));
        Ok(caching::CacheSettings {
            limits: MemoryLimits { bytes, entry_bytes: object.min(bytes) },
            policy,
        })
    }

    pub(super) fn disk(
        &self,
        cache: &file::CacheTable,
    ) -> Result<Option<DiskSettings>, ConfigError> {
        let Some(typed) = &cache.disk else { return Ok(None) };
        let bytes = typed.size.get_ref().0;
        let entry_bytes = cache.object.as_ref().map_or(OBJECT_BYTES, |object| object.get_ref().0);
        if bytes / DISK_OBJECTS < entry_bytes {
            return Err(ConfigError::new(
                self.source.place(typed.size.span()),
                format!("the disk tier has no room for {DISK_OBJECTS} of the largest objects"),
            )
            .remedy("make `size` larger, or `cache.object` smaller (by default 1MiB)"));
        }
        let index_bytes = index_bytes(cache.memory.get_ref().0);
        let limits = DiskLimits { bytes, entry_bytes, index_bytes };
        Ok(Some(DiskSettings { path: self.path(&typed.path), limits }))
    }

    pub(super) fn compression(
        &self,
        table: &file::CompressionTable,
    ) -> Result<CompressionSettings, ConfigError> {
        let mut settings = CompressionSettings {
            private: table.private,
            recode: table.recode,
            ..Default::default()
        };
        if let Some(codings) = &table.codings {
            if codings.get_ref().is_empty() {
                return Err(ConfigError::new(self.source.place(codings.span()), "no codings")
                    .remedy("leave out the table [compression] to compress nothing"));
            }
            settings.codings = codings
                .get_ref()
                .iter()
                .map(|name| {
                    Coding::named(name.get_ref()).ok_or_else(|| {
                        let problem = format!("`{}` is not a coding", name.get_ref());
                        ConfigError::new(self.source.place(name.span()), problem)
                            .remedy("codings are \"br\", \"zstd\" and \"gzip\"")
                    })
                })
                .collect::<Result<_, _>>()?;
        }
        if let Some(types) = &table.types {
            let wrong = types.iter().find(|it| !is_media_type(it.get_ref()));
            if let Some(wrong) = wrong {
                let problem = format!("`{}` is not a media type", wrong.get_ref());
                return Err(ConfigError::new(self.source.place(wrong.span()), problem)
                    .remedy("write types as \"text/html\", or \"text/*\" for all of a kind"));
            }
            settings.types = types.iter().map(|it| it.get_ref().clone()).collect();
        }
        if let Some(least) = &table.least {
            settings.least_bytes = least.0;
        }
        Ok(settings)
    }

    pub(super) fn images(&self, table: &file::ImagesTable) -> Result<ImageSettings, ConfigError> {
        let mut settings = ImageSettings { clients: table.clients, ..Default::default() };
        if let Some(quality) = &table.quality {
            settings.quality = *quality.get_ref();
            if !(1..=100).contains(quality.get_ref()) {
                let problem = format!("`quality` is out of range: {}", quality.get_ref());
                return Err(ConfigError::new(self.source.place(quality.span()), problem)
                    .remedy("write a number from 1 to 100; 60 is the default"));
            }
        }
        if let Some(least) = &table.least {
            settings.least_bytes = least.0;
        }
        if let Some(most) = &table.most {
            settings.most_bytes = most.get_ref().0;
            if settings.most_bytes > MOST_IMAGE_BYTES {
                let problem =
                    "`most` is over 32MiB: each worker holds up to sixteen images in memory";
                return Err(ConfigError::new(self.source.place(most.span()), problem)
                    .remedy("write a smaller size; 4MiB is the default"));
            }
        }
        Ok(settings)
    }
}

/// The part of a cache's memory that indexes its disk.
fn index_bytes(memory: u64) -> u64 {
    memory / 4
}

/// True for `text/html` and `text/*`.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|it| it.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&it))
    };
    text.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && (sub == "*" || is_token(sub)))
}
