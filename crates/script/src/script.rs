//! A script: its subject, its title, its settings, its events.
//!
//! The first line names the component under test and the title: `tcp "..."` or `link "..."`. Lines of `config` may follow,
//! then the events.

use std::ops::Range;
use std::path::Path;

use crate::cursor::Cursor;
use crate::problem::{ScriptError, ScriptProblem, ScriptReport, suggestion};
use crate::stage::{Stage, StageStep};
use crate::{endpoint, link};

/// A script that was parsed without errors.
pub struct PacketScript {
    name: String,
    text: String,
    title: String,
    play: Play,
}

/// The component that the script drives, ready to run.
enum Play {
    Endpoint(endpoint::EndpointSettings, Vec<StageStep<endpoint::EndpointUnderTest>>),
    Link(Box<link::LinkSettings>, Vec<StageStep<link::LinkUnderTest>>),
}

/// A line without its comment, and its position.
pub(crate) struct ScriptLine<'a> {
    pub(crate) text: &'a str,
    pub(crate) base: usize,
}

impl<'a> ScriptLine<'a> {
    pub(crate) fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.text, self.base)
    }
}

/// One setting of the component under test, and its position.
#[derive(Debug, Clone)]
pub(crate) struct ScriptSetting {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

const SUBJECTS: [&str; 2] = ["tcp", "link"];

/// Reads the script in a file and runs it.
pub fn run(path: &Path) -> Result<(), ScriptError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ScriptError::Unreadable { path: path.to_owned(), source })?;
    PacketScript::parse(&path.display().to_string(), &text)?.run()
}

impl PacketScript {
    /// Parses a script; `name` is used in messages.
    pub fn parse(name: &str, text: &str) -> Result<PacketScript, ScriptError> {
        let (title, play) =
            parse(text).map_err(|problem| ScriptError::Syntax(problem.report(name, text)))?;
        Ok(PacketScript { name: name.to_owned(), text: text.to_owned(), title, play })
    }

    /// Title of the script, one sentence.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Runs the script from the beginning.
    pub fn run(&self) -> Result<(), ScriptError> {
        let outcome = match &self.play {
            Play::Endpoint(settings, steps) => Stage::new(settings.endpoint()).run(steps),
            Play::Link(settings, steps) => Stage::new(settings.wire()).run(steps),
        };
        outcome.map_err(|problem| ScriptError::Unmet(self.report(problem)))
    }

    fn report(&self, problem: ScriptProblem) -> ScriptReport {
        problem.report(&self.name, &self.text)
    }
}

fn parse(text: &str) -> Result<(String, Play), ScriptProblem> {
    let lines = lines(text);
    let Some((header, rest)) = lines.split_first() else {
        return Err(ScriptProblem::new(0..0, "the script is empty").help(HEADER_HELP));
    };
    let (subject, title) = parse_header(header)?;
    let configs = rest.iter().take_while(|line| line.cursor().eat_word("config")).count();
    let (configs, events) = rest.split_at(configs);
    let configs = configs.iter().map(settings).collect::<Result<Vec<_>, _>>()?.concat();
    let play = match subject {
        "tcp" => {
            let settings = endpoint::EndpointSettings::parse(&configs)?;
            let steps = endpoint::steps(&settings, events)?;
            Play::Endpoint(settings, steps)
        }
        _ => {
            let settings = link::LinkSettings::parse(&configs, header.cursor().span())?;
            Play::Link(Box::new(settings), link::steps(events)?)
        }
    };
    if events.is_empty() {
        return Err(ScriptProblem::new(header.cursor().span(), "the script has no events"));
    }
    Ok((title, play))
}

/// The non-empty lines.
fn lines(text: &str) -> Vec<ScriptLine<'_>> {
    let mut base = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let text = without_comment(line);
        if !text.trim().is_empty() {
            lines.push(ScriptLine { text, base });
        }
        base += line.len();
    }
    lines
}

/// Removes a comment, which goes from `//` to the end of the line; a title may contain slashes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '/' if !quoted && line[at..].starts_with("//") => return &line[..at],
            _ => {}
        }
    }
    line
}

const HEADER_HELP: &str =
    "begin with what is under test and a title: tcp \"A lost SYN costs a second\"";

fn parse_header<'a>(line: &ScriptLine<'a>) -> Result<(&'a str, String), ScriptProblem> {
    let mut cursor = line.cursor();
    let from = cursor.mark();
    let subject = cursor.word();
    if !SUBJECTS.contains(&subject) {
        let message = format!("a script cannot test `{subject}`");
        return Err(ScriptProblem::new(cursor.since(from), message)
            .label(suggestion(subject, SUBJECTS))
            .help(HEADER_HELP));
    }
    let from = cursor.mark();
    let title = cursor.eat("\"").then(|| cursor.take_while(|c| c != '"').trim());
    match title.filter(|title| !title.is_empty() && cursor.eat("\"")) {
        Some(title) => {
            cursor.finish()?;
            Ok((subject, title.to_owned()))
        }
        None => {
            cursor.remainder();
            Err(ScriptProblem::new(cursor.since(from), "the title is missing").help(HEADER_HELP))
        }
    }
}

/// The settings after `config`, separated by commas.
fn settings(line: &ScriptLine<'_>) -> Result<Vec<ScriptSetting>, ScriptProblem> {
    let mut cursor = line.cursor();
    cursor.eat_word("config");
    let mut settings = Vec::new();
    loop {
        let from = cursor.mark();
        let text = cursor.take_while(|c| c != ',').trim_end();
        if text.is_empty() {
            return Err(cursor.unexpected("a setting"));
        }
        settings.push(ScriptSetting { text: text.to_owned(), span: cursor.since(from) });
        if !cursor.eat(",") {
            return Ok(settings);
        }
    }
}
