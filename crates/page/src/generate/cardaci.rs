//! The mobile Wikipedia page of Cardaci et al. (2015), figure 5: a waterfall of 35 requests with names, hosts and
//! sizes.

use super::builder::{Builder, Reference};
use super::studies::StudyPage;
use crate::{HostId, Kind, Page};

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
        let kind = kind(name);
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

fn kind(name: &str) -> Kind {
    match name.split('?').next().unwrap_or(name) {
        sheet if sheet.ends_with(".css") => Kind::Stylesheet,
        script if script.ends_with(".js") => Kind::Script,
        _ => Kind::Image,
    }
}
