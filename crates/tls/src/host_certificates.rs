//! Certificates of several hosts at one address: the name that a client asks for (SNI, RFC 6066 section 3) chooses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::issuer::{Issuer, IssuerError};
use super::public::presenting_by;
use super::server::Server;
use super::settings::Protocol;

/// The certificates. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HostCertificates {
    by_name: BTreeMap<String, Arc<CertifiedKey>>,
    /// Presented to clients that ask for another name, or none.
    first: Option<Arc<CertifiedKey>>,
}

impl HostCertificates {
    /// Adds a certificate of `issuer` for `names`, names or addresses; `*.` stands for any one label. Its chain has about
    /// `chain_bytes`, unless that is too few. `now` is the date, since 1970. A name that is known already keeps its first one.
    ///
    /// # Errors
    /// If no certificate can have such a name.
    pub fn add(
        &mut self,
        issuer: &Issuer,
        names: &[String],
        chain_bytes: Option<usize>,
        now: Duration,
    ) -> Result<(), IssuerError> {
        self.present(names, &Arc::new(issuer.certificate(names, chain_bytes, now)?));
        Ok(())
    }

    /// Adds a certificate for `names`. A name that is known already keeps its first one.
    pub(super) fn present(&mut self, names: &[String], certificate: &Arc<CertifiedKey>) {
        for name in names {
            self.by_name.entry(name.to_lowercase()).or_insert_with(|| Arc::clone(certificate));
        }
        self.first.get_or_insert_with(|| Arc::clone(certificate));
    }

    /// A server that presents them over TCP and speaks `protocols`, the preferred first.
    ///
    /// # Errors
    /// If TLS rejects its settings.
    pub fn server(&self, issuer: &Issuer, protocols: &[Protocol]) -> Result<Server, IssuerError> {
        Ok(Server::configured(self.config(issuer, protocols)?))
    }

    /// The same for QUIC, where it speaks HTTP/3 alone.
    ///
    /// # Errors
    /// If TLS rejects its settings.
    pub fn quic_config(&self, issuer: &Issuer) -> Result<ServerConfig, IssuerError> {
        self.config(issuer, &[Protocol::H3])
    }

    fn config(&self, issuer: &Issuer, protocols: &[Protocol]) -> Result<ServerConfig, IssuerError> {
        Ok(presenting_by(Arc::new(self.clone()), issuer.ticketer(), protocols)?)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_lowercase();
        let wildcard = || self.by_name.get(&format!("*.{}", name.split_once('.')?.1));
        self.by_name.get(&name).or_else(wildcard)
    }
}

impl ResolvesServerCert for HostCertificates {
    fn resolve(&self, client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked = client.server_name().and_then(|name| self.find(name));
        asked.or(self.first.as_ref()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewAuthority;

    const NOW: Duration = Duration::from_secs(1_790_000_000);

    fn issuer() -> Issuer {
        let NewAuthority { certificate, key } = NewAuthority::new(NOW).unwrap();
        Issuer::of_operator(certificate.as_bytes(), key.as_bytes(), &[]).unwrap()
    }

    fn bytes(certified: &CertifiedKey) -> usize {
        certified.cert.iter().map(|certificate| certificate.len()).sum()
    }

    #[test]
    fn the_asked_name_chooses() {
        let issuer = issuer();
        let mut hosts = HostCertificates::default();
        for (names, chain) in [(&["a.test", "*.cdn.test"][..], 3_000), (&["b.test"], 4_001)] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            hosts.add(&issuer, &names, Some(chain), NOW).unwrap();
        }
        let is_about = |found: Option<&Arc<CertifiedKey>>, expected: usize| {
            found.is_some_and(|found| bytes(found).abs_diff(expected) < 10)
        };
        assert!(is_about(hosts.find("A.test"), 3_000) && is_about(hosts.find("x.cdn.test"), 3_000));
        assert!(is_about(hosts.find("b.test"), 4_001) && is_about(hosts.first.as_ref(), 3_000));
        assert!(hosts.find("x.y.cdn.test").is_none());
        hosts.server(&issuer, &[Protocol::H2, Protocol::H1]).unwrap();
    }

    #[test]
    fn a_chain_is_never_too_small() {
        let name = ["127.0.0.1".to_owned()];
        let whole = issuer().certificate(&name, Some(10), NOW).unwrap();
        assert!(whole.keys_match().is_ok());
        assert_eq!(whole.cert.len(), 2);
        assert!(issuer().certificate(&["é".to_owned()], None, NOW).is_err());
    }
}
