//! A scenario's settings of TLS, converted for its two ends.

use std::time::Duration;

use tls::model::{Modelled, Start, Version};
use tls::{Chain, Identity, Records, Resumption, Security, Settings};

use scenario::{CertificateKey, RecordSize, Resume, Scenario, Tls};

/// Time between the earlier visit, the source of the client's sessions, and the first measured one: longer than
/// any inactivity timer of radios (UMTS: 5 s and 12 s), and connections are closed.
pub(super) const SINCE_ACQUAINTANCE: Duration = Duration::from_secs(20);

/// Security layer of the scenario's connections.
pub(super) fn security(scenario: &Scenario) -> Security {
    let false_start = scenario.security.false_start == Some(true);
    let start = if false_start { Start::False } else { Start::Patient };
    match scenario.stack.tls {
        Tls::None => Security::None,
        Tls::Tls10 => Security::Modelled(Modelled { version: Version::Tls10, start }),
        Tls::Tls12 if false_start => {
            Security::Modelled(Modelled { version: Version::Tls12, start })
        }
        Tls::Tls12 => Security::Tls12,
        Tls::Tls13 => Security::Tls13,
    }
}

/// The client's settings. The size of records is set by the servers alone.
pub(crate) fn client_tls(scenario: &Scenario, usual: Settings) -> Settings {
    Settings { records: usual.records, ..server_tls(scenario, usual) }
}

/// The servers' settings.
pub(super) fn server_tls(scenario: &Scenario, usual: Settings) -> Settings {
    let turned = &scenario.security;
    let identity = turned.key.map(|key| match key {
        CertificateKey::Ed25519 => Identity::Ed25519,
        CertificateKey::Rsa2048 => Identity::Rsa2048,
        CertificateKey::EcdsaP256 => Identity::EcdsaP256,
    });
    let records = turned.records.map(|size| match size {
        RecordSize::Fixed(bytes) => Records::Fixed(bytes as usize),
        RecordSize::Dynamic => Records::Dynamic,
    });
    let resumption = turned.resume.map(|resume| match resume {
        Resume::Never => Resumption::Off,
        Resume::Session => Resumption::Tickets,
        Resume::EarlyData => Resumption::EarlyData,
    });
    let chain = turned.chain_bytes.map(|bytes| Chain::OfBytes(bytes as usize));
    Settings {
        identity: identity.unwrap_or(usual.identity),
        records: records.unwrap_or(usual.records),
        resumption: resumption.unwrap_or(usual.resumption),
        chain: chain.unwrap_or(usual.chain),
        staple_bytes: turned.staple_bytes.map_or(usual.staple_bytes, |bytes| bytes as usize),
        ..usual
    }
}

/// Notes on TLS for readers of results.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    if let Security::Modelled(modelled) = security(scenario) {
        notes.push(format!(
            "{} is a model: flights and records have the sizes and the order of the time, nothing is encrypted, and cryptography takes no time",
            modelled.name()
        ));
    }
    if scenario.security.is_acquainted() {
        notes.push(format!(
            "the client has TLS sessions of every host: it spoke with each once, {} s before the visit",
            SINCE_ACQUAINTANCE.as_secs()
        ));
    }
    notes
}
