//! Child processes: the program's own commands, with their output.

use std::collections::BTreeMap;
use std::process::Stdio;

use axum::Json;
use axum::extract::{Path, State};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::runs::Conditions;
use super::state::{UiError, UiState};

/// Jobs that are remembered after their end.
const MOST_ENDED: usize = 100;

/// All jobs, by number.
#[derive(Default)]
pub struct Jobs {
    last: u64,
    jobs: BTreeMap<u64, Job>,
}

/// A command that was started.
#[derive(Clone, Serialize)]
pub struct Job {
    id: u64,
    /// The command line, ready to be typed.
    command: String,
    state: JobState,
    /// Its standard output once it has ended.
    output: String,
    /// Its standard error once it has ended.
    messages: String,
    #[serde(skip)]
    process: Option<Pid>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum JobState {
    Running,
    Done,
    Failed,
    Interrupted,
}

impl Jobs {
    fn add(&mut self, command: String, process: Option<Pid>) -> Job {
        self.last += 1;
        let (output, messages) = (String::new(), String::new());
        let job =
            Job { id: self.last, command, state: JobState::Running, output, messages, process };
        self.jobs.insert(job.id, job.clone());
        let ended = self.jobs.values().filter(|job| job.state != JobState::Running);
        if ended.clone().count() > MOST_ENDED
            && let Some(oldest) = ended.map(|job| job.id).next()
        {
            self.jobs.remove(&oldest);
        }
        job
    }

    fn end(&mut self, id: u64, state: JobState, output: String, messages: String) {
        if let Some(job) = self.jobs.get_mut(&id) {
            *job = Job { state, output, messages, process: None, ..job.clone() };
        }
    }

    /// All jobs without their output, the oldest first.
    pub fn listed(&self) -> Vec<Job> {
        let short = |job: &Job| Job { output: String::new(), ..job.clone() };
        self.jobs.values().map(short).collect()
    }

    fn processes(&self) -> Vec<Pid> {
        self.jobs.values().filter_map(|job| job.process).collect()
    }
}

/// A question that a command answers in JSON.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Question {
    /// `farlink compare STORE#BEFORE STORE#AFTER`.
    Compare { before: i64, after: i64 },
    /// `farlink what-if PAGE`.
    WhatIf(Conditions),
    /// `farlink advise PAGE`.
    Advise(Conditions),
}

impl Question {
    fn arguments(&self, state: &UiState) -> Result<Vec<String>, UiError> {
        let of_page = |command: &str, conditions: &Conditions| {
            let mut arguments = vec![command.to_owned()];
            arguments.extend(conditions.arguments()?);
            arguments.push("--json".to_owned());
            Ok(arguments)
        };
        match self {
            Question::Compare { before, after } => {
                let run = |number: &i64| format!("{}#{number}", state.store_path().display());
                Ok(vec!["compare".to_owned(), run(before), run(after), "--json".to_owned()])
            }
            Question::WhatIf(conditions) => of_page("what-if", conditions),
            Question::Advise(conditions) => of_page("advise", conditions),
        }
    }
}

/// `POST /api/jobs`.
pub async fn start(
    State(state): State<UiState>,
    Json(question): Json<Question>,
) -> Result<Json<Job>, UiError> {
    let arguments = question.arguments(&state)?;
    spawn(&state, arguments).map(Json)
}

/// `GET /api/jobs`.
pub async fn list(State(state): State<UiState>) -> Json<Vec<Job>> {
    Json(state.jobs().listed())
}

/// `GET /api/jobs/ID`.
pub async fn show(State(state): State<UiState>, Path(id): Path<u64>) -> Result<Json<Job>, UiError> {
    let job = state.jobs().jobs.get(&id).cloned();
    job.map(Json).ok_or_else(|| UiError::absent(format!("there is no job {id}")))
}

/// `DELETE /api/jobs/ID`: as Ctrl-C, so that nothing measured is lost.
pub async fn interrupt(State(state): State<UiState>, Path(id): Path<u64>) -> Result<(), UiError> {
    let process = state.jobs().jobs.get(&id).map(|job| job.process);
    match process {
        None => Err(UiError::absent(format!("there is no job {id}"))),
        Some(None) => Ok(()),
        Some(Some(process)) => kill_process(process, Signal::INT).map_err(UiError::failed),
    }
}

/// Starts the program with these arguments.
pub fn spawn(state: &UiState, arguments: Vec<String>) -> Result<Job, UiError> {
    let mut command = Command::new(state.program());
    command.args(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let process = child.id().and_then(|id| Pid::from_raw(id as i32));
    let job = state.jobs().add(command_line(&arguments), process);
    let (id, state) = (job.id, state.clone());
    tokio::spawn(async move {
        let (ended, output, messages) = match child.wait_with_output().await {
            Ok(output) => (
                match output.status.code() {
                    Some(0) => JobState::Done,
                    Some(INTERRUPTED) => JobState::Interrupted,
                    _ => JobState::Failed,
                },
                String::from_utf8_lossy(&output.stdout).into_owned(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ),
            Err(error) => (JobState::Failed, String::new(), error.to_string()),
        };
        state.jobs().end(id, ended, output, messages);
    });
    Ok(job)
}

/// Exit code of a command that was interrupted (docs/exit-codes.md).
const INTERRUPTED: i32 = 130;

/// The command as a user types it.
fn command_line(arguments: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,#%~@+".contains(c);
    let quoted = |text: &String| match !text.is_empty() && text.chars().all(is_plain) {
        true => text.clone(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    };
    let words = arguments.iter().filter(|word| *word != "--json").map(quoted);
    std::iter::once("farlink".to_owned()).chain(words).collect::<Vec<String>>().join(" ")
}

/// Interrupts all jobs and waits for them.
pub async fn end_all(state: &UiState) {
    for process in state.jobs().processes() {
        // One that has just ended is no failure.
        let _ = kill_process(process, Signal::INT);
    }
    while !state.jobs().processes().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_can_be_typed() {
        let of = |words: &[&str]| {
            command_line(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>())
        };
        assert_eq!(of(&["load", "a b.har", "--json"]), "farlink load 'a b.har'");
        assert_eq!(of(&["compare", "s#1", "it's"]), r"farlink compare s#1 'it'\''s'");
    }

    #[test]
    fn old_jobs_are_forgotten_and_running_ones_are_not() {
        let mut jobs = Jobs::default();
        let running = jobs.add("first".to_owned(), None).id;
        for _ in 0..MOST_ENDED + 5 {
            let job = jobs.add("next".to_owned(), None).id;
            jobs.end(job, JobState::Done, String::new(), String::new());
        }
        assert!(jobs.jobs.contains_key(&running));
        assert!(jobs.jobs.len() <= MOST_ENDED + 2, "{}", jobs.jobs.len());
    }
}
