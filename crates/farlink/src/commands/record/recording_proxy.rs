//! `farlink record --no-browser`: a proxy that keeps what passes through it, for any client.
//!
//! Tunnels end at the proxy, whose certificates come from an authority that the client must trust. A command that farlink
//! starts is told of both by the usual environment variables.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;
use std::{env, thread};

use ::archive::recorder::{FinishedRecording, Recording};
use anstream::eprintln;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use proxy::access::Destinations;
use proxy::config::{Address, Forward, Intercept, ProxyConfig, Trust};
use proxy::fields::{Disclosure, ViaPseudonym};
use proxy::serve::{PhaseSender, WorkerPhase};
use proxy::upstream::UpstreamSettings;
use tempfile::TempDir;
use tls::{Authorities, Issuer, NewAuthority, Protocol, PublicClient};

use super::observer::{self, RecordWriter, RecordingFile};
use crate::args::Record;
use crate::commands::proxy::credentials::{CERTIFICATE, KEY, make_authority};
use crate::commands::proxy::workers::{self, Workers};
use crate::commands::proxy::{client, resolve_arguments};
use crate::commands::{files, since_1970};
use crate::failure::{CliError, ExitCode};
use crate::show::units::{bytes, counted};

const SOFTWARE: &str = concat!("farlink ", env!("CARGO_PKG_VERSION"));

/// Default address without a command; one that is started gets a free port.
const ADDRESS: &str = "127.0.0.1:8080";

/// Variables that name the proxy: curl's in small letters, others' in capitals.
const PROXY_VARIABLES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Variables that name a file of trusted authorities: OpenSSL's, curl's, Python's requests' and pip's, Node's, Git's, Cargo's,
/// AWS'.
const TRUST_VARIABLES: [&str; 8] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
];

/// Records until the command ends, or Ctrl-C.
pub fn run(args: &Record) -> Result<ExitCode, CliError> {
    let files = RecordingFiles::of(args)?;
    let authority = Authority::of(args)?;
    workers::raise_descriptors();
    // Before any thread is started: threads inherit the signal mask.
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    signals.thread_block().map_err(CliError::machine)?;
    // A file that may not grow further is an error of the write, not the end of the process.
    SigSet::from(Signal::SIGXFSZ).thread_block().map_err(CliError::machine)?;
    let mut running = RecordingProxy::start(args, &files, &authority)?;
    let address = running.workers.addresses()[0];
    let ended = match args.command.is_empty() {
        true => {
            let certificate = authority.certificate.display();
            eprintln!("listening on {address}");
            eprintln!("clients must trust {certificate}; Ctrl-C ends the recording");
            running.drain_at(signals);
            running.workers.join();
            None
        }
        false => {
            let proxy = format!("http://{address}");
            let started = start_command(&args.command, &proxy, &authority.certificate, signals);
            let mut child = started.inspect_err(|_| files.discard())?;
            pass_on(&child, signals);
            let ended = child.wait().map_err(CliError::machine)?;
            running.control.tell(WorkerPhase::Drain);
            running.workers.join();
            Some(ended)
        }
    };
    let finished = running.writer.join().map_err(|_| CliError::machine("the writer panicked"))?;
    let finished = finished.map_err(|error| files.unfinished(&error))?;
    files.finish(finished)?;
    match ended.filter(|status| !status.success()) {
        None => Ok(ExitCode::Success),
        Some(status) => {
            eprintln!("the command ended with {}", told(status));
            Ok(ExitCode::Failed)
        }
    }
}

fn told(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit code {}", status.code().unwrap_or_default()),
    }
}

/// A proxy that records.
struct RecordingProxy {
    workers: Workers,
    control: Arc<PhaseSender>,
    writer: RecordWriter,
}

impl RecordingProxy {
    fn start(
        args: &Record,
        files: &RecordingFiles,
        authority: &Authority,
    ) -> Result<RecordingProxy, CliError> {
        let start = since_1970();
        let mut settings = settings(args, authority)?;
        let tls = origins(args, start)?;
        let file = BufWriter::new(files.create()?);
        let recording =
            Recording::new(file, SOFTWARE, start).map_err(|error| files.unfinished(&error))?;
        // The first phase is told after the recorder is known, which ends the proxy when it fails.
        let (control, orders) = PhaseSender::new(WorkerPhase::Drain);
        let control = Arc::new(control);
        let failing = Arc::clone(&control);
        let (recorder, writer) =
            observer::start(recording, files.folder(), args.keep_credentials, move || {
                failing.tell(WorkerPhase::Drain);
            });
        settings.observer = Some(Arc::new(recorder));
        let count = settings.workers.map_or(1, NonZeroUsize::get);
        let shared = Arc::new(settings);
        control.tell(WorkerPhase::Serve { settings: Arc::clone(&shared), tls, store: None });
        let workers = Workers::start(count, &orders, None, &shared, start);
        drop(orders);
        let workers = workers.inspect_err(|_| files.discard())?;
        Ok(RecordingProxy { workers, control, writer })
    }

    /// Ends the proxy at a signal, the second time at once.
    fn drain_at(&mut self, signals: SigSet) {
        let control = Arc::clone(&self.control);
        let obey = move || {
            let mut is_ending = false;
            while signals.wait().is_ok() {
                if std::mem::replace(&mut is_ending, true) {
                    process::exit(ExitCode::Interrupted as i32);
                }
                eprintln!("finishing requests in progress");
                control.tell(WorkerPhase::Drain);
            }
        };
        // The thread lives as long as the process.
        drop(thread::spawn(obey));
    }
}

/// The client of origins over TLS.
fn origins(args: &Record, start: Duration) -> Result<PublicClient, CliError> {
    let authorities = match &args.trust {
        None if args.insecure => Authorities::unverified(),
        None => return client(&Trust::System, start),
        Some(path) => {
            let refused = |problem: String| {
                CliError::bad_input(format!("--trust {}: {problem}", path.display()))
            };
            let text = fs::read(path).map_err(|error| refused(error.to_string()))?;
            Authorities::of_pem(&text).map_err(|error| refused(error.to_string()))?
        }
    };
    PublicClient::new(&authorities, start).map_err(CliError::machine)
}

/// Settings of a proxy that reaches everything, unseen by origins.
fn settings(args: &Record, authority: &Authority) -> Result<ProxyConfig, CliError> {
    let free = if args.command.is_empty() { ADDRESS } else { "127.0.0.1:0" };
    let usual = || free.parse::<Address>().expect("a constant is an address");
    let listen = args.listen.clone().unwrap_or_else(usual);
    let resolved = resolve_arguments(&[listen], &args.allow)?;
    Ok(ProxyConfig {
        workers: NonZeroUsize::new(1),
        forward: Some(Forward {
            destinations: Destinations::anything(),
            disclosure: Disclosure::Nothing,
        }),
        intercept: Some(Intercept { hosts: Vec::new(), issuer: Arc::clone(&authority.issuer) }),
        upstream: UpstreamSettings { protocol: Protocol::H2, ..UpstreamSettings::default() },
        via: ViaPseudonym::unseen(),
        ..resolved
    })
}

/// The authority of the proxy's certificates.
struct Authority {
    certificate: PathBuf,
    issuer: Arc<Issuer>,
    /// Directory of one that is made for this recording.
    _temporary: Option<TempDir>,
}

impl Authority {
    /// The authority of `--ca`; for a command, one of its own; else the user's, which is made at first use.
    fn of(args: &Record) -> Result<Authority, CliError> {
        let now = since_1970();
        if args.ca.is_none() && !args.command.is_empty() {
            let made = NewAuthority::new(now).map_err(CliError::machine)?;
            let folder = tempfile::Builder::new().prefix("farlink-record-").tempdir();
            let folder = folder.map_err(CliError::machine)?;
            let certificate = folder.path().join(CERTIFICATE);
            fs::write(&certificate, &made.certificate).map_err(CliError::machine)?;
            let issuer = issuer(made.certificate.as_bytes(), made.key.as_bytes())?;
            return Ok(Authority { certificate, issuer, _temporary: Some(folder) });
        }
        let folder = args.ca.clone().map_or_else(data_folder, Ok)?;
        let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
        if !certificate.exists() && !key.exists() {
            make_authority(&folder, now)?;
        }
        let read = |path: &Path| {
            fs::read(path).map_err(|error| {
                let hint = "`farlink proxy --new-ca DIR` makes an authority";
                CliError::bad_input(format!("cannot read {}: {error}", path.display()))
                    .hint(hint.to_owned())
            })
        };
        let issuer = issuer(&read(&certificate)?, &read(&key)?)?;
        if !issuer.is_valid_at(now) {
            let message = format!("{}: expired or not yet valid", certificate.display());
            let hint = format!("remove {}, and a new one is made", folder.display());
            return Err(CliError::bad_input(message).hint(hint));
        }
        Ok(Authority { certificate, issuer, _temporary: None })
    }
}

fn issuer(certificate: &[u8], key: &[u8]) -> Result<Arc<Issuer>, CliError> {
    let issuer = Issuer::of_operator(certificate, key, &[Protocol::H2, Protocol::H1]);
    issuer.map(Arc::new).map_err(CliError::bad_input)
}

/// Directory of the user's authority.
fn data_folder() -> Result<PathBuf, CliError> {
    let named = |variable| env::var_os(variable).filter(|value| !value.is_empty());
    let data = named("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(named("HOME")?).join(".local/share")));
    let data = data.ok_or_else(|| {
        CliError::machine("no place for the authority: neither XDG_DATA_HOME nor HOME is set")
            .hint("name a directory: --ca DIR".to_owned())
    })?;
    Ok(data.join("farlink/ca"))
}

/// The recording's file, and the WARC file that grows meanwhile.
struct RecordingFiles {
    output: PathBuf,
    growing: PathBuf,
}

impl RecordingFiles {
    fn of(args: &Record) -> Result<RecordingFiles, CliError> {
        let output = args.output.clone().unwrap_or_else(|| PathBuf::from("recording.wacz"));
        let name = output.to_string_lossy();
        let growing = match (name.strip_suffix(".wacz"), name.ends_with(".warc.gz")) {
            (Some(stem), _) => PathBuf::from(format!("{stem}.warc.gz")),
            (None, true) => output.clone(),
            (None, false) => {
                let message = format!("--output {name}: a proxy records to WACZ or WARC files");
                let hint =
                    "name it FILE.wacz or FILE.warc.gz; `farlink archive import` makes a HAR of it";
                return Err(CliError::bad_input(message).hint(hint.to_owned()));
            }
        };
        files::check_place(&output)?;
        if growing.exists() {
            let message = format!("{} already exists", growing.display());
            let hint = "it may be all that is left of a recording that was killed; move it away, or name another output";
            return Err(CliError::bad_input(message).hint(hint.to_owned()));
        }
        Ok(RecordingFiles { output, growing })
    }

    fn folder(&self) -> &Path {
        let folder = self.growing.parent().filter(|path| !path.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    fn create(&self) -> Result<File, CliError> {
        let created = File::options().read(true).write(true).create_new(true).open(&self.growing);
        created.map_err(|error| {
            CliError::machine(format!("cannot write {}: {error}", self.growing.display()))
        })
    }

    /// Removes a recording that has not begun.
    fn discard(&self) {
        // The failure before is the one reported.
        let _ = fs::remove_file(&self.growing);
    }

    fn unfinished(&self, error: &io::Error) -> CliError {
        let growing = self.growing.display();
        CliError::machine(format!("cannot go on recording to {growing}: {error}"))
            .hint(format!("what was recorded before is there: `farlink archive ls {growing}`"))
    }

    /// Packs the recording, and says what it holds.
    fn finish(&self, finished: FinishedRecording<RecordingFile>) -> Result<(), CliError> {
        let requests = counted(finished.exchanges(), "request");
        if finished.exchanges() == 0 {
            self.discard();
            let hint = "does the client use the proxy? Some ignore http_proxy and https_proxy";
            return Err(CliError::bad_input("nothing passed through the proxy, nothing written")
                .hint(hint.to_owned()));
        }
        let pages = counted(finished.loads().len(), "page");
        let size = bytes(finished.bytes() as f64);
        let failures = match finished.failed() {
            (failed, Some(first)) => format!("; {failed} failed, the first: {first}"),
            _ => String::new(),
        };
        if self.output != self.growing {
            let packed = self.pack(finished);
            packed.map_err(|error| self.unfinished(&error))?;
            self.discard();
        }
        eprintln!("recorded {requests} of {pages}, {size} compressed{failures}");
        if failures.contains("certificate") {
            eprintln!("hint: for certificates of your own, --trust FILE or --insecure");
        }
        eprintln!("wrote {}", self.output.display());
        Ok(())
    }

    fn pack(&self, finished: FinishedRecording<RecordingFile>) -> io::Result<()> {
        let folder = self.folder();
        // As for any new file, the umask decides.
        let readable = Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        let mut packed = builder.prefix(".farlink-").permissions(readable).tempfile_in(folder)?;
        let mut records = finished.file().get_ref().try_clone()?;
        records.seek(SeekFrom::Start(0))?;
        finished.pack(&mut records, BufWriter::new(packed.as_file_mut()))?;
        packed.as_file().sync_all()?;
        packed.persist(&self.output)?;
        Ok(())
    }
}

/// Starts the command with the variables that lead it through the proxy.
fn start_command(
    command: &[std::ffi::OsString],
    proxy: &str,
    certificate: &Path,
    signals: SigSet,
) -> Result<Child, CliError> {
    let [program, arguments @ ..] = command else {
        return Err(CliError::bad_input("no command"));
    };
    let mut starting = Command::new(program);
    starting.args(arguments);
    PROXY_VARIABLES.iter().for_each(|name| _ = starting.env(name, proxy));
    // A list of hosts that are reached without it would hide them from the recording.
    ["no_proxy", "NO_PROXY"].iter().for_each(|name| _ = starting.env_remove(name));
    TRUST_VARIABLES.iter().for_each(|name| _ = starting.env(name, certificate));
    // A child inherits the mask of the thread that starts it.
    signals.thread_unblock().map_err(CliError::machine)?;
    let started = starting.spawn();
    signals.thread_block().map_err(CliError::machine)?;
    started.map_err(|error| {
        CliError::bad_input(format!("cannot run {}: {error}", Path::new(program).display()))
    })
}

/// Passes signals on to the command; a terminal sends Ctrl-C to both.
fn pass_on(child: &Child, signals: SigSet) {
    let child = Pid::from_raw(child.id().cast_signed());
    let obey = move || {
        while let Ok(signal) = signals.wait() {
            if signal != Signal::SIGINT {
                // It may have ended.
                let _ = kill(child, signal);
            }
        }
    };
    drop(thread::spawn(obey));
}
