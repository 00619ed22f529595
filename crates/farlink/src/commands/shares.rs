//! Networks of a site's users with their shares.

use crate::failure::CliError;
use crate::show::units::counted;

/// The networks with their users' shares, which sum to 1; equal shares if none are given.
pub fn with_shares(names: Vec<String>, shares: &[f64]) -> Result<Vec<(String, f64)>, CliError> {
    let expected = |problem: &str| {
        CliError::bad_input(format!("--share: {problem}")).hint(format!(
            "give {} above 0, in the networks' order: --share 60,40",
            counted(names.len(), "number")
        ))
    };
    if !shares.is_empty() && shares.len() != names.len() {
        return Err(expected(&format!(
            "{} for {}",
            counted(shares.len(), "share"),
            counted(names.len(), "network")
        )));
    }
    if shares.iter().any(|share| !share.is_finite() || *share <= 0.0) {
        return Err(expected("a share that is not above 0"));
    }
    let shares = match shares {
        [] => vec![1.0; names.len()],
        shares => shares.to_vec(),
    };
    let total: f64 = shares.iter().sum();
    Ok(names.into_iter().zip(shares.into_iter().map(|share| share / total)).collect())
}
