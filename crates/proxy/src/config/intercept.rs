//! Resolution of the interception settings: the hosts whose tunnels end here, and the certificate authority.

use std::sync::Arc;

use tls::Issuer;

use super::error::ConfigError;
use super::file;
use super::resolve::{Resolver, alpn, hosts};
use super::settings::Intercept;

impl Resolver<'_> {
    pub(super) fn intercept(
        &self,
        typed: Option<&file::Intercept>,
        is_forward: bool,
    ) -> Result<Option<Intercept>, ConfigError> {
        let Some(typed) = typed else { return Ok(None) };
        let file::Intercept { ca, key, hosts: named, protocols } = typed;
        if !is_forward {
            let place = self.source.place(ca.span());
            let problem = "tunnels are asked of a forward proxy, and this is none";
            return Err(ConfigError::new(place, problem)
                .remedy("remove [intercept], or set forward.enabled = true"));
        }
        if named.get_ref().is_empty() {
            let place = self.source.place(named.span());
            return Err(ConfigError::new(place, "no host is named whose tunnels end here")
                .remedy("hosts = [\"www.example.com\", \".example.org\"], or remove [intercept]"));
        }
        let (chain, private) = (self.read(ca)?, self.read(key)?);
        let issuer = Issuer::of_operator(&chain, &private, &alpn(protocols.as_deref()));
        let issuer = issuer.map_err(|error| {
            let span = if error.is_of_key() { key.span() } else { ca.span() };
            ConfigError::new(self.source.place(span), error).remedy(
                "`ca` is a PEM file with an authority's certificate, `key` one with its key: \
                 farlink proxy --new-ca DIR makes both",
            )
        })?;
        Ok(Some(Intercept { hosts: hosts(named.get_ref()), issuer: Arc::new(issuer) }))
    }
}
