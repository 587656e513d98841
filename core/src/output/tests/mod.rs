//! The output, by example and by property.

mod clean;
mod joint;
mod streams;
mod text;

use alloc::{string::String, string::ToString, vec, vec::Vec};

use proptest::prelude::*;

use super::*;

/// Bytes of which many are parts of characters, of lines and of escape sequences.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<char>().prop_map(|c| c.to_string().into_bytes()),
        any::<u8>().prop_map(|byte| vec![byte]),
        Just(b"\xe2\x82".to_vec()),
        Just(b"\xf0\x9f".to_vec()),
        terminal().prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// What a terminal would act upon, and a little text.
fn terminal() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "\n", "\r", "\r\n", "\x08", "a", "bc", "\u{20ac}", "\x1b", "[", "\x1b[", "\x1b[31m",
        "\x1b[K", "\x1b[2K", "\x1b[1G", "\x1b[2D", "\x1b]0;t", "\x07", "\x1b\\", "\u{9b}",
        "\u{9d}", "\u{9c}", "\x1b(B", "\x18", "\0", "\t", "\x0c", "\u{85}", "\x7f",
    ])
    .prop_map(str::to_string)
}

/// Lengths to cut something into.
fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..8, 0..200)
}

/// The whole in pieces of these lengths, and the rest.
fn divide<'a>(whole: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = whole;
    for cut in cuts {
        let (now, later) = rest.split_at((*cut).min(rest.len()));
        pieces.push(now);
        rest = later;
    }
    pieces.push(rest);
    pieces
}

proptest! {
    // contract: R1, R7, R8, M12
    #[test]
    fn every_property_of_the_output_holds_on_any_bytes(
        head in any::<[u8; 2]>(),
        steps in prop::collection::vec((any::<u8>(), bytes()), 0..16),
    ) {
        let mut input = head.to_vec();
        for (what, bytes) in steps {
            // As long as the step says, so that the next begins where it should.
            let length = bytes.len().min(31);
            input.push((what % 8) | u8::try_from(length << 3).unwrap());
            input.extend(&bytes[..length]);
        }
        exercise(&input);
    }
}
