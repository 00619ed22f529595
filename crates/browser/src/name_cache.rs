//! Name resolution of a browser: a hosts map, or DNS.

use std::net::IpAddr;

use dns::Resolver;

/// Source of hosts' addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The world's hosts map, at once.
    #[default]
    Hosts,
    /// DNS.
    Dns {
        /// Resolver and its settings.
        settings: dns::ResolverSettings,
        /// Queries in advance.
        prefetch: Prefetch,
    },
}

/// DNS queries in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefetch {
    /// None: a name is resolved when a connection is to be opened.
    #[default]
    Nothing,
    /// The hosts that the document names, once its head has arrived: as if each had a `dns-prefetch` link in the
    /// page's head (W3C Resource Hints, section 2.1).
    Named,
}

/// Names known to a running browser. Initially none.
pub(crate) enum NameCache {
    Hosts,
    Dns(Resolver, Prefetch),
}

impl NameCache {
    pub(crate) fn new(naming: Naming) -> NameCache {
        match naming {
            Naming::Hosts => NameCache::Hosts,
            Naming::Dns { settings, prefetch } => NameCache::Dns(Resolver::new(settings), prefetch),
        }
    }

    /// The address of `host`.
    ///
    /// # Errors
    /// One sentence, if there is none.
    pub(crate) async fn address(&self, host: &str) -> Result<IpAddr, String> {
        match self {
            NameCache::Hosts => world::resolve(host).map_err(|error| error.to_string()),
            NameCache::Dns(resolver, _) => {
                resolver.resolve(host).await.map_err(|error| error.to_string())
            }
        }
    }

    /// Returns true if DNS says, with its address, that `host` speaks HTTP/3. An unresolvable name speaks nothing.
    pub(crate) async fn speaks_h3(&self, host: &str) -> bool {
        let NameCache::Dns(resolver, _) = self else { return false };
        let found = resolver.look_up(host).await;
        found.ok().and_then(|found| found.service).is_some_and(|service| service.speaks("h3"))
    }

    /// Forgets all addresses.
    pub(crate) fn forget(&self) {
        if let NameCache::Dns(resolver, _) = self {
            resolver.forget();
        }
    }

    /// Signals that the document's head has arrived, with the names of these hosts.
    pub(crate) fn see<'a>(&self, hosts: impl Iterator<Item = &'a str>) {
        if let NameCache::Dns(resolver, Prefetch::Named) = self {
            hosts.for_each(|host| resolver.prefetch(host));
        }
    }
}
