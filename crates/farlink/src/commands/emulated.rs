//! `farlink emulated ROLE`, hidden: a process of an emulated journey, started by farlink itself.

use testbed::emulate::{self, Role};

use crate::failure::{ExitCode, Failure};

pub fn run(role: &str) -> Result<ExitCode, Failure> {
    let Some(role) = Role::ALL.into_iter().find(|known| known.name() == role) else {
        return Err(Failure::bad_input(format!("`{role}` is no process of an emulated journey")));
    };
    let program = std::env::current_exe().map_err(Failure::machine)?;
    emulate::work(role, &program).map_err(Failure::machine)?;
    Ok(ExitCode::Success)
}
