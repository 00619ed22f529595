//! Options made from the table of settings.

use std::collections::BTreeMap;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use scenario::grid::Axis;
use scenario::settings::{Lists, SETTINGS, Setting};

/// Values of settings as typed, by the settings' keys.
#[derive(Clone, Debug, Default)]
pub struct Settings(BTreeMap<&'static str, Vec<String>>);

/// Defaults of `load`: the protocols compared, and the network.
const DEFAULTS: [(&str, &str); 2] = [("network", "4g"), ("stack.protocol", "h1,h2")];

impl Settings {
    /// The values typed for a setting, or `load`'s own default.
    pub fn of(&self, key: &str) -> Vec<&str> {
        match self.0.get(key) {
            Some(values) => values.iter().map(String::as_str).collect(),
            None => DEFAULTS
                .iter()
                .filter(|(of, _)| *of == key)
                .flat_map(|(_, d)| d.split(','))
                .collect(),
        }
    }

    /// Sets a setting, as if it was typed.
    pub fn set(&mut self, key: &'static str, values: Vec<String>) {
        self.0.insert(key, values);
    }

    /// True if the setting was typed.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Option of a setting that was typed, if any was.
    pub fn typed(&self) -> Option<&'static str> {
        self.0.keys().find_map(|key| scenario::settings::setting(key)?.option)
    }

    /// An axis for each setting that has values, in the order of the table.
    pub fn axes(&self) -> Vec<Axis> {
        let axis = |setting: &Setting| {
            let values: Vec<String> = self.of(setting.key).into_iter().map(str::to_owned).collect();
            (!values.is_empty()).then(|| Axis { key: setting.key.to_owned(), values })
        };
        SETTINGS.iter().filter_map(axis).collect()
    }
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().filter_map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Settings::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, Error> {
        let mut settings = Settings::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in SETTINGS.iter() {
            let Some(option) = setting.option else { continue };
            if matches.value_source(option) == Some(ValueSource::CommandLine) {
                let values = matches.get_many::<String>(option).unwrap_or_default();
                self.0.insert(setting.key, values.cloned().collect());
            }
        }
        Ok(())
    }
}

fn argument(setting: &Setting) -> Option<Arg> {
    let option = setting.option?;
    let several = match setting.lists {
        Lists::Commas => "comma-separated",
        Lists::Repeated => "repeatable",
    };
    let argument = Arg::new(option)
        .long(option)
        .value_name(setting.value_name)
        .help(format!("{} [{several}]", setting.help))
        .help_heading(setting.group)
        .action(ArgAction::Append)
        .value_parser(NamedValues(setting.names()));
    let argument = match setting.lists {
        Lists::Commas => argument.value_delimiter(','),
        Lists::Repeated => argument,
    };
    let own = DEFAULTS.iter().find(|(key, _)| *key == setting.key);
    Some(match own.map_or(setting.default, |(_, default)| default) {
        "" => argument,
        default => argument.default_value(default),
    })
}

/// Parser that shows names in help and completions, and leaves parsing to the setting, whose errors say more.
#[derive(Clone)]
struct NamedValues(Vec<&'static str>);

impl TypedValueParser for NamedValues {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, Error> {
        clap::builder::StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        match self.0.is_empty() {
            true => None,
            false => Some(Box::new(self.0.iter().map(PossibleValue::new))),
        }
    }
}
