//! Properties of a scenario, by name: fixed, varying, and compared ones. They come from the table of settings.

use std::sync::LazyLock;

use scenario::Scenario;
use scenario::settings::{SETTINGS, Setting, SettingRole};

use super::pages::PAGE;

/// One property of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name, for people.
    pub name: String,
    /// Its role in the question.
    pub role: SettingRole,
    /// Its value, for people, unit included; empty if the property does not apply to the scenario.
    pub text: String,
    /// Its value as a number with its unit, if it can span an axis.
    pub number: Option<f64>,
    /// The number's unit.
    pub unit: &'static str,
    /// The value as part of a label without the property's name: "h2", "TLS 1.3", "RTT 100 ms".
    pub label: String,
}

/// Settings with which a label begins; the others follow in the order of the table.
const FIRST: [&str; 7] = [
    "route",
    "stack.protocol",
    "stack.tls",
    "stack.security",
    "stack.connections_per_host",
    "stack.connections_total",
    "stack.pipeline_depth",
];

/// The settings in the order in which a reader asks for them: conditions, then arms.
static LISTED: LazyLock<Vec<&Setting>> = LazyLock::new(|| {
    let mut listed: Vec<&Setting> = SETTINGS.iter().filter(|it| it.is_listed).collect();
    let place = |it: &Setting| FIRST.iter().position(|first| *first == it.key);
    listed.sort_by_key(|it| (it.role == SettingRole::Arm, place(it).unwrap_or(FIRST.len())));
    listed
});

/// All properties of a visit's scenario; `page` is the visit's page within a list.
pub fn of(scenario: &Scenario, view: &str, page: Option<&str>) -> Vec<Property> {
    let mut keys = pages(scenario, page).to_vec();
    for setting in LISTED.iter() {
        keys.push(match setting.key {
            "client.view" => of_text(setting, view.to_owned()),
            // The stretch beyond is a condition of its own.
            "route" => of_text(setting, scenario.route.without_stretch().to_string()),
            _ => of_setting(setting, scenario),
        });
        if setting.key == "network.queue" {
            keys.push(rest_of_network(scenario));
        }
    }
    keys
}

fn of_setting(setting: &Setting, scenario: &Scenario) -> Property {
    match setting.is_meant(scenario) {
        true => Property {
            number: setting.number(scenario),
            ..of_text(setting, setting.text(scenario))
        },
        // It does not distinguish arms.
        false => Property { label: String::new(), ..of_text(setting, String::new()) },
    }
}

fn of_text(setting: &Setting, text: String) -> Property {
    let label = setting.label(&text);
    Property {
        name: setting.name(),
        role: setting.role,
        text,
        number: None,
        unit: setting.unit,
        label,
    }
}

fn condition(name: &str, text: String, label: String) -> Property {
    Property {
        name: name.to_owned(),
        role: SettingRole::Condition,
        text,
        number: None,
        unit: "",
        label,
    }
}

/// The visited page, and the list that it is on.
fn pages(scenario: &Scenario, page: Option<&str>) -> [Property; 2] {
    let spec = scenario.page.spec.as_str();
    let visited = page.unwrap_or(spec).to_owned();
    let list = if page.is_some() { spec } else { "" }.to_owned();
    [condition(PAGE, visited.clone(), visited), condition("list of pages", list.clone(), list)]
}

/// Settings of the network without rows of their own.
fn rest_of_network(scenario: &Scenario) -> Property {
    let others = scenario.network.others.iter().map(|(key, value)| format!("{key}={value}"));
    let text = match others.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => PROFILE.to_owned(),
        others => others,
    };
    condition("other network settings", text.clone(), text)
}

/// Text for a value that is left to the network's profile.
pub const PROFILE: &str = "profile default";

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{NetworkSpec, Protocol, Push};

    /// The value of a property for a protocol with all its options turned on.
    fn text(protocol: Protocol, name: &str) -> String {
        let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
        scenario.stack.protocol = protocol;
        scenario.quic = "iw=20".parse().unwrap();
        scenario.serving.push = Some(Push::Css);
        let keys = of(&scenario, "cold", None);
        keys.into_iter().find(|key| key.name == name).expect("there is such a property").text
    }

    #[test]
    fn what_does_not_concern_an_arm_has_no_value() {
        let all = |name| {
            let arms = [Protocol::H1, Protocol::H2, Protocol::Spdy, Protocol::H3Matched];
            arms.map(|protocol| text(protocol, name))
        };
        assert_eq!(all("QUIC"), ["", "", "", "iw=20"]);
        assert_eq!(all("pushed"), ["", "css", "css", ""]);
        assert_eq!(all("multiplexing"), ["", "Chrome's", "Chrome's", ""]);
        assert_eq!(all("HTTP/3 discovery"), ["", "", "", "prior-knowledge"]);
    }
}
