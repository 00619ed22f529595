//! Input of bth2013's programs: case files, `config.json`, and calls of `run.py`.
//!
//! A case file holds the shell assignments that `newrun.sh` sources. They are read, never executed: one assignment
//! per line, of plain or quoted text. Anything that needs shell expansion is refused.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::{Conditions, NetType, Protocol};
use scenario::{ChoiceError, nearest};

/// Failed to read the input of a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {message}")]
pub struct InputError {
    /// Position: a file with its line and variable, or an option.
    place: String,
    /// The mistake, and what was expected.
    message: String,
    /// The remedy.
    pub hint: Option<String>,
}

type Read<T> = Result<T, InputError>;

/// Variables that `newrun.sh` reads, or sets itself.
const KNOWN: [&str; 11] = [
    "PROTOCOL",
    "SSL",
    "NETWORK",
    "DW_BW_VALUES",
    "RTT_VALUES",
    "LOSS",
    "REMOTE",
    "DEBUG",
    "RUN_TIMES",
    "LOG_FILE",
    "URL",
];

/// Variables of `run.sh`, the predecessor of `newrun.sh`.
const OLDER: [&str; 5] = ["PARAMETER", "VALUES", "DW_BW", "UP_BW", "ARGS_STR"];

/// Characters that the shell interprets outside of quotes.
const SPECIAL: &str = "$`\\;&|<>()*?[]{}~!\"'";

/// Loads of each combination in `newrun.sh`, whatever its case file says.
const RUN_TIMES: u32 = 5;

/// The page, as the programs name it.
const URL: &str = "en.m.wikipedia.org/";

/// The assignments of a case file: values with their lines.
struct Case<'f> {
    file: &'f str,
    values: BTreeMap<&'f str, (&'f str, usize)>,
}

impl Conditions {
    /// The conditions that a case file sets; `file` names it in errors.
    ///
    /// # Errors
    /// Lines that do not assign text to a variable of `newrun.sh`, and values that such a variable cannot have.
    pub fn of_case(file: &str, text: &str) -> Result<Conditions, InputError> {
        let case = Case::read(file, text)?;
        let ssl = |text: &str| {
            text.parse().map_err(|_| format!("`{text}` is neither `true` nor `false`"))
        };
        let down_kbit: Vec<u64> = case.get("DW_BW_VALUES", |text| list(text, "kbit/s"))?;
        let odd = down_kbit.iter().find(|rate| *rate % 2 == 1).map(|rate| {
            format!("half of {rate} kbit/s is {}.5, where newrun.sh cuts the half off", rate / 2)
        });
        Ok(Conditions {
            protocol: case.get("PROTOCOL", |text| choice(&text.to_ascii_lowercase()))?,
            ssl: case.get("SSL", ssl)?,
            network: case.get("NETWORK", choice)?,
            loss: case.get("LOSS", loss)?,
            down_kbit,
            up_kbit: None,
            rtt_ms: case.get("RTT_VALUES", |text| list(text, "ms"))?,
            times: RUN_TIMES,
            notes: case.notes().into_iter().chain(odd).collect(),
        })
    }
}

impl<'f> Case<'f> {
    fn read(file: &'f str, text: &'f str) -> Read<Case<'f>> {
        let mut case = Case { file, values: BTreeMap::new() };
        let (mut rest, mut line) = (text, 1);
        loop {
            let begun = rest.trim_start_matches([' ', '\t', '\r']);
            if begun.is_empty() {
                return Ok(case);
            }
            if let Some(behind) = begun.strip_prefix('\n') {
                (rest, line) = (behind, line + 1);
            } else if begun.starts_with('#') {
                rest = begun.find('\n').map_or("", |end| &begun[end..]);
            } else {
                let (name, value, behind) = case.assignment(begun, line)?;
                if let Some((_, before)) = case.values.insert(name, (value, line)) {
                    let message = format!("it is set on line {before} already: keep one");
                    return Err(case.wrong(name, line, message, None));
                }
                line += value.matches('\n').count();
                rest = behind;
            }
        }
    }

    /// The assignment that `text` begins with, and the rest of `text`.
    fn assignment(&self, text: &'f str, line: usize) -> Read<(&'f str, &'f str, &'f str)> {
        let text = text.strip_prefix("export ").unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, behind) = text.split_at(end.unwrap_or(text.len()));
        let first = |text: &'f str| text.lines().next().unwrap_or_default();
        let Some(behind) = behind.strip_prefix('=').filter(|_| !name.is_empty()) else {
            return Err(InputError {
                place: format!("{}:{line}", self.file),
                message: format!(
                    "`{}` is no assignment: NAME=value, with no space around the `=`",
                    first(text)
                ),
                hint: Some(
                    "nothing in a case file is executed here: write assignments alone".to_owned(),
                ),
            });
        };
        let wrong =
            |message: String, hint: Option<String>| Err(self.wrong(name, line, message, hint));
        if OLDER.contains(&name) {
            let hint = "write the values as DW_BW_VALUES and RTT_VALUES, as newrun.sh takes them";
            let message = "a variable of the older run.sh, which varied one parameter";
            return wrong(message.to_owned(), Some(hint.to_owned()));
        }
        if !KNOWN.contains(&name) {
            let lower = KNOWN.map(str::to_ascii_lowercase);
            let hint = match nearest(name, lower.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean {}?", meant.to_ascii_uppercase()),
                None => format!("newrun.sh knows {}", KNOWN.join(", ")),
            };
            return wrong("no variable of newrun.sh".to_owned(), Some(hint));
        }
        let quote = behind.chars().next().filter(|first| ['"', '\''].contains(first));
        let (value, behind, special) = match quote {
            None => {
                let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
                (&behind[..end], &behind[end..], SPECIAL)
            }
            Some(quote) => {
                let Some((value, behind)) = behind[1..].split_once(quote) else {
                    return wrong(format!("the value begins with {quote} and has no end"), None);
                };
                (value, behind, if quote == '"' { "$`\\" } else { "" })
            }
        };
        if let Some(special) = value.chars().find(|c| special.contains(*c)) {
            let hint = "nothing in a case file is executed here: write the values out, as in RTT_VALUES=\"50 100 150\"";
            return wrong(format!("`{special}` is a shell's to expand"), Some(hint.to_owned()));
        }
        let rest = behind.trim_start_matches([' ', '\t', '\r']);
        // A `#` begins a comment only after a space.
        let is_comment = rest.starts_with('#') && rest.len() < behind.len();
        if !(rest.is_empty() || rest.starts_with('\n') || is_comment) {
            let message =
                format!("behind the value stands `{}`: one assignment a line", first(rest));
            return wrong(message, None);
        }
        Ok((name, value, rest))
    }

    /// The value of a variable, parsed by `read`.
    fn get<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Read<T> {
        let Some((text, line)) = self.values.get(name) else {
            let hint = "newrun.sh needs PROTOCOL, SSL, NETWORK, DW_BW_VALUES, RTT_VALUES and LOSS";
            let (place, message) = (self.file.to_owned(), format!("{name} is not set"));
            return Err(InputError { place, message, hint: Some(hint.to_owned()) });
        };
        read(text).map_err(|message| self.wrong(name, *line, message, None))
    }

    /// Variables that are read but have no effect, with the reason.
    fn notes(&self) -> Vec<String> {
        let behind = "behind the case file";
        let notes = [
            ("REMOTE", "there is no other machine to be switched".to_owned()),
            ("DEBUG", "nothing is executed until `farlink run`".to_owned()),
            (
                "RUN_TIMES",
                format!("newrun.sh sets it to {RUN_TIMES} {behind}, so {RUN_TIMES} it is"),
            ),
            ("LOG_FILE", "steps are rows of the store".to_owned()),
            ("URL", format!("newrun.sh sets it to {URL} {behind}")),
        ];
        let note = |(name, why): (&str, String)| {
            Some(format!("{name}={}: {why}", self.values.get(name)?.0))
        };
        notes.into_iter().filter_map(note).collect()
    }

    fn wrong(&self, name: &str, line: usize, message: String, hint: Option<String>) -> InputError {
        InputError { place: format!("{}:{line}: {name}", self.file), message, hint }
    }
}

fn choice<T: FromStr<Err = ChoiceError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ChoiceError| error.to_string())
}

/// A packet loss rate, in the format of `setnet.sh`.
fn loss(text: &str) -> Result<f64, String> {
    let loss = text.parse::<f64>().ok().filter(|loss| (0.0..1.0).contains(loss));
    loss.ok_or_else(|| {
        format!("`{text}` is no share of packets from 0 to below 1: 3 % are 0.03, as setnet.sh takes them")
    })
}

/// A whole number above zero.
fn number(text: &str, unit: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| (1..=10_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is no whole number of {unit} above zero"))
}

/// Whole numbers above zero, none twice.
fn list(text: &str, unit: &str) -> Result<Vec<u64>, String> {
    let mut values = Vec::new();
    for word in text.split_whitespace() {
        let value = number(word, unit)?;
        if values.contains(&value) {
            return Err(format!("{value} stands there twice: keep one"));
        }
        values.push(value);
    }
    match values.is_empty() {
        true => Err(format!("it has no value: whole numbers of {unit}")),
        false => Ok(values),
    }
}

/// The options of a call of `run.py` that determine the measurement. Network parameters are text, as they are to
/// `run.py`.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// `-t`.
    pub times: u32,
    /// `-p`.
    pub protocol: Protocol,
    /// `-s`.
    pub ssl: bool,
    /// `-n`.
    pub network: NetType,
    /// `-l`.
    pub loss: &'a str,
    /// `-u`, in kbit/s.
    pub up: &'a str,
    /// `-d`, in kbit/s.
    pub down: &'a str,
    /// `-r`, in milliseconds.
    pub rtt: &'a str,
}

impl Options<'_> {
    /// The conditions to measure.
    ///
    /// # Errors
    /// A value that the network cannot have.
    pub fn conditions(self) -> Result<Conditions, InputError> {
        let wrong = |option: &str, message| InputError {
            place: format!("run.py {option}"),
            message,
            hint: None,
        };
        let Options { times, protocol, ssl, network, .. } = self;
        if times == 0 {
            return Err(wrong("-t", "0 loads measure nothing: give one at the least".to_owned()));
        }
        let number =
            |option, text, unit| number(text, unit).map_err(|message| wrong(option, message));
        Ok(Conditions {
            protocol,
            ssl,
            network,
            loss: loss(self.loss).map_err(|message| wrong("-l", message))?,
            down_kbit: vec![number("-d", self.down, "kbit/s")?],
            up_kbit: Some(number("-u", self.up, "kbit/s")?),
            rtt_ms: vec![number("-r", self.rtt, "ms")?],
            times,
            notes: Vec::new(),
        })
    }
}

/// The relevant settings of a `config.json`, which `run.py` reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The page, as a URL without its scheme.
    request_path: Option<String>,
    /// Settings that were ignored, with the reason.
    pub notes: Vec<String>,
}

/// The file. The values of what concerns its database are not kept: one is a password.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    request_path: Option<String>,
    chrome_driver_path: Option<String>,
    db: Option<IgnoredAny>,
    collection: Option<IgnoredAny>,
    dbuser: Option<IgnoredAny>,
    dbpasswd: Option<IgnoredAny>,
    dbhost: Option<IgnoredAny>,
}

impl Config {
    /// Parses the text of the file; `file` names it in errors.
    ///
    /// # Errors
    /// Text that is not JSON, and keys that are not `run.py`'s.
    pub fn read(file: &str, text: &str) -> Result<Config, InputError> {
        let raw: RawConfig = serde_json::from_str(text).map_err(|error| InputError {
            place: format!("{file}:{}", error.line()),
            message: error.to_string(),
            hint: None,
        })?;
        let driver = raw.chrome_driver_path.map(|path| {
            format!("chrome_driver_path: pages are loaded by farlink's own loader, not by `{path}`")
        });
        let database = [
            ("db", raw.db),
            ("collection", raw.collection),
            ("dbuser", raw.dbuser),
            ("dbpasswd", raw.dbpasswd),
            ("dbhost", raw.dbhost),
        ];
        let named = database.into_iter().filter_map(|(key, value)| value.map(|_| key));
        let named: Vec<&str> = named.collect();
        let database = (!named.is_empty()).then(|| {
            format!(
                "{}: no database server is spoken to: results are in farlink's store, and `farlink study export bth2013-results` writes lines that mongoimport takes",
                named.join(", ")
            )
        });
        let notes = driver.into_iter().chain(database).collect();
        Ok(Config { request_path: raw.request_path, notes })
    }

    /// Checks that its page is the study's: the only one that is available here.
    ///
    /// # Errors
    /// If it is another.
    pub fn check_page(&self, file: &str) -> Result<(), InputError> {
        match &self.request_path {
            Some(path) if path.trim_end_matches('/') != URL.trim_end_matches('/') => {
                Err(InputError {
                    place: format!("{file}: `request_path`"),
                    message: format!("`{path}` is not the study's page, {URL}"),
                    hint: Some("name the page that stands for it: --page PAGE".to_owned()),
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case file in the study's style.
    const CASE: &str = "\
# all of it
PROTOCOL=HTTP-PIPELINING
NETWORK=ALL
SSL=false
RTT_VALUES=\"50 100
  150\"
DW_BW_VALUES='150 650'
LOSS=0.03       # 3%, Packet Loss Rate
";

    fn refusal(text: &str) -> String {
        let error = Conditions::of_case("x.case", text).unwrap_err();
        format!("{error}; {}", error.hint.clone().unwrap_or_default())
    }

    #[test]
    fn a_case_file_is_read() {
        let case = Conditions::of_case("x.case", CASE).unwrap();
        assert_eq!((case.protocol, case.ssl), (Protocol::HttpPipelining, false));
        assert_eq!((case.network, case.loss, case.times), (NetType::All, 0.03, 5));
        assert_eq!((&case.rtt_ms[..], &case.down_kbit[..]), (&[50, 100, 150][..], &[150, 650][..]));
        assert_eq!((case.up_kbit, case.notes.len()), (None, 0));
    }

    #[test]
    fn what_has_no_effect_is_told() {
        let more =
            "REMOTE=vagrant\nDEBUG=echo\nexport RUN_TIMES=10\nLOG_FILE=run.log\nURL='x.org/'\n";
        let notes = Conditions::of_case("x.case", &format!("{CASE}{more}")).unwrap().notes;
        assert_eq!(notes.len(), 5, "{notes:?}");
        assert!(notes[2].contains("newrun.sh sets it to 5"), "{notes:?}");
        let odd = CASE.replace("150 650'", "155'");
        let notes = Conditions::of_case("x.case", &odd).unwrap().notes;
        assert_eq!(notes, ["half of 155 kbit/s is 77.5, where newrun.sh cuts the half off"]);
    }

    #[test]
    fn anything_else_is_refused_with_its_place() {
        for (from, to, says) in [
            ("SSL=false", "SSL=no", "x.case:4: SSL: `no` is neither `true` nor `false`"),
            ("SSL=false", "", "x.case: SSL is not set"),
            ("SSL=false", "SSL=$(rm -r x)", "x.case:4: SSL: `$` is a shell's to expand"),
            ("SSL=false", "SSL=false; rm", "x.case:4: SSL: `;` is a shell's to expand"),
            ("SSL=false", "SSL=false NETWORK=3G", "behind the value stands `NETWORK=3G`"),
            ("SSL=false", "SSL = false", "x.case:4: `SSL = false` is no assignment"),
            ("SSL=false", "rm -r x", "`rm -r x` is no assignment"),
            ("SSL=false", "SSL=true\nSSL=false", "x.case:5: SSL: it is set on line 4 already"),
            ("SSL=false", "SLL=false", "SLL: no variable of newrun.sh; did you mean SSL?"),
            ("NETWORK=ALL", "NETWORK=5G", "x.case:3: NETWORK: "),
            ("NETWORK=ALL", "PARAMETER=RTT", "a variable of the older run.sh"),
            ("HTTP-PIPELINING", "QUIC", "x.case:2: PROTOCOL: "),
            ("150 650'", "150 150'", "x.case:7: DW_BW_VALUES: 150 stands there twice"),
            ("150 650'", "150 6.5'", "`6.5` is no whole number of kbit/s"),
            ("'150 650'", "''", "it has no value"),
            ("'150 650'", "`seq 1 9`", "x.case:7: DW_BW_VALUES: ``` is a shell's"),
            ("'150 650'", "'150 650", "begins with ' and has no end"),
            ("\"50 100", "\"$RTTS 100", "x.case:5: RTT_VALUES: `$` is a shell's"),
            ("LOSS=0.03", "LOSS=3", "x.case:8: LOSS: `3` is no share"),
        ] {
            let refused = refusal(&CASE.replacen(from, to, 1));
            assert!(refused.contains(says), "{to}: {refused}");
        }
    }

    #[test]
    fn a_call_is_one_combination() {
        let call = Options {
            times: 10,
            protocol: Protocol::Spdy,
            ssl: true,
            network: NetType::Edge,
            loss: "0.03",
            up: "64",
            down: "240",
            rtt: "150",
        };
        let conditions = call.conditions().unwrap();
        assert_eq!((conditions.up_kbit, conditions.times), (Some(64), 10));
        assert_eq!((&conditions.down_kbit[..], &conditions.rtt_ms[..]), (&[240][..], &[150][..]));
        let refused = Options { rtt: "fast", ..call }.conditions().unwrap_err().to_string();
        assert_eq!(refused, "run.py -r: `fast` is no whole number of ms above zero");
        let refused = Options { loss: "3", ..call }.conditions().unwrap_err().to_string();
        assert!(refused.starts_with("run.py -l: `3` is no share"), "{refused}");
    }

    #[test]
    fn what_carries_something_is_read() {
        let text =
            r#"{"chrome_driver_path": "/opt/chromedriver", "request_path": "en.m.wikipedia.org/"}"#;
        let config = Config::read("config.json", text).unwrap();
        assert_eq!((config.request_path.as_deref(), config.notes.len()), (Some(URL), 1));
        config.check_page("config.json").unwrap();
        let other = Config::read("config.json", r#"{"request_path": "a.test/x"}"#).unwrap();
        let refused = other.check_page("config.json").unwrap_err().to_string();
        assert_eq!(
            refused,
            "config.json: `request_path`: `a.test/x` is not the study's page, en.m.wikipedia.org/"
        );
    }

    /// The study's own file always names a database. Only the keys are mentioned, not their values: one is a
    /// password.
    #[test]
    fn what_it_says_of_its_database_is_noted() {
        let text = r#"{"db": "tests", "collection": "runs", "dbuser": "me", "dbpasswd": "secret",
            "dbhost": "db.test", "request_path": "en.m.wikipedia.org/"}"#;
        let config = Config::read("config.json", text).unwrap();
        assert_eq!(config.request_path.as_deref(), Some(URL));
        let [note] = config.notes.as_slice() else { panic!("{:?}", config.notes) };
        assert!(
            note.contains("dbhost: no database server") && note.contains("collection, "),
            "{note}"
        );
        assert!(!note.contains("secret"), "{note}");
    }

    #[test]
    fn what_is_no_config_is_refused_by_name() {
        for (text, says) in [
            (r#"{"dbname": "tests"}"#, "config.json:1: unknown field `dbname`, expected one of"),
            (r#"{"request_path": 3}"#, "config.json:1: invalid type: integer `3`"),
            ("{\n\"db\": ", "config.json:2: EOF while parsing"),
        ] {
            let refused = Config::read("config.json", text).unwrap_err().to_string();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
