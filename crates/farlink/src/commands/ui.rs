//! `farlink ui`: a local web page over a store.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use store::{Store, StoreError};
use ui::Token;

use super::{interrupt, output};
use crate::args::Ui;
use crate::failure::{CliError, ExitCode};

/// Time between two looks at the flag of Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

pub fn run(args: &Ui) -> Result<ExitCode, CliError> {
    if store::server_url(&args.store).is_some() {
        let message = "`farlink ui` shows a file, not a server";
        return Err(CliError::bad_input(message.to_owned())
            .hint("copy the runs: farlink merge postgres://... --into copy.sqlite".to_owned()));
    }
    match Store::open(&args.store) {
        Ok(_) | Err(StoreError::Absent { .. }) => {}
        Err(error) => return Err(CliError::bad_input(error)),
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| {
        CliError::machine(format!("cannot listen on port {}: {error}", args.port))
            .hint("leave out --port, and a free one is found".to_owned())
    })?;
    let address = listener.local_addr().map_err(CliError::machine)?;
    let token = Token::random().map_err(CliError::machine)?;
    let page = ui::Ui {
        store: std::path::absolute(&args.store).map_err(CliError::machine)?,
        files: files_beside(&args.store),
        program: std::env::current_exe().map_err(CliError::machine)?,
        token: token.clone(),
    };
    let cancel = interrupt::flag()?;
    output::line(format!("http://{address}/?token={}", token.as_str()))?;
    anstream::eprintln!("open this address in a browser on this machine; Ctrl-C ends");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::machine)?;
    let interrupted = async move {
        while !cancel.load(Ordering::SeqCst) {
            tokio::time::sleep(LOOK).await;
        }
    };
    runtime.block_on(ui::serve(listener, page, interrupted)).map_err(CliError::machine)?;
    Ok(ExitCode::Success)
}

/// Folder beside a store for pages and experiments of its runs.
fn files_beside(store: &Path) -> PathBuf {
    let name = store.file_stem().unwrap_or_default().to_string_lossy();
    store.with_file_name(format!("{name}-files"))
}
