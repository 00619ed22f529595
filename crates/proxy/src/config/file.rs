//! The configuration file as written. `docs/proxy.md` describes each key.

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::settings::{HostField, LogFormat};
use super::values::{
    Address, AltSvcAge, ConfigDuration, ConfigNetwork, FieldName, HostPattern, OriginUrl,
    PortRange, Pseudonym, Size,
};
use crate::fields::Disclosure;
use crate::images::ImageClients;
use crate::pac::ProxySpread;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    pub(crate) workers: Option<NonZeroUsize>,
    pub(crate) via: Option<Pseudonym>,
    pub(crate) server_timing: bool,
    pub(crate) listen: Vec<ListenTable>,
    pub(crate) http3: Option<Spanned<Http3Table>>,
    pub(crate) clients: ClientsTable,
    pub(crate) forward: ForwardTable,
    pub(crate) intercept: Option<InterceptTable>,
    pub(crate) reverse: Vec<ReverseTable>,
    pub(crate) upstream: UpstreamTable,
    pub(crate) cache: Option<CacheTable>,
    pub(crate) compression: Option<CompressionTable>,
    pub(crate) images: Option<ImagesTable>,
    pub(crate) rule: Vec<RuleTable>,
    pub(crate) header: Vec<HeaderTable>,
    pub(crate) pac: Option<PacTable>,
    pub(crate) log: Option<LogTable>,
    pub(crate) admin: Option<AdminTable>,
    pub(crate) drain: Option<ConfigDuration>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListenTable {
    pub(crate) address: Spanned<Address>,
    pub(crate) tls: Option<CertificateTables>,
    pub(crate) protocols: Option<Spanned<Vec<ListenProtocol>>>,
    pub(crate) http3: Option<Spanned<bool>>,
    pub(crate) socks: Option<Spanned<bool>>,
    #[serde(default)]
    pub(crate) proxy_protocol: Vec<ConfigNetwork>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Http3Table {
    pub(crate) alt_svc: Option<Spanned<AltSvcAge>>,
    pub(crate) streams: Option<NonZeroU16>,
    pub(crate) handshakes: Option<u32>,
    pub(crate) idle_timeout: Option<ConfigDuration>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CertificateTable {
    pub(crate) certificate: Spanned<PathBuf>,
    pub(crate) key: Spanned<PathBuf>,
}

/// One table, or an array of them.
#[derive(Clone, Debug)]
pub(crate) struct CertificateTables(pub(crate) Vec<CertificateTable>);

impl<'de> Deserialize<'de> for CertificateTables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = CertificateTables;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "{ certificate = \"chain.pem\", key = \"key.pem\" }, or an array of these",
                )
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CertificateTables, A::Error> {
                let one = CertificateTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(CertificateTables(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut tables: A,
            ) -> Result<CertificateTables, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = tables.next_element()? {
                    all.push(one);
                }
                match all.is_empty() {
                    true => Err(A::Error::invalid_length(0, &self)),
                    false => Ok(CertificateTables(all)),
                }
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum ListenProtocol {
    #[serde(rename = "h1")]
    H1,
    #[serde(rename = "h2")]
    H2,
    #[serde(rename = "spdy")]
    Spdy,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClientsTable {
    pub(crate) networks: Vec<ConfigNetwork>,
    pub(crate) users: Option<Spanned<PathBuf>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ForwardTable {
    pub(crate) enabled: Option<bool>,
    pub(crate) ports: Option<Vec<PortRange>>,
    pub(crate) tunnel_ports: Option<Vec<PortRange>>,
    pub(crate) networks: Vec<ConfigNetwork>,
    pub(crate) only_hosts: Vec<HostPattern>,
    pub(crate) never_hosts: Vec<HostPattern>,
    pub(crate) tell: Disclosure,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InterceptTable {
    pub(crate) ca: Spanned<PathBuf>,
    pub(crate) key: Spanned<PathBuf>,
    pub(crate) hosts: Spanned<Vec<HostPattern>>,
    pub(crate) protocols: Option<Vec<ListenProtocol>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReverseTable {
    #[serde(default)]
    pub(crate) hosts: Vec<HostPattern>,
    #[serde(default)]
    pub(crate) paths: Vec<Spanned<String>>,
    pub(crate) origins: Spanned<Vec<OriginUrl>>,
    #[serde(default)]
    pub(crate) host: HostField,
    pub(crate) tell: Option<Disclosure>,
    #[serde(default)]
    pub(crate) trusted: Vec<ConfigNetwork>,
    pub(crate) strip: Option<Vec<FieldName>>,
    pub(crate) connect_timeout: Option<ConfigDuration>,
    pub(crate) max_fails: Option<u32>,
    pub(crate) fail_timeout: Option<ConfigDuration>,
    pub(crate) check: Option<CheckTable>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckTable {
    pub(crate) path: Spanned<String>,
    pub(crate) interval: Option<ConfigDuration>,
    pub(crate) timeout: Option<ConfigDuration>,
    pub(crate) rise: Option<NonZeroU32>,
    pub(crate) fall: Option<NonZeroU32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UpstreamTable {
    pub(crate) connections_per_origin: Option<NonZeroU32>,
    pub(crate) connections: Option<Spanned<NonZeroU32>>,
    pub(crate) client_share: Option<Spanned<u8>>,
    pub(crate) waiting: Option<u32>,
    pub(crate) queue_timeout: Option<ConfigDuration>,
    pub(crate) keep_alive: Option<ConfigDuration>,
    pub(crate) connect_timeout: Option<ConfigDuration>,
    pub(crate) first_byte_timeout: Option<ConfigDuration>,
    pub(crate) idle_timeout: Option<ConfigDuration>,
    pub(crate) protocol: Option<UpstreamProtocol>,
    pub(crate) parent: Option<Spanned<OriginUrl>>,
    pub(crate) parents: Vec<Spanned<OriginUrl>>,
    pub(crate) trust: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UpstreamProtocol {
    H1,
    H2,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheTable {
    pub(crate) memory: Spanned<Size>,
    pub(crate) object: Option<Spanned<Size>>,
    pub(crate) disk: Option<DiskTable>,
    pub(crate) heuristic_percent: Option<u8>,
    pub(crate) heuristic_at_most: Option<ConfigDuration>,
    #[serde(default)]
    pub(crate) set_cookie: SetCookieSetting,
    #[serde(default)]
    pub(crate) early_hints: bool,
    pub(crate) targets: Option<Vec<FieldName>>,
    #[serde(default)]
    pub(crate) purge: Vec<ConfigNetwork>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CompressionTable {
    pub(crate) codings: Option<Spanned<Vec<Spanned<String>>>>,
    pub(crate) types: Option<Vec<Spanned<String>>>,
    pub(crate) least: Option<Size>,
    pub(crate) private: bool,
    pub(crate) recode: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ImagesTable {
    pub(crate) clients: ImageClients,
    pub(crate) quality: Option<Spanned<u8>>,
    pub(crate) least: Option<Size>,
    pub(crate) most: Option<Spanned<Size>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleTable {
    pub(crate) action: RuleAction,
    #[serde(default)]
    pub(crate) hosts: Vec<HostPattern>,
    #[serde(default)]
    pub(crate) paths: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) methods: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) clients: Vec<ConfigNetwork>,
    #[serde(default)]
    pub(crate) days: Vec<Spanned<String>>,
    pub(crate) hours: Option<Spanned<String>>,
    pub(crate) timezone: Option<Spanned<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleAction {
    Allow,
    Deny,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HeaderTable {
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) paths: Vec<Spanned<String>>,
    pub(crate) request: ChangesTable,
    pub(crate) response: ChangesTable,
    pub(crate) statuses: Vec<Spanned<u16>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChangesTable {
    pub(crate) set: Option<Spanned<BTreeMap<String, String>>>,
    pub(crate) remove: Option<Spanned<Vec<FieldName>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiskTable {
    pub(crate) path: PathBuf,
    pub(crate) size: Spanned<Size>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SetCookieSetting {
    #[default]
    Refuse,
    Strip,
    Keep,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PacTable {
    pub(crate) path: Spanned<String>,
    pub(crate) direct_hosts: Vec<HostPattern>,
    pub(crate) direct_plain_names: bool,
    pub(crate) direct_fallback: bool,
    pub(crate) proxies: Vec<Spanned<String>>,
    pub(crate) spread: ProxySpread,
    pub(crate) rule: Vec<PacRuleTable>,
}

impl Default for PacTable {
    fn default() -> PacTable {
        PacTable {
            path: Spanned::new(0..0, "/proxy.pac".to_owned()),
            direct_hosts: Vec::new(),
            direct_plain_names: true,
            direct_fallback: false,
            proxies: Vec::new(),
            spread: ProxySpread::InTurn,
            rule: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PacRuleTable {
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) types: Vec<String>,
    pub(crate) proxies: Vec<Spanned<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogTable {
    pub(crate) file: Option<PathBuf>,
    pub(crate) format: LogFormat,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdminTable {
    pub(crate) address: Spanned<Address>,
    pub(crate) users: Option<Spanned<PathBuf>>,
}

/// Settings that arguments can make.
impl File {
    /// Adds a port in clear text.
    pub fn listen(&mut self, address: Address) {
        let address = Spanned::new(0..0, address);
        let (tls, protocols, http3, socks) = (None, None, None, None);
        let proxy_protocol = Vec::new();
        self.listen.push(ListenTable { address, tls, protocols, http3, socks, proxy_protocol });
    }

    /// Serves clients of this network.
    pub fn allow(&mut self, network: ConfigNetwork) {
        self.clients.networks.push(network);
    }

    /// Allows destinations in this network, even if it has a special purpose.
    pub fn reach(&mut self, network: ConfigNetwork) {
        self.forward.networks.push(network);
    }

    /// Adds a reverse proxy for the origin at `url`, for requests to `hosts`.
    ///
    /// # Errors
    /// If `host` is not a host or `url` is not an origin's.
    pub fn reverse(&mut self, host: Option<&str>, url: &str) -> Result<(), String> {
        let hosts = host.map(str::parse).transpose()?.into_iter().collect();
        let origins = Spanned::new(0..0, vec![url.parse()?]);
        let (tell, trusted, strip) = (None, Vec::new(), None);
        let (connect_timeout, max_fails, fail_timeout, check) = (None, None, None, None);
        self.reverse.push(ReverseTable {
            hosts,
            paths: Vec::new(),
            origins,
            host: HostField::Client,
            tell,
            trusted,
            strip,
            connect_timeout,
            max_fails,
            fail_timeout,
            check,
        });
        Ok(())
    }

    /// Serves metrics and health at `address`.
    pub fn admin(&mut self, address: Address) {
        self.admin = Some(AdminTable { address: Spanned::new(0..0, address), users: None });
    }

    /// Enables the cache with this much memory.
    pub fn cache(&mut self, memory: Size) {
        let memory = Spanned::new(0..0, memory);
        let set_cookie = SetCookieSetting::Refuse;
        let (object, disk, heuristic_percent, heuristic_at_most) = (None, None, None, None);
        self.cache = Some(CacheTable {
            memory,
            object,
            disk,
            heuristic_percent,
            heuristic_at_most,
            set_cookie,
            early_hints: false,
            targets: None,
            purge: Vec::new(),
        });
    }

    /// Compresses answers.
    pub fn compress(&mut self) {
        self.compression = Some(CompressionTable::default());
    }

    /// Logs requests to standard output.
    pub fn log(&mut self) {
        self.log = Some(LogTable::default());
    }
}
