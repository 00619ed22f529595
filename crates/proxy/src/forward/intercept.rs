//! Intercepted tunnels: the client believes that it speaks with the host in its `CONNECT`.
//!
//! Requests inside go to that host and no other: the name in `CONNECT`, which the access rules have judged, counts, regardless of TLS's
//! server name and of `Host`. They are handled like all others - cache, origins, log - and the certificates of origins are verified as always.

use std::rc::Rc;

use http::StatusCode;
use http_stack::server::RequestBody;
use http_stack::{Answer, Handler, RequestHead, Response};

use super::dispatch::{Admitted, Dispatcher, has_single_target_form, refuse};
use super::entrance::Proxy;
use super::replies::RefusedRequest;
use super::route::{RequestRoute, no_forward_proxy};
use super::transit::CountedTunnel;
use crate::config::Intercept;
use crate::journal::{RequestNote, RequestOutcome};
use crate::target::{Authority, RequestTarget, Scheme};
use crate::upstream::OriginAddress;

impl Proxy {
    /// Ends the tunnel to `destination` here.
    pub(super) fn end_tunnel(
        self: &Rc<Proxy>,
        intercept: &Intercept,
        destination: &OriginAddress,
        mut note: RequestNote,
    ) -> Response {
        let tls = match intercept.issuer.server(destination.bare_host(), self.date()) {
            Ok(tls) => tls,
            Err(error) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                let refused = RefusedRequest::new(status, "proxy_internal_error", error);
                return refuse(&mut note, &refused).into();
            }
        };
        let client = note.entry.client;
        let inside = TunnelHandler {
            reception: Dispatcher {
                proxy: Rc::clone(self),
                scheme: Scheme::Https,
                alternative: None,
            },
            authority: destination.authority(),
            user: note.entry.user.clone(),
        };
        let tunnel = self.inside.serve_inside(tls, client, Rc::new(inside));
        note.entry.times.client_first = Some(world::now());
        (note.entry.status, note.entry.outcome) = (200, RequestOutcome::Intercepted);
        Response::Tunnel(Box::new(CountedTunnel { tunnel, note }))
    }
}

/// Handler of requests inside an intercepted tunnel.
struct TunnelHandler {
    reception: Dispatcher,
    /// Host and port of `CONNECT`; the default port of `https` is left out.
    authority: String,
    /// The user that opened the tunnel.
    user: Option<String>,
}

impl TunnelHandler {
    fn admit(&self, head: &RequestHead<'_>) -> Result<Admitted, RefusedRequest> {
        if head.is_connect() {
            let message = "CONNECT is refused inside a tunnel";
            return Err(RefusedRequest::denied(StatusCode::METHOD_NOT_ALLOWED, message));
        }
        let asked = has_single_target_form(head.protocol).then_some(head.scheme);
        let route = match RequestTarget::of(head.method, head.target, head.authority, asked)? {
            RequestTarget::Server => RequestRoute::Itself,
            RequestTarget::Local { authority: None, path } => self.route(path)?,
            RequestTarget::Local { authority: Some(asked), path }
            | RequestTarget::Absolute { scheme: Scheme::Https, authority: asked, path }
                if self.is_for(&asked) =>
            {
                self.route(path)?
            }
            _ => return Err(self.misdirected()),
        };
        Ok(self.reception.prepare(route, head, self.user.clone()))
    }

    /// Routes to the host of `CONNECT`, which has been judged.
    fn route<'a>(&'a self, path: &'a str) -> Result<RequestRoute<'a, 'a>, RefusedRequest> {
        let settings = &self.reception.proxy.settings;
        let forward = settings.forward.as_ref().ok_or_else(no_forward_proxy)?;
        let authority = Authority::parse(&self.authority)?;
        Ok(RequestRoute::Forward { forward, scheme: Scheme::Https, authority, path })
    }

    fn is_for(&self, asked: &Authority<'_>) -> bool {
        OriginAddress::new(Scheme::Https, asked).authority() == self.authority
    }

    /// RFC 9110 section 15.5.20.
    fn misdirected(&self) -> RefusedRequest {
        let message = format!("this tunnel is for https://{} only", self.authority);
        RefusedRequest::denied(StatusCode::MISDIRECTED_REQUEST, message)
    }
}

impl Handler for TunnelHandler {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.reception.answer(self.admit(&request), request, None)
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Ok(self.reception.answer(self.admit(&request), request, Some(body)))
    }
}
