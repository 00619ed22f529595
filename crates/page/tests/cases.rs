//! HARs of other tools, if present: each loads as the page that it holds, or is refused by name.

use std::fs;
use std::path::{Path, PathBuf};

use farlink_page::{PageHost, open};

/// Number of requests of the page in files with this prefix.
const REQUESTS: [(&str, usize); 12] = [
    ("02-", 5),
    ("05-", 5),
    ("07-", 5),
    ("13-", 5),
    ("14-", 5),
    ("15-", 5),
    ("20-", 5),
    ("22-", 5),
    ("23-", 5),
    ("30-", 5),
    ("34-", 5),
    ("35-", 5),
];

fn folder() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = ["../shared/cases/har", "../../shared/cases/har"].into_iter();
    beside.map(|folder| workspace.join(folder)).find(|folder| folder.is_dir())
}

/// Name, port, and whether it is loaded in the clear.
type Origin = (&'static str, Option<u16>, bool);

/// Hosts of the page in files with this prefix.
const HOSTS: [(&str, &[Origin]); 2] = [
    (
        "24-host-07",
        &[
            ("www.shop.example", None, false),
            ("cdn.shop.example", None, false),
            ("www.shop.example", Some(8443), false),
        ],
    ),
    (
        "55-",
        &[
            ("www.shop.example", None, false),
            ("cdn.shop.example", None, false),
            ("www.shop.example", None, true),
        ],
    ),
];

#[test]
fn every_tools_har_loads_or_is_refused_by_name() {
    let Some(folder) = folder() else {
        println!("skipped: no cases beside the checkout");
        return;
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "har"));
    files.sort();
    assert!(files.len() >= 20, "{} files", files.len());
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match open(file.to_str().unwrap()) {
            Err(error) => {
                assert!(name.starts_with("47-"), "{name}: {error}");
                assert!(
                    error.to_string().contains("response.content.size: 9000000000000 bytes exceed")
                );
            }
            Ok(page) => {
                page.check().unwrap_or_else(|problem| panic!("{name}: {problem}"));
                let expected = REQUESTS.iter().find(|(start, _)| name.starts_with(start));
                if let Some((_, requests)) = expected {
                    assert_eq!(page.objects.len(), *requests, "{name}");
                }
                if let Some((_, hosts)) = HOSTS.iter().find(|(start, _)| name.starts_with(start)) {
                    let origin = |host: &PageHost| (host.name.clone(), host.port, host.in_clear);
                    let known = page.hosts.iter().map(origin);
                    let expected = hosts.iter().map(|(name, p, c)| ((*name).to_owned(), *p, *c));
                    assert!(known.eq(expected), "{name}: {:?}", page.hosts);
                }
            }
        }
    }
}
