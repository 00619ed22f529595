//! The operator's own certificate authority: its creation, and its validity today.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use proxy::config::Settings;
use tls::NewAuthority;

use crate::commands::output;
use crate::failure::{ExitCode, Failure};

const CERTIFICATE: &str = "ca.pem";
const KEY: &str = "ca-key.pem";

/// Creates an authority's files in `folder`. No existing file is overwritten.
pub fn make(folder: &Path, now: Duration) -> Result<ExitCode, Failure> {
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    for path in [&certificate, &key] {
        if path.symlink_metadata().is_ok() {
            let message = format!("{} is there already and is not overwritten", path.display());
            return Err(Failure::bad_input(message).hint("name another directory".to_owned()));
        }
    }
    let made = NewAuthority::new(now).map_err(Failure::machine)?;
    let unwritten = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| Failure::machine(format!("{path} cannot be written: {error}"))
    };
    fs::create_dir_all(folder).map_err(unwritten(folder))?;
    // The key first: a certificate without a key would only look like an authority.
    write(&key, &made.key, 0o600).map_err(unwritten(&key))?;
    write(&certificate, &made.certificate, 0o644).map_err(unwritten(&certificate))?;
    output::print(format!(
        "{}: for those whose tunnels end here, to be trusted as an authority\n\
         {}: for the proxy alone: whoever has it can be any host to them\n",
        certificate.display(),
        key.display()
    ))?;
    Ok(ExitCode::Success)
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

/// Rejects an authority that is not valid today.
pub fn judge(settings: &Settings, now: Duration) -> Result<(), Failure> {
    match &settings.intercept {
        Some(intercept) if !intercept.issuer.is_valid_at(now) => {
            let message = "intercept.ca: the authority's certificate is not valid today";
            let hint = "farlink proxy --new-ca DIR makes a new one";
            Err(Failure::bad_input(message).hint(hint.to_owned()))
        }
        _ => Ok(()),
    }
}
