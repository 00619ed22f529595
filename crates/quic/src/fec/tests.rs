use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The frames for `datagrams`, a group: the datagrams, and their parity.
fn group(encoder: &mut FecEncoder, datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for data in datagrams {
        let mut frame = Vec::new();
        encoder.frame(data, &mut frame);
        encoder.note(Time::ZERO, data, MOST);
        frames.push(frame);
    }
    let mut parity = Vec::new();
    encoder.end(&mut parity);
    frames.push(parity);
    frames
}

fn datagrams() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 1..40), 1..=usize::from(MOST))
}

proptest! {
    #[test]
    fn any_one_of_a_group_is_restored(sent in datagrams(), lost: prop::sample::Index, before in 0u32..9) {
        let (mut encoder, mut decoder) = (FecEncoder::default(), FecDecoder::default());
        for _ in 0..before {
            group(&mut encoder, &sent);
        }
        let frames = group(&mut encoder, &sent);
        let lost = lost.index(frames.len());
        let mut came = vec![None; sent.len()];
        for (i, frame) in frames.iter().enumerate().filter(|(i, _)| *i != lost) {
            let Decoded { carried, restored } = decoder.take(frame);
            if let Some(data) = carried {
                came[i] = Some(data.to_vec());
            }
            if let Some(data) = restored {
                prop_assert_eq!(i, frames.len() - 1);
                came[lost] = Some(data);
            }
        }
        let sent: Vec<_> = sent.into_iter().map(Some).collect();
        prop_assert_eq!(came, sent);
    }

    /// In any order, and with repetitions.
    #[test]
    fn nothing_is_made_up(
        sent in datagrams(),
        order in vec(any::<prop::sample::Index>(), 0..200),
    ) {
        let frames = group(&mut FecEncoder::default(), &sent);
        let mut decoder = FecDecoder::default();
        for frame in order {
            let Decoded { carried, restored } = decoder.take(&frames[frame.index(frames.len())]);
            prop_assert!(carried.is_none_or(|data| sent.iter().any(|one| one == data)));
            prop_assert!(restored.is_none_or(|data| sent.contains(&data)));
        }
    }

    #[test]
    fn anything_may_come(frames in vec(vec(any::<u8>(), 0..30), 0..300)) {
        let mut decoder = FecDecoder::default();
        for frame in &frames {
            decoder.take(frame);
        }
    }

    #[test]
    fn frames_are_read_as_written(bytes in vec(any::<u8>(), 0..40)) {
        if let Some(frame) = FecFrame::parse(&bytes) {
            let mut written = Vec::new();
            frame.write(&mut written);
            prop_assert_eq!(written, bytes);
        }
    }
}

#[test]
fn two_of_a_group_stay_lost() {
    let frames = group(&mut FecEncoder::default(), &[vec![1; 9], vec![2; 5], vec![3; 7]]);
    let mut decoder = FecDecoder::default();
    assert_eq!(decoder.take(&frames[1]).restored, None);
    assert_eq!(decoder.take(&frames[3]).restored, None);
    // Late, it helps to restore the other one.
    assert_eq!(decoder.take(&frames[0]).restored, Some(vec![3; 7]));
}

#[test]
fn a_group_ends_when_it_is_full_or_has_waited() {
    let mut encoder = FecEncoder::default();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    assert_eq!(encoder.deadline(), None);
    assert!(!encoder.note(at(10), b"a", 2));
    assert_eq!(encoder.deadline(), Some(at(10) + FLUSH));
    assert!(encoder.note(at(20), b"bc", 2));
    let mut parity = Vec::new();
    encoder.end(&mut parity);
    assert_eq!(parity, [0b1000_0010, 0, 0, 0, 0, 0, 1 ^ 2, b'a' ^ b'b', b'c']);
    assert_eq!(encoder.deadline(), None);
    let nothing = parity.len();
    encoder.end(&mut parity);
    assert_eq!(parity.len(), nothing);
}

#[test]
fn quic_is_not_taken_for_it() {
    for first in [0x40u8, 0x7f, 0xc0, 0xff] {
        assert_eq!(FecFrame::parse(&[first, 0, 0, 0, 0, 0, 0, 1, 2]), None);
    }
}
