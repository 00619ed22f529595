//! Transforms checked against numbers computed by hand.

use crate::{After, Kind, ObjectId, Page, open};

fn page(spec: &str) -> Page {
    let page = open(spec).unwrap();
    page.check().unwrap();
    assert_eq!(page.name, spec);
    page
}

#[test]
fn small_images_stand_in_the_document() {
    let (plain, inlined) = (page("synthetic:3x1KB"), page("synthetic:3x1KB~inline"));
    // 22 bytes of `data:image/png;base64,` and 4 for every 3 of 1000, rounded up.
    let each = 22 + 334 * 4;
    assert_eq!(inlined.objects.len(), 1);
    assert_eq!(inlined.body_bytes(), plain.root().body_bytes + 3 * each);
    assert_eq!(page("synthetic:3x1KB~inline=999B").objects.len(), 4);
}

#[test]
fn what_stands_behind_an_inlined_object_moves_back() {
    let plain = page("bth2013");
    let inlined = page("bth2013~inline=2KB");
    assert!(inlined.objects.len() < plain.objects.len());
    let gone = |object: &&crate::Object| object.body_bytes <= 2_000 && object.kind == Kind::Image;
    let added: u64 = plain.objects[1..]
        .iter()
        .filter(gone)
        .map(|object| 22 + object.body_bytes.div_ceil(3) * 4)
        .sum();
    let last = |page: &Page| match page.objects.last().unwrap().waits_for[0].after {
        After::Bytes(at) => at,
        other => panic!("{other:?}"),
    };
    assert_eq!(last(&inlined), last(&plain) + added);
    assert_eq!(inlined.root().body_bytes, plain.root().body_bytes + added);
}

#[test]
fn what_an_inlined_sheet_names_is_known_where_it_ends() {
    let mut page = open("synthetic:2x10KB").unwrap();
    page.objects[1].kind = Kind::Stylesheet;
    page.objects[1].body_bytes = 500;
    page.objects[2].waits_for[0].object = ObjectId(1);
    page.objects[2].waits_for[0].after = After::End;
    let inlined = super::apply("x~inline", page).unwrap();
    inlined.check().unwrap();
    let edge = &inlined.objects[1].waits_for[0];
    // The first tag of the document ends at byte 260.
    assert_eq!(
        (inlined.objects.len(), edge.object, edge.after),
        (2, ObjectId(0), After::Bytes(760))
    );
}

#[test]
fn images_of_a_host_become_one() {
    let joined = page("synthetic:9x1KB@3hosts~sprite");
    assert_eq!((joined.objects.len(), joined.body_bytes()), (4, 9_000 + 220 + 9 * 60));
    assert!(joined.objects[1..].iter().all(|sprite| sprite.body_bytes == 3_000));
    assert_eq!(joined.objects[3].url, "http://static2.page.test/sprite-3.png");
    assert_eq!(page("synthetic:9x1KB~sprite=500B").objects.len(), 10);
}

#[test]
fn the_documents_host_becomes_several() {
    let sharded = page("synthetic:8x1KB~shard=4");
    let hosts: Vec<u32> = sharded.objects.iter().map(|object| object.host.0).collect();
    assert_eq!(hosts, [0, 0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(sharded.hosts[3].name, "shard3.www.page.test");
    assert_eq!(sharded.objects[4].url, "http://shard3.www.page.test/o/0004.png");
}

#[test]
fn several_hosts_become_one_whose_servers_do_not_think() {
    let (plain, one) = (page("bth2013"), page("bth2013~one-host~instant"));
    assert!(plain.hosts.len() > 1 && one.hosts.len() == 1);
    assert_eq!(one.body_bytes(), plain.body_bytes());
    let urls: std::collections::BTreeSet<&str> =
        one.objects.iter().map(|object| object.url.as_str()).collect();
    assert_eq!(urls.len(), one.objects.len(), "no two became the same");
    let elsewhere = plain.objects.iter().position(|object| object.host != plain.root().host);
    let at = elsewhere.unwrap();
    let host = &plain.hosts[plain.objects[at].host.0 as usize].name;
    let below = format!("/{host}{}", plain.objects[at].path);
    assert_eq!(one.objects[at].path, below);
    assert!(one.objects[at].url.ends_with(&below), "{}", one.objects[at].url);
    assert!(one.objects.iter().all(|object| object.think.value.is_zero()));
}

#[test]
fn text_is_compressed_and_its_places_with_it() {
    let (plain, compressed) = (page("synthetic:2x1KB"), page("synthetic:2x1KB~gzip=25%"));
    assert_eq!(compressed.root().body_bytes, plain.root().body_bytes.div_ceil(4));
    assert_eq!(compressed.objects[1].waits_for[0].after, After::Bytes(65));
    assert_eq!(compressed.objects[1].body_bytes, 1_000);
}

#[test]
fn nothing_is_compressed_after_all() {
    let (plain, compressed) = (page("synthetic:2x1KB"), page("synthetic:2x1KB~gzip=25%"));
    let uncompressed = page("synthetic:2x1KB~gzip=25%~uncompressed");
    for (before, after) in plain.objects.iter().zip(&uncompressed.objects) {
        assert_eq!(before.body_bytes, after.body_bytes);
        assert_eq!(before.response_header_bytes, after.response_header_bytes);
    }
    assert_eq!(plain.objects[1].waits_for[0].after, After::Bytes(260));
    let After::Bytes(place) = uncompressed.objects[1].waits_for[0].after else { panic!() };
    assert!((260..=264).contains(&place), "{place}");
    // An image is left alone; the document shrinks again to what it was.
    assert_eq!(compressed.root().compressible_to(), None);
    let share = compressed.root().body_bytes as f64 / plain.root().body_bytes as f64;
    assert_eq!(uncompressed.root().compressible_to(), Some(share));
    assert_eq!(plain.root().compressible_to(), Some(0.36));
    assert_eq!(uncompressed.objects[1].compressible_to(), None);
}

#[test]
fn one_after_another_from_left_to_right() {
    let page = page("synthetic:40x12KB~sprite=20KB~shard=2~gzip=30%");
    assert_eq!((page.objects.len(), page.hosts.len()), (2, 2));
    assert!(page.origin.ends_with(
        "; 40 images of at most 20000 bytes joined into 1 sprites; www.page.test over 2 hosts in turn; text compressed to 30 %"
    ));
}

#[test]
fn says_what_is_wrong() {
    for (wrong, problem) in [
        ("sprit", "`sprit` is nothing that is done to a page"),
        ("shard", "`shard` needs a number of hosts from 2 to 64"),
        ("shard=1", "`shard` needs a number of hosts from 2 to 64"),
        ("gzip", "`gzip` needs what it leaves of a text in per cent"),
        ("gzip=0%", "`gzip` needs what it leaves of a text in per cent"),
        ("inline=x", "x"),
    ] {
        let message = open(&format!("synthetic:1x1KB~{wrong}")).unwrap_err().to_string();
        assert!(
            message.contains(problem) && message.contains("write `bth2013~inline=2KB`"),
            "{message}"
        );
    }
}

/// A document that names a script, which names another, which names an image.
fn chain() -> Page {
    let mut page = open("synthetic:3x10KB").unwrap();
    for (index, kind) in [(1, Kind::Script), (2, Kind::Script), (3, Kind::Image)] {
        page.objects[index].kind = kind;
        page.objects[index].cacheable = false;
        if index > 1 {
            let edge = &mut page.objects[index].waits_for[0];
            (edge.object, edge.after) = (ObjectId(index as u32 - 1), After::End);
            edge.compute.value = std::time::Duration::from_millis(5 * index as u64);
        }
    }
    page
}

#[test]
fn what_is_preloaded_does_not_run_early() {
    let before = chain();
    let preloaded = super::apply("x~preload", before.clone()).unwrap();
    preloaded.check().unwrap();
    let edges = |index: usize| {
        let of = |edge: &crate::Edge| (edge.object.0, edge.after, edge.compute.value.as_millis());
        preloaded.objects[index].waits_for.iter().map(of).collect::<Vec<_>>()
    };
    // The document names the first script itself; the second is known with its head.
    assert_eq!(preloaded.objects[1], before.objects[1]);
    assert_eq!(edges(2), [(0, After::Head, 0)]);
    // The image waits for both scripts, and for the work of both.
    assert_eq!(edges(3), [(2, After::End, 25), (1, After::End, 25)]);
    let link = 32 + before.objects[2].url.len() as u32;
    assert_eq!(preloaded.root().response_header_bytes, before.root().response_header_bytes + link);
}

#[test]
fn third_parties_are_neither_preloaded_nor_kept() {
    let mut page = chain();
    let own = page.hosts[0].clone();
    page.hosts.push(crate::PageHost { name: "other.test".to_owned(), ..own });
    page.objects[2].host = crate::HostId(1);
    let preloaded = super::apply("x~preload", page.clone()).unwrap();
    assert_eq!(preloaded.objects, page.objects);
    let kept = super::apply("x~cached", page).unwrap();
    let cacheable: Vec<bool> = kept.objects.iter().map(|object| object.cacheable).collect();
    assert_eq!(cacheable, [true, true, false, true]);
}
