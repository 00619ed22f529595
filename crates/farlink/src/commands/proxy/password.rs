//! Lines of a users' file.

use std::io;

use proxy::access::PasswordHash;

use crate::commands::output;
use crate::failure::{ExitCode, Failure};

pub fn hash(name: &str) -> Result<ExitCode, Failure> {
    if name.is_empty() || name.contains(':') {
        let message = format!("`{name}` is no user's name: it is empty or has a colon");
        return Err(Failure::bad_input(message));
    }
    let mut password = String::new();
    io::stdin().read_line(&mut password).map_err(Failure::machine)?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        let hint = format!("printf '%s' PASSWORD | farlink proxy --hash-password {name}");
        return Err(Failure::bad_input("there is no password on standard input").hint(hint));
    }
    let hash = PasswordHash::new(password)
        .map_err(|_| Failure::machine("this machine has no randomness for a salt"))?;
    output::line(format_args!("{name}:{hash}"))?;
    Ok(ExitCode::Success)
}
