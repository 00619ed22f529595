//! The Chromium binary, its launch - flags and pipe - and the running browser.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::net_log::NetLog;
use super::pipe::Pipe;
use super::tab::text;
use super::{BrowserContext, BrowserProxy, ChromiumError};

/// Launch options.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub chromium: Chromium,
    /// A directory of the caller's, empty and writable: the browser's profile, its temporary files and its standard
    /// error. The caller removes it afterwards.
    pub profile: PathBuf,
    /// Address of each name, with the port.
    pub hosts: Vec<(String, SocketAddr)>,
    /// All other names.
    pub other_names: OtherNames,
    /// The proxy to use; the hosts' names are not resolved then.
    pub proxy: Option<BrowserProxy>,
    /// SHA-256 of the public keys (`SubjectPublicKeyInfo`) whose certificates are accepted, regardless of issuer
    /// and names.
    pub trusted_keys: Vec<[u8; 32]>,
    /// True if every certificate is accepted.
    pub trusts_all: bool,
    /// Hosts spoken to by HTTP/3 only, with prior knowledge; if there are none and other names lead nowhere, QUIC is off.
    pub quic_hosts: Vec<String>,
    /// Sandbox of its renderers.
    pub sandbox: ChromiumSandbox,
    /// True if it is to report the local address of each connection, by which the kernel and the emulator know it.
    /// It does so by a complete log of its network, which costs it some time.
    pub addresses: bool,
    /// True if other programs may drive it, too: see [`Running::devtools`].
    pub has_devtools_port: bool,
}

/// Names that a launch states no address for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherNames {
    /// They lead nowhere: a browser calls home in spite of every flag.
    NotFound,
    /// The system resolves them: for pages of the Internet.
    Resolved,
}

/// Sandbox of the renderers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChromiumSandbox {
    /// Chromium's own: needs an ordinary user (uid other than 0) with permission to create user namespaces.
    Own,
    /// None: for root, as whom Chromium refuses to start otherwise, and for pages that one trusts: farlink's own.
    None,
}

/// Flags for every start: no traffic that a page did not ask for, and no dependence on a screen. Sources:
/// Chromium's `chrome/common/chrome_switches.cc`, and the flags of Puppeteer and chrome-launcher for the same
/// purpose (chrome-launcher's `docs/chrome-flags-for-tests.md`).
const FLAGS: [&str; 34] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-search-engine-choice-screen",
    "--disable-field-trial-config",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--metrics-recording-only",
    "--disable-hang-monitor",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--mute-audio",
    "--password-store=basic",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en-US",
    // Frames of other sites would be separate targets, whose requests another session reports.
    "--disable-site-isolation-trials",
    // Upgrades of http: to https: would load another page than the requested one.
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,\
     HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,CertificateTransparencyComponentUpdater,\
     AutofillServerCommunication,InterestFeedContentSuggestions,IsolateOrigins,site-per-process",
];

/// Chromium wants its pipe on descriptors 3 and 4. A shell moves them there, so that the caller that starts the
/// command, in whatever namespace, need only pass on its standard input and output.
const MOVE_PIPE: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

/// Where Chromium calls home in spite of every flag: updates, its services, and the search engine to which Debian's connects in
/// advance. Pages do not refer to them.
const CALLED_HOMES: [&str; 6] = [
    "accounts.invalid",
    "clients2.google.com",
    "update.googleapis.com",
    "optimizationguide-pa.googleapis.com",
    "content-autofill.googleapis.com",
    "start.duckduckgo.com",
];

/// The address of Google's accounts, which Chromium calls when it starts; pages may refer to the real one.
const NO_ACCOUNTS: &str = "--gaia-url=https://accounts.invalid";

/// Where Chromium tells the port of `--remote-debugging-port=0`, in the profile.
const PORT_FILE: &str = "profile/DevToolsActivePort";

/// Names of the files for its standard error and the log of its network, in the profile.
const STDERR: &str = "stderr.log";
const NET_LOG: &str = "net-log.json";

impl Launch {
    /// Starts it by `spawn`, which runs the command anywhere (in a network namespace, say) and must leave its
    /// standard input and output unchanged.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer.
    pub fn start(
        &self,
        spawn: impl FnOnce(Command) -> io::Result<Child>,
    ) -> Result<Running, ChromiumError> {
        let command = self.command().map_err(ChromiumError::Start)?;
        let child = spawn(command).map_err(ChromiumError::Start)?;
        let net_log = self.addresses.then(|| NetLog::new(self.profile.join(NET_LOG)));
        Running::new(child, &self.profile, net_log)
    }

    /// The command: with a separate process group, so that all of its processes can be ended.
    fn command(&self) -> io::Result<Command> {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(MOVE_PIPE)
            .arg(self.chromium.program())
            .args(self.arguments())
            .env("HOME", &self.profile)
            .env("TMPDIR", &self.profile)
            .env("XDG_CONFIG_HOME", &self.profile)
            .env("XDG_CACHE_HOME", &self.profile)
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(self.profile.join(STDERR))?)
            .process_group(0);
        Ok(command)
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(self.profile.join("profile"));
        arguments.push(profile);
        if self.other_names == OtherNames::Resolved {
            arguments.push(NO_ACCOUNTS.into());
        }
        let rules = self.resolver_rules();
        if !rules.is_empty() {
            arguments.push(format!("--host-resolver-rules={rules}").into());
        }
        arguments.extend(self.proxy.as_ref().map(BrowserProxy::flag));
        if self.proxy.is_some() && self.other_names == OtherNames::Resolved {
            // A proxy would look them up.
            let homes = CALLED_HOMES.join(";");
            arguments.push(format!("--proxy-bypass-list={homes}").into());
        }
        if !self.trusted_keys.is_empty() {
            let keys: Vec<String> = self.trusted_keys.iter().map(|key| base64(key)).collect();
            let keys = keys.join(",");
            arguments.push(format!("--ignore-certificate-errors-spki-list={keys}").into());
        }
        if self.trusts_all {
            arguments.push("--ignore-certificate-errors".into());
        }
        arguments.extend(self.quic_arguments());
        if self.addresses {
            let mut flag = OsString::from("--log-net-log=");
            flag.push(self.profile.join(NET_LOG));
            arguments.push(flag);
        }
        if self.has_devtools_port {
            arguments.push("--remote-debugging-port=0".into());
        }
        if self.sandbox == ChromiumSandbox::None {
            arguments.push("--no-sandbox".into());
        }
        arguments
    }

    /// Without evidence that QUIC works (a certificate of a known authority, DNS) Chromium only uses it if forced
    /// to (`components/network_session_configurator/common/network_switch_list.h`). Origins have the ports of their
    /// addresses, 443.
    fn quic_arguments(&self) -> Vec<OsString> {
        if self.quic_hosts.is_empty() {
            return match self.other_names {
                OtherNames::NotFound => vec!["--disable-quic".into()],
                OtherNames::Resolved => Vec::new(),
            };
        }
        let origins: Vec<String> =
            self.quic_hosts.iter().map(|host| format!("{host}:443")).collect();
        let forced = format!("--origin-to-force-quic-on={}", origins.join(","));
        vec!["--enable-quic".into(), forced.into()]
    }

    /// The first matching rule applies (`net/base/host_mapping_rules.h`).
    fn resolver_rules(&self) -> String {
        let proxy = self.proxy.iter().flat_map(BrowserProxy::hosts);
        let hosts = self.hosts.iter().cloned().chain(proxy);
        let mut rules: Vec<String> =
            hosts.map(|(name, address)| format!("MAP {name} {address}")).collect();
        match self.other_names {
            OtherNames::NotFound => rules.push("MAP * ~NOTFOUND".to_owned()),
            OtherNames::Resolved => {
                rules.extend(CALLED_HOMES.map(|name| format!("MAP {name} ~NOTFOUND")));
            }
        }
        rules.join(", ")
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Names of the binary, the distributions' own first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// An installed Chromium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chromium {
    program: PathBuf,
}

impl Chromium {
    /// The program `named` (the variable `FARLINK_CHROMIUM`), else the first of its usual names in the directories
    /// of `path` (the variable `PATH`).
    ///
    /// # Errors
    /// [`ChromiumError::NotFound`], with the places searched and the package to install.
    pub fn find(named: Option<&OsStr>, path: Option<&OsStr>) -> Result<Chromium, ChromiumError> {
        if let Some(program) = named.filter(|name| !name.is_empty()) {
            let program = PathBuf::from(program);
            let searched =
                format!("FARLINK_CHROMIUM names `{}`, which is no file", program.display());
            return match program.is_file() {
                true => Ok(Chromium { program }),
                false => Err(ChromiumError::NotFound { searched }),
            };
        }
        let folders: Vec<PathBuf> = path.map(std::env::split_paths).into_iter().flatten().collect();
        let programs = NAMES.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
        programs
            .into_iter()
            .find(|program| program.is_file())
            .map(|program| Chromium { program })
            .ok_or_else(|| ChromiumError::NotFound {
                searched: format!("PATH has none of {}", NAMES.join(", ")),
            })
    }

    /// Its path.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// Time limit of an orderly end.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Length of the end of its standard error that is repeated in an error.
const LAST_WORDS_BYTES: usize = 600;

/// A running Chromium. Dropped, it is ended with all its processes.
pub struct Running {
    /// `None` once it has been ended.
    child: Option<Child>,
    stderr: PathBuf,
    /// Where it tells its DevTools port.
    port_file: PathBuf,
    version: String,
    pub(super) net_log: Option<NetLog>,
    pub(super) pipe: Pipe,
}

impl Running {
    pub(super) fn new(
        mut child: Child,
        profile: &Path,
        net_log: Option<NetLog>,
    ) -> Result<Running, ChromiumError> {
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            panic!("the launcher hands back a child with the pipes it was given");
        };
        let pipe = Pipe::new(commands, answers);
        let (stderr, port_file) = (profile.join(STDERR), profile.join(PORT_FILE));
        let child = Some(child);
        let mut running =
            Running { child, stderr, port_file, version: String::new(), net_log, pipe };
        let version = running.call(None, "Browser.getVersion", json!({}))?;
        running.version = version["product"].as_str().unwrap_or_default().to_owned();
        Ok(running)
    }

    /// Its name and version, as it reports them: `Chrome/156.0.8078.79`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A browser as newly started: no cache, no cookies, no connections, no TLS sessions.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn context(&mut self) -> Result<BrowserContext<'_>, ChromiumError> {
        BrowserContext::new(self)
    }

    /// The browser's own context, which programs at its DevTools port see first.
    pub fn own_context(&mut self) -> BrowserContext<'_> {
        BrowserContext { running: self, id: None }
    }

    /// URL of its DevTools port, for other programs: Playwright's `connectOverCDP`, Puppeteer's `connect`.
    ///
    /// # Errors
    /// If it has none.
    pub fn devtools(&mut self) -> Result<String, ChromiumError> {
        // The file is written when the port is open; a new tab takes longer than that.
        let answer = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }))?;
        let target = json!({ "targetId": text(&answer, "Target.createTarget", "targetId")? });
        self.call(None, "Target.closeTarget", target)?;
        let told = std::fs::read_to_string(&self.port_file).unwrap_or_default();
        match told.lines().next().and_then(|line| line.parse::<u16>().ok()) {
            Some(port) => Ok(format!("http://127.0.0.1:{port}")),
            None => Err(ChromiumError::Start(io::Error::other("it opened no DevTools port"))),
        }
    }

    /// Ends it in order.
    pub fn close(mut self) {
        // It closes its end of the pipe when it exits; if it cannot be told, it is gone.
        if self.pipe.send(None, "Browser.close", json!({})).is_ok() {
            self.pipe.close(END_LIMIT);
        }
    }

    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, ChromiumError> {
        let answer = self.pipe.call(session, method, params);
        answer.map_err(|error| self.blame(error))
    }

    /// Ends a browser that hangs, and reports the reason of one that is gone.
    pub(super) fn blame(&mut self, error: ChromiumError) -> ChromiumError {
        match error {
            ChromiumError::Gone { doing, .. } => {
                self.end();
                ChromiumError::Gone { doing, last_words: self.last_words() }
            }
            ChromiumError::Hung { .. } => {
                self.end();
                error
            }
            other => other,
        }
    }

    fn last_words(&self) -> String {
        let text = std::fs::read(&self.stderr).unwrap_or_default();
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS_BYTES)..]);
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ")
    }

    /// Kills its process group and reaps its first process, in this order: until that one is reaped, its number is
    /// not reused.
    fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // The group is gone already, as intended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_where_they_are_told_and_nowhere_else() {
        let launch = Launch {
            chromium: Chromium::find(Some("/bin/sh".as_ref()), None).unwrap(),
            profile: "/profile".into(),
            hosts: vec![
                ("a.test".to_owned(), "10.0.0.1:443".parse().unwrap()),
                ("b.test".to_owned(), "[fd00::1]:80".parse().unwrap()),
            ],
            other_names: OtherNames::NotFound,
            proxy: None,
            trusted_keys: vec![[0; 32]],
            trusts_all: false,
            quic_hosts: Vec::new(),
            sandbox: ChromiumSandbox::Own,
            addresses: false,
            has_devtools_port: false,
        };
        let arguments = launch.arguments();
        let rules = "--host-resolver-rules=MAP a.test 10.0.0.1:443, MAP b.test [fd00::1]:80, \
                     MAP * ~NOTFOUND";
        assert!(arguments.contains(&rules.into()), "{arguments:?}");
        assert!(arguments.contains(
            &"--ignore-certificate-errors-spki-list=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
                .into()
        ));
        assert!(!arguments.contains(&"--no-sandbox".into()));
        assert!(arguments.contains(&"--disable-quic".into()));
        let quic_hosts = vec!["a.test".to_owned(), "b.test".to_owned()];
        let arguments = Launch { quic_hosts, ..launch }.arguments();
        assert!(arguments.contains(&"--origin-to-force-quic-on=a.test:443,b.test:443".into()));
        assert!(!arguments.contains(&"--disable-quic".into()));
    }

    #[test]
    fn pages_of_the_internet_are_loaded_as_by_anybody() {
        let launch = Launch {
            chromium: Chromium::find(Some("/bin/sh".as_ref()), None).unwrap(),
            profile: "/profile".into(),
            hosts: Vec::new(),
            other_names: OtherNames::Resolved,
            proxy: None,
            trusted_keys: Vec::new(),
            trusts_all: false,
            quic_hosts: Vec::new(),
            sandbox: ChromiumSandbox::Own,
            addresses: false,
            has_devtools_port: false,
        };
        let arguments = launch.arguments();
        let has = |start: &str| arguments.iter().any(|it| it.to_string_lossy().starts_with(start));
        assert!(has("--host-resolver-rules=MAP accounts.invalid ~NOTFOUND,"), "{arguments:?}");
        assert!(!has("--disable-quic") && !has("--ignore-certificate") && !has("--no-sandbox"));
    }

    #[test]
    fn a_missing_browser_says_what_to_install() {
        let nowhere = OsStr::new("/nonexistent");
        for (named, path) in [(None, Some(nowhere)), (None, None), (Some(nowhere), None)] {
            let error = Chromium::find(named, path).unwrap_err().to_string();
            assert!(error.contains("apt-get install chromium"), "{error}");
            assert!(error.contains("FARLINK_CHROMIUM"), "{error}");
        }
    }

    #[test]
    fn the_one_that_is_named_is_taken() {
        let any_file = OsStr::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        assert_eq!(Chromium::find(Some(any_file), None).unwrap().program(), Path::new(any_file));
    }
}
