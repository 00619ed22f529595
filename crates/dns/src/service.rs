//! HTTPS records (RFC 9460): a host's protocols, resolved beside its address.
//!
//! Only `alpn` is used, and only from a record for the host itself at its usual port. Left out: alias mode, other
//! targets and ports, address hints (the address is queried beside it) and Encrypted ClientHello.

use simple_dns::rdata::{HTTPS, SVCB, SVCParam};
use simple_dns::{CharacterString, Name, SimpleDnsError};

/// The supported keys (RFC 9460 section 14.3.2): `alpn`, and `no-default-alpn`, which changes nothing for clients that
/// want HTTP/3. A record with any other mandatory key must not be used (section 8).
const UNDERSTOOD: [u16; 2] = [1, 2];

/// The content of a host's HTTPS record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The host's protocols, by their ALPN names.
    pub protocols: Vec<String>,
}

impl Service {
    /// The record of a host with HTTP/3, and HTTP/2 for clients that cannot reach it over QUIC.
    pub fn h3() -> Service {
        Service { protocols: vec!["h3".to_owned(), "h2".to_owned()] }
    }

    /// Returns true if the host speaks `protocol`.
    pub fn speaks(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|spoken| spoken == protocol)
    }

    /// The record for the wire.
    pub(super) fn record(&self) -> Result<HTTPS<'_>, SimpleDnsError> {
        // "For HTTPS records in ServiceMode, `.` means the owner name" (section 2.5.2).
        let mut record = SVCB::new(1, Name::new(".")?);
        let names = self.protocols.iter().map(|name| CharacterString::new(name.as_bytes()));
        record.set_alpn(&names.collect::<Result<Vec<_>, _>>()?);
        Ok(HTTPS(record))
    }

    /// The content of a record, if it is usable here.
    pub(super) fn read(HTTPS(record): &HTTPS<'_>) -> Option<Service> {
        let is_alias = record.priority == 0;
        if is_alias || !record.target.get_labels().is_empty() {
            return None;
        }
        let mut service = Service::default();
        for param in record.iter_params() {
            match param {
                SVCParam::Mandatory(keys) if !keys.iter().all(|key| UNDERSTOOD.contains(key)) => {
                    return None;
                }
                SVCParam::Port(_) => return None,
                SVCParam::Alpn(names) => {
                    service.protocols = names.iter().map(ToString::to_string).collect();
                }
                _ => {}
            }
        }
        Some(service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(record: SVCB<'_>) -> Option<Service> {
        Service::read(&HTTPS(record))
    }

    fn at_home<'a>() -> SVCB<'a> {
        let mut record = SVCB::new(1, Name::new(".").unwrap());
        record.set_alpn(&["h3".try_into().unwrap()]);
        record
    }

    #[test]
    fn what_can_be_used_is_read() {
        let spoken = read(at_home()).unwrap();
        assert!(spoken.speaks("h3") && !spoken.speaks("h2"));
        let mut record = at_home();
        record.set_no_default_alpn();
        record.set_mandatory([1, 2].into_iter());
        record.set_ipv4hint(&[1]);
        assert!(read(record).is_some_and(|service| service.speaks("h3")));
        assert_eq!(read(SVCB::new(1, Name::new(".").unwrap())), Some(Service::default()));
    }

    #[test]
    fn what_leads_elsewhere_or_is_not_understood_is_not_used() {
        assert_eq!(read(SVCB::new(0, Name::new("a.test").unwrap())), None);
        assert_eq!(read(SVCB::new(1, Name::new("a.test").unwrap())), None);
        let mut ported = at_home();
        ported.set_port(8443);
        assert_eq!(read(ported), None);
        let mut mandatory = at_home();
        mandatory.set_mandatory([5].into_iter());
        assert_eq!(read(mandatory), None);
    }
}
