//! `config.json`, which `run.py` read.

use serde_json::{Map, Value};

use super::terms::{Read, URL};
use super::{FileError, Place};

/// The relevant settings of a `config.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The page, as a URL without its scheme.
    pub request_path: Option<String>,
    /// Settings that were ignored, with the reason.
    pub notes: Vec<String>,
}

/// Keys that concern MongoDB.
const DATABASE: [&str; 5] = ["db", "collection", "dbuser", "dbpasswd", "dbhost"];

impl Config {
    /// Parses the text of the file; `file` names it in errors.
    ///
    /// # Errors
    /// Text that is not JSON, and keys that are not `run.py`'s.
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
        let mut of_database = Vec::new();
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
                name if DATABASE.contains(&name) => of_database.push(key.as_str()),
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
        if !of_database.is_empty() {
            config.notes.push(format!(
                "{}: no database server is spoken to: results are in farlink's store, and `farlink study export bth2013-results` writes lines that mongoimport takes",
                of_database.join(", ")
            ));
        }
        Ok(config)
    }

    /// Checks that its page is the study's: the only one that is available here.
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
    fn anything_else_is_refused_by_name() {
        for (text, says) in [
            (r#"{"db": 3}"#, "config.json: `db`: 3 is no text"),
            (r#"{"dbname": "tests"}"#, "config.json: `dbname`: no key of run.py's"),
            (r#"{"request_url": "://x"}"#, "config.json: `request_url`: no key of run.py's"),
            (r#"{"request_path": 3}"#, "config.json: `request_path`: 3 is no text"),
            ("{\n\"db\": ", "config.json:2: no JSON object"),
        ] {
            let refused = Config::read("config.json", text).unwrap_err().to_string();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
