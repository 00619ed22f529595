//! Store of pushed answers, until they are requested.
//!
//! An answer is used once, by the client whose page embeds it, and only for a request that it would have answered: the same URL, the same
//! cookies, and the same fields where the server says that they matter (`Vary`). Other requests are fetched as if nothing had been
//! pushed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::client::{PushPromises, PushedResponseFuture};
use http::header::{COOKIE, VARY};
use http::{HeaderMap, Request, Response, Uri};
use tokio::sync::oneshot;

use crate::admin::Counters;
use crate::http::message;
use crate::http::message::LegInflater;

/// Lifetime of an answer that is not requested.
const LIFE: Duration = Duration::from_secs(60);
/// Maximum bytes kept in all; beyond it, promises are declined.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of promises kept in all.
const MOST: usize = 2_000;

/// An answer with its body, as the server sent it.
pub(super) struct PushedResponse {
    pub(super) head: Response<()>,
    pub(super) body: Bytes,
}

/// All clients' answers.
pub(crate) struct PushStore {
    promises: RefCell<BTreeMap<(IpAddr, String), PromisedResponse>>,
    bytes: Rc<Cell<usize>>,
    next: Cell<u64>,
    counters: Rc<Counters>,
}

/// A promised answer.
struct PromisedResponse {
    number: u64,
    /// The cookies it was fetched with, sorted.
    cookies: Vec<String>,
    /// The other fields that the client sends with every request.
    usual: Rc<HeaderMap>,
    answer: oneshot::Receiver<CountedResponse>,
}

/// An answer, counted while it is held.
struct CountedResponse(PushedResponse, Rc<Cell<usize>>);

impl CountedResponse {
    fn new(head: Response<()>, body: Bytes, bytes: &Rc<Cell<usize>>) -> CountedResponse {
        bytes.set(bytes.get() + body.len());
        CountedResponse(PushedResponse { head, body }, Rc::clone(bytes))
    }
}

impl Drop for CountedResponse {
    fn drop(&mut self) {
        self.1.set(self.1.get() - self.0.body.len());
    }
}

impl PushStore {
    pub(crate) fn new(counters: Rc<Counters>) -> Rc<PushStore> {
        let (promises, bytes, next) = Default::default();
        Rc::new(PushStore { promises, bytes, next, counters })
    }

    /// Accepts the promises to `client`, whose usual fields are `usual`, until there are no more.
    pub(super) async fn gather(
        self: Rc<PushStore>,
        mut promises: PushPromises,
        client: IpAddr,
        usual: HeaderMap,
    ) {
        let usual = Rc::new(usual);
        while let Some(Ok(promise)) = promises.push_promise().await {
            let (request, response) = promise.into_parts();
            if self.bytes.get() > MOST_BYTES || self.promises.borrow().len() >= MOST {
                // Dropping it resets its stream.
                continue;
            }
            self.counters.promised.add(1);
            let (tell, answer) = oneshot::channel();
            let (key, number) = ((client, name(request.uri())), self.next.get());
            self.next.set(number + 1);
            let cookies = cookies(request.headers());
            let promised = PromisedResponse { number, cookies, usual: Rc::clone(&usual), answer };
            if self.promises.borrow_mut().insert(key.clone(), promised).is_some() {
                self.counters.wasted.add(1);
            }
            drop(world::spawn(Rc::clone(&self).receive(key, number, response, tell)));
        }
    }

    /// Receives one answer, and drops it after a while.
    async fn receive(
        self: Rc<PushStore>,
        key: (IpAddr, String),
        number: u64,
        response: PushedResponseFuture,
        tell: oneshot::Sender<CountedResponse>,
    ) {
        // On failure `tell` is dropped, and a waiting request fetches the object itself.
        if let Ok(whole) = receive(response, &self.bytes, &self.counters).await
            && tell.send(whole).is_ok()
        {
            world::sleep(LIFE).await;
        }
        let mut promises = self.promises.borrow_mut();
        if promises.get(&key).is_some_and(|promised| promised.number == number) {
            promises.remove(&key);
            self.counters.wasted.add(1);
        }
    }

    /// The answer to `request` of `client`, if it was promised; waits for its arrival.
    pub(super) async fn claim(
        &self,
        client: IpAddr,
        request: &Request<()>,
    ) -> Option<PushedResponse> {
        let key = (client, name(request.uri()));
        let promised = self.promises.borrow_mut().remove(&key)?;
        let fits =
            message::is_plain(request.headers()) && cookies(request.headers()) == promised.cookies;
        let held = if fits { promised.answer.await.ok() } else { None };
        let held = held.filter(|held| vary_matches(&held.0.head, request, &promised.usual));
        if held.is_none() {
            self.counters.wasted.add(1);
        }
        held.map(|held| PushedResponse { head: held.0.head.clone(), body: held.0.body.clone() })
    }
}

/// Returns true if the server would have answered `request` the same (RFC 9111 section 4.1).
fn vary_matches(head: &Response<()>, request: &Request<()>, usual: &HeaderMap) -> bool {
    let names = head.headers().get_all(VARY).iter().map(|value| value.to_str().unwrap_or("*"));
    names.flat_map(|names| names.split(',')).map(str::trim).all(|name| {
        // Cookies were compared before. Referrers and `Accept` fields differ from the page's.
        name.is_empty()
            || name.eq_ignore_ascii_case("cookie")
            || name != "*" && request.headers().get_all(name).iter().eq(usual.get_all(name).iter())
    })
}

fn name(url: &Uri) -> String {
    url.to_string()
}

/// All cookies, sorted.
fn cookies(fields: &HeaderMap) -> Vec<String> {
    let values = fields.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies: Vec<String> = values
        .flat_map(|value| value.split(';'))
        .map(|cookie| cookie.trim().to_owned())
        .filter(|cookie| !cookie.is_empty())
        .collect();
    cookies.sort_unstable();
    cookies
}

async fn receive(
    response: PushedResponseFuture,
    bytes: &Rc<Cell<usize>>,
    counters: &Counters,
) -> std::io::Result<CountedResponse> {
    let (mut head, mut coming) = response.await.map_err(std::io::Error::other)?.into_parts();
    let mut inflater = LegInflater::of(&head.headers);
    let mut body = BytesMut::new();
    while let Some(piece) = coming.data().await {
        let piece = piece.map_err(std::io::Error::other)?;
        counters.received_bytes.add(piece.len() as u64);
        coming.flow_control().release_capacity(piece.len()).map_err(std::io::Error::other)?;
        body.extend_from_slice(&inflater.piece(piece)?);
        if body.len() > MOST_BYTES {
            return Err(std::io::ErrorKind::OutOfMemory.into());
        }
    }
    message::strip_hop(&mut head.headers);
    Ok(CountedResponse::new(Response::from_parts(head, ()), body.freeze(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_for_requests_that_they_would_answer() {
        let request = Request::get("/").header("accept-language", "de").body(()).unwrap();
        let usual = |language: &str| {
            HeaderMap::from_iter([("accept-language".parse().unwrap(), language.parse().unwrap())])
        };
        let vary = |names: &str| Response::builder().header(VARY, names).body(()).unwrap();
        let says = |names, language| vary_matches(&vary(names), &request, &usual(language));
        assert!(says("Accept-Language, Cookie", "de"));
        assert!(says("accept-encoding", "de"));
        assert!(!says("Accept-Language", "fr"));
        assert!(!says("*", "de"));
        assert!(vary_matches(&Response::new(()), &request, &usual("fr")));
    }

    #[test]
    fn cookies_compare_in_any_order() {
        let fields = |text: &str| HeaderMap::from_iter([(COOKIE, text.parse().unwrap())]);
        assert_eq!(cookies(&fields("a=1; b=2")), cookies(&fields("b=2;a=1")));
        assert_ne!(cookies(&fields("a=1")), cookies(&fields("a=2")));
    }
}
