//! The command to run inside.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// Checks that the command can be run at all, before anything is set up.
pub fn check(command: &[OsString]) -> Result<(), Failure> {
    let Some(name) = command.first() else {
        return match io::stdin().is_terminal() && io::stdout().is_terminal() {
            true => Ok(()),
            false => Err(Failure::bad_input("no command was given, and this is no terminal")
                .hint("farlink shell --network 4g -- COMMAND ...".to_owned())),
        };
    };
    let shown = Path::new(name).display();
    match find(name) {
        None => Err(Failure::not_found(format!("there is no command `{shown}`"))),
        Some(file) if is_executable(&file) => Ok(()),
        Some(_) => Err(Failure::not_executable(format!("`{shown}` is not a program"))),
    }
}

/// The command, ready to be started; the caller's shell if none was given.
pub fn prepare(command: &[OsString], networks: &[String]) -> Command {
    let shell = || env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut prepared = match command.split_first() {
        Some((name, arguments)) => {
            let mut prepared = Command::new(name);
            prepared.args(arguments);
            prepared
        }
        None => Command::new(shell().unwrap_or_else(|| "/bin/sh".into())),
    };
    prepared.env("FARLINK_NETWORK", networks.join(" + "));
    prepared
}

/// The file that a shell would run: an executable on PATH takes precedence over a file that is none.
fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|file| file.exists());
    }
    let path = env::var_os("PATH")?;
    let files: Vec<PathBuf> = env::split_paths(&path)
        .map(|folder| folder.join(name))
        .filter(|file| file.is_file())
        .collect();
    let program = files.iter().find(|file| is_executable(file));
    program.or(files.first()).cloned()
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ExitCode;

    fn code(command: &[&str]) -> Option<ExitCode> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        check(&command).err().map(|failure| failure.code())
    }

    #[test]
    fn commands_are_looked_for_as_a_shell_does() {
        assert_eq!(code(&["sh", "-c", "whatever"]), None);
        assert_eq!(code(&["/bin/sh"]), None);
        assert_eq!(code(&["no-such-command-here"]), Some(ExitCode::CommandNotFound));
        assert_eq!(code(&["./no/such/file"]), Some(ExitCode::CommandNotFound));
        assert_eq!(code(&["/etc/passwd"]), Some(ExitCode::CommandNotExecutable));
        assert_eq!(code(&["/"]), Some(ExitCode::CommandNotExecutable));
    }
}
