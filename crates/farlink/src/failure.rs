//! Failures as shown to people: `error: ...`, an empty line, `hint: ...`.

use std::fmt::Display;
use std::process;

use anstyle::{AnsiColor, Style};
use emu::Wire;
use emu::diagnosis::SetupError;

/// Exit codes of farlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Done.
    Success = 0,
    /// The command ran, but a page did not load or a target was missed.
    Failed = 1,
    /// The request is invalid.
    BadInput = 2,
    /// The machine could not do it.
    Machine = 3,
    /// The command for `shell` exists, but is not executable.
    CommandNotExecutable = 126,
    /// The command for `shell` does not exist.
    CommandNotFound = 127,
    /// Ctrl-C.
    Interrupted = 130,
}

impl ExitCode {
    /// All exit codes.
    pub const ALL: [ExitCode; 7] = [
        ExitCode::Success,
        ExitCode::Failed,
        ExitCode::BadInput,
        ExitCode::Machine,
        ExitCode::CommandNotExecutable,
        ExitCode::CommandNotFound,
        ExitCode::Interrupted,
    ];

    /// Its meaning, for `docs/exit-codes.md`.
    pub fn meaning(self) -> &'static str {
        match self {
            ExitCode::Success => "Done.",
            ExitCode::Failed => {
                "The command completed, but a page did not load, a budget was broken, or a validation target was \
                 missed or could not be judged. The output says which and why."
            }
            ExitCode::BadInput => {
                "The request is invalid: wrong arguments, a malformed file, an unknown name, \
                 or a store that cannot be opened. Nothing was measured and \
                 nothing was written."
            }
            ExitCode::Machine => {
                "A system error: a full disk, a file that cannot be written, a store that \
                 another farlink process is using. Stored journeys are kept; the same command \
                 resumes the run."
            }
            ExitCode::CommandNotExecutable => "The command given to `shell` is not executable.",
            ExitCode::CommandNotFound => "The command given to `shell` was not found.",
            ExitCode::Interrupted => {
                "Interrupted by Ctrl-C. `run` first stores the journeys in progress; the same command \
                 resumes it. A second Ctrl-C exits at once."
            }
        }
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> process::ExitCode {
        process::ExitCode::from(code as u8)
    }
}

/// The error of a command.
#[derive(Debug)]
pub struct CliError {
    code: ExitCode,
    message: String,
    hint: Option<String>,
}

impl CliError {
    /// An invalid command line or file.
    pub fn bad_input(message: impl Display) -> CliError {
        CliError { code: ExitCode::BadInput, message: message.to_string(), hint: None }
    }

    /// An error of the machine.
    pub fn machine(message: impl Display) -> CliError {
        CliError { code: ExitCode::Machine, message: message.to_string(), hint: None }
    }

    /// No emulation on this machine over the requested wire: the cause, and the remedy.
    pub fn not_emulated(cause: emu::Error, wire: Option<Wire>) -> CliError {
        let refusal = SetupError::explain(cause, wire);
        let remedies: Vec<&str> = refusal.remedies().collect();
        let hint = (!remedies.is_empty()).then(|| remedies.join("\n      "));
        CliError::machine(&refusal).hint(hint)
    }

    /// The command to run exists, but is not executable.
    pub fn not_executable(message: impl Display) -> CliError {
        let code = ExitCode::CommandNotExecutable;
        CliError { code, message: message.to_string(), hint: None }
    }

    /// The command to run does not exist.
    pub fn not_found(message: impl Display) -> CliError {
        let code = ExitCode::CommandNotFound;
        CliError { code, message: message.to_string(), hint: None }
    }

    /// The same, with advice.
    pub fn hint(mut self, hint: impl Into<Option<String>>) -> CliError {
        self.hint = hint.into();
        self
    }

    /// Its message, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        self.code
    }

    /// Prints it to standard error.
    pub fn tell(&self) {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
        anstream::eprintln!("{red}error{red:#}: {}", self.message);
        if let Some(hint) = &self.hint {
            anstream::eprintln!("\n{cyan}hint{cyan:#}: {hint}");
        }
    }
}
