//! JSON Schema of experiment files, made from the table of settings, for editors that complete and check TOML.

use serde_json::{Map, Value, json};

use super::resolve::{FORMAT, MOST_REPETITIONS, OWN};
use crate::settings::{SETTINGS, Setting, ValueKind};
use crate::{Keep, Order, StopRule};

/// The schema (draft 2020-12). It checks keys, types and names; what texts mean, `farlink run` checks. A network's
/// own settings without a row in the table are open.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in OWN {
        properties.insert(key.to_owned(), own(key));
    }
    for setting in SETTINGS.iter() {
        match setting.key.split_once('.') {
            None => {
                properties.insert(setting.key.to_owned(), axis(setting));
            }
            Some((group, key)) => {
                let of_group = tables(&mut properties, group);
                of_group.insert(key.to_owned(), axis(setting));
            }
        }
    }
    // A network is a table of settings, or a text.
    let mut table = properties.remove("network.").unwrap_or_default();
    table["additionalProperties"] = json!({ "$ref": "#/$defs/open" });
    let text = properties.remove("network").unwrap_or_default();
    properties.insert("network".to_owned(), json!({ "anyOf": [table, text] }));
    let mut properties: Map<String, Value> = properties
        .into_iter()
        .map(|(key, value)| (key.trim_end_matches('.').to_owned(), value))
        .collect();
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let settings = combined_settings(&properties);
    for (key, description) in [
        (
            "exclude",
            "Combinations to leave out: those with one of these values of each setting named",
        ),
        ("linked", "Settings that vary together: first values with first values, and so on"),
    ] {
        let list = json!({ "type": "array", "items": settings, "description": description });
        properties.insert(key.to_owned(), list);
    }
    let file = json!({ "type": "string", "minLength": 1 });
    let files = json!({
        "anyOf": [file, { "type": "array", "items": file }],
        "description": "Files with further keys, relative to this file; a key here counts before theirs",
    });
    properties.insert("include".to_owned(), files);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "farlink experiment",
        "type": "object",
        "required": ["format"],
        // An included file or linked axes may have them.
        "anyOf": [
            { "required": ["network", "page"] },
            { "required": ["include"] },
            { "required": ["linked"] },
        ],
        "properties": properties,
        "additionalProperties": false,
        "$defs": {
            "open": { "anyOf": [
                scalar,
                { "type": "array", "items": scalar, "minItems": 1, "uniqueItems": true },
                { "type": "object", "additionalProperties": { "$ref": "#/$defs/open" } },
            ] },
        },
    })
}

/// A table of settings as in `exclude` and `linked`: those of a file, none of them mandatory.
fn combined_settings(properties: &Map<String, Value>) -> Value {
    let mut settings = properties.clone();
    for key in OWN {
        settings.remove(key);
    }
    for table in settings.values_mut() {
        if let Some(table) = table.as_object_mut() {
            table.remove("required");
        }
    }
    json!({ "type": "object", "properties": settings, "additionalProperties": false, "minProperties": 1 })
}

/// The keys of a group's table, which stands beside a setting of the same name until the end.
fn tables<'a>(properties: &'a mut Map<String, Value>, group: &str) -> &'a mut Map<String, Value> {
    let required = if group == "page" { json!(["name"]) } else { json!([]) };
    let table = properties.entry(format!("{group}.")).or_insert_with(|| {
        json!({
            "type": "object",
            "required": required,
            "properties": {},
            "additionalProperties": false,
        })
    });
    table["properties"].as_object_mut().expect("it was made with an object")
}

/// A key that holds for the whole experiment.
fn own(key: &str) -> Value {
    match key {
        "format" => json!({ "const": FORMAT, "description": "Format of this file" }),
        "seed" => json!({
            "type": "integer", "minimum": 0, "maximum": i64::MAX, "default": 1,
            "description": "Seed of all random streams",
        }),
        "repetitions" => json!({
            "type": "integer", "minimum": 1, "maximum": MOST_REPETITIONS, "default": 10,
            "description": "Journeys of each scenario",
        }),
        "until" => json!({
            "type": "string", "pattern": "^ *[0-9.]+ *%$", "examples": ["5%"],
            "description": "Repeat until the interval of every median load time is this narrow, relative to the median",
        }),
        "most_repetitions" => json!({
            "type": "integer", "minimum": 1, "maximum": MOST_REPETITIONS, "default": StopRule::MOST,
            "description": "With `until`: repetitions at which to give up",
        }),
        "order" => json!({
            "enum": Order::spellings(), "default": Order::Alternated.name(),
            "description": "Order of the journeys",
        }),
        "keep" => json!({
            "enum": Keep::spellings(), "default": Keep::All.name(),
            "description": "Parts of the results to store",
        }),
        _ => json!({
            "type": "string", "minLength": 1, "default": "experiment",
            "description": "Name of the experiment",
        }),
    }
}

/// One value of a setting, or a list of them.
fn axis(setting: &Setting) -> Value {
    let one = scalar(setting);
    let mut schema = json!({
        "title": setting.name(),
        "description": setting.help,
        "anyOf": [
            one,
            { "type": "array", "items": one, "minItems": 1, "uniqueItems": true },
        ],
    });
    if !setting.default.is_empty() {
        let number = setting.default.parse::<i64>();
        schema["default"] = number.map_or_else(|_| json!(setting.default), |number| json!(number));
    }
    schema
}

/// One value. A number may stand in quotes, and `on` and `off` may be `true` and `false`.
fn scalar(setting: &Setting) -> Value {
    let boolean = json!({ "type": "boolean" });
    match &setting.kind {
        ValueKind::Text => json!({
            "type": ["string", "number", "boolean"], "examples": setting.examples(),
        }),
        ValueKind::Number => {
            json!({ "type": ["string", "number"], "examples": setting.examples() })
        }
        ValueKind::Whole(least, most) => json!({ "anyOf": [
            { "type": "integer", "minimum": least, "maximum": most },
            { "type": "string", "pattern": "^[0-9]+$" },
        ] }),
        ValueKind::Truth => json!({ "anyOf": [{ "enum": ["on", "off"] }, boolean] }),
        ValueKind::Names(_, spellings) => {
            let names = spellings();
            match names.contains(&"on") {
                true => json!({ "anyOf": [{ "enum": names }, boolean] }),
                false => json!({ "enum": names }),
            }
        }
    }
}
