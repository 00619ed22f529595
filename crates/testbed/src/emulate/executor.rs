//! Orders journeys from outside their sandboxes.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chromium::Chromium;
use emu::Wire;
use emu::sandbox::Sandbox;
use record::EmulationRecord;

use super::Role;
use super::capture::KernelTrace;
use super::messages::Channel;
use super::messages::{Emulated, JourneyOrder, SupervisorAnswer};
use crate::tour::{self, Detail, Library, Observed, Packets, PolicyLimits, Traffic, Visitor};
use scenario::experiment::NameError;
use scenario::{Execute, JourneyPlan, JourneyResult, MeasuredVisit};
use scenario::{Program, Scenario};

/// Maximum number of attempts to emulate a journey with the emulator on time throughout.
const ATTEMPTS: u32 = 8;
/// Pause before the second attempt; each further one is twice as long, so that 13 s pass before the emulation
/// is given up. Stalls of a shared machine last for seconds.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Executes journeys in real time, each in a sandbox of its own.
pub struct Emulation {
    library: Arc<Library>,
    /// This executable.
    program: PathBuf,
    /// The installed browser, or the reason why there is none.
    chromium: Result<Chromium, String>,
    /// Amount of detail kept of a journey.
    detail: Detail,
    /// Kind of the wires, if it is given.
    wire: Option<Wire>,
    /// Journeys with their packets, if they are watched.
    watched: Mutex<Vec<Observed>>,
    /// Ability of this machine to emulate, once it has been checked.
    able: OnceLock<Result<(), NameError>>,
    /// Receives the reason for long waits.
    tell: Option<Arc<Tell>>,
}

/// Callback for messages on the progress of an emulation.
pub type Tell = dyn Fn(&str) + Send + Sync;

impl Emulation {
    /// An executor of journeys with the pages and networks of `library`. `program` is farlink, which starts
    /// itself again in the sandbox. `chromium` is the installed browser, or the reason why there is none.
    pub fn new(
        library: Arc<Library>,
        program: PathBuf,
        chromium: Result<Chromium, String>,
    ) -> Emulation {
        let (watched, able) = (Mutex::default(), OnceLock::new());
        let (detail, wire) = (Detail::Records, None);
        Emulation { library, program, chromium, detail, wire, watched, able, tell: None }
    }

    /// The same executor; it reports why each late attempt is repeated.
    pub fn telling(self, tell: Arc<Tell>) -> Emulation {
        Emulation { tell: Some(tell), ..self }
    }

    /// The same executor, with wires of this kind.
    pub fn over(self, wire: Wire) -> Emulation {
        Emulation { wire: Some(wire), ..self }
    }

    /// The same executor; it keeps the packets of its journeys.
    pub fn watching(self) -> Emulation {
        Emulation { detail: Detail::Packets, ..self }
    }

    /// The same executor; it also films a real browser.
    pub fn filming(self) -> Emulation {
        Emulation { detail: Detail::Film, ..self }
    }

    /// Checks that this machine can emulate the scenario.
    ///
    /// # Errors
    /// Anything missing, and the command that fixes it; a setting of TCP that the kernel does not have.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), NameError> {
        self.able.get_or_init(|| able(self.wire)).clone()?;
        if scenario.client.program == Program::Chromium
            && let Err(message) = &self.chromium
        {
            return Err(NameError { message: message.clone(), hint: None });
        }
        let refuse = |side: &str, refusal: kernel::UnsupportedKnobsError| NameError {
            message: format!("{side}: {refusal}"),
            hint: Some("simulate it: world `sim`".to_owned()),
        };
        let transport = &scenario.transport;
        for (side, tcp) in
            [("the servers' TCP", &transport.server), ("the client's TCP", &transport.client)]
        {
            kernel::KernelKnobs::for_config(tcp.config())
                .map_err(|refusal| refuse(side, refusal))?;
        }
        if scenario.route.has_pep() {
            let leg = kernel::KernelKnobs::for_config(&tour::leg_tcp(scenario));
            leg.map_err(|refusal| refuse("the TCP of the PEP's leg", refusal))?;
        }
        Ok(())
    }

    /// A journey that was [watched](Emulation::watching). It is returned once.
    ///
    /// # Errors
    /// If there is none.
    pub fn observed(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        let is_it = |journey: &Observed| journey.seed == seed && *journey.scenario == *scenario;
        let mut journeys = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let place = journeys.iter().position(is_it);
        let found = place.map(|place| journeys.swap_remove(place));
        found.ok_or_else(|| format!("no journey with the seed {seed} was watched"))
    }

    fn run(&self, scenario: &Scenario, seed: u64) -> Result<(JourneyResult, Traffic), String> {
        let chromium = self.chromium.as_ref().ok().map(|found| found.program().to_owned());
        let (detail, wire) = (self.detail, self.wire);
        let order =
            JourneyOrder { scenario: scenario.clone(), client: 0, seed, detail, chromium, wire };
        let mut late = None;
        for attempt in 1..=ATTEMPTS {
            let trace = self.trace(scenario)?;
            let mut emulated = self.emulate(&order)?;
            if let Some(trace) = trace {
                trace.tell(&mut emulated);
            }
            match emulated.invalid {
                None => return self.result(&order, emulated, attempt),
                Some(why) => late = Some(why),
            }
            if attempt < ATTEMPTS {
                let pause = FIRST_PAUSE * 2_u32.pow(attempt - 1);
                if let (Some(tell), Some(why)) = (&self.tell, &late) {
                    tell(&repeated(scenario, seed, attempt, pause, why));
                }
                wait(pause);
            }
        }
        let why = late.expect("there was an attempt");
        Err(format!(
            "the emulation was not on time in {ATTEMPTS} attempts, so nothing was measured: {why}; run fewer loads \
             side by side (-j), stop what else keeps the processors busy, or give a link that has no rate one (of a stretch \
             behind a proxy: rate=200mbit), since bursts pass it in no time"
        ))
    }

    /// Traces the connections of a watched journey.
    fn trace(&self, scenario: &Scenario) -> Result<Option<KernelTrace>, String> {
        if !self.detail.is_watched() {
            return Ok(None);
        }
        let ready = self.library.ready(scenario)?;
        let arms = ready.arms(scenario)?;
        let arms = arms.usual.iter().chain(arms.past.iter().flatten());
        let hosts: BTreeSet<u16> = arms.map(|arm| arm.port).collect();
        let proxy = tour::proxy_ports(scenario, &ready)?.into_iter().map(|at| at.port());
        let ports: BTreeSet<u16> = hosts.into_iter().chain(proxy).collect();
        let mtu = self.library.network_of(scenario)?.down_mtu();
        Ok(Some(KernelTrace::start(ports.into_iter().collect(), mtu)))
    }

    /// One attempt.
    fn emulate(&self, order: &JourneyOrder) -> Result<Emulated, String> {
        let mut command = Command::new(&self.program);
        // In a process group of its own: Ctrl-C is for farlink, which lets running journeys finish.
        command.args(Role::Supervisor.arguments()).stdin(Stdio::null()).process_group(0);
        let told = |error: &dyn std::fmt::Display| format!("the emulated network: {error}");
        let sandbox = Sandbox::start(command).map_err(|error| told(&error))?;
        let stream = sandbox.channel().try_clone().map_err(|error| told(&error))?;
        let mut supervisor = Channel::new(stream).map_err(|error| told(&error))?;
        supervisor.send(order).map_err(|error| told(&error))?;
        match supervisor.receive().map_err(|error| told(&error))? {
            SupervisorAnswer::Emulated(emulated) => Ok(*emulated),
            SupervisorAnswer::Failed(reason) => Err(told(&reason)),
        }
    }

    /// Keeps a watched journey.
    fn keep(&self, journey: &JourneyPlan, result: &JourneyResult, traffic: Traffic) {
        if !self.detail.is_watched() {
            return;
        }
        let Ok(page) = self.library.page_of(&journey.scenario) else { return };
        let scenario = Arc::clone(&journey.scenario);
        let observed = Observed::new(scenario, journey.seed, result.clone(), &page, traffic);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(observed);
    }

    fn result(
        &self,
        order: &JourneyOrder,
        emulated: Emulated,
        attempts: u32,
    ) -> Result<(JourneyResult, Traffic), String> {
        let scenario = &order.scenario;
        let ready = self.library.ready(scenario)?;
        let network = self.library.network_of(scenario)?;
        let visitors = Visitor::all(scenario, order.seed).into_iter();
        let limits = visitors.map(|visitor| PolicyLimits::new(scenario, &ready, &network, visitor));
        let limits = limits.collect::<Result<Vec<_>, String>>()?;
        let punctuality = EmulationRecord { attempts, ..emulated.punctuality };
        let measure = |mut record: record::VisitRecord| {
            record.emulation = Some(punctuality.clone());
            let (client, _) = scenario.who(record.index);
            limits[client as usize].measure(record)
        };
        let visits: Vec<MeasuredVisit> = emulated.visits.into_iter().map(measure).collect();
        let mut notes = tour::notes(scenario, &network, &ready);
        notes.extend(tour::drop_note(scenario, &ready, &visits));
        notes.extend(emulated.notes);
        let packets = Packets::Emulated(emulated.frames);
        let Emulated { endpoints, shown, bodies, .. } = emulated;
        let traffic = Traffic { packets, endpoints, shown, bodies };
        Ok((JourneyResult { visits, notes, failure: None }, traffic))
    }
}

/// Message on the repetition of an emulation.
fn repeated(scenario: &Scenario, seed: u64, attempt: u32, pause: Duration, why: &str) -> String {
    format!(
        "waiting for the machine: attempt {attempt} of {ATTEMPTS} to emulate {} (seed {seed}) was not on time ({why}); the next follows in \
         {:.1} s",
        scenario.stack.protocol,
        pause.as_secs_f64()
    )
}

/// Checks that this machine can emulate networks; the error names the remedy.
fn able(wire: Option<Wire>) -> Result<(), NameError> {
    let missing = emu::diagnosis::missing(wire);
    if missing.is_empty() {
        return Ok(());
    }
    let why = missing.iter().map(|(part, lack)| format!("{part}: {}", lack.why));
    let remedies: Vec<&str> = missing.iter().map(|(_, lack)| lack.remedy.as_str()).collect();
    Err(NameError {
        message: format!(
            "this machine does not emulate networks: {}",
            why.collect::<Vec<_>>().join("; ")
        ),
        hint: Some(remedies.join("\n      ")),
    })
}

impl Execute for Emulation {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        match self.run(&journey.scenario, journey.seed) {
            Ok((result, traffic)) => {
                self.keep(journey, &result, traffic);
                result
            }
            Err(failure) => JourneyResult { failure: Some(failure), ..JourneyResult::default() },
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the machine is given its own time to come to rest")]
fn wait(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::NetworkSpec;

    #[test]
    fn a_repeated_attempt_says_which_and_why() {
        let scenario = Scenario::new("synthetic:2x1KB", NetworkSpec::default());
        let told = repeated(&scenario, 7, 1, FIRST_PAUSE, "40 packets were late");
        assert!(told.contains("attempt 1 of 8") && told.contains("seed 7"), "{told}");
        assert!(told.contains("(40 packets were late); the next follows in 0.1 s"), "{told}");
    }
}
