//! `config.json`, which `run.py` read.

use serde_json::{Map, Value};

use super::terms::{Read, URL};
use super::{FileError, Place};

/// What a `config.json` carries that means something here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The page, as a URL without its scheme.
    pub request_path: Option<String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// What it says of MongoDB.
const DATABASE: [&str; 5] = ["db", "collection", "dbuser", "dbpasswd", "dbhost"];

impl Config {
    /// What the text of the file says; `file` names it in errors.
    ///
    /// # Errors
    /// Text that is not JSON, keys that are not `run.py`'s, and what it says of MongoDB.
    pub fn read(file: &str, text: &str) -> Result<Config, FileError> {
        let error = |place, message: String, hint: Option<&str>| FileError {
            file: file.to_owned(),
            place,
            message,
            hint: hint.map(str::to_owned),
        };
        let object: Map<String, Value> = serde_json::from_str(text).map_err(|wrong| {
            let place = Place::Line(wrong.line());
            error(place, format!("no JSON object: {wrong}"), None)
        })?;
        let mut config = Config::default();
        for (key, value) in &object {
            let place = || Place::Key(key.clone());
            let text = value
                .as_str()
                .ok_or_else(|| error(place(), format!("{value} is no text in quotes"), None))?;
            match key.as_str() {
                "request_path" => config.request_path = Some(text.to_owned()),
                "chrome_driver_path" => config.notes.push(format!(
                    "chrome_driver_path: pages are loaded by farlink's own loader, not by `{text}`"
                )),
                name if DATABASE.contains(&name) => {
                    let message = "no database server is spoken to: results are in farlink's store";
                    let hint = "leave it out; `farlink study export bth2013-results` writes lines that mongoimport takes";
                    return Err(error(place(), message.to_owned(), Some(hint)));
                }
                _ => {
                    let known = "chrome_driver_path, request_path, db, collection, dbuser, dbpasswd and dbhost";
                    return Err(error(
                        place(),
                        format!("no key of run.py's, which reads {known}"),
                        None,
                    ));
                }
            }
        }
        Ok(config)
    }

    /// Checks that its page is the study's, for which there is a page here.
    ///
    /// # Errors
    /// If it is another.
    pub fn check_page(&self, file: &str) -> Read<()> {
        match &self.request_path {
            Some(path) if path.trim_end_matches('/') != URL.trim_end_matches('/') => {
                Err(FileError {
                    file: file.to_owned(),
                    place: Place::Key("request_path".to_owned()),
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

    #[test]
    fn anything_else_is_refused_by_name() {
        for (text, says) in [
            (
                r#"{"dbhost": "localhost"}"#,
                "config.json: `dbhost`: no database server is spoken to",
            ),
            (r#"{"db": "tests"}"#, "config.json: `db`: no database server"),
            (r#"{"request_url": "://x"}"#, "config.json: `request_url`: no key of run.py's"),
            (r#"{"request_path": 3}"#, "config.json: `request_path`: 3 is no text"),
            ("{\n\"db\": ", "config.json:2: no JSON object"),
        ] {
            let refused = Config::read("config.json", text).unwrap_err().to_string();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
