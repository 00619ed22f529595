//! One page of the browser: opened, prepared, driven, closed.

use std::time::Duration;

use serde_json::{Value, json};

use super::context::text;
use super::event::Event;
use super::pipe::Awaited;
use super::{ChromiumError, Context, Running, Settings};
use browser::LoadPlan;

/// An open tab.
pub(super) struct Tab<'a> {
    pub(super) running: &'a mut Running,
    /// The target, which is also the main frame.
    pub(super) frame: String,
    session: String,
}

/// A page without a network, so that the renderer's process exists before the visit begins.
const WARM_UP: &str = "data:text/html,<!doctype html><title>farlink</title><p>farlink";

/// Time limit for it to be painted.
const WARM_UP_LIMIT: Duration = Duration::from_secs(30);

impl<'a> Tab<'a> {
    /// Opens a tab and makes it ready to navigate.
    pub(super) fn open(
        context: &'a mut Context<'_>,
        plan: &LoadPlan,
        settings: &Settings,
    ) -> Result<Tab<'a>, ChromiumError> {
        let running = &mut *context.running;
        let target = json!({ "url": "about:blank", "browserContextId": context.id });
        let answer = running.call(None, "Target.createTarget", target)?;
        let frame = text(&answer, "Target.createTarget", "targetId")?;
        let attach = json!({ "targetId": frame, "flatten": true });
        let answer = running.call(None, "Target.attachToTarget", attach)?;
        let session = text(&answer, "Target.attachToTarget", "sessionId")?;
        let mut tab = Tab { running, frame, session };
        tab.prepare(plan, settings)?;
        tab.warm_up()?;
        Ok(tab)
    }

    fn prepare(&mut self, plan: &LoadPlan, settings: &Settings) -> Result<(), ChromiumError> {
        for domain in ["Page", "Network", "Runtime", "Log", "Inspector", "Performance"] {
            self.call(&format!("{domain}.enable"), json!({}))?;
        }
        self.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }))?;
        let (width, height) = settings.look.viewport;
        let viewport =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", viewport)?;
        if settings.slowdown > 1.0 {
            self.call("Emulation.setCPUThrottlingRate", json!({ "rate": settings.slowdown }))?;
        }
        let hosts = plan.page().hosts.iter().zip(plan.arms());
        let blocked: Vec<String> = hosts
            .filter(|(_, arm)| arm.blocked)
            .map(|(host, _)| format!("*://{}/*", host.name))
            .collect();
        if !blocked.is_empty() {
            self.call("Network.setBlockedURLs", json!({ "urls": blocked }))?;
        }
        Ok(())
    }

    fn warm_up(&mut self) -> Result<(), ChromiumError> {
        let answer = self.call("Page.navigate", json!({ "url": WARM_UP }))?;
        let loader = text(&answer, "Page.navigate", "loaderId")?;
        let alarm = self.running.pipe.alarm(WARM_UP_LIMIT);
        // If an invisible page is never painted, it is warm enough by then.
        while let Awaited::Event(message) = self.next(WARM_UP_LIMIT)? {
            match Event::read(*message)? {
                Event::Lifecycle(e) if e.loader_id == loader && e.name == "firstPaint" => break,
                Event::Crashed => return Err(ChromiumError::Crashed),
                _ => {}
            }
        }
        drop(alarm);
        self.running.pipe.forget_events();
        Ok(())
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value, ChromiumError> {
        self.running.call(Some(&self.session), method, params)
    }

    /// Sends a command, and ignores the answer.
    pub(super) fn send(&mut self, method: &str, params: Value) {
        // The next call that waits for a browser reports that it is gone.
        let _ = self.running.pipe.send(Some(&self.session), method, params);
    }

    /// The next event of this tab.
    pub(super) fn next(&mut self, patience: Duration) -> Result<Awaited, ChromiumError> {
        loop {
            let awaited = self.running.pipe.next(patience);
            match awaited.map_err(|error| self.running.blame(error))? {
                Awaited::Event(message) if message.session_id.as_ref() != Some(&self.session) => {}
                other => return Ok(other),
            }
        }
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let target = json!({ "targetId": self.frame });
        let _ = self.running.pipe.send(None, "Target.closeTarget", target);
    }
}
