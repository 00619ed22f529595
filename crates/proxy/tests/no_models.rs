//! The proxy cannot use modelled TLS, which encrypts nothing.

use std::path::Path;

#[test]
fn the_proxy_names_no_model() {
    let mut read = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let names_one =
                ["Modelled", "tls::model", "model::"].iter().any(|word| text.contains(word));
            assert!(!names_one, "{} names modelled TLS", path.display());
            read += 1;
        }
    }
    assert!(read > 2, "there are sources");
}
