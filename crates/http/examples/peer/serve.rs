//! The server: a folder's files.
//!
//! `/NAME` is the file NAME, `/later/NAME` the same after 2 ms; a POST is answered with the size of its body. With
//! `/empty` it pushes the configured file. Prints its address, then runs until it is ended; broken connections are
//! reported on standard error.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use farlink_http::client::Protocol;
use farlink_http::server::{Acceptor, Served};
use farlink_http::{Answer, Handler, Priority, Push, Reply, RequestHead, h3};
use http::{HeaderMap, StatusCode};
use tls::Identity;

use crate::options::Options;

/// Serves until it is ended.
pub async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let [folder] = &options.paths[..] else { return Err("which folder?".into()) };
    let mut folder = Folder::read(folder, options.header)?;
    folder.push.clone_from(&options.push);
    let folder = Rc::new(folder);
    let tls = tls::Settings {
        identity: Identity::Rsa2048,
        protocols: vec![options.protocol],
        ..tls::Settings::default()
    };
    if options.protocol == Protocol::H3 {
        over_quic(&options, &tls, folder).await
    } else {
        over_tcp(&options, &tls, folder).await
    }
}

async fn over_tcp(
    options: &Options,
    tls: &tls::Settings,
    folder: Rc<Folder>,
) -> Result<(), Box<dyn Error>> {
    let mut acceptor = Acceptor::with_tls(options.security, tls);
    if let Protocol::Spdy(version) = options.protocol {
        acceptor.spdy_in_clear = Some(version);
    }
    if let Some(streams) = options.streams {
        (acceptor.h2.streams, acceptor.spdy.streams) = (streams, streams);
    }
    if let Some(bytes) = options.window {
        (acceptor.h2.stream_window_bytes, acceptor.h2.connection_window_bytes) = (bytes, bytes);
        (acceptor.spdy.stream_window_bytes, acceptor.spdy.session_window_bytes) = (bytes, bytes);
    }
    let listener = world::TcpListener::bind(options.address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let (acceptor, folder) = (acceptor.clone(), Rc::clone(&folder));
        drop(world::spawn(async move {
            match acceptor.serve(stream, folder).await {
                Served::H1(_) | Served::H2(Ok(())) | Served::Spdy(Ok(())) => {}
                broken => eprintln!("{broken:?}"),
            }
        }));
    }
}

async fn over_quic(
    options: &Options,
    tls: &tls::Settings,
    folder: Rc<Folder>,
) -> Result<(), Box<dyn Error>> {
    let mut settings = h3::settings::Server::default();
    settings.streams = options.streams.unwrap_or(settings.streams);
    if let Some(bytes) = options.window {
        settings.transport.stream_window_bytes = bytes;
        settings.transport.connection_window_bytes = Some(bytes);
    }
    let listener = h3::Listener::bind(options.address, &h3::Acceptor::new(tls, settings))?;
    println!("listening on {}", listener.local_addr());
    while let Some(incoming) = listener.accept().await {
        let folder = Rc::clone(&folder);
        drop(world::spawn(async move {
            if let Err(broken) = incoming.serve(folder).await {
                eprintln!("{broken:?}");
            }
        }));
    }
    Err("the socket has failed".into())
}

/// Replies by name, created once.
struct Folder {
    replies: BTreeMap<String, Reply>,
    fields: HeaderMap,
    /// The file pushed with `/empty`.
    push: Option<String>,
}

impl Folder {
    fn read(folder: &str, header: usize) -> Result<Folder, Box<dyn Error>> {
        let mut fields = HeaderMap::new();
        if header > 0 {
            fields.insert("x-large", "x".repeat(header).parse()?);
        }
        let mut replies = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let body = Bytes::from(fs::read(entry.path())?);
            let reply = Reply::new(StatusCode::OK, fields.clone(), body);
            replies.insert(entry.file_name().to_string_lossy().into_owned(), reply);
        }
        Ok(Folder { replies, fields, push: None })
    }
}

impl Handler for Folder {
    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        let pushed = self.push.iter().filter(|_| request.target == "/empty");
        pushed.map(|name| Push { path: format!("/{name}"), priority: Priority::Medium }).collect()
    }

    fn handle(&self, request: RequestHead<'_>) -> Answer {
        if request.method == "POST" {
            let size = Bytes::from(request.body_bytes.to_string());
            return Answer::Ready(Reply::new(StatusCode::OK, self.fields.clone(), size));
        }
        let name = request.target.trim_start_matches('/');
        let (name, is_late) = match name.strip_prefix("later/") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let missing = || Reply::new(StatusCode::NOT_FOUND, self.fields.clone(), Bytes::new());
        let reply = self.replies.get(name).cloned().unwrap_or_else(missing);
        if !is_late {
            return Answer::Ready(reply);
        }
        Answer::later(async move {
            world::sleep(Duration::from_millis(2)).await;
            reply
        })
    }
}
