//! The seeds of the fuzz target `archive`, and each of their beginnings.

use std::io::Cursor;
use std::path::Path;

use farlink_archive::{parse, wacz};

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/archive"));
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn seeds_are_read_and_written_again() {
    let seeds = seeds();
    assert_eq!(seeds.len(), 2);
    for seed in seeds {
        let archived = parse(&seed).unwrap();
        assert_eq!((archived.damage, archived.loads[0].exchanges.len()), (None, 1));
        let body = archived.loads[0].exchanges[0].response.as_ref().unwrap().body.as_deref();
        assert_eq!(body, Some(&b"<img>"[..]));
        let mut file = Cursor::new(Vec::new());
        wacz::write(&archived.loads, "a/1", &mut file).unwrap();
        assert_eq!(parse(file.get_ref()).unwrap().loads, archived.loads);
    }
}

#[test]
fn any_beginning_of_a_seed_is_survived() {
    for seed in seeds() {
        for end in 0..seed.len() {
            let _ = parse(&seed[..end]);
        }
    }
}
