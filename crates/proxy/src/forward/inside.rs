//! Intercepted tunnels: the client believes that it speaks with the host in its `CONNECT`.
//!
//! Requests inside go to that host and no other: the name in `CONNECT`, which the access rules have judged, counts, whatever TLS's server
//! name or `Host` say. They are handled like all others - cache, origins, log - and the certificates of origins are verified as always.

use std::rc::Rc;

use http::StatusCode;
use http_stack::server::RequestBody;
use http_stack::{Answer, Handler, RequestHead, Response};

use super::body::CountedTunnel;
use super::entrance::Proxy;
use super::reception::{Admitted, Reception, in_one_form, refuse};
use super::refusal::Refused;
use super::route::{Route, no_forward_proxy};
use crate::config::Intercept;
use crate::journal::{Note, Outcome};
use crate::target::{Authority, Scheme, Target};
use crate::upstream::Destination;

impl Proxy {
    /// Ends the tunnel to `destination` here.
    pub(super) fn end_tunnel(
        self: &Rc<Proxy>,
        intercept: &Intercept,
        destination: &Destination,
        mut note: Note,
    ) -> Response {
        let tls = match intercept.issuer.server(destination.bare_host(), self.date()) {
            Ok(tls) => tls,
            Err(error) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                let refused = Refused::new(status, "proxy_internal_error", error);
                return refuse(&mut note, &refused).into();
            }
        };
        let client = note.entry.client;
        let inside = Inside {
            reception: Reception {
                proxy: Rc::clone(self),
                scheme: Scheme::Https,
                alternative: None,
            },
            authority: destination.authority(),
            user: note.entry.user.clone(),
        };
        let tunnel = self.inside.serve_inside(tls, client, Rc::new(inside));
        note.entry.times.client_first = Some(world::now());
        (note.entry.status, note.entry.outcome) = (200, Outcome::Intercepted);
        Response::Tunnel(Box::new(CountedTunnel { tunnel, note }))
    }
}

/// Handler of requests inside an intercepted tunnel.
struct Inside {
    reception: Reception,
    /// Host and port of `CONNECT`; the default port of `https` is left out.
    authority: String,
    /// The user that opened the tunnel.
    user: Option<String>,
}

impl Inside {
    fn admit(&self, head: &RequestHead<'_>) -> Result<Admitted, Refused> {
        if head.is_connect() {
            let message = "there are no tunnels inside this one";
            return Err(Refused::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "http_request_denied",
                message,
            ));
        }
        let asked = in_one_form(head.protocol).then_some(head.scheme);
        let route = match Target::of(head.method, head.target, head.authority, asked)? {
            Target::Server => Route::Itself,
            Target::Local { authority: None, path } => self.route(path)?,
            Target::Local { authority: Some(asked), path }
            | Target::Absolute { scheme: Scheme::Https, authority: asked, path }
                if self.is_for(&asked) =>
            {
                self.route(path)?
            }
            _ => return Err(self.misdirected()),
        };
        Ok(self.reception.prepare(route, head, self.user.clone()))
    }

    /// Routes to the host of `CONNECT`, which has been judged.
    fn route<'a>(&'a self, path: &'a str) -> Result<Route<'a, 'a>, Refused> {
        let settings = &self.reception.proxy.settings;
        let forward = settings.forward.as_ref().ok_or_else(no_forward_proxy)?;
        let authority = Authority::parse(&self.authority)?;
        Ok(Route::Forward { forward, scheme: Scheme::Https, authority, path })
    }

    fn is_for(&self, asked: &Authority<'_>) -> bool {
        Destination::new(Scheme::Https, asked).authority() == self.authority
    }

    /// RFC 9110 section 15.5.20.
    fn misdirected(&self) -> Refused {
        let message = format!("this tunnel leads to https://{} alone", self.authority);
        Refused::new(StatusCode::MISDIRECTED_REQUEST, "http_request_denied", message)
    }
}

impl Handler for Inside {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.reception.answer(self.admit(&request), request, None)
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Ok(self.reception.answer(self.admit(&request), request, Some(body)))
    }
}
