//! Mounts that exist in the sandbox only.
//!
//! Source: mount_namespaces(7), mount(2).

use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::names::{Names, RESOLV_CONF, nsswitch};
use crate::Error;

const NOTHING: Option<&str> = None;

/// Keeps later mounts out of the machine's mount namespace, and later mounts there out of this one.
pub(super) fn make_private() -> Result<(), Error> {
    mount(NOTHING, "/", NOTHING, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NOTHING)
        .map_err(Error::system("failed to make the sandbox's mounts private"))
}

/// Mounts a `/proc` of the sandbox's own PID namespace. In a container whose `/proc` is partly hidden the kernel refuses this
/// (`mount_too_revealing`); the old one then stays, in which `/proc/self` still works.
pub(super) fn show_own_processes() {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NOTHING);
}

/// Files in memory, over the machine's directory for temporary files.
#[derive(Debug)]
pub(super) struct TemporaryFiles;

impl TemporaryFiles {
    /// The one directory for temporary files that every system has.
    pub(super) const PATH: &str = "/tmp";

    /// Hides the previous content.
    pub(super) fn mount() -> Result<TemporaryFiles, Error> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("farlink"), TemporaryFiles::PATH, Some("tmpfs"), flags, Some("mode=1777"))
            .map_err(Error::system("failed to mount a tmpfs in the sandbox"))?;
        Ok(TemporaryFiles)
    }

    /// Restores the previous content. Files that are in use or mounted elsewhere stay as long as they are.
    fn unmount(self) -> Result<(), Error> {
        umount2(TemporaryFiles::PATH, MntFlags::MNT_DETACH)
            .map_err(Error::system("failed to unmount a tmpfs in the sandbox"))
    }
}

/// Puts files of our own in place of those that configure name resolution.
pub(super) fn set_names(names: &Names) -> Result<(), Error> {
    let hostname = nix::unistd::gethostname().unwrap_or_default();
    let hosts = names.hosts(&hostname.to_string_lossy());
    // A machine without this file has glibc's defaults, which it keeps.
    let switch = nsswitch(&std::fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default());
    let files = TemporaryFiles::mount()?;
    let replaced = replace("/etc/hosts", &hosts)
        .and_then(|()| replace("/etc/resolv.conf", RESOLV_CONF))
        .and_then(|()| replace("/etc/nsswitch.conf", &switch));
    files.unmount()?;
    replaced
}

/// Mounts a file with this text over another. A missing file is skipped: nothing can be mounted in its place, and its readers have defaults.
fn replace(path: &str, text: &str) -> Result<(), Error> {
    let name = Path::new(path).file_name().expect("the path names a file");
    let ours = Path::new(TemporaryFiles::PATH).join(name);
    std::fs::write(&ours, text)
        .map_err(Error::io(format!("failed to write {}", ours.display())))?;
    match mount(Some(&ours), path, NOTHING, MsFlags::MS_BIND, NOTHING) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(Error::System { what: "failed to mount a file over one of /etc", errno }),
    }
}
