//! Smaller images for slow clients: JPEG and PNG from origins, encoded again as WebP for clients that accept it.

mod encoder;

use http::header::{
    ACCEPT, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use serde::Deserialize;

pub use encoder::smaller;

use crate::compression::{self, is_transformable, vary_by, weighted};

/// Settings of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSettings {
    /// Quality of WebP, up to 100.
    pub quality: u8,
    /// Clients that get smaller images.
    pub clients: ImageClients,
    /// Size below which an image is left as it is.
    pub least_bytes: u64,
    /// Size above which an image is left as it is: it is held in memory while it is encoded.
    pub most_bytes: u64,
}

impl Default for ImageSettings {
    fn default() -> ImageSettings {
        ImageSettings {
            quality: 60,
            clients: ImageClients::default(),
            least_bytes: 2 << 10,
            most_bytes: 4 << 20,
        }
    }
}

/// Clients that get smaller images, of those that accept WebP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageClients {
    /// Those that ask to save data: `Save-Data: on` (WICG's Save Data API).
    #[default]
    SaveData,
    /// All.
    All,
}

/// Decision on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageChoice {
    /// It is encoded again.
    Encoded,
    /// It is left as it is, but would be encoded again for another client.
    Unaccepted,
    /// It is left as it is.
    Unsuitable,
}

const SAVE_DATA: HeaderName = HeaderName::from_static("save-data");
const WEBP: &str = "image/webp";

impl ImageSettings {
    /// Decides on the answer `head`, whose body has this length if that is known, to `request`.
    pub fn choose(
        &self,
        request: &Request<()>,
        head: &Response<()>,
        length: Option<u64>,
    ) -> ImageChoice {
        let fields = head.headers();
        let sizes = self.least_bytes..=self.most_bytes;
        let is_suitable = *request.method() == Method::GET
            && head.status() == 200
            && has_type(fields)
            && !fields.contains_key(CONTENT_ENCODING)
            && is_transformable(request, fields)
            && length.is_some_and(|length| sizes.contains(&length));
        match (is_suitable, self.wants(request.headers())) {
            (false, _) => ImageChoice::Unsuitable,
            (true, true) => ImageChoice::Encoded,
            (true, false) => ImageChoice::Unaccepted,
        }
    }

    /// True if a client with these fields gets smaller images. `*/*` is no wish for WebP: programs send it that do not know the format.
    fn wants(&self, asked: &HeaderMap) -> bool {
        let saves = || {
            let value = asked.get(SAVE_DATA).and_then(|value| value.to_str().ok());
            value.is_some_and(|value| value.trim().eq_ignore_ascii_case("on"))
        };
        let lines = asked.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut members = lines.flat_map(|line| line.split(',')).filter_map(weighted);
        (self.clients == ImageClients::All || saves())
            && members.any(|(name, weight)| name.eq_ignore_ascii_case(WEBP) && weight > 0)
    }

    /// Adds the request fields by which such answers are chosen.
    pub fn vary(&self, fields: &mut HeaderMap) {
        vary_by(fields, "Accept");
        if self.clients == ImageClients::SaveData {
            vary_by(fields, "Save-Data");
        }
    }
}

/// True for the types of JPEG and PNG. Servers take one for the other, and browsers do not care; so the content decides later.
fn has_type(fields: &HeaderMap) -> bool {
    let value = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or("").split(';').next().unwrap_or("").trim();
    let types = ["image/jpeg", "image/jpg", "image/png"];
    types.iter().any(|it| essence.eq_ignore_ascii_case(it))
}

/// Changes the head of an answer whose image is now WebP of this length.
pub fn mark(fields: &mut HeaderMap, length: usize) {
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(WEBP));
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    fields.remove(ACCEPT_RANGES);
    compression::weaken(fields);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(settings: &ImageSettings, asked: &[(&str, &str)], kind: &str) -> ImageChoice {
        let mut request = Request::get("/a.jpg");
        for (name, value) in asked {
            request = request.header(*name, *value);
        }
        let head = Response::builder().header("content-type", kind).body(()).unwrap();
        settings.choose(&request.body(()).unwrap(), &head, Some(9_000))
    }

    const CHROMIUM: (&str, &str) = ("accept", "image/avif,image/webp,image/apng,*/*;q=0.8");

    #[test]
    fn the_client_asks_for_smaller_images() {
        let settings = ImageSettings::default();
        let saving = [CHROMIUM, ("save-data", "on")];
        let encoded = ImageChoice::Encoded;
        assert_eq!(choice(&settings, &saving, "image/jpeg"), encoded);
        assert_eq!(choice(&settings, &[CHROMIUM], "image/jpeg"), ImageChoice::Unaccepted);
        assert_eq!(choice(&settings, &saving, "image/gif"), ImageChoice::Unsuitable);
        assert_eq!(choice(&settings, &saving, "image/webp"), ImageChoice::Unsuitable);
        let all = ImageSettings { clients: ImageClients::All, ..settings };
        assert_eq!(choice(&all, &[CHROMIUM], "image/PNG; x=1"), encoded);
        assert_eq!(choice(&all, &[("accept", "*/*")], "image/png"), ImageChoice::Unaccepted);
        let refusing = [("accept", "image/webp;q=0, image/*")];
        assert_eq!(choice(&all, &refusing, "image/png"), ImageChoice::Unaccepted);
        let ranged = [CHROMIUM, ("range", "bytes=0-9")];
        assert_eq!(choice(&all, &ranged, "image/png"), ImageChoice::Unsuitable);
    }

    #[test]
    fn a_smaller_image_has_a_weak_tag_and_varies() {
        let mut fields = HeaderMap::new();
        fields.insert("etag", HeaderValue::from_static("\"v1\""));
        fields.insert("vary", HeaderValue::from_static("accept, origin"));
        fields.insert("accept-ranges", HeaderValue::from_static("bytes"));
        mark(&mut fields, 77);
        ImageSettings::default().vary(&mut fields);
        let vary: Vec<_> = fields.get_all("vary").iter().collect();
        assert_eq!(
            (&fields["etag"], &fields["content-length"]),
            (&"W/\"v1\"".parse().unwrap(), &77.into())
        );
        assert_eq!(vary, ["accept, origin", "Save-Data"]);
        assert!(!fields.contains_key("accept-ranges"));
    }
}
