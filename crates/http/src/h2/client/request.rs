//! A request's head as HTTP/2 and HTTP/3 want it.

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request};

use crate::Failure;

/// Fields that speak of an HTTP/1 connection and make an HTTP/2 message malformed (RFC 9113 section
/// 8.2.2), and `Host`, whose place `:authority` takes (section 8.3.1). HTTP/3 has the same rules (RFC 9114 sections 4.2 and 4.3.1).
const LEFT_OUT: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
    TE,
    HOST,
];

/// The head of `request`, whose URI must be absolute.
pub(crate) fn head(request: &Request<Bytes>) -> Result<Request<()>, Failure> {
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
    for name in &LEFT_OUT {
        fields.remove(name);
    }
    let bytes = request.body().len();
    if bytes > 0 || [Method::POST, Method::PUT, Method::PATCH].contains(request.method()) {
        fields.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
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
