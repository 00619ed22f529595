//! Resolution of the HTTP/3 settings of ports.

use http_stack::{alt_svc, h3};

use super::error::ConfigError;
use super::file;
use super::resolve::Resolver;
use super::settings::Http3;
use super::values::{AltSvcAge, Span};

impl Resolver<'_> {
    /// HTTP/3 settings of a port, if it speaks it.
    pub(super) fn http3(
        &self,
        listen: &file::Listen,
        typed: &file::Http3,
    ) -> Result<Option<Http3>, ConfigError> {
        let Some(asked) = listen.http3.as_ref().filter(|asked| *asked.get_ref()) else {
            return Ok(None);
        };
        let Some(certificate) = &listen.tls else {
            let place = self.source.place(asked.span());
            let problem = "HTTP/3 is always encrypted, and this port is in clear text";
            return Err(ConfigError::new(place, problem).remedy(
                "add tls = { certificate = \"chain.pem\", key = \"key.pem\" }, or remove `http3`",
            ));
        };
        let file::Certificate { certificate, key } = certificate.get_ref();
        let (chain, private) = (self.read(certificate)?, self.read(key)?);
        let acceptor = h3::Acceptor::of_operator(&chain, &private, server(typed));
        let acceptor = acceptor
            .map_err(|error| ConfigError::new(self.source.place(certificate.span()), error))?;
        let advertised = typed.alt_svc.as_ref().map(|age| *age.get_ref());
        let AltSvcAge(advertised) = advertised.unwrap_or(AltSvcAge(Some(alt_svc::USUAL_MAX_AGE)));
        Ok(Some(Http3 { acceptor, advertised }))
    }

    /// Refuses settings of HTTP/3 where no port speaks it.
    pub(super) fn refuse_idle_http3(&self, file: &file::File) -> Result<(), ConfigError> {
        let is_spoken =
            file.listen.iter().any(|listen| listen.http3.as_ref().is_some_and(|it| *it.get_ref()));
        match &file.http3 {
            Some(typed) if !is_spoken => {
                let place = self.source.place(typed.span());
                Err(ConfigError::new(place, "no port speaks HTTP/3").remedy(
                    "write http3 = true in a [[listen]] table that has `tls`, or remove [http3]",
                ))
            }
            _ => Ok(()),
        }
    }
}

fn server(typed: &file::Http3) -> h3::settings::Server {
    let mut settings = h3::settings::Server::PUBLIC;
    if let Some(streams) = typed.streams {
        settings.streams = streams.get().into();
    }
    if let Some(most) = typed.handshakes {
        settings.unproven = Some(most as usize);
    }
    settings.transport.idle_timeout = typed.idle_timeout.map(|Span(span)| span);
    settings
}
