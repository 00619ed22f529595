//! `farlink doctor`: what this machine can do, and what a missing thing costs.

use std::fs;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};

use super::output;
use crate::failure::{ExitCode, Failure};

/// One thing that was looked at.
struct Finding {
    works: bool,
    what: String,
    means: &'static str,
}

pub fn run() -> Result<ExitCode, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let findings = [
        Finding {
            works: true,
            what: format!("simulation on {cores} cores"),
            means: "needs nothing: no root, no network",
        },
        writable(),
        loopback(),
        chromium(),
    ];
    for finding in &findings {
        let (word, color) =
            if finding.works { ("yes", AnsiColor::Green) } else { ("no", AnsiColor::Yellow) };
        let style = Style::new().bold().fg_color(Some(color.into()));
        output::line(format!("{style}{word:>4}{style:#}  {}", finding.what))?;
        output::line(format!("      {}", finding.means))?;
    }
    Ok(ExitCode::Success)
}

fn writable() -> Finding {
    let probe = Path::new(".farlink-doctor");
    let works = fs::write(probe, b"").is_ok();
    // A probe that could not be written is not there to be removed.
    let _ = fs::remove_file(probe);
    Finding {
        works,
        what: "writing here".to_owned(),
        means: "`run` keeps its results in ./farlink.sqlite unless --store names another file",
    }
}

fn loopback() -> Finding {
    Finding {
        works: std::net::TcpListener::bind("127.0.0.1:0").is_ok(),
        what: "sockets on 127.0.0.1".to_owned(),
        means: "the real world's tests and benchmarks use them; simulation does not",
    }
}

fn chromium() -> Finding {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(on_path);
    Finding {
        works: found.is_some(),
        what: match found {
            Some(path) => format!("Chromium at {}", path.display()),
            None => "Chromium is not on PATH".to_owned(),
        },
        means: "shows and screenshots reports; simulation does not use it",
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
