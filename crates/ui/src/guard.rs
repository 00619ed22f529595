//! Guard of the page: admits requests to this machine's own name, with the token that the program printed.
//!
//! The token comes in the address that the program prints, and goes on in a cookie that scripts cannot read and other sites' requests do not carry
//! (`SameSite=Strict`). The `Host` is checked, for a foreign name may be made to resolve to this machine (DNS rebinding); requests that change
//! something must say that they come from the page itself.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::state::UiState;

/// Everything comes from the page's own server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Field that a foreign site cannot send without being asked first (Fetch, "CORS-preflight fetch").
const OWN: &str = "x-farlink";

/// A secret of 128 bits, in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one; fails if the system has no randomness.
    pub fn random() -> Result<Token, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if these are its digits; takes the same time for all wrong ones.
    fn is(&self, digits: &str) -> bool {
        let pairs = self.0.bytes().zip(digits.bytes());
        digits.len() == self.0.len() && pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

/// Middleware: answers what is not allowed, and what brings the token.
pub async fn check(State(state): State<UiState>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !is_own_host(headers, state.address()) {
        return refused(StatusCode::MISDIRECTED_REQUEST, "this is not the name of farlink's page");
    }
    if let Some(token) = token_in_query(request.uri().query())
        && state.token().is(token)
    {
        return with_cookie(&state);
    }
    if !cookies(headers).any(|(name, value)| name == cookie_name(&state) && state.token().is(value))
    {
        return refused(
            StatusCode::FORBIDDEN,
            "open the address that `farlink ui` printed: it contains the token",
        );
    }
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_safe && !headers.contains_key(OWN) {
        return refused(StatusCode::FORBIDDEN, "only the page itself may ask for changes");
    }
    let mut response = next.run(request).await;
    harden(response.headers_mut());
    response
}

/// Fields of every response, unless it has its own.
fn harden(headers: &mut HeaderMap) {
    let own = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cache-control"), "no-store"),
    ];
    for (name, value) in own {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

fn is_own_host(headers: &HeaderMap, address: SocketAddr) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = address.port();
    host == address.to_string() || host == format!("localhost:{port}")
}

fn token_in_query(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Cookies do not tell ports apart: each page has its own name.
fn cookie_name(state: &UiState) -> String {
    format!("farlink-{}", state.address().port())
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let fields = headers.get_all(COOKIE).iter().filter_map(|field| field.to_str().ok());
    fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// To the page without the token in its address, which would stay in the browser's history.
fn with_cookie(state: &UiState) -> Response {
    let cookie = format!(
        "{}={}; HttpOnly; SameSite=Strict; Path=/",
        cookie_name(state),
        state.token().as_str()
    );
    (StatusCode::SEE_OTHER, [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)]).into_response()
}

fn refused(status: StatusCode, reason: &'static str) -> Response {
    let mut response = (status, reason).into_response();
    harden(response.headers_mut());
    response
}
