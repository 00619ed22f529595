//! A PAC file in a browser's settings: for each request it names a port of the proxy, or the request's own host.
//!
//! The file is asked in the order in which requests are made, by one script engine as long as the browser runs. There is one proxy, whatever
//! the file calls it: what counts is the port.
//! Source: Chromium's `net/http/http_stream_factory_job_controller.cc`, which resolves the proxy (`DoResolveProxy`) for each request, before it looks for a connection.

use std::cell::RefCell;
use std::net::IpAddr;

use pac::{Choice, Engine, Script, Surroundings};
use tls::PLAN_START;

/// What `Math.random` of a PAC file draws from.
const CHANCE: &str = "browser/pac";

/// What a browser is told of proxies.
#[derive(Clone, Debug)]
pub struct AutoConfig {
    /// The file.
    pub script: Script,
    /// Those of the proxy's ports that it may name.
    pub ports: Vec<u16>,
    /// The browser's own address.
    pub own: IpAddr,
}

/// The file at work in a running browser.
pub(crate) struct Chooser {
    told: AutoConfig,
    engine: RefCell<Option<Engine>>,
}

impl Chooser {
    pub(crate) fn new(told: AutoConfig) -> Chooser {
        Chooser { told, engine: RefCell::default() }
    }

    /// What the file says of a request.
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
