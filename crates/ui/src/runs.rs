//! Starting runs.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use super::jobs::{Job, spawn};
use super::kept::keep;
use super::state::{UiError, UiState};

/// Page, networks and protocols, as chosen on the page.
#[derive(Deserialize)]
pub struct Conditions {
    page: String,
    networks: Vec<String>,
    #[serde(default)]
    protocols: Vec<String>,
}

impl Conditions {
    /// They come as words of a command line or values of a file, in which an option would be read as such.
    fn check(&self) -> Result<(), UiError> {
        if self.page.trim().is_empty() {
            return Err(UiError::bad("choose a page"));
        }
        if self.networks.is_empty() {
            return Err(UiError::bad("choose a network"));
        }
        let mut words = self.networks.iter().chain(&self.protocols).chain([&self.page]);
        match words.find(|word| word.starts_with('-')) {
            Some(option) => Err(UiError::bad(format!("`{option}` is an option"))),
            None => Ok(()),
        }
    }

    /// Arguments of a command that loads a page.
    pub fn arguments(&self) -> Result<Vec<String>, UiError> {
        self.check()?;
        let named =
            |option: &'static str| move |value: &String| [format!("--{option}"), value.clone()];
        let networks = self.networks.iter().flat_map(named("network"));
        let protocols = self.protocols.iter().flat_map(named("protocol"));
        Ok(std::iter::once(self.page.clone()).chain(networks).chain(protocols).collect())
    }
}

/// A run as chosen on the page.
#[derive(Deserialize)]
pub struct NewRun {
    #[serde(flatten)]
    conditions: Conditions,
    /// A fixed number of repetitions.
    repetitions: Option<u32>,
    /// A width until which to repeat, as `5%`.
    until: Option<String>,
}

/// An experiment file.
#[derive(Serialize)]
struct Experiment {
    format: u8,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetitions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    page: ExperimentPage,
    network: ExperimentNetwork,
    stack: ExperimentStack,
}

#[derive(Serialize)]
struct ExperimentPage {
    name: String,
}

#[derive(Serialize)]
struct ExperimentNetwork {
    base: Vec<String>,
}

#[derive(Serialize)]
struct ExperimentStack {
    protocol: Vec<String>,
}

/// `POST /api/runs`: starts `farlink run` on the experiment.
pub async fn start(
    State(state): State<UiState>,
    Json(run): Json<NewRun>,
) -> Result<Json<Job>, UiError> {
    let text = experiment(run)?;
    let path = keep(text.as_bytes(), state.files().await?, "experiment", ".toml").await?;
    let (path, store) = (path.to_string_lossy(), state.store_path().to_string_lossy());
    let arguments = ["run", &path, "--store", &store].map(str::to_owned);
    spawn(&state, arguments.to_vec()).map(Json)
}

fn experiment(run: NewRun) -> Result<String, UiError> {
    let NewRun { conditions, repetitions, until } = run;
    conditions.check()?;
    if conditions.protocols.is_empty() {
        return Err(UiError::bad("choose a protocol"));
    }
    let Conditions { page, networks, protocols } = conditions;
    let page = page.trim().to_owned();
    let last = page.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(&page);
    let experiment = Experiment {
        format: 1,
        name: format!("{last} over {}", networks.join(", ")),
        repetitions,
        until,
        page: ExperimentPage { name: page },
        network: ExperimentNetwork { base: networks },
        stack: ExperimentStack { protocol: protocols },
    };
    toml::to_string(&experiment).map_err(UiError::failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(page: &str, network: &str) -> Conditions {
        let (networks, protocols) = (vec![network.to_owned()], vec!["h2".to_owned()]);
        Conditions { page: page.to_owned(), networks, protocols }
    }

    #[test]
    fn an_experiment_is_what_was_chosen() {
        let conditions = conditions("/pages/shop \"x\".har", "3g,loss=1%");
        let run = NewRun { conditions, repetitions: None, until: Some("5%".to_owned()) };
        let text = experiment(run).unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["name"].as_str(), Some("shop \"x\".har over 3g,loss=1%"));
        assert_eq!(table["page"]["name"].as_str(), Some("/pages/shop \"x\".har"));
        assert_eq!(table["network"]["base"][0].as_str(), Some("3g,loss=1%"));
        assert_eq!(table["until"].as_str(), Some("5%"));
        assert!(!table.contains_key("repetitions"));
    }

    #[test]
    fn options_are_no_pages_and_no_networks() {
        assert!(conditions("--help", "3g").arguments().is_err());
        assert!(conditions("bth2013", "--json").arguments().is_err());
        let words = conditions("bth2013", "3g").arguments().unwrap();
        assert_eq!(words, ["bth2013", "--network", "3g", "--protocol", "h2"]);
    }
}
