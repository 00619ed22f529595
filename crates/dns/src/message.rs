//! Queries and answers on the wire (RFC 1035 section 4), and the content of HTTPS records (RFC 9460).

use std::net::{IpAddr, Ipv4Addr};

use simple_dns::rdata::{A, HTTPS, RData, SOA, SVCB, SVCParam};
use simple_dns::{
    CLASS, CharacterString, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE,
    ResourceRecord, SimpleDnsError, TYPE,
};

/// The record types that a client queries for each name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueryTypes {
    /// The IPv4 address alone.
    A,
    /// The IPv4 and the IPv6 address, at once, as browsers and glibc do.
    #[default]
    AAndAaaa,
    /// The IPv4 address and the HTTPS record (RFC 9460).
    AAndHttps,
    /// All three at once, as Chrome does.
    AAaaaAndHttps,
}

impl QueryTypes {
    pub(super) fn types(self) -> &'static [TYPE] {
        match self {
            QueryTypes::A => &[TYPE::A],
            QueryTypes::AAndAaaa => &[TYPE::A, TYPE::AAAA],
            QueryTypes::AAndHttps => &[TYPE::A, TYPE::HTTPS],
            QueryTypes::AAaaaAndHttps => &[TYPE::A, TYPE::AAAA, TYPE::HTTPS],
        }
    }

    /// The same, with the HTTPS record.
    #[must_use]
    pub fn and_https(self) -> QueryTypes {
        match self {
            QueryTypes::A | QueryTypes::AAndHttps => QueryTypes::AAndHttps,
            QueryTypes::AAndAaaa | QueryTypes::AAaaaAndHttps => QueryTypes::AAaaaAndHttps,
        }
    }
}

/// TTL of answers: the median of popular sites is some minutes.
pub(super) const TTL_SECONDS: u32 = 300;

/// The longest message without EDNS (RFC 1035 section 4.2.1).
pub(super) const MOST_BYTES: usize = 512;

/// A query for a record of `name`.
///
/// # Errors
/// If `name` is invalid.
pub(super) fn question(id: u16, name: &str, kind: TYPE) -> Result<Vec<u8>, SimpleDnsError> {
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    packet.questions.push(Question::new(
        Name::new(name)?,
        QTYPE::TYPE(kind),
        QCLASS::CLASS(CLASS::IN),
        false,
    ));
    packet.build_bytes_vec()
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DnsAnswer {
    /// An address.
    Address(Ipv4Addr),
    /// An HTTPS record.
    Service(HttpsRecord),
    /// The name has no record of this type.
    Nothing,
    /// The name does not exist.
    NoName,
}

/// Parses an answer: the id of its query, and its content. `None` if it is not an answer.
pub(super) fn read_answer(bytes: &[u8]) -> Option<(u16, DnsAnswer)> {
    let packet =
        Packet::parse(bytes).ok().filter(|packet| packet.has_flags(PacketFlag::RESPONSE))?;
    let said = packet.answers.iter().find_map(|record| match &record.rdata {
        RData::A(a) => Some(DnsAnswer::Address(Ipv4Addr::from(a.address))),
        RData::HTTPS(https) => HttpsRecord::read(https).map(DnsAnswer::Service),
        _ => None,
    });
    let answer = match packet.rcode() {
        RCODE::NameError => DnsAnswer::NoName,
        _ => said.unwrap_or(DnsAnswer::Nothing),
    };
    Some((packet.id(), answer))
}

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DnsQuestion {
    pub(super) id: u16,
    pub(super) name: String,
    pub(super) kind: TYPE,
}

/// Parses a query. `None` if it is not one.
pub(super) fn read_question(bytes: &[u8]) -> Option<DnsQuestion> {
    let packet =
        Packet::parse(bytes).ok().filter(|packet| !packet.has_flags(PacketFlag::RESPONSE))?;
    let question = packet.questions.first()?;
    let QTYPE::TYPE(kind) = question.qtype else { return None };
    Some(DnsQuestion {
        id: packet.id(),
        name: question.qname.to_string().to_ascii_lowercase(),
        kind,
    })
}

/// A resolver's records of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostRecords<'a> {
    pub(super) address: IpAddr,
    pub(super) service: Option<&'a HttpsRecord>,
}

/// The answer to a query for a name with these records, or for one that does not exist. Without a record of the queried
/// type it carries the zone's SOA (RFC 2308 section 2.2).
///
/// # Errors
/// If the name is invalid, which a parsed query rules out.
pub(super) fn answer(
    asked: &DnsQuestion,
    known: Option<HostRecords<'_>>,
) -> Result<Vec<u8>, SimpleDnsError> {
    let name = Name::new(&asked.name)?;
    let mut packet = Packet::new_reply(asked.id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED | PacketFlag::RECURSION_AVAILABLE);
    let kind = QTYPE::TYPE(asked.kind);
    packet.questions.push(Question::new(name.clone(), kind, QCLASS::CLASS(CLASS::IN), false));
    match known.map(|known| data(asked.kind, known)).transpose()?.flatten() {
        Some(data) => {
            packet.answers.push(ResourceRecord::new(name, CLASS::IN, TTL_SECONDS, data));
        }
        None => {
            if known.is_none() {
                *packet.rcode_mut() = RCODE::NameError;
            }
            let authority = RData::SOA(authority()?);
            packet.name_servers.push(ResourceRecord::new(name, CLASS::IN, TTL_SECONDS, authority));
        }
    }
    packet.build_bytes_vec_compressed()
}

/// The record of one type, if there is one.
fn data<'a>(kind: TYPE, known: HostRecords<'a>) -> Result<Option<RData<'a>>, SimpleDnsError> {
    Ok(match (kind, known.address, known.service) {
        (TYPE::A, IpAddr::V4(address), _) => Some(RData::A(A { address: address.into() })),
        (TYPE::HTTPS, _, Some(service)) => Some(RData::HTTPS(service.record()?)),
        _ => None,
    })
}

/// An SOA with names of usual length; the numbers are the ones that RIPE-203 recommends.
fn authority() -> Result<SOA<'static>, SimpleDnsError> {
    Ok(SOA {
        mname: Name::new("ns1.farlink.test")?,
        rname: Name::new("hostmaster.farlink.test")?,
        serial: 2_026_010_100,
        refresh: 86_400,
        retry: 7_200,
        expire: 3_600_000,
        minimum: TTL_SECONDS,
    })
}

// HTTPS records (RFC 9460): a host's protocols, resolved beside its address.
//
// Only `alpn` is used, and only from a record for the host itself at its usual port. Left out: alias mode, other
// targets and ports, address hints (the address is queried beside it) and Encrypted ClientHello.

/// The supported keys (RFC 9460 section 14.3.2): `alpn`, and `no-default-alpn`, which changes nothing for clients that
/// want HTTP/3. A record with any other mandatory key must not be used (section 8).
const UNDERSTOOD: [u16; 2] = [1, 2];

/// The content of a host's HTTPS record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpsRecord {
    /// The host's protocols, by their ALPN names.
    pub protocols: Vec<String>,
}

impl HttpsRecord {
    /// The record of a host with HTTP/3, and HTTP/2 for clients that cannot reach it over QUIC.
    pub fn h3() -> HttpsRecord {
        HttpsRecord { protocols: vec!["h3".to_owned(), "h2".to_owned()] }
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
    pub(super) fn read(HTTPS(record): &HTTPS<'_>) -> Option<HttpsRecord> {
        let is_alias = record.priority == 0;
        if is_alias || !record.target.get_labels().is_empty() {
            return None;
        }
        let mut service = HttpsRecord::default();
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
    use proptest::prelude::*;

    use super::*;

    fn at(address: Ipv4Addr) -> HostRecords<'static> {
        HostRecords { address: address.into(), service: None }
    }

    #[test]
    fn a_service_is_told_to_who_asks_for_it() {
        let bytes = question(9, "www.example.test", TYPE::HTTPS).unwrap();
        let asked = read_question(&bytes).unwrap();
        let service = HttpsRecord::h3();
        let known = HostRecords { service: Some(&service), ..at(Ipv4Addr::LOCALHOST) };
        let reply = answer(&asked, Some(known)).unwrap();
        // A pointer to the name, type, class, TTL, length; priority, the root, key and length, `h3` and `h2` with a byte of length each.
        assert_eq!(reply.len(), bytes.len() + 12 + 2 + 1 + 4 + 6);
        assert_eq!(read_answer(&reply), Some((9, DnsAnswer::Service(service))));
        let none = answer(&asked, Some(at(Ipv4Addr::LOCALHOST))).unwrap();
        assert_eq!(read_answer(&none), Some((9, DnsAnswer::Nothing)));
    }

    #[test]
    fn a_question_is_answered() {
        let bytes = question(7, "WWW.example.test", TYPE::A).unwrap();
        // Header 12, the name 18, type and class 4.
        assert_eq!(bytes.len(), 34);
        let asked = read_question(&bytes).unwrap();
        assert_eq!(
            asked,
            DnsQuestion { id: 7, name: "www.example.test".to_owned(), kind: TYPE::A }
        );
        let address = Ipv4Addr::new(10, 1, 0, 1);
        let reply = answer(&asked, Some(at(address))).unwrap();
        // A pointer to the name, type, class, TTL, length, address.
        assert_eq!(reply.len(), 34 + 16);
        assert_eq!(read_answer(&reply), Some((7, DnsAnswer::Address(address))));
        assert_eq!(read_answer(&bytes), None, "a question is no answer");
    }

    #[test]
    fn what_there_is_not_is_said() {
        let bytes = question(8, "www.example.test", TYPE::AAAA).unwrap();
        let asked = read_question(&bytes).unwrap();
        let known = answer(&asked, Some(at(Ipv4Addr::LOCALHOST))).unwrap();
        assert_eq!(read_answer(&known), Some((8, DnsAnswer::Nothing)));
        let unknown = answer(&asked, None).unwrap();
        assert_eq!(read_answer(&unknown), Some((8, DnsAnswer::NoName)));
        assert!(unknown.len() <= MOST_BYTES);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = (read_question(&bytes), read_answer(&bytes));
        }

        #[test]
        fn names_survive(labels in proptest::collection::vec("[a-z0-9]{1,20}", 1..5), id: u16) {
            let name = labels.join(".");
            let asked = read_question(&question(id, &name, TYPE::A).unwrap()).unwrap();
            prop_assert_eq!(asked, DnsQuestion { id, name, kind: TYPE::A });
        }
    }

    fn read(record: SVCB<'_>) -> Option<HttpsRecord> {
        HttpsRecord::read(&HTTPS(record))
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
        assert_eq!(read(SVCB::new(1, Name::new(".").unwrap())), Some(HttpsRecord::default()));
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
