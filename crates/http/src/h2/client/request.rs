//! A request's head in the form that HTTP/2 and HTTP/3 need.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::{Method, Request};

use crate::Failure;
use crate::message::HTTP1_ONLY;

/// The head of `request`, whose URI must be absolute.
pub(crate) fn head(request: &Request<Bytes>) -> Result<Request<()>, Failure> {
    streamed_head(request, Some(request.body().len() as u64))
}

/// The same for a request with a streamed body; `bytes` is its size, if known.
pub(crate) fn streamed_head<T>(
    request: &Request<T>,
    bytes: Option<u64>,
) -> Result<Request<()>, Failure> {
    let uri = request.uri();
    if uri.scheme().is_none() || uri.authority().is_none() {
        return Err(Failure::Unsendable(format!(
            "HTTP/2 and HTTP/3 need an absolute URI with scheme and host, this one is `{uri}`"
        )));
    }
    let mut head = Request::new(());
    *head.method_mut() = request.method().clone();
    *head.uri_mut() = uri.clone();
    let fields = head.headers_mut();
    fields.clone_from(request.headers());
    for name in &HTTP1_ONLY {
        fields.remove(name);
    }
    match bytes {
        None => drop(fields.remove(CONTENT_LENGTH)),
        Some(0) if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) => {}
        Some(bytes) => drop(fields.insert(CONTENT_LENGTH, HeaderValue::from(bytes))),
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, body: &'static [u8]) -> Request<Bytes> {
        let builder = Request::builder().uri(uri).method("POST");
        let builder = builder.header("host", "a.test").header("connection", "keep-alive");
        builder.header("accept", "*/*").body(Bytes::from_static(body)).expect("a request")
    }

    #[test]
    fn fields_of_http1_are_left_out_and_the_length_is_told() {
        let head = head(&request("https://a.test/x", b"12345")).expect("sendable");
        let fields: Vec<_> = head.headers().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(fields, ["accept", "content-length"]);
        assert_eq!(head.headers()[CONTENT_LENGTH], "5");
    }

    #[test]
    fn a_relative_uri_is_refused() {
        assert!(matches!(head(&request("/x", b"")), Err(Failure::Unsendable(_))));
    }
}
