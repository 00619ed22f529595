//! Launching the browser: its flags, and its pipe.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::net_log::NetLog;
use super::{Chromium, ChromiumError, Middleman, Running};

/// Launch options.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub chromium: Chromium,
    /// A directory of the caller's, empty and writable: the browser's profile, its temporary files and its standard
    /// error. The caller removes it afterwards.
    pub profile: PathBuf,
    /// Address of each name, with the port. All other names lead nowhere: a browser calls home in spite of every flag.
    pub hosts: Vec<(String, SocketAddr)>,
    /// The proxy to use; the hosts' names are not resolved then.
    pub proxy: Option<Middleman>,
    /// SHA-256 of the public keys (`SubjectPublicKeyInfo`) whose certificates are accepted, regardless of issuer
    /// and names.
    pub trusted_keys: Vec<[u8; 32]>,
    /// Hosts spoken to by HTTP/3 only, with prior knowledge; if there are none, QUIC is off.
    pub quic_hosts: Vec<String>,
    /// Sandbox of its renderers.
    pub sandbox: Sandbox,
    /// True if it is to report the local address of each connection, by which the kernel and the emulator know it.
    /// It does so by a complete log of its network, which costs it some time.
    pub addresses: bool,
}

/// Sandbox of the renderers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// Chromium's own: needs an ordinary user (uid other than 0) with permission to create user namespaces.
    Own,
    /// None: for root, as whom Chromium refuses to start otherwise. The pages are farlink's own.
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
        Running::new(child, self.profile.join(STDERR), net_log)
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
        arguments.push(format!("--host-resolver-rules={}", self.resolver_rules()).into());
        arguments.extend(self.proxy.as_ref().map(Middleman::flag));
        if !self.trusted_keys.is_empty() {
            let keys: Vec<String> = self.trusted_keys.iter().map(|key| base64(key)).collect();
            let keys = keys.join(",");
            arguments.push(format!("--ignore-certificate-errors-spki-list={keys}").into());
        }
        arguments.extend(self.quic_arguments());
        if self.addresses {
            let mut flag = OsString::from("--log-net-log=");
            flag.push(self.profile.join(NET_LOG));
            arguments.push(flag);
        }
        if self.sandbox == Sandbox::None {
            arguments.push("--no-sandbox".into());
        }
        arguments
    }

    /// Without evidence that QUIC works (a certificate of a known authority, DNS) Chromium only uses it if forced
    /// to (`components/network_session_configurator/common/network_switch_list.h`). Origins have the ports of their
    /// addresses, 443.
    fn quic_arguments(&self) -> Vec<OsString> {
        if self.quic_hosts.is_empty() {
            return vec!["--disable-quic".into()];
        }
        let origins: Vec<String> =
            self.quic_hosts.iter().map(|host| format!("{host}:443")).collect();
        let forced = format!("--origin-to-force-quic-on={}", origins.join(","));
        vec!["--enable-quic".into(), forced.into()]
    }

    /// The first matching rule applies (`net/base/host_mapping_rules.h`).
    fn resolver_rules(&self) -> String {
        let mut rules = String::new();
        let proxy = self.proxy.iter().flat_map(Middleman::hosts);
        for (name, address) in self.hosts.iter().cloned().chain(proxy) {
            rules += &format!("MAP {name} {address}, ");
        }
        rules + "MAP * ~NOTFOUND"
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
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
            proxy: None,
            trusted_keys: vec![[0; 32]],
            quic_hosts: Vec::new(),
            sandbox: Sandbox::Own,
            addresses: false,
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
}
