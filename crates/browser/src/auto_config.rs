//! A PAC file in a browser's settings: for each request it chooses a port of the proxy, or the request's own host.
//!
//! The file is evaluated in the order of requests, by one script engine for as long as the browser runs. There is
//! one proxy, whatever name the file gives it: only the port counts.
//! Source: Chromium's `net/http/http_stream_factory_job_controller.cc`, which resolves the proxy (`DoResolveProxy`)
//! for each request, before it looks for a connection.

use std::cell::RefCell;
use std::net::IpAddr;

use pac::{Choice, Engine, Script, Surroundings};
use tls::PLAN_START;

/// Source of randomness for `Math.random` of a PAC file.
const CHANCE: &str = "browser/pac";

/// Proxy auto-configuration of a browser.
#[derive(Clone, Debug)]
pub struct AutoConfig {
    /// The file.
    pub script: Script,
    /// Ports of the proxy that it may choose.
    pub ports: Vec<u16>,
    /// The browser's own address.
    pub own: IpAddr,
}

/// The file in a running browser.
pub(crate) struct Chooser {
    told: AutoConfig,
    engine: RefCell<Option<Engine>>,
}

impl Chooser {
    pub(crate) fn new(told: AutoConfig) -> Chooser {
        Chooser { told, engine: RefCell::default() }
    }

    /// The file's choice for a request.
    pub(crate) fn choose(&self, url: &str, host: &str) -> Result<Choice, String> {
        let mut engine = self.engine.borrow_mut();
        if engine.is_none() {
            *engine = Some(self.start()?);
        }
        let engine = engine.as_ref().expect("it has been started");
        let choice = engine.find(url, host).map_err(|error| error.to_string())?;
        match &choice {
            Choice::Proxy(at) if !self.told.ports.contains(&at.port) => Err(format!(
                "the PAC file {} names the port {} for {url}, which it did not name when the load was prepared: nobody listens there",
                self.told.script.name, at.port
            )),
            _ => Ok(choice),
        }
    }

    fn start(&self) -> Result<Engine, String> {
        let surroundings = Surroundings {
            resolve: Box::new(|host| world::resolve(host).ok()),
            own: self.told.own,
            random: world::stream(CHANCE),
            now: PLAN_START,
        };
        Engine::start(&self.told.script, surroundings).map_err(|error| error.to_string())
    }
}
