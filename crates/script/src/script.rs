//! A script: its subject, its title, its settings, its events.
//!
//! The first line names the component under test and the title: `tcp "..."` or `link "..."`. Lines of `config` may follow,
//! then the events.

use std::ops::Range;
use std::path::Path;

use crate::cursor::Cursor;
use crate::problem::{Failure, Problem, Report, suggestion};
use crate::stage::{Stage, Step};
use crate::{endpoint, link};

/// A script that was parsed without errors.
pub struct Script {
    name: String,
    text: String,
    title: String,
    play: Play,
}

/// The component that the script drives, ready to run.
enum Play {
    Endpoint(endpoint::Settings, Vec<Step<endpoint::Endpoint>>),
    Link(Box<link::Settings>, Vec<Step<link::Wire>>),
}

/// A line without its comment, and its position.
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) base: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.text, self.base)
    }
}

/// One setting of the component under test, and its position.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

const SUBJECTS: [&str; 2] = ["tcp", "link"];

/// Reads the script in a file and runs it.
pub fn run(path: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Failure::Unreadable { path: path.to_owned(), source })?;
    Script::parse(&path.display().to_string(), &text)?.run()
}

impl Script {
    /// Parses a script; `name` is used in messages.
    pub fn parse(name: &str, text: &str) -> Result<Script, Failure> {
        let (title, play) =
            parse(text).map_err(|problem| Failure::Syntax(problem.report(name, text)))?;
        Ok(Script { name: name.to_owned(), text: text.to_owned(), title, play })
    }

    /// Title of the script, one sentence.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Runs the script from the beginning.
    pub fn run(&self) -> Result<(), Failure> {
        let outcome = match &self.play {
            Play::Endpoint(settings, steps) => Stage::new(settings.endpoint()).run(steps),
            Play::Link(settings, steps) => Stage::new(settings.wire()).run(steps),
        };
        outcome.map_err(|problem| Failure::Unmet(self.report(problem)))
    }

    fn report(&self, problem: Problem) -> Report {
        problem.report(&self.name, &self.text)
    }
}

fn parse(text: &str) -> Result<(String, Play), Problem> {
    let lines = lines(text);
    let Some((header, rest)) = lines.split_first() else {
        return Err(Problem::new(0..0, "the script is empty").help(HEADER_HELP));
    };
    let (subject, title) = parse_header(header)?;
    let configs = rest.iter().take_while(|line| line.cursor().eat_word("config")).count();
    let (configs, events) = rest.split_at(configs);
    let configs = configs.iter().map(settings).collect::<Result<Vec<_>, _>>()?.concat();
    let play = match subject {
        "tcp" => {
            let settings = endpoint::Settings::parse(&configs)?;
            let steps = endpoint::steps(&settings, events)?;
            Play::Endpoint(settings, steps)
        }
        _ => {
            let settings = link::Settings::parse(&configs, header.cursor().span())?;
            Play::Link(Box::new(settings), link::steps(events)?)
        }
    };
    if events.is_empty() {
        return Err(Problem::new(header.cursor().span(), "the script has no events"));
    }
    Ok((title, play))
}

/// The non-empty lines.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut base = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let text = without_comment(line);
        if !text.trim().is_empty() {
            lines.push(Line { text, base });
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

fn parse_header<'a>(line: &Line<'a>) -> Result<(&'a str, String), Problem> {
    let mut cursor = line.cursor();
    let from = cursor.mark();
    let subject = cursor.word();
    if !SUBJECTS.contains(&subject) {
        let message = format!("a script cannot test `{subject}`");
        return Err(Problem::new(cursor.since(from), message)
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
            Err(Problem::new(cursor.since(from), "the title is missing").help(HEADER_HELP))
        }
    }
}

/// The settings after `config`, separated by commas.
fn settings(line: &Line<'_>) -> Result<Vec<Setting>, Problem> {
    let mut cursor = line.cursor();
    cursor.eat_word("config");
    let mut settings = Vec::new();
    loop {
        let from = cursor.mark();
        let text = cursor.take_while(|c| c != ',').trim_end();
        if text.is_empty() {
            return Err(cursor.unexpected("a setting"));
        }
        settings.push(Setting { text: text.to_owned(), span: cursor.since(from) });
        if !cursor.eat(",") {
            return Ok(settings);
        }
    }
}
