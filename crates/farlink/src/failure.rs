//! Failures as people read them: `error: ...`, an empty line, `hint: ...`.

use std::fmt::Display;
use std::process;

use anstyle::{AnsiColor, Style};
use emu::Wire;
use emu::diagnosis::Refusal;

/// What farlink's exit codes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Done.
    Success = 0,
    /// It ran, and a page did not load or a target was missed.
    Failed = 1,
    /// What was asked for cannot be.
    BadInput = 2,
    /// The machine refused.
    Machine = 3,
    /// What `shell` was to run is there, but not a program.
    CommandNotExecutable = 126,
    /// What `shell` was to run is not there.
    CommandNotFound = 127,
    /// Ctrl-C.
    Interrupted = 130,
}

impl ExitCode {
    /// All there are.
    pub const ALL: [ExitCode; 7] = [
        ExitCode::Success,
        ExitCode::Failed,
        ExitCode::BadInput,
        ExitCode::Machine,
        ExitCode::CommandNotExecutable,
        ExitCode::CommandNotFound,
        ExitCode::Interrupted,
    ];

    /// What it means, for `docs/exit-codes.md`.
    pub fn meaning(self) -> &'static str {
        match self {
            ExitCode::Success => "Done.",
            ExitCode::Failed => {
                "It ran to its end, and a page did not load, or a target of a validation was missed or \
                 could not be judged. The output says which and why."
            }
            ExitCode::BadInput => {
                "What was asked for cannot be: wrong arguments, a file that is not what it should be, \
                 a name that does not exist, a store that cannot be opened. Nothing was measured and \
                 nothing was written."
            }
            ExitCode::Machine => {
                "The machine refused: a full disk, a file that could not be written, a store that \
                 another farlink is running into. Every journey stored before is kept, and the same \
                 command goes on from there."
            }
            ExitCode::CommandNotExecutable => {
                "The command that `shell` was to run is a file, but not a program."
            }
            ExitCode::CommandNotFound => "There is no such command as `shell` was to run.",
            ExitCode::Interrupted => {
                "Interrupted by Ctrl-C. `run` stores the journeys in hand first, and the same command \
                 goes on from there. A second Ctrl-C does not wait."
            }
        }
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> process::ExitCode {
        process::ExitCode::from(code as u8)
    }
}

/// Why a command came to nothing.
#[derive(Debug)]
pub struct Failure {
    code: ExitCode,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// What was typed, or a file, is wrong.
    pub fn bad_input(message: impl Display) -> Failure {
        Failure { code: ExitCode::BadInput, message: message.to_string(), hint: None }
    }

    /// The machine refused.
    pub fn machine(message: impl Display) -> Failure {
        Failure { code: ExitCode::Machine, message: message.to_string(), hint: None }
    }

    /// There is no emulation on this machine, over the wire that was asked for: why, and what mends it.
    pub fn not_emulated(cause: emu::Error, wire: Option<Wire>) -> Failure {
        let refusal = Refusal::explain(cause, wire);
        let remedies: Vec<&str> = refusal.remedies().collect();
        let hint = (!remedies.is_empty()).then(|| remedies.join("\n      "));
        Failure::machine(&refusal).hint(hint)
    }

    /// What is to be run is there, but not a program.
    pub fn not_executable(message: impl Display) -> Failure {
        let code = ExitCode::CommandNotExecutable;
        Failure { code, message: message.to_string(), hint: None }
    }

    /// What is to be run is not there.
    pub fn not_found(message: impl Display) -> Failure {
        let code = ExitCode::CommandNotFound;
        Failure { code, message: message.to_string(), hint: None }
    }

    /// The same, with what to do about it.
    pub fn hint(mut self, hint: impl Into<Option<String>>) -> Failure {
        self.hint = hint.into();
        self
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        self.code
    }

    /// Tells it on standard error.
    pub fn tell(&self) {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
        anstream::eprintln!("{red}error{red:#}: {}", self.message);
        if let Some(hint) = &self.hint {
            anstream::eprintln!("\n{cyan}hint{cyan:#}: {hint}");
        }
    }
}
