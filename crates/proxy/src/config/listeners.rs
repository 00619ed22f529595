//! Resolution of the ports: TLS, HTTP/3, SOCKS.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http_stack::{alt_svc, h3};

use super::ConfigError;
use super::file::{self, File};
use super::resolve::{ConfigResolver, networks};
use super::settings::{Http3, ListenerSettings};
use super::values::{Address, AltSvcAge, ConfigDuration};

/// Default address: Squid's port, on loopback only.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3128);

impl ConfigResolver<'_> {
    pub(super) fn listeners(
        &self,
        file: &File,
        is_forward: bool,
    ) -> Result<Vec<ListenerSettings>, ConfigError> {
        self.refuse_idle_http3(file)?;
        if file.listen.is_empty() {
            return Ok(vec![ListenerSettings {
                address: USUAL,
                tls: None,
                http3: None,
                socks: false,
                balancers: Vec::new(),
            }]);
        }
        let settings = file.http3.as_ref().map(|typed| typed.get_ref().clone()).unwrap_or_default();
        let mut listeners: Vec<ListenerSettings> = Vec::new();
        for listen in &file.listen {
            let credentials = self.credentials(listen)?;
            let tls = self.tls(listen, credentials.as_deref())?;
            let http3 = self.http3(listen, credentials.as_deref(), &settings)?;
            let socks = self.socks(listen, is_forward)?;
            let balancers = networks(&listen.proxy_protocol);
            let Address { ip, ports } = listen.address.get_ref();
            for port in ports.clone() {
                let address = SocketAddr::new(*ip, port);
                if port != 0 && listeners.iter().any(|listener| listener.address == address) {
                    let place = self.source.place(listen.address.span());
                    return Err(ConfigError::new(place, format!("{address} is configured twice"))
                        .remedy("remove one of them"));
                }
                let (tls, http3, balancers) = (tls.clone(), http3.clone(), balancers.clone());
                listeners.push(ListenerSettings { address, tls, http3, socks, balancers });
            }
        }
        Ok(listeners)
    }

    /// True if the port speaks SOCKS.
    fn socks(&self, listen: &file::ListenTable, is_forward: bool) -> Result<bool, ConfigError> {
        let Some(typed) = listen.socks.as_ref().filter(|typed| *typed.get_ref()) else {
            return Ok(false);
        };
        let refused = |message: &str, remedy: &str| {
            Err(ConfigError::new(self.source.place(typed.span()), message).remedy(remedy))
        };
        if listen.tls.is_some() {
            return refused(
                "SOCKS runs in clear text, and this port speaks TLS",
                "give it a [[listen]] table without `tls`",
            );
        }
        if !is_forward {
            return refused(
                "SOCKS needs a forward proxy, and this is no forward proxy",
                "remove `socks`, or set forward.enabled = true",
            );
        }
        Ok(true)
    }

    /// The certificates of a port that speaks TLS.
    fn credentials(
        &self,
        listen: &file::ListenTable,
    ) -> Result<Option<Vec<tls::Credentials>>, ConfigError> {
        let read = |file::CertificateTable { certificate, key }: &file::CertificateTable| {
            let (chain, private) = (self.read(certificate)?, self.read(key)?);
            tls::Credentials::of_pem(&chain, &private).map_err(|error| {
                ConfigError::new(self.source.place(certificate.span()), error).remedy(
                    "give a PEM file with the certificate first and its issuers after it, and its key",
                )
            })
        };
        let tables = listen.tls.as_ref().map(|file::CertificateTables(tables)| tables);
        tables.map(|tables| tables.iter().map(read).collect()).transpose()
    }

    fn tls(
        &self,
        listen: &file::ListenTable,
        credentials: Option<&[tls::Credentials]>,
    ) -> Result<Option<tls::Server>, ConfigError> {
        let Some(credentials) = credentials else {
            return match &listen.protocols {
                None => Ok(None),
                Some(protocols) => Err(ConfigError::new(
                    self.source.place(protocols.span()),
                    "`protocols` are for TLS to negotiate; in clear text all of them are recognised",
                )
                .remedy("remove `protocols`, or add `tls`")),
            };
        };
        let protocols = alpn(listen.protocols.as_ref().map(|typed| &typed.get_ref()[..]));
        let server = tls::Server::of_operator(credentials, &protocols);
        let place = self.source.place(listen.address.span());
        server.map(Some).map_err(|error| ConfigError::new(place, error))
    }

    /// HTTP/3 settings of a port, if it speaks it.
    fn http3(
        &self,
        listen: &file::ListenTable,
        credentials: Option<&[tls::Credentials]>,
        typed: &file::Http3Table,
    ) -> Result<Option<Http3>, ConfigError> {
        let Some(asked) = listen.http3.as_ref().filter(|asked| *asked.get_ref()) else {
            return Ok(None);
        };
        let Some(credentials) = credentials else {
            let place = self.source.place(asked.span());
            let problem = "HTTP/3 is always encrypted, and this port is in clear text";
            return Err(ConfigError::new(place, problem).remedy(
                "add tls = { certificate = \"chain.pem\", key = \"key.pem\" }, or remove `http3`",
            ));
        };
        let place = self.source.place(asked.span());
        let acceptor = h3::Acceptor::of_operator(credentials, server(typed))
            .map_err(|error| ConfigError::new(place, error))?;
        let advertised = typed.alt_svc.as_ref().map(|age| *age.get_ref());
        let AltSvcAge(advertised) = advertised.unwrap_or(AltSvcAge(Some(alt_svc::USUAL_MAX_AGE)));
        Ok(Some(Http3 { acceptor, advertised }))
    }

    /// Refuses settings of HTTP/3 where no port speaks it.
    fn refuse_idle_http3(&self, file: &File) -> Result<(), ConfigError> {
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

fn server(typed: &file::Http3Table) -> h3::settings::Server {
    let mut settings = h3::settings::Server::PUBLIC;
    if let Some(streams) = typed.streams {
        settings.streams = streams.get().into();
    }
    if let Some(most) = typed.handshakes {
        settings.unproven = Some(most as usize);
    }
    settings.transport.idle_timeout = typed.idle_timeout.map(|ConfigDuration(span)| span);
    settings
}

/// Protocols for TLS to negotiate, in order of preference.
pub(super) fn alpn(typed: Option<&[file::ListenProtocol]>) -> Vec<tls::Protocol> {
    let spdy = |protocol: &tls::Protocol| matches!(protocol, tls::Protocol::Spdy(_));
    let named = |protocol: &file::ListenProtocol| match protocol {
        file::ListenProtocol::H1 => vec![tls::Protocol::H1],
        file::ListenProtocol::H2 => vec![tls::Protocol::H2],
        file::ListenProtocol::Spdy => tls::Protocol::OVER_TCP.into_iter().filter(spdy).collect(),
    };
    typed
        .unwrap_or(&[file::ListenProtocol::H2, file::ListenProtocol::H1])
        .iter()
        .flat_map(named)
        .collect()
}
