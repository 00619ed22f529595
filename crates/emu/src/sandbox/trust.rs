//! Trust of a sandbox's programs in an authority of the sandbox's own.
//!
//! Programs find authorities in the system's bundle, and Chromium in its policies, too: it has roots of its own
//! (`net/data/ssl/chrome_root_store`). Both are replaced by mounts that no process outside sees.
//!
//! Source: update-ca-certificates(8); <https://chromeenterprise.google/policies/#CACertificates>.

use std::path::{Path, PathBuf};

use super::inside::{TemporaryFiles, mount_over, replace};
use crate::Error;

/// The bundle of certificates on Debian, Arch and Alpine; on Fedora; on SUSE.
const BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/var/lib/ca-certificates/ca-bundle.pem",
];

/// Directories of Chromium and of Chrome, in which they look for `policies/managed`.
const BROWSERS: [&str; 2] = ["/etc/chromium", "/etc/opt/chrome"];

/// Policies' place below them.
const POLICIES: &str = "policies/managed";

/// Adds the authority of this PEM text. Returns the system's bundle, which has it at its end, if there is one.
pub(super) fn add(authority: &str) -> Result<Option<PathBuf>, Error> {
    let files = TemporaryFiles::mount()?;
    let added = add_all(authority);
    files.unmount()?;
    added
}

fn add_all(authority: &str) -> Result<Option<PathBuf>, Error> {
    let mut extended = None;
    for bundle in BUNDLES {
        let Ok(known) = std::fs::read_to_string(bundle) else { continue };
        if replace(bundle, &format!("{known}\n{authority}"))? {
            extended.get_or_insert_with(|| PathBuf::from(bundle));
        }
    }
    for (number, browser) in BROWSERS.iter().enumerate() {
        let ours = Path::new(TemporaryFiles::PATH).join(format!("browser{number}"));
        if Path::new(browser).is_dir() {
            copy_folder(Path::new(browser), &ours)?;
            let policies = ours.join(POLICIES);
            make_folder(&policies)?;
            let path = policies.join("farlink.json");
            std::fs::write(&path, policy(authority)).map_err(Error::io(unwritable(&path)))?;
            mount_over(&ours, browser)?;
        }
    }
    Ok(extended)
}

/// The policy that makes Chromium trust it: certificates in DER as base64, which is PEM without its frame.
fn policy(authority: &str) -> String {
    let lines = authority.lines().filter(|line| !line.starts_with("-----"));
    let base64: String = lines.map(str::trim).collect();
    format!("{{\"CACertificates\": [\"{base64}\"]}}\n")
}

/// Copies a directory of settings, as far as its files can be read.
fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    make_folder(to)?;
    let Ok(entries) = from.read_dir() else { return Ok(()) };
    for entry in entries.flatten() {
        let (own, copy) = (entry.path(), to.join(entry.file_name()));
        if own.is_dir() {
            copy_folder(&own, &copy)?;
        } else if let Ok(bytes) = std::fs::read(&own) {
            std::fs::write(&copy, bytes).map_err(Error::io(unwritable(&copy)))?;
        }
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(Error::io(unwritable(path)))
}

fn unwritable(path: &Path) -> String {
    format!("failed to write {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_the_certificate_without_its_frame() {
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\nBBBB\n-----END CERTIFICATE-----\n";
        assert_eq!(policy(pem), "{\"CACertificates\": [\"AAAABBBB\"]}\n");
    }
}
