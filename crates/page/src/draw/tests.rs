//! Draws of the two studies that describe their sites by totals alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::After;

fn study(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies"))
        .join(name)
        .join("sites.toml")
}

fn page(name: &str, site: usize, draw: u64) -> Page {
    open(&study(name), Some(&format!("{site}/{draw}"))).unwrap()
}

fn loaded(page: &Page) -> usize {
    page.objects.iter().filter(|object| object.blocks_load).count()
}

#[test]
fn draws_have_the_tables_means() {
    // Finance: 134.8 objects, 626.9 KB, 37.6 domains.
    let draws: Vec<Page> = (1..=20).map(|draw| page("erman2013", 1, draw)).collect();
    for page in &draws {
        page.check().unwrap();
        assert_eq!(page.body_bytes(), 626_900);
        assert!((133..=137).contains(&loaded(page)), "{}", loaded(page));
        assert!([37, 38].contains(&page.hosts.len()), "{}", page.hosts.len());
        assert!(
            page.objects.iter().all(|object| object.kind == Kind::Data || object.body_bytes >= 43)
        );
    }
    let mean = draws.iter().map(|page| loaded(page) as f64).sum::<f64>() / 20.0;
    assert!((mean - 134.8).abs() < 0.5, "{mean}");
}

#[test]
fn every_site_of_both_studies_can_be_drawn() {
    for (name, sites) in [("erman2013", 20), ("cardaci2015", 7)] {
        for site in 1..=sites {
            for draw in 1..=20 {
                let page = page(name, site, draw);
                page.check().unwrap();
                let served: BTreeSet<u32> =
                    page.objects.iter().map(|object| object.host.0).collect();
                assert_eq!(served.len(), page.hosts.len(), "{name} {site}/{draw}");
            }
        }
    }
}

#[test]
fn a_draw_is_the_same_again_and_differs_from_the_next() {
    assert_eq!(page("erman2013", 7, 3), page("erman2013", 7, 3));
    assert_ne!(page("erman2013", 7, 3).objects, page("erman2013", 7, 4).objects);
    assert_eq!(page("erman2013", 7, 3).name, "sites.toml#7/3");
}

#[test]
fn what_names_objects_has_the_priors_shares() {
    let (mut by, mut images) = (BTreeMap::new(), 0);
    for draw in 1..=20 {
        let page = page("erman2013", 17, draw);
        for object in page.objects.iter().filter(|object| object.kind == Kind::Image) {
            let parent = object.waits_for[0].object.0 as usize;
            *by.entry(page.objects[parent].kind).or_insert(0) += 1;
            images += 1;
        }
    }
    for (kind, share) in [(Kind::Document, 0.6), (Kind::Stylesheet, 0.15), (Kind::Script, 0.25)] {
        let drawn = f64::from(by[&kind]) / f64::from(images);
        assert!((drawn - share).abs() < 0.02, "{kind:?} {drawn}");
    }
}

#[test]
fn objects_are_at_most_as_deep_as_the_priors_say() {
    for site in 1..=20 {
        let page = page("erman2013", site, 1);
        let mut depth: Vec<u32> = Vec::new();
        for object in page.objects.iter().filter(|object| object.blocks_load) {
            let parents = object.waits_for.iter().map(|edge| depth[edge.object.0 as usize]);
            depth.push(parents.max().map_or(0, |most| most + 1));
        }
        assert!(depth.iter().all(|depth| *depth <= 4), "{depth:?}");
    }
}

#[test]
fn some_sites_go_on_sending_after_loading() {
    let sends = |page: &Page| page.objects.iter().any(|object| !object.blocks_load);
    let pages: Vec<Page> =
        (1..=20).flat_map(|site| (1..=20).map(move |draw| page("erman2013", site, draw))).collect();
    let sending: Vec<&Page> = pages.iter().filter(|page| sends(page)).collect();
    // 400 sites with a probability of 0.3: four standard deviations are 37.
    assert!((83..=157).contains(&sending.len()), "{}", sending.len());
    let beacons = sending[0].objects.iter().filter(|object| !object.blocks_load).count();
    assert!((2..=12).contains(&beacons), "{beacons}");
    assert!((1..=7).all(|site| !sends(&page("cardaci2015", site, 1))));
}

#[test]
fn origins_take_what_was_measured_of_them() {
    let page = page("erman2013", 15, 1);
    let millis = |object: &crate::Object| object.think.value.as_secs_f64() * 1e3;
    let loaded: Vec<f64> =
        page.objects.iter().filter(|object| object.blocks_load).map(millis).collect();
    let mean = loaded.iter().sum::<f64>() / loaded.len() as f64;
    // Cut at 46 ms, an exponential of mean 14 has a mean of 13.5.
    assert!((11.5..15.5).contains(&mean), "{mean}");
    assert!(loaded.iter().all(|millis| *millis <= 46.0));
}

#[test]
fn references_of_the_head_come_first() {
    let page = page("erman2013", 14, 2);
    let tenth = page.root().body_bytes / 10;
    let early = page.objects.iter().filter(|object| {
        matches!(object.waits_for.first().map(|edge| edge.after), Some(After::Bytes(at)) if at <= tenth)
    });
    // 94 scripts and sheets, half of them in the head.
    let early =
        early.filter(|object| matches!(object.kind, Kind::Script | Kind::Stylesheet)).count();
    assert!((30..=64).contains(&early), "{early}");
}

#[test]
fn what_is_shipped_is_what_the_files_say() {
    for name in ["erman2013", "cardaci2015"] {
        let shipped = shipped(&format!("{name}-sites")).unwrap().sites().draw(Some("3/2")).unwrap();
        assert_eq!(shipped.name, format!("{name}-sites#3/2"));
        assert_eq!(shipped.objects, page(name, 3, 2).objects);
    }
}

#[test]
fn what_is_wrong_is_said() {
    let message = |which| open(&study("cardaci2015"), which).unwrap_err().to_string();
    let expected = "sites.toml: its pages are named by site and draw, `#1/1` to `#7/20`, not ";
    assert_eq!(message(None), format!("{expected}nothing"));
    for wrong in ["0/1", "8/1", "1/21", "1", "x/y"] {
        assert_eq!(message(Some(wrong)), format!("{expected}`#{wrong}`"));
    }
    let right = fs::read_to_string(study("cardaci2015")).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(right.contains(from));
        Priors::parse(&right.replace(from, to)).unwrap_err()
    };
    let misspelt = refused("least_bytes", "least_byte");
    assert!(misspelt.contains("least_byte") && misspelt.contains("line"), "{misspelt}");
    assert!(refused("text = 0.10", "text = 0.20").contains("of [types] sum to 1.1"));
    assert!(refused("objects = \"requests\"", "").contains("[columns] names either"));
    assert!(refused("images_by_sheet = 0.15", "images_by_sheet = 1.5").contains("between 0 and 1"));
    assert!(refused("share_of_sites = 0.0", "share_of_sites = 0.1").contains("period_s"));
}
