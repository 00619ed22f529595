//! A browser as newly started, from a page's point of view.

use serde_json::json;

use super::visit::{self, ChromiumVisit, Settings};
use super::{ChromiumError, Running};
use browser::LoadPlan;

/// A browser context: its cache, cookies, connections and TLS sessions are its own, empty at first. Visits of one
/// context share them like those of one user; dropped, it discards all of them.
pub struct Context<'a> {
    pub(super) running: &'a mut Running,
    pub(super) id: String,
}

impl Context<'_> {
    pub(super) fn new(running: &mut Running) -> Result<Context<'_>, ChromiumError> {
        let answer = running.call(
            None,
            "Target.createBrowserContext",
            json!({ "disposeOnDetach": true }),
        )?;
        let id = text(&answer, "Target.createBrowserContext", "browserContextId")?;
        Ok(Context { running, id })
    }

    /// Loads `plan`'s page in a new tab.
    ///
    /// # Errors
    /// If Chromium cannot load such a page, or fails. A page that does not load is an outcome, not an error.
    pub fn visit(
        &mut self,
        plan: &LoadPlan,
        settings: &Settings,
    ) -> Result<ChromiumVisit, ChromiumError> {
        visit::check(plan)?;
        visit::visit(self, plan, settings)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // A browser that is gone has no contexts either.
        let _ = self.running.pipe.send(
            None,
            "Target.disposeBrowserContext",
            json!({ "browserContextId": self.id }),
        );
    }
}

/// A text in an answer.
pub(super) fn text(
    answer: &serde_json::Value,
    method: &str,
    key: &str,
) -> Result<String, ChromiumError> {
    answer[key].as_str().map(str::to_owned).ok_or_else(|| ChromiumError::NotUnderstood {
        method: method.to_owned(),
        problem: format!("it has no `{key}`"),
    })
}
