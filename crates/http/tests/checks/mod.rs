//! Invariants of the HTTP/1 codec for any input. The property tests, the replay of the fuzzing corpus and the fuzz
//! targets share these checks.

use farlink_http::h1::codec::{
    BodyLength, CodecEvent, CodecLimits, Error, RequestDecoder, ResponseDecoder, encode,
};
use http::{HeaderMap, Method};

/// Small enough that inputs reach them.
const LIMITS: CodecLimits = CodecLimits { head_bytes: 512, fields: 12 };

/// The decoded content of a connection's bytes, pieces of a body joined.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    pub messages: Vec<Message>,
    pub error: Option<Error>,
    /// Bytes consumed; 0 after an error, where the number is meaningless.
    pub used: usize,
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// All information in its head, as text.
    pub head: String,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub ended: bool,
}

/// One step of either decoder: bytes consumed, and their meaning.
enum Step {
    More,
    Head { head: String, fields: Vec<(String, Vec<u8>)>, whole: bool },
    Data(Vec<u8>),
    End,
}

/// Decodes `input`, which arrives cut at `cuts`.
fn decode(
    input: &[u8],
    cuts: &[usize],
    mut next: impl FnMut(&mut [u8]) -> Result<(usize, Step), Error>,
) -> Transcript {
    let mut seen = Transcript::default();
    let mut buffer = Vec::new();
    let ends = cuts.iter().copied().chain([input.len()]);
    let mut arrived = 0;
    for end in ends {
        let end = end.clamp(arrived, input.len());
        buffer.extend_from_slice(&input[arrived..end]);
        arrived = end;
        loop {
            let (used, step) = match next(&mut buffer) {
                Ok(step) => step,
                Err(error) => {
                    (seen.error, seen.used) = (Some(error), 0);
                    return seen;
                }
            };
            assert!(used <= buffer.len(), "no more is used than there is");
            buffer.drain(..used);
            seen.used += used;
            match step {
                Step::More => break,
                Step::Head { head, fields, whole } => {
                    assert!(used > 0, "a head has bytes");
                    seen.messages.push(Message { head, fields, body: Vec::new(), ended: whole });
                }
                Step::Data(data) => {
                    assert!(!data.is_empty(), "a piece has bytes");
                    let message = seen.messages.last_mut().expect("a body follows its head");
                    assert!(!message.ended, "a body follows its own head");
                    message.body.extend_from_slice(&data);
                }
                Step::End => seen.messages.last_mut().expect("an end has a head").ended = true,
            }
        }
    }
    seen
}

fn owned<'b>(fields: impl Iterator<Item = (&'b str, &'b [u8])>) -> Vec<(String, Vec<u8>)> {
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Decodes requests that arrive cut at `cuts`.
pub fn requests(input: &[u8], cuts: &[usize]) -> Transcript {
    let mut decoder = RequestDecoder::new(LIMITS);
    decode(input, cuts, |buffer| {
        let (used, event) = decoder.next(buffer)?;
        let step = match event {
            CodecEvent::More => Step::More,
            CodecEvent::Head(r) => Step::Head {
                head: format!(
                    "{} {} {} {:?} {:?} {} {}",
                    r.method,
                    r.target,
                    r.authority,
                    r.version,
                    r.body,
                    r.persistent,
                    r.expects_continue
                ),
                fields: owned(r.fields.iter()),
                whole: r.body == BodyLength::None,
            },
            CodecEvent::Data(data) => Step::Data(data.to_owned()),
            CodecEvent::End => Step::End,
        };
        Ok((used, step))
    })
}

/// Decodes responses to `method` that arrive cut at `cuts`; the connection ends after them.
pub fn responses(input: &[u8], cuts: &[usize], method: &Method) -> Transcript {
    let mut decoder = ResponseDecoder::new(LIMITS);
    let mut seen = decode(input, cuts, |buffer| {
        let (used, event) = decoder.next(buffer, method)?;
        let step = match event {
            CodecEvent::More => Step::More,
            CodecEvent::Head(r) => Step::Head {
                head: format!("{} {:?} {:?} {}", r.status, r.version, r.body, r.persistent),
                fields: owned(r.fields.iter()),
                whole: r.body == BodyLength::None,
            },
            CodecEvent::Data(data) => Step::Data(data.to_owned()),
            CodecEvent::End => Step::End,
        };
        Ok((used, step))
    });
    if seen.error.is_none() {
        match (decoder.end(), seen.messages.last_mut()) {
            (Ok(()), Some(message)) => message.ended = true,
            (Ok(()), None) => panic!("a response that never began cannot be complete"),
            (Err(error), _) => seen.error = Some(error),
        }
    }
    seen
}

/// Cuts after each byte, and a few that depend on the input.
fn ways_to_cut(input: &[u8]) -> [Vec<usize>; 3] {
    let seed = input.iter().fold(7usize, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
    let stride = 2 + seed % 13;
    [
        (1..input.len()).collect(),
        (1..input.len()).step_by(stride).collect(),
        vec![seed % (input.len() + 1)],
    ]
}

/// No panic, and the same requests however the input is cut.
pub fn check_request(input: &[u8]) {
    let whole = requests(input, &[]);
    for cuts in ways_to_cut(input) {
        assert_eq!(requests(input, &cuts), whole, "cut at {cuts:?}");
    }
    for message in &whole.messages {
        let names = |name| message.fields.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name));
        assert!(names("host").count() <= 1, "never two hosts");
        let both = names("content-length").count() > 0 && names("transfer-encoding").count() > 0;
        assert!(!both, "never two framings");
    }
}

/// No panic, and the same responses however the input is cut. The first byte decides the method.
pub fn check_response(input: &[u8]) {
    let Some((first, input)) = input.split_first() else { return };
    let method = if first % 4 == 0 { Method::HEAD } else { Method::GET };
    let whole = responses(input, &[], &method);
    for cuts in ways_to_cut(input) {
        assert_eq!(responses(input, &cuts, &method), whole, "cut at {cuts:?}");
    }
}

/// The input as a chunked body: no panic and the same body however it is cut; and our own encoding of it decodes to the same.
pub fn check_chunked(input: &[u8]) {
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_request(&[head, input].concat());

    let mut coded = head.to_vec();
    for piece in input.chunks(1 + input.len() / 3) {
        encode::chunk(&mut coded, piece);
    }
    encode::last_chunk(&mut coded, &HeaderMap::new());
    let seen = requests(&coded, &[coded.len() / 2]);
    assert_eq!((seen.error, seen.used), (None, coded.len()));
    assert_eq!(seen.messages[0].body, input);
    assert!(seen.messages[0].ended);
}
