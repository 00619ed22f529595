//! The worlds of a plan: simulated ones in this process, emulated ones by way of the bundled program.

use std::path::PathBuf;

use chromium::Chromium;
use emu::Wire;
use testbed::worlds::Worlds;

use crate::failure::Failure;

/// All worlds, `program` being the bundled farlink. Each plan has its own, so that a page that is changed between two
/// plans is read again.
pub fn worlds(program: PathBuf) -> Result<Worlds, Failure> {
    let (named, path) = (std::env::var_os("FARLINK_CHROMIUM"), std::env::var_os("PATH"));
    let chromium = Chromium::find(named.as_deref(), path.as_deref());
    let worlds = Worlds::new(program, chromium.map_err(|error| error.to_string()));
    let wire = std::env::var_os("FARLINK_WIRE").filter(|name| !name.is_empty());
    let wire = wire.map(|name| name.to_string_lossy().parse::<Wire>()).transpose();
    Ok(match wire.map_err(|error| Failure::refused(format!("FARLINK_WIRE: {error}")))? {
        Some(wire) => worlds.over(wire),
        None => worlds,
    })
}
