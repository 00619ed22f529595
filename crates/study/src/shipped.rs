//! The studies that come with farlink.

use super::{Study, StudyError};
use scenario::nearest;

/// A folder: its name, and the names and texts of its files.
type Folder = (&'static str, &'static [(&'static str, &'static str)]);

/// A folder of `studies/` with the files named.
macro_rules! folder {
    ($name:literal: $($file:literal),+ $(,)?) => {
        ($name, &[
            $(($file, include_str!(concat!("../../../studies/", $name, "/", $file))),)+
        ])
    };
}

static FOLDERS: [Folder; 5] = [
    folder!(
        "kallio2016": "study.toml", "changes.toml", "causes.toml", "claims.toml",
        "delay-http.toml", "prb-http.toml", "s1-http.toml",
        "delay-spdy.toml", "prb-spdy.toml", "s1-spdy.toml",
        "prb-speed.toml", "s1-speed.toml", "tiers.toml",
        "afterwards.toml", "conclusions.toml",
        "clauses.toml", "figures.toml", "emulated.toml",
    ),
    folder!(
        "bth2013": "study.toml", "changes.toml", "causes.toml", "claims.toml",
        "rtt-http.toml", "rtt-spdy-ssl.toml", "rtt-spdy-clear.toml",
        "bandwidth-http.toml", "bandwidth-spdy-ssl.toml", "bandwidth-spdy-clear.toml",
        "afterwards.toml", "conclusions.toml",
        "clauses.toml", "figures.toml", "emulated.toml",
        "published/table_c1_spdy_ssl_bw10mbps.csv", "published/table_c2_spdy_nossl_bw10mbps.csv",
        "published/table_c3_http_ssl_bw10mbps.csv", "published/table_c4_http_nossl_bw10mbps.csv",
        "published/table_c5_spdy_ssl_rtt150ms.csv", "published/table_c6_spdy_nossl_rtt150ms.csv",
        "published/table_c7_http_ssl_rtt150ms.csv", "published/table_c8_http_nossl_rtt150ms.csv",
    ),
    folder!(
        "cardaci2015": "study.toml", "changes.toml", "causes.toml", "claims.toml", "sites.toml",
        "emulated-http.toml", "emulated-spdy.toml", "satellite-http.toml", "satellite-spdy.toml",
        "losses-http.toml", "losses-spdy.toml", "idle-gap.toml",
        "wikipedia-http.toml", "wikipedia-spdy.toml",
        "afterwards.toml", "afterwards-pep.toml", "afterwards-past-pep.toml", "conclusions.toml",
        "published/table_1_sites.csv",
        "clauses.toml", "figures.toml", "emulated.toml",
    ),
    folder!(
        "petuchowski2015": "study.toml", "changes.toml", "causes.toml", "claims.toml",
        "tcp.toml", "links.toml", "page.toml", "uplink.toml", "tiles.toml",
        "afterwards.toml", "conclusions.toml",
        "clauses.toml", "figures.toml", "emulated.toml",
    ),
    folder!(
        "erman2013": "study.toml", "changes.toml", "causes.toml", "claims.toml", "sites.toml",
        "sites-http.toml", "sites-spdy.toml", "images-http.toml", "images-spdy.toml",
        "ping-http.toml", "ping-spdy.toml", "beacons-http.toml", "beacons-spdy.toml",
        "twenty.toml", "fixes-http.toml", "fixes-spdy.toml", "risk.toml", "socks.toml",
        "afterwards.toml", "conclusions.toml",
        "pause-http.toml", "pause-spdy.toml",
        "published/table_1_sites.csv",
        "clauses.toml", "figures.toml", "emulated.toml",
    ),
];

/// Their names.
pub const NAMES: [&str; 5] =
    ["kallio2016", "bth2013", "cardaci2015", "petuchowski2015", "erman2013"];

/// The study of that name.
pub fn shipped(name: &str) -> Result<Study, StudyError> {
    let Some((name, files)) = FOLDERS.iter().find(|(known, _)| *known == name) else {
        return Err(StudyError::Unknown {
            name: name.to_owned(),
            known: NAMES.join(", "),
            nearest: nearest(name, NAMES),
        });
    };
    Study::read(name, files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strength;
    use scenario::Scenario;
    use scenario::experiment::{Source, resolve};
    use testbed::tour::Library;

    #[test]
    fn all_claims_are_read() {
        assert_eq!(NAMES.map(|name| shipped(name).unwrap().claims.len()), [126, 39, 34, 17, 59]);
        let strong: usize = NAMES
            .iter()
            .flat_map(|name| shipped(name).unwrap().claims)
            .filter(|claim| claim.strength == Strength::Strong)
            .count();
        assert_eq!(strong, 85);
    }

    #[test]
    fn claims_are_named_once_in_all_studies() {
        let mut ids: Vec<String> = NAMES
            .iter()
            .flat_map(|name| shipped(name).unwrap().claims.into_iter().map(|claim| claim.id))
            .collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }

    #[test]
    fn every_experiment_is_one() {
        let mut cells = Vec::new();
        for folder in NAMES {
            let study = shipped(folder).unwrap();
            for (experiment, source) in study.experiments() {
                let plan =
                    resolve(&source, &Library::default()).unwrap_or_else(|error| panic!("{error}"));
                cells.push(format!("{} {}", experiment.id, plan.cells().len()));
            }
        }
        let expected = "delay-http 360, prb-http 240, s1-http 240, delay-spdy 360, prb-spdy 240, s1-spdy 240, \
             prb-speed 3, s1-speed 3, afterwards 144, tiers 150, rtt-http 80, rtt-spdy-ssl 20, \
             rtt-spdy-clear 20, bandwidth-http 124, bandwidth-spdy-ssl 31, bandwidth-spdy-clear 31, \
             afterwards 24, emulated-http 140, emulated-spdy 140, satellite-http 70, \
             satellite-spdy 70, losses-http 140, losses-spdy 140, idle-gap 4, wikipedia-http 4, \
             wikipedia-spdy 4, afterwards 224, afterwards-pep 56, afterwards-past-pep 112, tcp 44, links 4, \
             page 4, uplink 8, tiles 6, afterwards 8, sites-http 15, sites-spdy 15, images-http 2, \
             images-spdy 2, ping-http 5, ping-spdy 5, beacons-http 5, beacons-spdy 5, twenty 5, fixes-http 20, \
             fixes-spdy 20, risk 10, socks 5, afterwards 24, pause-http 4, pause-spdy 4";
        assert_eq!(cells.join(", "), expected);
    }

    /// Experiments besides the studies' own equal them except in what they vary: none of them is judged, and no
    /// digest depends on them.
    #[test]
    fn variants_are_the_studies_own_but_for_what_they_vary() {
        macro_rules! cells {
            ($file:literal) => {{
                let text = include_str!(concat!("../../../studies/", $file));
                let plan = resolve(&Source::new($file, text), &Library::default());
                let plan = plan.unwrap_or_else(|error| panic!("{error}"));
                plan.cells().iter().map(|cell| Scenario::clone(cell)).collect::<Vec<_>>()
            }};
        }
        let alike = |cells: Vec<Scenario>| {
            let plain = Scenario::new("bth2013", cells[0].network.clone());
            let alike = cells.into_iter().map(move |cell| Scenario {
                journey: plain.journey,
                clients: plain.clients,
                record: plain.record,
                ..cell
            });
            alike.collect::<Vec<_>>()
        };
        for (variant, own, count) in [
            (cells!("bth2013/kept-metrics-http.toml"), cells!("bth2013/rtt-http.toml"), 16),
            (cells!("bth2013/kept-metrics-spdy.toml"), cells!("bth2013/rtt-spdy-ssl.toml"), 8),
            (cells!("erman2013/laptops-http.toml"), cells!("erman2013/sites-http.toml"), 9),
            (cells!("erman2013/laptops-spdy.toml"), cells!("erman2013/sites-spdy.toml"), 9),
        ] {
            assert_eq!(variant.len(), count);
            assert!(variant.iter().all(|cell| cell.contradiction().is_none()));
            let own = alike(own);
            for cell in alike(variant) {
                assert!(own.contains(&cell), "{cell:?}");
            }
        }
        let laptops = cells!("erman2013/laptops-spdy.toml");
        let counts: std::collections::BTreeSet<u32> =
            laptops.iter().map(|cell| cell.clients.count).collect();
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
        let kept = cells!("bth2013/kept-metrics-spdy.toml");
        assert!(kept.iter().all(|cell| cell.journey.times == 6));
    }

    #[test]
    fn a_name_that_is_not_known_is_answered_with_the_nearest() {
        let error = shipped("bth2012").unwrap_err();
        assert_eq!(error.hint().unwrap(), "did you mean `bth2013`?");
    }
}
