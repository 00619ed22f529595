//! What is inside a tunnel that ends here: its client believes to speak with the host that it asked a tunnel to.
//!
//! That host, and no other, is whom its requests are for: the name in `CONNECT` counts, which the access rules have judged, whatever TLS's
//! server name or `Host` say. They go the way of all others - cache, origins, log - and origins over TLS are verified as ever.

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

/// The inside of a tunnel, as its handler.
struct Inside {
    reception: Reception,
    /// Host and port of `CONNECT`, the port left out if it is that of `https`.
    authority: String,
    /// Who asked for the tunnel.
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

    /// To the host of `CONNECT`, which was judged then.
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
