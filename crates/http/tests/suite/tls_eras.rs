//! TLS beyond its versions: models and the peers that they refuse, early data, chains, keys, records.

use crate::common;

use common::any::{fetch, get, listen, open};
use common::{Echo, in_world};
use farlink_http::client::{self, OpenError, Opening, Protocol};
use farlink_http::server::Acceptor;
use farlink_http::spdy;
use tls::model::{HandshakeStart, Modelled, Version};
use tls::{ChainKind, ClientSessions, Identity, Records, Resumption, Security, Settings};

const MODELS: [Security; 3] = [
    Security::Modelled(Modelled { version: Version::Tls10, start: HandshakeStart::Patient }),
    Security::Modelled(Modelled { version: Version::Tls10, start: HandshakeStart::False }),
    Security::Modelled(Modelled { version: Version::Tls12, start: HandshakeStart::False }),
];

/// Loads objects of many sizes over three connections of one client, with sessions from the second on.
async fn load(security: Security, protocol: Protocol, settings: &Settings) {
    let server = listen(Echo, Acceptor::with_tls(security, settings));
    let sessions = ClientSessions::new(settings.clone());
    for _ in 0..3 {
        let opening = Opening::new(server.address, "any.farlink.test", security, protocol);
        let mut connection = open(opening.sessions(&sessions)).await;
        for bytes in [0, 1, 2, 1_369, 16_384, 300_000] {
            let seen = fetch(&mut connection, &get(&format!("/{bytes}"))).await.unwrap();
            assert_eq!((seen.status, seen.body.len()), (200, bytes), "{security} {protocol}");
        }
    }
}

#[test]
fn every_protocol_runs_over_every_model() {
    in_world(async {
        for security in MODELS {
            for protocol in [Protocol::H1, Protocol::Spdy(spdy::Version::V31), Protocol::H2] {
                let records = Records::Dynamic;
                load(security, protocol, &Settings { records, ..Settings::default() }).await;
                load(security, protocol, &Settings::default()).await;
            }
        }
    });
}

#[test]
fn a_model_refuses_tls_and_is_refused_by_it() {
    in_world(async {
        for (ours, theirs) in [(MODELS[0], Security::Tls12), (Security::Tls13, MODELS[2])] {
            let server = listen(Echo, Acceptor::new(theirs));
            let opening = Opening::new(server.address, "any.farlink.test", ours, Protocol::H1);
            let refused = client::open(opening, &mut |_| ()).await.err().unwrap();
            assert!(matches!(refused, OpenError::Secure { .. }), "{refused}");
        }
    });
}

#[test]
fn keys_chains_staples_and_records_of_any_kind_work() {
    in_world(async {
        for identity in [Identity::Ed25519, Identity::Rsa2048, Identity::EcdsaP256] {
            let settings = Settings {
                identity,
                chain: ChainKind::OfBytes(5_000),
                staple_bytes: 1_500,
                records: Records::Dynamic,
                ..Settings::default()
            };
            for security in [Security::Tls12, Security::Tls13] {
                load(security, Protocol::H2, &settings).await;
                load(security, Protocol::H1, &settings).await;
            }
        }
    });
}

/// A client's second connection resumes, unless that is disabled.
#[test]
fn sessions_are_resumed_as_the_settings_say() {
    in_world(async {
        let all = [Security::Tls12, Security::Tls13].into_iter().chain(MODELS);
        for security in all {
            for (resumption, resumes) in [(Resumption::Off, false), (Resumption::Tickets, true)] {
                let settings = Settings { resumption, ..Settings::default() };
                let server = listen(Echo, Acceptor::with_tls(security, &settings));
                let sessions = ClientSessions::new(settings);
                let mut resumed = Vec::new();
                for _ in 0..2 {
                    let opening =
                        Opening::new(server.address, "any.farlink.test", security, Protocol::H1);
                    let mut connection = open(opening.sessions(&sessions)).await;
                    fetch(&mut connection, &get("/10")).await.unwrap();
                    let client::ClientConnection::H1(connection) = connection else {
                        panic!("HTTP/1.1")
                    };
                    resumed.push(connection.stream().is_resumed());
                }
                assert_eq!(resumed, [false, resumes], "{security} {resumption:?}");
            }
        }
    });
}

#[test]
fn early_data_are_answered_over_every_protocol() {
    in_world(async {
        for protocol in [Protocol::H1, Protocol::Spdy(spdy::Version::V31), Protocol::H2] {
            let resumption = Resumption::EarlyData;
            let settings = Settings { resumption, ..Settings::default() };
            load(Security::Tls13, protocol, &settings).await;
        }
        // The handshake is incomplete when the connection is returned.
        let settings = Settings { resumption: Resumption::EarlyData, ..Settings::default() };
        let server = listen(Echo, Acceptor::with_tls(Security::Tls13, &settings));
        let sessions = ClientSessions::new(settings);
        let mut early = Vec::new();
        for _ in 0..2 {
            let security = Security::Tls13;
            let opening = Opening::new(server.address, "any.farlink.test", security, Protocol::H1);
            let mut connection = open(opening.sessions(&sessions)).await;
            if let client::ClientConnection::H1(connection) = &connection {
                early.push(connection.stream().is_early());
            }
            fetch(&mut connection, &get("/10")).await.unwrap();
        }
        assert_eq!(early, [false, true]);
    });
}
