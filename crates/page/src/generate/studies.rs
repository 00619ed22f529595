//! Pages of published studies, from their tables; assumptions are stated.

use super::{Builder, Markup, Reference};
use crate::{HostId, Kind, Page};

/// A study's page, by name.
#[derive(Debug)]
pub struct StudyPage {
    /// Name to open it by.
    pub name: &'static str,
    /// One line for a list.
    pub description: &'static str,
    make: fn(&StudyPage) -> Page,
}

/// The studies' pages other than Kallio's forty.
pub const STUDY_PAGES: [StudyPage; 6] = [
    StudyPage {
        name: "bth2013",
        description: "36 requests on 7 hosts, after the mobile Wikipedia (BTH thesis, 2013)",
        make: bth2013,
    },
    StudyPage {
        name: "cardaci2015-wikipedia",
        description: "35 requests on 3 hosts: the mobile Wikipedia over a satellite (Cardaci et al., 2015)",
        make: wikipedia,
    },
    StudyPage {
        name: "petuchowski2015",
        description: "50 tiles of 16 KB on one host (Petuchowski, 2015)",
        make: petuchowski2015,
    },
    StudyPage {
        name: "petuchowski2015-tiles",
        description: "1.5 MB of small tiles on one host, after Akamai's HTTP/2 demo",
        make: petuchowski2015_tiles,
    },
    StudyPage {
        name: "erman2013-same-domain",
        description: "50 images on the document's domain (Erman et al., 2013)",
        make: erman2013_same_domain,
    },
    StudyPage {
        name: "erman2013-different-domains",
        description: "50 images on 50 domains (Erman et al., 2013)",
        make: erman2013_different_domains,
    },
];

impl StudyPage {
    /// Builds the page.
    pub fn page(&self) -> Page {
        (self.make)(self)
    }
}

/// Kallio's page `testS-NNN-BYTES` (thesis, table 13: "a basic HTML plus the objects", binary files on one server).
/// The document's size is not stated; a synthetic page's is used.
pub(super) fn kallio(name: &str) -> Option<Page> {
    let (_, objects, bytes) = kallio_parameters().find(|(known, _, _)| known == name)?;
    let origin = format!(
        "Kallio 2016, table 13: {objects} objects of {bytes} bytes; the document's size is assumed"
    );
    let markup = Markup::PLAIN;
    let path = format!("/{name}.html");
    let host = vec!["10.22.198.5".to_owned()];
    let mut page = Builder::new(name, &origin, host, &path, markup.bytes(objects));
    for index in 0..objects {
        page.refer(Reference {
            host: HostId(0),
            path: format!("/{name}/{:03}.bin", index + 1),
            kind: Kind::Image,
            body_bytes: bytes,
            at: markup.end_of(index),
        });
    }
    Some(page.finish())
}

/// Name, object count and object size of the forty pages.
pub(super) fn kallio_parameters() -> impl Iterator<Item = (String, u64, u64)> {
    [1024, 5120, 10_240, 20_480].into_iter().zip(1..).flat_map(|(bytes, series)| {
        (1..=10).map(move |step| {
            let objects = step * 50;
            (format!("test{series}-{objects:03}-{bytes}"), objects, bytes)
        })
    })
}

/// One row of the bth2013 page: files of one kind and size on one host.
struct KallioRow {
    host: u32,
    kind: Kind,
    folder: &'static str,
    ending: &'static str,
    sizes: &'static [(u64, u64)],
}

const BTH_HOSTS: [&str; 7] = [
    "en.m.wikipedia.org",
    "bits.wikimedia.org",
    "bits-01.wikimedia.org",
    "bits-02.wikimedia.org",
    "upload.wikimedia.org",
    "upload-01.wikimedia.org",
    "upload-02.wikimedia.org",
];

const BTH_DOCUMENT_BYTES: u64 = 87_000;
/// Bytes of the document within which sheets and scripts are referred to.
const BTH_HEAD_BYTES: u64 = 2_000;

/// Totals from table 5.8; (count, bytes) within them are assumed.
const BTH_ROWS: [KallioRow; 6] = [
    KallioRow {
        host: 2,
        kind: Kind::Stylesheet,
        folder: "css",
        ending: "css",
        sizes: &[(1, 11_000), (1, 6_000)],
    },
    KallioRow {
        host: 3,
        kind: Kind::Script,
        folder: "js",
        ending: "js",
        sizes: &[(1, 30_000), (1, 20_000)],
    },
    KallioRow {
        host: 1,
        kind: Kind::Image,
        folder: "icons",
        ending: "png",
        sizes: &[(8, 889), (1, 888)],
    },
    KallioRow { host: 5, kind: Kind::Image, folder: "small", ending: "png", sizes: &[(10, 4_100)] },
    KallioRow { host: 4, kind: Kind::Image, folder: "big", ending: "jpg", sizes: &[(4, 25_000)] },
    KallioRow { host: 6, kind: Kind::Image, folder: "thumb", ending: "jpg", sizes: &[(8, 8_000)] },
];

fn bth2013(study: &StudyPage) -> Page {
    let origin = "BTH thesis 2013, tables 5.5 and 5.8: 36 requests, 367 KB, 7 host roles. Assumed: \
                  single sizes within each kind's total, document order, bits-01 for the sheets \
                  (table 5.5 prints en.m twice)";
    let hosts = BTH_HOSTS.map(str::to_owned).to_vec();
    let mut page = Builder::new(study.name, origin, hosts, "/", BTH_DOCUMENT_BYTES);
    let (head, body): (Vec<_>, Vec<_>) =
        bth_files().into_iter().partition(|(row, _, _)| row.kind != Kind::Image);
    let spans = [(head, 0, BTH_HEAD_BYTES), (body, BTH_HEAD_BYTES, BTH_DOCUMENT_BYTES)];
    for (files, from, to) in spans {
        // Evenly over the span, the last a little before its end.
        let step = (to - from) / (files.len() as u64 + 1);
        for (index, (row, path, body_bytes)) in files.into_iter().enumerate() {
            let at = from + step * (index as u64 + 1);
            page.refer(Reference { host: HostId(row.host), path, kind: row.kind, body_bytes, at });
        }
    }
    page.finish()
}

fn bth_files() -> Vec<(&'static KallioRow, String, u64)> {
    let mut files = Vec::new();
    for row in &BTH_ROWS {
        let sizes = row.sizes.iter().flat_map(|(count, bytes)| (0..*count).map(move |_| *bytes));
        for (bytes, number) in sizes.zip(1..) {
            files.push((row, format!("/{}/{number:02}.{}", row.folder, row.ending), bytes));
        }
    }
    files
}

/// The code's figures (paper: "50 images of about 16 KB, 785 KB in all"): index.html of 1489 bytes,
/// tiles of 15,089 to 16,491 bytes, 783,877 bytes in all.
const PETUCHOWSKI_DOCUMENT_BYTES: u64 = 1_489;
const PETUCHOWSKI_TILES: u64 = 50;
const PETUCHOWSKI_TILE_BYTES: (u64, u64) = (15_089, 16_491);
const PETUCHOWSKI_ALL_BYTES: u64 = 783_877;

fn petuchowski2015(study: &StudyPage) -> Page {
    let origin = "Petuchowski 2015: index.html of 1,489 bytes and 50 tiles of 15,089 to 16,491 \
                  bytes, 783,877 bytes in all. Assumed: how the tiles' sizes lie between the two";
    let sizes = spread(
        PETUCHOWSKI_TILES,
        PETUCHOWSKI_TILE_BYTES,
        PETUCHOWSKI_ALL_BYTES - PETUCHOWSKI_DOCUMENT_BYTES,
    );
    let markup = Markup { prologue: 69, tag: 28, epilogue: 20 };
    images(study, origin, vec!["server.page.test".to_owned()], markup, &sizes)
}

/// Sizes from the least to the greatest that sum to `total`, in increasing order.
fn spread(count: u64, (least, greatest): (u64, u64), total: u64) -> Vec<u64> {
    let last = count - 1;
    // A unique mixture of a line and a parabola through both ends has this total.
    let line: Vec<u64> = (0..count).map(|k| least + (greatest - least) * k / last).collect();
    let parabola: Vec<u64> =
        (0..count).map(|k| least + (greatest - least) * k * k / (last * last)).collect();
    let (most, fewest): (u64, u64) = (line.iter().sum(), parabola.iter().sum());
    let share = |k: usize| (line[k] - parabola[k]) * (total - fewest) / (most - fewest);
    let mut sizes: Vec<u64> = (0..count as usize).map(|k| parabola[k] + share(k)).collect();
    // Rounding down leaves a few bytes over, fewer than there are sizes between the ends.
    let missing = total - sizes.iter().sum::<u64>();
    for size in sizes.iter_mut().skip(1).take(missing as usize) {
        *size += 1;
    }
    sizes
}

/// Akamai's demo page draws a picture of 379 tiles; the paper gives 1.5 MB.
const TILES: u64 = 379;
const TILES_ALL_BYTES: u64 = 1_500_000;

fn petuchowski2015_tiles(study: &StudyPage) -> Page {
    let origin = "Petuchowski 2015: Akamai's HTTP/2 demo page, 1.5 MB in all. Assumed: 379 tiles of \
                  equal size, one host, 60 bytes of document a tile";
    let tiles_bytes = TILES_ALL_BYTES - Markup::PLAIN.bytes(TILES);
    let sizes: Vec<u64> =
        (0..TILES).map(|k| tiles_bytes / TILES + u64::from(k < tiles_bytes % TILES)).collect();
    images(study, origin, vec!["http2.akamai.com".to_owned()], Markup::PLAIN, &sizes)
}

/// Mean object of the study's 20 sites: table 1 has 29,794.1 KB in 2,564.1 objects.
const ERMAN_IMAGE_BYTES: u64 = 11_620;
const ERMAN_IMAGES: usize = 50;

fn erman2013_same_domain(study: &StudyPage) -> Page {
    let origin = "Erman et al. 2013, section 5.2: a document and 50 images on one domain. Assumed: \
                  images of 11.62 KB, the mean object of its table 1, and the document's size";
    let host = vec!["www.page.test".to_owned()];
    images(study, origin, host, Markup::PLAIN, &[ERMAN_IMAGE_BYTES; ERMAN_IMAGES])
}

fn erman2013_different_domains(study: &StudyPage) -> Page {
    let origin = "Erman et al. 2013, section 5.2: a document and 50 images, each on a domain of its \
                  own. Assumed: images of 11.62 KB, the mean object of its table 1, and the \
                  document's size";
    let images_hosts = (1..=ERMAN_IMAGES).map(|n| format!("image{n}.page.test"));
    let hosts = std::iter::once("www.page.test".to_owned()).chain(images_hosts).collect();
    images(study, origin, hosts, Markup::PLAIN, &[ERMAN_IMAGE_BYTES; ERMAN_IMAGES])
}

/// A document of image tags. With more than one host, each image has one of its own.
fn images(
    study: &StudyPage,
    origin: &str,
    hosts: Vec<String>,
    markup: Markup,
    sizes: &[u64],
) -> Page {
    let own_hosts = hosts.len() > 1;
    let document = markup.bytes(sizes.len() as u64);
    let mut page = Builder::new(study.name, origin, hosts, "/", document);
    for (bytes, index) in sizes.iter().zip(0..) {
        page.refer(Reference {
            host: HostId(if own_hosts { index as u32 + 1 } else { 0 }),
            path: format!("/t/{index:02}.png"),
            kind: Kind::Image,
            body_bytes: *bytes,
            at: markup.end_of(index),
        });
    }
    page.finish()
}

// The mobile Wikipedia page of Cardaci et al. (2015), figure 5: a waterfall of 35 requests with names, hosts and
// sizes.

const HOSTS: [&str; 3] = ["en.m.wikipedia.org", "bits.wikimedia.org", "upload.wikimedia.org"];
const BITS: u32 = 1;
const UPLOAD: u32 = 2;

/// 329.7 KB, uncompressed as shown in the figure.
const DOCUMENT_BYTES: u64 = 329_700;
/// Bytes of the document within which sheets and scripts are referred to.
const HEAD_BYTES: u64 = 3_000;

/// Host, name as far as the figure shows it, bytes. "Not Found" pages have 9 bytes.
const FILES: [(u32, &str, u64); 34] = [
    (BITS, "common.css?version=12012011121954", 3_600),
    (BITS, "android.css?version=12012011120715", 4_400),
    (BITS, "jquery-1.7.1.min.js", 91_700),
    (BITS, "application.js?version=01052011120915", 3_300),
    (BITS, "opensearch.js?version=12142011129437", 4_500),
    (UPLOAD, "W_logo_for_Mobile_Frontend.gif", 379),
    (BITS, "close-button.png", 1_900),
    (BITS, "s-xhdpi.png", 9),
    (UPLOAD, "20px-Padlock-silver.svg.png", 856),
    (UPLOAD, "220px-Harvard_Wreath_Logo_1.svg.png", 46_500),
    (UPLOAD, "Harvard_University_logo.PNG", 2_700),
    (UPLOAD, "220px-A_Westerly_View_of_the_Colledges", 8_200),
    (UPLOAD, "290px-Rummell,_Richard_Harvard_University", 9),
    (UPLOAD, "220px-Harvard_square_harvard_yard.JPG", 16_500),
    (UPLOAD, "170px-Harvard_University_map_(older,_dat", 9),
    (UPLOAD, "220px-John_Harvard_statue_at_Harvard_U", 13_500),
    (UPLOAD, "220px-Massachusetts_Hall,_Harvard_University", 9),
    (UPLOAD, "220px-Harvard_yard_winter_2009j.JPG", 14_200),
    (UPLOAD, "170px-Harvard_architects.png", 88_400),
    (UPLOAD, "170px-Harvard_memorial_church_winter_2", 18_000),
    (UPLOAD, "220px-Widener_library_2009.JPG", 10_600),
    (UPLOAD, "170px-University_Museum_at_Harvard_001", 7_800),
    (UPLOAD, "220px-Henry_Moore_sculpture,_Harvard_U", 9),
    (UPLOAD, "220px-Harvard_stadium_2009h.JPG", 8_100),
    (UPLOAD, "220px-Harvard_crimsons_v_brown_2009.J", 16_200),
    (UPLOAD, "20px-Wiki_letter_w_cropped.svg.png", 916),
    (UPLOAD, "32px-Flag_of_Boston.svg.png", 1_100),
    (UPLOAD, "23px-Platopainting.jpg", 677),
    (UPLOAD, "38px-Wikisource-logo.svg.png", 2_300),
    (UPLOAD, "12px-Commons-logo.svg.png", 545),
    (UPLOAD, "110px-BostonTrip-91.jpg", 4_000),
    (UPLOAD, "80px-Flag_of_Massachusetts.svg.png", 1_700),
    (UPLOAD, "125px-P9051102.jpg", 4_400),
    (UPLOAD, "125px-Gillette_Stadium.jpg", 5_100),
];

/// Builds the page. Details that the figure leaves open are assumed.
pub(super) fn wikipedia(study: &StudyPage) -> Page {
    let origin = "Cardaci et al. 2015, figure 5: 35 requests to 3 hosts with their sizes. Assumed: folders, where the figure cuts names off \
                  they end there, and where in the document each reference stands";
    let hosts = HOSTS.map(str::to_owned).to_vec();
    let mut page =
        Builder::new(study.name, origin, hosts, "/wiki/Harvard_University", DOCUMENT_BYTES);
    let (mut head, mut body) = (0, 0);
    for (host, name, body_bytes) in FILES {
        let kind = wikipedia_kind(name);
        let at = match kind {
            Kind::Image => {
                body += 1;
                HEAD_BYTES + (DOCUMENT_BYTES - HEAD_BYTES) / 31 * body
            }
            _ => {
                head += 1;
                HEAD_BYTES / 6 * head
            }
        };
        let folder = match host {
            BITS => "/static-1.19/extensions/MobileFrontend",
            _ => "/wikipedia/commons/thumb",
        };
        page.refer(Reference {
            host: HostId(host),
            path: format!("{folder}/{name}"),
            kind,
            body_bytes,
            at,
        });
    }
    page.finish()
}

fn wikipedia_kind(name: &str) -> Kind {
    match name.split('?').next().unwrap_or(name) {
        sheet if sheet.ends_with(".css") => Kind::Stylesheet,
        script if script.ends_with(".js") => Kind::Script,
        _ => Kind::Image,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str) -> Page {
        STUDY_PAGES.iter().find(|study| study.name == name).unwrap().page()
    }

    #[test]
    fn kallios_forty_pages_have_the_names_and_totals_of_the_table() {
        let pages: Vec<_> = kallio_parameters().collect();
        assert_eq!(pages.len(), 40);
        assert_eq!(pages[0].0, "test1-050-1024");
        assert_eq!(pages[39].0, "test4-500-20480");
        let page = kallio("test4-500-20480").unwrap();
        assert_eq!(page.body_bytes() - page.root().body_bytes, 10_240_000);
        assert!(kallio("test1-055-1024").is_none());
        assert!(kallio("test1-50-1024").is_none());
    }

    #[test]
    fn bth2013_adds_up_to_the_tables() {
        let page = page("bth2013");
        let sum = |kind: Kind| {
            let of_kind = page.objects.iter().filter(|o| o.kind == kind);
            of_kind.fold((0, 0), |(n, bytes), o| (n + 1, bytes + o.body_bytes))
        };
        assert_eq!(page.objects.len(), 36);
        assert_eq!(page.hosts.len(), 7);
        assert_eq!(sum(Kind::Document), (1, 87_000));
        assert_eq!(sum(Kind::Script), (2, 50_000));
        assert_eq!(sum(Kind::Stylesheet), (2, 17_000));
        assert_eq!(sum(Kind::Image), (31, 213_000));
        assert_eq!(page.body_bytes(), 367_000);
    }

    #[test]
    fn the_satellite_page_has_the_figures_requests() {
        let page = page("cardaci2015-wikipedia");
        assert_eq!((page.objects.len(), page.hosts.len()), (35, 3));
        let on = |host| page.objects.iter().filter(|object| object.host == HostId(host)).count();
        assert_eq!([on(0), on(1), on(2)], [1, 7, 27]);
    }

    #[test]
    fn petuchowskis_page_has_the_stated_sizes() {
        let page = page("petuchowski2015");
        assert_eq!(page.root().body_bytes, 1_489);
        assert_eq!(page.objects.len(), 51);
        assert_eq!(page.body_bytes(), 783_877);
        let tiles = || page.objects[1..].iter().map(|o| o.body_bytes);
        assert_eq!((tiles().min(), tiles().max()), (Some(15_089), Some(16_491)));
    }

    #[test]
    fn the_tile_page_has_its_total() {
        let page = page("petuchowski2015-tiles");
        assert_eq!((page.objects.len(), page.body_bytes()), (380, 1_500_000));
    }

    #[test]
    fn ermans_pages_differ_in_domains_alone() {
        let (same, different) =
            (page("erman2013-same-domain"), page("erman2013-different-domains"));
        assert_eq!((same.objects.len(), same.hosts.len()), (51, 1));
        assert_eq!((different.objects.len(), different.hosts.len()), (51, 51));
        assert_eq!(same.body_bytes(), different.body_bytes());
        let hosts: std::collections::BTreeSet<HostId> =
            different.objects.iter().map(|o| o.host).collect();
        assert_eq!(hosts.len(), 51);
    }
}
