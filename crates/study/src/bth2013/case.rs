//! Case files: the shell assignments that `newrun.sh` sources. They are read, never executed: one assignment
//! per line, of plain or quoted text. Anything that needs shell expansion is refused.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::terms::{RUN_TIMES, Read, URL, loss, number};
use super::{Conditions, FileError, Place, Uplink};
use scenario::{ChoiceError, nearest};

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

/// Value of a variable, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    text: String,
    line: usize,
}

/// The assignments of a file.
struct Assignments<'f> {
    file: &'f str,
    values: BTreeMap<String, Value>,
}

impl Conditions {
    /// The conditions that a case file sets; `file` names it in errors.
    ///
    /// # Errors
    /// Lines that do not assign text to a variable of `newrun.sh`, and values that such a variable cannot have.
    pub fn of_case(file: &str, text: &str) -> Result<Conditions, FileError> {
        let case = Assignments::read(file, text)?;
        let conditions = Conditions {
            protocol: case.choice("PROTOCOL", str::to_ascii_lowercase)?,
            ssl: case.ssl()?,
            network: case.choice("NETWORK", str::to_owned)?,
            loss: case.one("LOSS", loss)?,
            down_kbit: case.list("DW_BW_VALUES", "kbit/s")?,
            up: Uplink::Half,
            rtt_ms: case.list("RTT_VALUES", "ms")?,
            times: RUN_TIMES,
            notes: Vec::new(),
        };
        let odd = conditions.down_kbit.iter().find(|rate| *rate % 2 == 1);
        let odd = odd.map(|rate| {
            format!("half of {rate} kbit/s is {}.5, where newrun.sh cuts the half off", rate / 2)
        });
        Ok(Conditions { notes: case.notes().into_iter().chain(odd).collect(), ..conditions })
    }
}

impl<'f> Assignments<'f> {
    fn read(file: &'f str, text: &str) -> Read<Assignments<'f>> {
        let mut case = Assignments { file, values: BTreeMap::new() };
        let mut rest = text;
        let mut line = 1;
        while !rest.is_empty() {
            let begun = rest.trim_start_matches([' ', '\t', '\r']);
            if let Some(behind) = begun.strip_prefix('\n') {
                (rest, line) = (behind, line + 1);
            } else if begun.starts_with('#') {
                rest = begun.find('\n').map_or("", |end| &begun[end..]);
            } else if begun.is_empty() {
                break;
            } else {
                let (name, value, behind) = case.assignment(begun, line)?;
                case.set(name, Value { text: value.clone(), line })?;
                line += value.matches('\n').count();
                rest = behind;
            }
        }
        Ok(case)
    }

    fn set(&mut self, name: &str, value: Value) -> Read<()> {
        if let Some(before) = self.values.get(name) {
            let message = format!("it is set on line {} already: keep one", before.line);
            return Err(self.wrong(name, value.line, message));
        }
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// The assignment that `text` begins with, and the rest of `text`.
    fn assignment<'t>(&self, text: &'t str, line: usize) -> Read<(&'t str, String, &'t str)> {
        let text = text.strip_prefix("export ").unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, behind) = text.split_at(end.unwrap_or(text.len()));
        let behind = behind.strip_prefix('=').filter(|_| !name.is_empty());
        let Some(behind) = behind else {
            let shown = text.lines().next().unwrap_or_default();
            return Err(self.at(
                Place::Line(line),
                format!("`{shown}` is no assignment: NAME=value, with no space around the `=`"),
                "nothing in a case file is executed here: write assignments alone",
            ));
        };
        self.known(name, line)?;
        let (value, behind) = self.value(name, behind, line)?;
        let rest = behind.trim_start_matches([' ', '\t', '\r']);
        let is_end = rest.is_empty() || rest.starts_with('\n');
        // A `#` begins a comment only after a space.
        let is_comment = rest.starts_with('#') && rest.len() < behind.len();
        if !is_end && !is_comment {
            let shown = rest.lines().next().unwrap_or_default();
            let message = format!("behind the value stands `{shown}`: one assignment a line");
            return Err(self.wrong(name, line, message));
        }
        Ok((name, value, rest))
    }

    fn known(&self, name: &str, line: usize) -> Read<()> {
        if KNOWN.contains(&name) {
            return Ok(());
        }
        let place = Place::Variable(name.to_owned(), line);
        if OLDER.contains(&name) {
            return Err(self.at(
                place,
                "a variable of the older run.sh, which varied one parameter".to_owned(),
                "write the values as DW_BW_VALUES and RTT_VALUES, as newrun.sh takes them",
            ));
        }
        let lower = KNOWN.map(str::to_ascii_lowercase);
        let hint = match nearest(name, lower.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean {}?", meant.to_ascii_uppercase()),
            None => format!("newrun.sh knows {}", KNOWN.join(", ")),
        };
        Err(self.at(place, "no variable of newrun.sh".to_owned(), &hint))
    }

    /// The value that `text` begins with, and the rest of `text`.
    fn value<'t>(&self, name: &str, text: &'t str, line: usize) -> Read<(String, &'t str)> {
        let quote = text.chars().next().filter(|first| ['"', '\''].contains(first));
        let Some(quote) = quote else {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            let (value, behind) = text.split_at(end);
            return match value.chars().find(|c| SPECIAL.contains(*c)) {
                Some(special) => Err(self.unexpanded(name, line, special)),
                None => Ok((value.to_owned(), behind)),
            };
        };
        let inside = &text[1..];
        let Some(end) = inside.find(quote) else {
            let message = format!("the value begins with {quote} and has no end");
            return Err(self.wrong(name, line, message));
        };
        let value = &inside[..end];
        match value.chars().find(|c| quote == '"' && "$`\\".contains(*c)) {
            Some(special) => Err(self.unexpanded(name, line, special)),
            None => Ok((value.to_owned(), &inside[end + 1..])),
        }
    }

    fn unexpanded(&self, name: &str, line: usize, special: char) -> FileError {
        let message = format!("`{special}` is a shell's to expand");
        let hint = "nothing in a case file is executed here: write the values out, as in RTT_VALUES=\"50 100 150\"";
        self.at(Place::Variable(name.to_owned(), line), message, hint)
    }

    fn get(&self, name: &str) -> Read<&Value> {
        self.values.get(name).ok_or_else(|| {
            let hint = "newrun.sh needs PROTOCOL, SSL, NETWORK, DW_BW_VALUES, RTT_VALUES and LOSS";
            self.at(Place::Whole, format!("{name} is not set"), hint)
        })
    }

    /// The value of a variable, parsed by `read`.
    fn one<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Read<T> {
        let Value { text, line } = self.get(name)?;
        read(text).map_err(|message| self.wrong(name, *line, message))
    }

    fn choice<T: FromStr<Err = ChoiceError>>(
        &self,
        name: &str,
        spelled: impl Fn(&str) -> String,
    ) -> Read<T> {
        self.one(name, |text| spelled(text).parse().map_err(|error: ChoiceError| error.to_string()))
    }

    fn ssl(&self) -> Read<bool> {
        self.one("SSL", |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("`{text}` is neither `true` nor `false`")),
        })
    }

    fn list(&self, name: &str, unit: &str) -> Read<Vec<u64>> {
        self.one(name, |text| {
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
        })
    }

    /// Variables that are read but have no effect, with the reason.
    fn notes(&self) -> Vec<String> {
        let told = |name: &str, why: &dyn Fn(&str) -> String| {
            let value = self.values.get(name)?;
            Some(format!("{name}={}: {}", value.text, why(&value.text)))
        };
        let notes = [
            told("REMOTE", &|_| "there is no other machine to be switched".to_owned()),
            told("DEBUG", &|_| "nothing is executed until `farlink run`".to_owned()),
            told("RUN_TIMES", &|_| {
                format!(
                    "newrun.sh sets it to {RUN_TIMES} behind the case file, so {RUN_TIMES} it is"
                )
            }),
            told("LOG_FILE", &|_| "steps are rows of the store".to_owned()),
            told("URL", &|_| format!("newrun.sh sets it to {URL} behind the case file")),
        ];
        notes.into_iter().flatten().collect()
    }

    fn wrong(&self, name: &str, line: usize, message: String) -> FileError {
        let place = Place::Variable(name.to_owned(), line);
        FileError { file: self.file.to_owned(), place, message, hint: None }
    }

    fn at(&self, place: Place, message: String, hint: &str) -> FileError {
        FileError { file: self.file.to_owned(), place, message, hint: Some(hint.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NetType, Protocol};
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
        assert_eq!((case.up, case.notes.len()), (Uplink::Half, 0));
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
}
