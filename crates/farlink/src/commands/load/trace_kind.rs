//! The kinds of traces that `--trace` writes: their names and their files' contents.

use std::path::PathBuf;

use report::traces::{body_table, qlogs, tcp_lines};
use scenario::nearest;
use testbed::tour::ObservedVisit;

use crate::failure::Failure;

/// A kind of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// TCP's connections as lines of JSON; HTTP/3's with the same keys.
    Tcp,
    /// HTTP/3's connections as qlog, one file per end.
    Qlog,
    /// The digests of the bodies that arrived, as CSV.
    Bodies,
}

/// A file of a trace: the part before the extension, if it is one of several, and the contents.
pub type File = (Option<String>, String);

impl TraceKind {
    const ALL: [TraceKind; 3] = [TraceKind::Tcp, TraceKind::Qlog, TraceKind::Bodies];

    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            TraceKind::Tcp => "tcp",
            TraceKind::Qlog => "qlog",
            TraceKind::Bodies => "bodies",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            TraceKind::Tcp => "jsonl",
            TraceKind::Qlog => "sqlog",
            TraceKind::Bodies => "csv",
        }
    }

    /// The files of a visit.
    pub fn files(self, visit: &ObservedVisit<'_>) -> Vec<File> {
        match self {
            TraceKind::Tcp => vec![(None, tcp_lines(visit))],
            TraceKind::Qlog => {
                qlogs(visit).into_iter().map(|log| (Some(log.name), log.text)).collect()
            }
            TraceKind::Bodies => vec![(None, body_table(visit))],
        }
    }

    /// Parses `KIND=OUT` to the trace and its path; `tcp` alone is written to `tcp.jsonl`.
    pub fn parse(text: &str) -> Result<(TraceKind, PathBuf), Failure> {
        let (name, place) = match text.split_once('=') {
            Some((name, place)) => (name, Some(place)),
            None => (text, None),
        };
        let Some(kind) = TraceKind::ALL.into_iter().find(|kind| kind.name() == name) else {
            let example = |kind: TraceKind| format!("{}=OUT.{}", kind.name(), kind.extension());
            let hint = match nearest(name, TraceKind::ALL.map(TraceKind::name)) {
                Some(near) => format!("did you mean `--trace {near}=OUT`?"),
                None => {
                    let all = TraceKind::ALL.map(example);
                    format!("there are --trace {}", all.join(", --trace "))
                }
            };
            let message = format!("--trace {text}: there is no trace `{name}`");
            return Err(Failure::bad_input(message).hint(hint));
        };
        match place {
            Some("") => {
                Err(Failure::bad_input(format!("--trace {text}: it does not say where to"))
                    .hint(format!("name a file: --trace {name}=OUT.{}", kind.extension())))
            }
            Some(place) => Ok((kind, PathBuf::from(place))),
            None => Ok((kind, PathBuf::from(format!("{name}.{}", kind.extension())))),
        }
    }
}
