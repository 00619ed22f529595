//! Judgements for people, for JUnit's readers and for GitHub.

use super::judgement::Judgement;

/// One line for each judgement.
pub fn text(judgements: &[Judgement]) -> String {
    let line = |judgement: &Judgement| {
        let Judgement { budget, arm, is_kept, finding } = judgement;
        let verdict = if *is_kept { "kept  " } else { "broken" };
        format!("budget {verdict}  {arm}: {budget}: {finding}\n")
    };
    judgements.iter().map(line).collect()
}

/// The judgements as a test report in JUnit's format, which CI services show
/// (<https://github.com/testmoapp/junitxml>).
pub fn junit(judgements: &[Judgement], suite: &str) -> String {
    let broken = judgements.iter().filter(|it| !it.is_kept).count();
    let (tests, suite) = (judgements.len(), escaped(suite));
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{broken}\" errors=\"0\" skipped=\"0\">\n"
    );
    for Judgement { budget, arm, is_kept, finding } in judgements {
        let (budget, finding) = (escaped(budget), escaped(finding));
        let case = format!("<testcase classname=\"{suite}\" name=\"{}: {budget}\"", escaped(arm));
        xml += &match is_kept {
            true => format!("{case}><system-out>{finding}</system-out></testcase>\n"),
            false => format!("{case}><failure message=\"{finding}\"/></testcase>\n"),
        };
    }
    xml + "</testsuite>\n</testsuites>\n"
}

/// Text for an attribute or element; characters that XML does not have are left out.
fn escaped(text: &str) -> String {
    let is_text = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\n' | '\r' | '\t' => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().filter(is_text).map(escape).collect()
}

/// Broken budgets as workflow commands of GitHub Actions, which shows them as annotations
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>).
pub fn github(judgements: &[Judgement]) -> String {
    let line = |judgement: &Judgement| {
        let Judgement { budget, arm, finding, .. } = judgement;
        let escape =
            |text: String| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        format!("::error title=farlink budget::{}\n", escape(format!("{arm}: {budget}: {finding}")))
    };
    judgements.iter().filter(|it| !it.is_kept).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgements() -> [Judgement; 2] {
        let judgement = |is_kept, finding: &str| Judgement {
            budget: "plt < 3s".to_owned(),
            arm: "h2 \"3g\"".to_owned(),
            is_kept,
            finding: finding.to_owned(),
        };
        [judgement(true, "2.00 s, < 3.00 s"), judgement(false, "4.00 s, 5 % more\u{1}")]
    }

    #[test]
    fn reports_are_escaped() {
        let xml = junit(&judgements(), "a & b");
        assert!(xml.contains("name=\"a &amp; b\" tests=\"2\" failures=\"1\""), "{xml}");
        assert!(xml.contains("name=\"h2 &quot;3g&quot;: plt &lt; 3s\""), "{xml}");
        assert!(xml.contains("<failure message=\"4.00 s, 5 % more\"/>"), "{xml}");
        let said = github(&judgements());
        assert_eq!(
            said,
            "::error title=farlink budget::h2 \"3g\": plt < 3s: 4.00 s, 5 %25 more\u{1}\n"
        );
    }

    #[test]
    fn each_judgement_is_a_line() {
        let said = text(&judgements());
        assert!(
            said.starts_with("budget kept    h2 \"3g\": plt < 3s: 2.00 s, < 3.00 s\n"),
            "{said}"
        );
        assert!(said.contains("\nbudget broken  h2"), "{said}");
    }
}
