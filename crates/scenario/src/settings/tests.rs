//! The table as a whole, and grids over it.

use std::collections::BTreeSet;

use super::*;
use crate::experiment::Catalogue;
use crate::grid::{Axis, Grid, GridFault};
use crate::{NetworkSpec, PageRef};

/// Accepts every name.
struct Anything;

impl Catalogue for Anything {
    fn page(&self, spec: &str) -> Result<PageRef, NameError> {
        Ok(PageRef::named(spec))
    }
    fn network(&self, _: &NetworkSpec) -> Result<Option<String>, NameError> {
        Ok(None)
    }
    fn device(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(None)
    }
    fn browser(&self, _: &str) -> Result<(), NameError> {
        Ok(())
    }
    fn pac(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(Some("digest".to_owned()))
    }

    fn priorities(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(None)
    }
}

#[test]
fn no_two_rows_share_a_name() {
    let distinct = |names: Vec<&str>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    assert!(distinct(SETTINGS.iter().map(|setting| setting.key).collect()));
    assert!(distinct(SETTINGS.iter().map(|setting| setting.column).collect()));
    assert!(distinct(SETTINGS.iter().filter_map(|setting| setting.option).collect()));
}

#[test]
fn examples_are_read_and_have_words_that_differ() {
    for setting in SETTINGS.iter().filter(|setting| setting.is_listed) {
        let words = setting.examples().map(|example| {
            let mut scenario = Scenario::new("", NetworkSpec::default());
            let change = setting.read(&example, &Anything);
            change.unwrap_or_else(|_| panic!("{} = {example}", setting.key))(&mut scenario);
            setting.label(&setting.text(&scenario))
        });
        assert_ne!(words[0], words[1], "{}", setting.key);
    }
    let usual = Scenario::new("", NetworkSpec::default());
    for setting in SETTINGS.iter() {
        assert!(!setting.text(&usual).is_empty() || setting.key == "page.name", "{}", setting.key);
    }
    let listed = SETTINGS.iter().filter(|setting| setting.is_listed);
    let names: BTreeSet<String> = listed.clone().map(Setting::name).collect();
    assert_eq!(names.len(), listed.count(), "no two share a name");
}

#[test]
fn a_value_that_its_setting_cannot_have_is_a_contradiction() {
    let mut scenario = Scenario::new("", NetworkSpec::default());
    scenario.client.program = crate::Program::Chromium;
    scenario.world = crate::World::Emu;
    assert_eq!(scenario.contradiction(), None);
    scenario.request_headers = crate::RequestHeaderMode::Recorded;
    assert!(scenario.contradiction().unwrap().contains("requests' heads"));
}

#[test]
fn a_default_is_what_holds_if_nothing_is_said() {
    let usual = Scenario::new("", NetworkSpec::default());
    for setting in SETTINGS.iter().filter(|setting| !setting.default.is_empty()) {
        let mut set = usual.clone();
        setting.read(setting.default, &Anything).unwrap_or_else(|_| panic!("{}", setting.key))(
            &mut set,
        );
        assert_eq!(set, usual, "{}", setting.key);
    }
}

#[test]
fn every_name_of_a_closed_set_is_read() {
    for setting in SETTINGS.iter() {
        for name in setting.names() {
            assert!(setting.read(name, &Anything).is_ok(), "{} {name}", setting.key);
        }
    }
}

/// The grid of these settings, in the order of the table.
fn grid(typed: &[(&str, &[&str])]) -> Result<Grid, crate::grid::GridError> {
    let axis = |(key, values): &(&str, &[&str])| Axis {
        key: (*key).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let mut axes: Vec<Axis> = typed.iter().map(axis).collect();
    axes.sort_by_key(|axis| crate::grid::position(&axis.key));
    Grid::of(&axes, &Anything)
}

fn protocols(grid: &Grid) -> Vec<String> {
    grid.cells.iter().map(|cell| format!("{} {}", cell.route, cell.stack.protocol)).collect()
}

#[test]
fn what_cannot_be_is_left_out_with_its_reason() {
    let routes: &[&str] = &["direct", "pep"];
    let found = grid(&[("route", routes), ("stack.protocol", &["h2", "h3"])]).unwrap();
    assert_eq!(protocols(&found), ["direct h2", "direct h3-deployed", "pep h2"]);
    let [skipped] = &found.skipped[..] else { panic!("{:?}", found.skipped) };
    let sentence = skipped.sentence();
    assert!(
        sentence.starts_with("1 combination is left out (route pep, protocol h3): a PEP"),
        "{sentence}"
    );
    let tls =
        grid(&[("stack.tls", &["none", "tls13"]), ("stack.protocol", &["h3", "h1"])]).unwrap();
    assert_eq!((tls.cells.len(), tls.skipped[0].cells), (3, 1));
}

#[test]
fn a_grid_of_nothing_but_impossible_cells_is_refused_where_the_cause_stands() {
    let error = grid(&[("network", &["3g"]), ("route", &["pep"]), ("stack.protocol", &["h3"])]);
    let error = error.unwrap_err();
    let GridFault::Refused(refusal) = &error.fault else { panic!("{error:?}") };
    assert!(refusal.message.contains("PEP"), "{}", refusal.message);
    assert!(error.axis > 0, "not the network: {error:?}");
}

#[test]
fn a_setting_acts_on_the_cells_that_it_concerns() {
    let protocols: &[&str] = &["h2", "h3"];
    let turned = grid(&[("transport.quic", &["iw=20", "iw=32"]), ("stack.protocol", protocols)]);
    let turned: Vec<String> =
        turned.unwrap().cells.iter().map(|cell| cell.quic.to_string()).collect();
    assert_eq!(turned, ["", "iw=20", "iw=32"]);
    let error = grid(&[("transport.quic", &["iw=20"]), ("stack.protocol", &["h2"])]).unwrap_err();
    let GridFault::Refused(refusal) = error.fault else { panic!("{error:?}") };
    assert_eq!(refusal.message, "it changes nothing: no arm runs on QUIC");
}
