//! Images that are encoded again on their way, and the cache behind them.

use std::time::Duration;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};

use super::town::{Act, Got, Server, ask, run};

const CONFIG: &str = "[cache]\nmemory = \"8MiB\"\n[compression]\n[images]\n[[reverse]]\norigins = [\"http://one.test\"]\n";

const PLAIN: &str = "Accept: image/webp,*/*;q=0.8\r\n";
const SAVING: &str = "Accept: image/webp,*/*;q=0.8\r\nSave-Data: on\r\n";

/// A photo of waves.
fn photo() -> Vec<u8> {
    let pixels = RgbImage::from_fn(240, 160, |x, y| {
        let wave = |scale: f64| (128.0 + 100.0 * (f64::from(x * y) / scale).sin()) as u8;
        Rgb([wave(900.0), wave(1_300.0), wave(700.0)])
    });
    let mut file = std::io::Cursor::new(Vec::new());
    DynamicImage::from(pixels).write_to(&mut file, ImageFormat::Jpeg).expect("memory takes it");
    file.into_inner()
}

fn answer(status: &str, fields: &str, body: &[u8]) -> Act {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n");
    Act::Say(Duration::ZERO, [head.as_bytes(), body].concat())
}

/// A server of the photo with these fields beside its type.
fn server(fields: &'static str) -> Server {
    let fields = format!("Content-Type: image/jpeg\r\nETag: \"v1\"\r\n{fields}");
    Server::new(move |_| answer("200 OK", &fields, &photo()))
}

fn asks(fields: &[&'static str], servers: &[Server]) -> Vec<Got> {
    let all = fields.to_vec();
    let each = async move {
        let mut got = Vec::new();
        for fields in all {
            got.push(ask("GET", "/a.jpg", fields).await);
        }
        got
    };
    run(CONFIG, servers, each, async {})
}

fn is_webp(got: &Got) -> bool {
    got.text.contains("content-type: image/webp") && got.body().starts_with(b"RIFF")
}

#[test]
fn clients_that_save_data_get_a_smaller_image_and_others_theirs() {
    let server = server("Cache-Control: max-age=60\r\n");
    let got = asks(&[SAVING, SAVING, PLAIN, PLAIN], std::slice::from_ref(&server));
    for smaller in &got[..2] {
        assert!(is_webp(smaller), "{}", smaller.text);
        assert!(smaller.body().len() * 10 <= photo().len() * 9);
        let length = format!("content-length: {}", smaller.body().len());
        assert!(smaller.text.contains(&length), "{}", smaller.text);
        assert!(smaller.text.contains("etag: W/\"v1\""), "{}", smaller.text);
        assert!(smaller.text.contains("vary: Accept\r\nvary: Save-Data"), "{}", smaller.text);
    }
    assert!(got[1].text.contains("farlink; hit"), "{}", got[1].text);
    for plain in &got[2..] {
        assert_eq!(plain.body(), photo());
        assert!(plain.text.contains("vary: Accept\r\nvary: Save-Data"), "{}", plain.text);
        assert!(plain.text.contains("etag: \"v1\""), "{}", plain.text);
    }
    assert_eq!(server.seen.times("/a.jpg"), 2);
}

#[test]
fn a_smaller_image_is_validated() {
    let fields =
        "Content-Type: image/jpeg\r\nETag: \"v1\"\r\nVary: Origin\r\nCache-Control: max-age=0\r\n";
    let first = std::cell::Cell::new(true);
    let server = Server::new(move |_| match first.replace(false) {
        true => answer("200 OK", fields, &photo()),
        false => answer("304 Not Modified", fields, b""),
    });
    let got = asks(&[SAVING, SAVING, SAVING], std::slice::from_ref(&server));
    for validated in &got[1..] {
        assert!(validated.text.contains("fwd-status=304"), "{}", validated.text);
        // The origin's list does not replace the one by which the image was chosen.
        assert!(validated.text.contains("vary: Accept\r\nvary: Save-Data"), "{}", validated.text);
        assert!(is_webp(validated), "{}", validated.text);
        assert_eq!(validated.body(), got[0].body());
    }
    assert_eq!(server.seen.times("/a.jpg"), 3);
}

/// Without a tag or a list of fields, too, the type of the stored image stays.
#[test]
fn a_smaller_image_is_validated_by_its_date() {
    let fields = "Content-Type: image/jpeg\r\nLast-Modified: Wed, 31 Dec 2025 00:00:00 GMT\r\nCache-Control: max-age=0\r\n";
    let first = std::cell::Cell::new(true);
    let server = Server::new(move |_| match first.replace(false) {
        true => answer("200 OK", fields, &photo()),
        false => answer("304 Not Modified", fields, b""),
    });
    let got = asks(&[SAVING, SAVING], std::slice::from_ref(&server));
    assert!(got[1].text.contains("fwd-status=304"), "{}", got[1].text);
    assert!(is_webp(&got[1]), "{}", got[1].text);
}

#[test]
fn what_an_origin_forbids_to_change_stays() {
    let server = server("Cache-Control: no-transform\r\n");
    let got = asks(&[SAVING], &[server]);
    assert_eq!(got[0].body(), photo());
}

/// The client gets what the origin sent, and can tell that it is incomplete.
#[test]
fn an_image_that_breaks_off_stays_broken() {
    let server = Server::new(|_| {
        let photo = photo();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n",
            photo.len()
        );
        Act::Last(Duration::ZERO, [head.as_bytes(), &photo[..photo.len() / 2]].concat())
    });
    let got = asks(&[SAVING], &[server]);
    assert_eq!(got[0].body(), &photo()[..photo().len() / 2]);
    let length = format!("content-length: {}", photo().len());
    assert!(got[0].text.contains(&length), "{}", got[0].text);
}
