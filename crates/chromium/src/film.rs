//! The paints of a visit: milestones of the main frame, the filmstrip, and the Speed Index computed from it.
//!
//! Frames come from the compositor (`Page.startScreencast`), scaled down, as PNG; they cost the browser time, so a
//! visit is filmed only on request. A page is white until its first paint.
//!
//! Speed Index is the mean time at which the viewport's parts reached their final appearance: the area above the
//! curve of visual progress. Progress is measured as in WebPageTest, by colour histograms, so that moving content
//! counts little: the share of the difference between the first and the last frame's that is gone
//! (<https://docs.webpagetest.org/metrics/speedindex/>). The last frame is that of the visit's end.

use std::time::Duration;

use base64::Engine;
use record::Paint;

use super::event::{self, LifecycleEvent};
use super::request::MonotonicClock;

/// Maximum width of frames, in pixels.
pub(super) const WIDTH: u32 = 320;

/// Time without a frame after which the film ends.
pub(super) const STILL: Duration = Duration::from_millis(300);

/// A frame of the filmstrip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilmFrame {
    /// Time at which it was shown, since navigation start.
    pub at: Duration,
    /// The picture.
    pub png: Vec<u8>,
}

/// Frames in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Film {
    /// Seconds since 1970, and pictures.
    frames: Vec<(f64, Vec<u8>)>,
}

impl Film {
    pub(super) fn take(&mut self, frame: &event::ScreencastFrame) {
        let png = base64::engine::general_purpose::STANDARD.decode(&frame.data);
        // A frame without a time or a picture is ignored.
        if let (Some(at), Ok(png)) = (frame.metadata.timestamp, png) {
            self.frames.push((at, png));
        }
    }

    /// The frames since `first_paint`; `date` is that of navigation start, in seconds since 1970. Earlier frames
    /// show the previous page.
    pub(super) fn strip(self, date: f64, first_paint: Duration) -> Vec<FilmFrame> {
        // A frame's timestamp is a little earlier than its presentation.
        const AHEAD: Duration = Duration::from_millis(20);
        let frames = self.frames.into_iter().filter_map(|(at, png)| {
            let at = Duration::try_from_secs_f64(at - date).ok()?;
            (at + AHEAD >= first_paint).then_some(FilmFrame { at, png })
        });
        frames.collect()
    }
}

/// Frequency of each value of each colour, per mille of the pixels.
type Histogram = [[f64; 256]; 3];

/// The Speed Index of a strip; `None` if no picture is readable.
pub(super) fn speed_index(strip: &[FilmFrame]) -> Option<Duration> {
    let seen: Vec<(Duration, Histogram)> =
        strip.iter().filter_map(|frame| Some((frame.at, histogram(&frame.png)?))).collect();
    let (_, last) = seen.last()?;
    let all = difference(&white(), last);
    let mut index = Duration::ZERO;
    let (mut since, mut left) = (Duration::ZERO, 1.0);
    for (at, histogram) in &seen {
        index += at.saturating_sub(since).mul_f64(left);
        since = *at;
        left = if all > 0.0 { (difference(histogram, last) / all).min(1.0) } else { 0.0 };
    }
    Some(index)
}

fn white() -> Histogram {
    let mut histogram = [[0.0; 256]; 3];
    histogram.iter_mut().for_each(|colour| colour[255] = 1000.0);
    histogram
}

fn histogram(image: &[u8]) -> Option<Histogram> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(image));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    let samples = info.color_type.samples();
    let mut histogram = [[0.0; 256]; 3];
    let share = 1000.0 / (f64::from(info.width) * f64::from(info.height));
    for pixel in pixels[..info.buffer_size()].chunks_exact(samples) {
        // Grey has one value for all three colours; alpha is ignored.
        let colours = if samples < 3 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
        for (colour, value) in histogram.iter_mut().zip(colours) {
            colour[usize::from(value)] += share;
        }
    }
    Some(histogram)
}

fn difference(a: &Histogram, b: &Histogram) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).sum()
}

/// The main frame's milestones, in seconds of the browser's clock.
#[derive(Debug, Default)]
pub(super) struct Milestones {
    dom_content_loaded: Option<f64>,
    pub(super) first_paint: Option<f64>,
    first_contentful_paint: Option<f64>,
    /// The load event began.
    pub(super) loaded: Option<f64>,
}

impl Milestones {
    /// Records an event of the main frame's document.
    pub(super) fn note(&mut self, event: &LifecycleEvent) {
        let milestone = match event.name.as_str() {
            "DOMContentLoaded" => &mut self.dom_content_loaded,
            "firstPaint" => &mut self.first_paint,
            "firstContentfulPaint" => &mut self.first_contentful_paint,
            "load" => &mut self.loaded,
            _ => return,
        };
        milestone.get_or_insert(event.timestamp);
    }

    /// Returns true if something has been painted.
    pub(super) fn is_painted(&self) -> bool {
        self.first_paint.is_some() && self.first_contentful_paint.is_some()
    }

    /// The milestones as spans since `navigation`.
    pub(super) fn paint(&self, clock: MonotonicClock, navigation: f64) -> Paint {
        let start = clock.time(navigation);
        let span = |at: Option<f64>| at.map(|at| clock.time(at).since(start).as_nanos() as u64);
        Paint {
            dom_content_loaded_ns: span(self.dom_content_loaded),
            first_paint_ns: span(self.first_paint),
            first_contentful_paint_ns: span(self.first_contentful_paint),
            ..Paint::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of 100 pixels of which `black` are black and the others white.
    fn frame(millis: u64, black: usize) -> FilmFrame {
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, 10, 10);
        encoder.set_color(png::ColorType::Rgb);
        let mut pixels = vec![255; 300];
        pixels[..3 * black].fill(0);
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        FilmFrame { at: Duration::from_millis(millis), png }
    }

    #[test]
    fn it_is_the_area_above_the_progress() {
        let whole = speed_index(&[frame(400, 80)]).unwrap();
        assert_eq!(whole.as_millis(), 400);
        // A quarter at 100 ms, the rest at 500 ms.
        let steps = speed_index(&[frame(100, 20), frame(500, 80)]).unwrap();
        assert_eq!(steps.as_millis(), 100 + 300);
        // Content that disappears and reappears counts as late.
        let flicker = speed_index(&[frame(100, 80), frame(200, 0), frame(300, 80)]).unwrap();
        assert_eq!(flicker.as_millis(), 200);
        assert_eq!(speed_index(&[frame(50, 0)]).unwrap().as_millis(), 50);
        assert_eq!(speed_index(&[]), None);
    }

    #[test]
    fn a_broken_picture_is_passed_over() {
        let broken = FilmFrame { at: Duration::from_millis(1), png: b"no picture".to_vec() };
        assert_eq!(speed_index(std::slice::from_ref(&broken)), None);
        assert_eq!(speed_index(&[broken, frame(20, 5)]).unwrap().as_millis(), 20);
    }
}
