//! Cuts on character borders.

/// The longest end of the text that has at most `limit` bytes.
pub(super) fn tail(text: &str, limit: usize) -> &str {
    let earliest = text.len().saturating_sub(limit);
    let start = (earliest..=text.len()).find(|&at| text.is_char_boundary(at));
    &text[start.unwrap_or(text.len())..]
}

/// The longest beginning of the text that has at most `limit` bytes.
pub(super) fn head(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
