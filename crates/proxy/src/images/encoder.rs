//! WebP from JPEG and PNG. Images that would change in more than detail are left alone: animations, and colours of another space.

use std::io::Cursor;

use bytes::Bytes;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageResult, Limits};
use webp::{Encoder, WebPMemory};

/// Pixels of the largest image that is decoded: 64 MB in memory.
const MOST_PIXELS: u64 = 16 << 20;
/// Longest side that WebP can have.
const MOST_SIDE: u32 = 16_383;
/// Memory of a decoder.
const DECODER_BYTES: u64 = 160 << 20;

/// Effort of the lossless encoder, up to 100: more takes seconds for a photo.
const LOSSLESS_EFFORT: f32 = 20.0;

/// Part of an image's size that is to be saved at least; less is not worth the loss.
const LEAST_SAVING: f64 = 0.1;

/// The image as WebP of this quality (up to 100), if that is smaller by a tenth or more and looks alike.
///
/// A PNG is also tried without loss, which is smaller for drawings.
pub fn smaller(image: &[u8], quality: u8) -> Option<Bytes> {
    let most = (image.len() as f64 * (1.0 - LEAST_SAVING)) as usize;
    let format = image::guess_format(image).ok()?;
    let decoded = match format {
        ImageFormat::Jpeg => decode(JpegDecoder::new(Cursor::new(image)).ok()?),
        ImageFormat::Png => {
            let decoder = PngDecoder::new(Cursor::new(image)).ok()?;
            if decoder.is_apng().ok()? {
                return None;
            }
            decode(decoder)
        }
        _ => return None,
    };
    let decoded = decoded.ok()??;
    let lossy = encode(&decoded, false, quality.into());
    let lossless = || encode(&decoded, true, LOSSLESS_EFFORT);
    let candidates = [lossy, (format == ImageFormat::Png).then(lossless).flatten()];
    let smallest = candidates.into_iter().flatten().min_by_key(|encoded| encoded.len())?;
    (smallest.len() <= most).then(|| Bytes::copy_from_slice(&smallest))
}

/// The pixels, upright; `None` for an image that is to stay as it is.
fn decode(mut decoder: impl ImageDecoder) -> ImageResult<Option<DynamicImage>> {
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width.max(height) > MOST_SIDE || pixels > MOST_PIXELS {
        return Ok(None);
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES);
    decoder.set_limits(limits)?;
    if decoder.icc_profile()?.is_some_and(|profile| !is_srgb(&profile)) {
        return Ok(None);
    }
    // The encoded image has no Exif data, whose orientation browsers obey.
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(Some(image))
}

fn encode(image: &DynamicImage, lossless: bool, quality: f32) -> Option<WebPMemory> {
    let (width, height) = (image.width(), image.height());
    let encoded = match image.color().has_alpha() {
        true => {
            Encoder::from_rgba(&image.to_rgba8(), width, height).encode_simple(lossless, quality)
        }
        false => {
            Encoder::from_rgb(&image.to_rgb8(), width, height).encode_simple(lossless, quality)
        }
    };
    encoded.ok()
}

/// True if a colour profile describes sRGB, which is also what an image without one has. Its name is in ASCII (version 2 of ICC) or UTF-16
/// (version 4).
fn is_srgb(profile: &[u8]) -> bool {
    let has = |name: &[u8]| profile.windows(name.len()).any(|window| window == name);
    has(b"sRGB") || has(b"s\0R\0G\0B")
}

#[cfg(test)]
mod tests {
    use image::{ExtendedColorType, ImageEncoder, Rgb, RgbImage};
    use proptest::prelude::*;

    use super::*;

    /// Hills of colour: a photo to an encoder.
    fn photo(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| {
            let wave = |scale: f64, turn: f64| {
                let (x, y) = (f64::from(x) / scale, f64::from(y) / (scale * 1.3));
                (128.0 + 60.0 * (x + turn).sin() + 50.0 * (y - turn).cos()) as u8
            };
            Rgb([wave(23.0, 0.3), wave(31.0, 1.1), wave(11.0, 2.0)])
        })
    }

    fn jpeg(image: &RgbImage, profile: Option<&[u8]>) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut file, 92);
        if let Some(profile) = profile {
            encoder.set_icc_profile(profile.to_vec()).unwrap();
        }
        encoder.write_image(image, image.width(), image.height(), ExtendedColorType::Rgb8).unwrap();
        file
    }

    fn png(image: &RgbImage) -> Vec<u8> {
        let mut file = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut file);
        encoder.write_image(image, image.width(), image.height(), ExtendedColorType::Rgb8).unwrap();
        file
    }

    /// Mean difference of the channels.
    fn difference(one: &RgbImage, other: &RgbImage) -> f64 {
        assert_eq!(one.dimensions(), other.dimensions());
        let differences = one.as_raw().iter().zip(other.as_raw()).map(|(a, b)| a.abs_diff(*b));
        differences.map(f64::from).sum::<f64>() / one.as_raw().len() as f64
    }

    fn shown(webp: &[u8]) -> RgbImage {
        let decoded = webp::Decoder::new(webp).decode().unwrap();
        RgbImage::from_raw(decoded.width(), decoded.height(), decoded.to_vec()).unwrap()
    }

    #[test]
    fn photos_shrink_and_look_alike() {
        let image = photo(320, 200);
        for file in [jpeg(&image, None), png(&image)] {
            let webp = smaller(&file, 60).unwrap();
            assert!(webp.len() < file.len() / 2, "{} of {}", webp.len(), file.len());
            assert!(difference(&image, &shown(&webp)) < 4.0);
        }
    }

    #[test]
    fn drawings_stay_exact_where_that_is_smaller() {
        let drawing = RgbImage::from_fn(200, 200, |x, y| match (x / 20 + y / 20) % 2 {
            0 => Rgb([250, 10, 10]),
            _ => Rgb([255, 255, 255]),
        });
        let mut file = png(&drawing);
        // What browsers ignore, encoders of PNGs often leave in.
        file.extend(std::iter::repeat_n(0, 2_000));
        let webp = smaller(&file, 60).unwrap();
        assert_eq!(shown(&webp), drawing);
    }

    #[test]
    fn colours_of_another_space_stay() {
        let image = photo(320, 200);
        let srgb = jpeg(&image, Some(b"....desc....sRGB IEC61966-2.1...."));
        assert!(smaller(&srgb, 60).is_some());
        let wide = jpeg(&image, Some(b"....desc....Display P3...."));
        assert!(smaller(&wide, 60).is_none());
    }

    #[test]
    fn images_of_many_pixels_stay() {
        // One colour: 17 million pixels in less than a megabyte.
        let bomb = png(&RgbImage::new(4_200, 4_200));
        assert!(bomb.len() < 1_000_000, "{}", bomb.len());
        assert!(smaller(&bomb, 60).is_none());
    }

    proptest! {
        #[test]
        fn damaged_images_are_refused_in_order(at in 0usize..20_000, with in any::<u8>(), cut in 0usize..20_000) {
            let image = photo(64, 48);
            for mut file in [jpeg(&image, None), png(&image)] {
                let at = at % file.len();
                file[at] = with;
                file.truncate(1 + cut % file.len());
                // Whatever comes, no panic, and nothing larger.
                if let Some(webp) = smaller(&file, 60) {
                    prop_assert!(webp.len() < file.len());
                }
            }
        }
    }
}
