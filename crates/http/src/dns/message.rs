//! Questions and answers as they cross the wire (RFC 1035 section 4).

use std::net::{IpAddr, Ipv4Addr};

use simple_dns::rdata::{A, RData, SOA};
use simple_dns::{
    CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, ResourceRecord,
    SimpleDnsError, TYPE,
};

/// What a client asks of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Questions {
    /// Its IPv4 address alone.
    A,
    /// Its IPv4 and its IPv6 address, at once, as browsers and glibc do.
    #[default]
    AAndAaaa,
}

impl Questions {
    pub(super) fn types(self) -> &'static [TYPE] {
        match self {
            Questions::A => &[TYPE::A],
            Questions::AAndAaaa => &[TYPE::A, TYPE::AAAA],
        }
    }
}

/// How long an answer holds: the median of popular sites lies at some minutes.
pub(super) const TTL_SECONDS: u32 = 300;

/// No message without EDNS is longer (RFC 1035 section 4.2.1).
pub(super) const MOST_BYTES: usize = 512;

/// A question for a record of `name`.
///
/// # Errors
/// If `name` is none.
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

/// What an answer says of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There it is.
    Address(Ipv4Addr),
    /// The name has no record of this type.
    Nothing,
    /// There is no such name.
    NoName,
}

/// Reads an answer: the id of its question, and what it says. `None` of anything else.
pub(super) fn read_answer(bytes: &[u8]) -> Option<(u16, Answer)> {
    let packet =
        Packet::parse(bytes).ok().filter(|packet| packet.has_flags(PacketFlag::RESPONSE))?;
    let address = packet.answers.iter().find_map(|record| match &record.rdata {
        RData::A(a) => Some(Ipv4Addr::from(a.address)),
        _ => None,
    });
    let answer = match (packet.rcode(), address) {
        (RCODE::NameError, _) => Answer::NoName,
        (_, Some(address)) => Answer::Address(address),
        (_, None) => Answer::Nothing,
    };
    Some((packet.id(), answer))
}

/// A question that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) id: u16,
    pub(super) name: String,
    pub(super) kind: TYPE,
}

/// Reads a question. `None` of anything else.
pub(super) fn read_question(bytes: &[u8]) -> Option<Asked> {
    let packet =
        Packet::parse(bytes).ok().filter(|packet| !packet.has_flags(PacketFlag::RESPONSE))?;
    let question = packet.questions.first()?;
    let QTYPE::TYPE(kind) = question.qtype else { return None };
    Some(Asked { id: packet.id(), name: question.qname.to_string().to_ascii_lowercase(), kind })
}

/// The answer to a question for a name with this address, or for one that does not exist. Without a record of the type that was asked for it bears
/// the zone's authority (RFC 2308 section 2.2).
///
/// # Errors
/// If the name is none, which a question that was read rules out.
pub(super) fn answer(asked: &Asked, address: Option<IpAddr>) -> Result<Vec<u8>, SimpleDnsError> {
    let name = Name::new(&asked.name)?;
    let mut packet = Packet::new_reply(asked.id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED | PacketFlag::RECURSION_AVAILABLE);
    let kind = QTYPE::TYPE(asked.kind);
    packet.questions.push(Question::new(name.clone(), kind, QCLASS::CLASS(CLASS::IN), false));
    match (asked.kind, address) {
        (TYPE::A, Some(IpAddr::V4(address))) => {
            let data = RData::A(A { address: address.into() });
            packet.answers.push(ResourceRecord::new(name, CLASS::IN, TTL_SECONDS, data));
        }
        (_, known) => {
            if known.is_none() {
                *packet.rcode_mut() = RCODE::NameError;
            }
            let authority = RData::SOA(authority()?);
            packet.name_servers.push(ResourceRecord::new(name, CLASS::IN, TTL_SECONDS, authority));
        }
    }
    packet.build_bytes_vec_compressed()
}

/// Names of usual length; the numbers are those that RIPE-203 recommends.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_question_is_answered() {
        let bytes = question(7, "WWW.example.test", TYPE::A).unwrap();
        // Header 12, the name 18, type and class 4.
        assert_eq!(bytes.len(), 34);
        let asked = read_question(&bytes).unwrap();
        assert_eq!(asked, Asked { id: 7, name: "www.example.test".to_owned(), kind: TYPE::A });
        let address = Ipv4Addr::new(10, 1, 0, 1);
        let reply = answer(&asked, Some(address.into())).unwrap();
        // A pointer to the name, type, class, TTL, length, address.
        assert_eq!(reply.len(), 34 + 16);
        assert_eq!(read_answer(&reply), Some((7, Answer::Address(address))));
        assert_eq!(read_answer(&bytes), None, "a question is no answer");
    }

    #[test]
    fn what_there_is_not_is_said() {
        let bytes = question(8, "www.example.test", TYPE::AAAA).unwrap();
        let asked = read_question(&bytes).unwrap();
        let known = answer(&asked, Some(Ipv4Addr::LOCALHOST.into())).unwrap();
        assert_eq!(read_answer(&known), Some((8, Answer::Nothing)));
        let unknown = answer(&asked, None).unwrap();
        assert_eq!(read_answer(&unknown), Some((8, Answer::NoName)));
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
            prop_assert_eq!(asked, Asked { id, name, kind: TYPE::A });
        }
    }
}
