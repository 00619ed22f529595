//! Commands as text to paste into a shell.

use std::ffi::OsString;
use std::iter;
use std::path::Path;

use store::without_password;

/// The current command line, ready to be typed again.
pub fn this_command() -> String {
    let told = |argument: OsString| quote(&without_password(&argument.to_string_lossy()));
    let arguments = std::env::args_os().skip(1).map(told);
    iter::once("farlink".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// ` --store PATH`, or nothing if `store` is the default.
pub fn store_option(store: &Path) -> String {
    match store == Path::new(crate::args::DEFAULT_STORE) {
        true => String::new(),
        false => format!(" --store {}", quote(&without_password(&store.to_string_lossy()))),
    }
}

pub fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !argument.is_empty() && argument.chars().all(plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        assert_eq!(quote("network.rtt=600ms"), "network.rtt=600ms");
        assert_eq!(quote(r#"stack.protocol=["h1"]"#), r#"'stack.protocol=["h1"]'"#);
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(store_option(Path::new("farlink.sqlite")), "");
        assert_eq!(store_option(Path::new("my runs.db")), " --store 'my runs.db'");
        let server = Path::new("postgres://me:secret@db/runs");
        assert_eq!(store_option(server), " --store 'postgres://me:***@db/runs'");
    }
}
