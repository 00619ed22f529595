//! Resolution of the table `[pac]`.

use toml::Spanned;

use super::resolve::{ConfigResolver, hosts};
use super::settings::ServedPacFile;
use super::values::PortRange;
use super::{ConfigError, file};
use crate::pac::{Pac, PacRule};

impl ConfigResolver<'_> {
    pub(super) fn pac(&self, typed: &file::PacTable) -> Result<ServedPacFile, ConfigError> {
        let path = typed.path.get_ref();
        if !path.starts_with('/') {
            return Err(ConfigError::new(
                self.source.place(typed.path.span()),
                format!("`{path}` is not a path"),
            )
            .remedy(format!("path = \"/{path}\"")));
        }
        let rules = typed.rule.iter().map(|rule| {
            let types =
                rule.types.iter().map(|text| text.trim_start_matches('.').to_owned()).collect();
            Ok(PacRule { hosts: hosts(&rule.hosts), types, proxies: self.proxies(&rule.proxies)? })
        });
        let pac = Pac {
            direct_hosts: hosts(&typed.direct_hosts),
            direct_plain_names: typed.direct_plain_names,
            rules: rules.collect::<Result<Vec<PacRule>, ConfigError>>()?,
            proxies: self.proxies(&typed.proxies)?,
            spread: typed.spread,
            direct_fallback: typed.direct_fallback,
        };
        Ok(ServedPacFile { path: path.clone(), pac })
    }

    /// Proxies in PAC syntax; `PROXY host:8001-8020` means twenty.
    fn proxies(&self, typed: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
        let mut proxies = Vec::new();
        for text in typed {
            let named = unrolled(text.get_ref()).ok_or_else(|| {
                let place = self.source.place(text.span());
                ConfigError::new(place, format!("`{}` is not a proxy in PAC syntax", text.get_ref()))
                    .remedy("write PROXY HOST:PORT or HTTPS HOST:PORT; several ports as PROXY HOST:8001-8020")
            })?;
            proxies.extend(named);
        }
        Ok(proxies)
    }
}

/// The proxies of `PROXY host:8001-8020`.
fn unrolled(text: &str) -> Option<Vec<String>> {
    let (kind, place) = text.split_once(' ')?;
    let (host, ports) = place.trim().rsplit_once(':')?;
    let is_known =
        ["PROXY", "HTTPS", "HTTP"].contains(&kind) && !host.is_empty() && !host.contains(' ');
    let range: PortRange = ports.parse().ok()?;
    is_known.then(|| range.0.map(|port| format!("{kind} {host}:{port}")).collect())
}
