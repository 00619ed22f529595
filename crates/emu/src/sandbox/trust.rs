//! Trust of a sandbox's programs in an authority of the sandbox's own.
//!
//! Programs find authorities in the system's bundle, and Chromium in its policies, too: it has roots of its own
//! (`net/data/ssl/chrome_root_store`). Both are replaced by mounts that no process outside sees.
//!
//! Source: update-ca-certificates(8); <https://chromeenterprise.google/policies/#CACertificates>.

use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};

use super::inside::TemporaryFiles;
use crate::Error;

const NOTHING: Option<&str> = None;

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

/// What could be made to trust an authority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustPlaces {
    /// The system's bundle, if there is one: it has the authority at its end.
    pub bundle: Option<PathBuf>,
    /// True if Chromium or Chrome trusts it.
    pub has_browser_policy: bool,
}

/// Adds the authority of this PEM text.
pub(super) fn add(authority: &str) -> Result<TrustPlaces, Error> {
    let files = TemporaryFiles::mount()?;
    let added = add_all(authority);
    files.unmount()?;
    added
}

fn add_all(authority: &str) -> Result<TrustPlaces, Error> {
    let mut places = TrustPlaces::default();
    for (number, bundle) in BUNDLES.iter().enumerate() {
        let Ok(known) = std::fs::read_to_string(bundle) else { continue };
        let ours = Path::new(TemporaryFiles::PATH).join(format!("bundle{number}"));
        write(&ours, &format!("{known}\n{authority}"))?;
        if mounted(&ours, Path::new(bundle))? {
            places.bundle.get_or_insert_with(|| PathBuf::from(bundle));
        }
    }
    for (number, browser) in BROWSERS.iter().enumerate() {
        let ours = Path::new(TemporaryFiles::PATH).join(format!("browser{number}"));
        if Path::new(browser).is_dir() {
            copy_folder(Path::new(browser), &ours)?;
            let policies = ours.join(POLICIES);
            make_folder(&policies)?;
            write(&policies.join("farlink.json"), &policy(authority))?;
            places.has_browser_policy |= mounted(&ours, Path::new(browser))?;
        }
    }
    Ok(places)
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

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(Error::io(unwritable(path)))
}

fn unwritable(path: &Path) -> String {
    format!("failed to write {}", path.display())
}

/// Mounts `ours` over `theirs`, and returns true unless `theirs` is missing.
fn mounted(ours: &Path, theirs: &Path) -> Result<bool, Error> {
    match mount(Some(ours), theirs, NOTHING, MsFlags::MS_BIND, NOTHING) {
        Ok(()) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(Error::System { what: "failed to mount a file over one of /etc", errno }),
    }
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
