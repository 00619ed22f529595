//! The operator's certificate authority - its creation, and its validity today - and password hashes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use proxy::access::PasswordHash;
use proxy::config::ProxyConfig;
use tls::NewAuthority;

use crate::commands::output;
use crate::failure::{CliError, ExitCode};

pub const CERTIFICATE: &str = "ca.pem";
pub const KEY: &str = "ca-key.pem";

/// Creates an authority's files in `folder`. No existing file is overwritten.
pub fn make_authority(folder: &Path, now: Duration) -> Result<ExitCode, CliError> {
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    for path in [&certificate, &key] {
        if path.symlink_metadata().is_ok() {
            let message = format!("{} already exists", path.display());
            return Err(CliError::bad_input(message).hint("name another directory".to_owned()));
        }
    }
    let made = NewAuthority::new(now).map_err(CliError::machine)?;
    let unwritten = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| CliError::machine(format!("cannot write {path}: {error}"))
    };
    fs::create_dir_all(folder).map_err(unwritten(folder))?;
    // The key first: a certificate without a key would only look like an authority.
    write(&key, &made.key, 0o600).map_err(unwritten(&key))?;
    write(&certificate, &made.certificate, 0o644).map_err(unwritten(&certificate))?;
    output::print(format!(
        "{}: certificate; clients whose tunnels are intercepted must trust it\n\
         {}: private key; keep it secret, it can impersonate any host\n",
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
pub fn check_validity(settings: &ProxyConfig, now: Duration) -> Result<(), CliError> {
    match &settings.intercept {
        Some(intercept) if !intercept.issuer.is_valid_at(now) => {
            let message = "intercept.ca: the certificate is expired or not yet valid";
            let hint = "create a new one with `farlink proxy --new-ca DIR`";
            Err(CliError::bad_input(message).hint(hint.to_owned()))
        }
        _ => Ok(()),
    }
}

// Lines of a users' file.

pub fn hash_password(name: &str) -> Result<ExitCode, CliError> {
    if name.is_empty() || name.contains(':') {
        let message =
            format!("invalid user name `{name}`: it must not be empty or contain a colon");
        return Err(CliError::bad_input(message));
    }
    let mut password = String::new();
    io::stdin().read_line(&mut password).map_err(CliError::machine)?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        let hint = format!("printf '%s' PASSWORD | farlink proxy --hash-password {name}");
        return Err(CliError::bad_input("no password on standard input").hint(hint));
    }
    let hash = PasswordHash::new(password)
        .map_err(|_| CliError::machine("the system's random number generator is unavailable"))?;
    output::line(format_args!("{name}:{hash}"))?;
    Ok(ExitCode::Success)
}
