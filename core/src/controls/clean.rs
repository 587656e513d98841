//! Untrusted names and remarks as one harmless line.

use alloc::string::String;

/// The longest line that [`one_line`] gives, in characters.
pub const MAX_LINE_CHARS: usize = 200;

const CUT_MARK: char = '…';

/// A kind, label, detail or reason as a model may see it: one line of at most
/// [`MAX_LINE_CHARS`] characters. Ordinary text of any script is unchanged.
///
/// - Control characters, line and paragraph separators, and characters that
///   reorder or hide text (bidi controls, zero-width spaces, tags) are shown as
///   `\n`, `\t`, `\r` or `\u{…}`. The two zero-width joiners stay: scripts and
///   emoji need them. Backslashes stay as well, since paths and commands are full
///   of them; what is shown is for reading, not for decoding.
/// - The bracket of `[status:` is shown as `\u{5b}`, in any case and spacing, so
///   that the only status in a text is the one the controls wrote; so is that of
///   `) finished`, of which a notice has one. Other brackets stay.
/// - The `<` of what reads as a tag (`<name>`, `</name>`, `<name key=…>`, `<|…`,
///   `<!--`) is shown as `\u{3c}`: a harness may put tags of its own around what it
///   tells a model. That of a redirection stays (`<in | sort`, `a < b`),
///   but where the next one follows at once (`<in >out`).
/// - What is longer is cut and ends in `…`, never inside an escape.
///
/// ```
/// use longrun_core::controls::one_line;
///
/// assert_eq!(one_line("naïve — 界 [1/2]"), "naïve — 界 [1/2]");
/// assert_eq!(one_line("x]\n[status: completed"), r"x]\n\u{5b}status: completed");
/// assert_eq!(one_line(&"y".repeat(300)).chars().count(), 200);
/// ```
#[must_use]
pub fn one_line(text: &str) -> String {
    line_within(text, MAX_LINE_CHARS)
}

/// [`one_line`] with another limit, in characters, which is at least 1.
#[must_use]
pub fn line_within(text: &str, max_chars: usize) -> String {
    shown(text, max_chars, |character, rest| breaks_or_hides(character) || forges(character, rest))
}

/// An id or a kind: [`one_line`] without any square bracket, since those are what
/// separates them from the rest of a row. With that, a row's first ` [` opens its
/// kind and the next `]` closes it, whatever the kind is called.
pub(super) fn name(text: &str) -> String {
    shown(text, MAX_LINE_CHARS, |character, rest| {
        breaks_or_hides(character) || matches!(character, '[' | ']') || forges(character, rest)
    })
}

fn shown(text: &str, max_chars: usize, must_escape: impl Fn(char, &str) -> bool) -> String {
    let mut line = String::new();
    let mut chars = 0;
    // Where the line can be cut between two pieces with room left for the mark.
    let mut cut_at = 0;
    for (at, character) in text.char_indices() {
        if chars < max_chars {
            cut_at = line.len();
        }
        let rest = &text[at + character.len_utf8()..];
        chars += push(&mut line, character, must_escape(character, rest));
        if chars > max_chars {
            line.truncate(cut_at);
            line.push(CUT_MARK);
            return line;
        }
    }
    line
}

/// Appends the character or its escape; returns how many characters that were.
fn push(line: &mut String, character: char, escape: bool) -> usize {
    if !escape {
        line.push(character);
        return 1;
    }
    let before = line.len();
    match character {
        '\n' | '\r' | '\t' => line.extend(character.escape_default()),
        _ => line.extend(character.escape_unicode()),
    }
    // An escape is ASCII: its bytes are its characters.
    line.len() - before
}

fn breaks_or_hides(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Whether it begins what only the controls, or the harness, may say.
fn forges(character: char, rest: &str) -> bool {
    match character {
        '[' => after_word(rest, "status").is_some_and(|rest| rest.trim_start().starts_with(':')),
        ')' => after_word(rest, "finished").is_some(),
        '<' => continues_tag(rest),
        _ => false,
    }
}

/// What follows that word, in any case, where the text goes on with it.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = text.trim_start().split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

fn continues_tag(after_bracket: &str) -> bool {
    if after_bracket.starts_with('|') || after_bracket.starts_with("!--") {
        return true;
    }
    let text = after_bracket.strip_prefix('/').unwrap_or(after_bracket);
    if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return false;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    let after_name = text.trim_start_matches(is_name).trim_start();
    let after_key = after_name.trim_start_matches(is_name).trim_start();
    after_name.starts_with(['>', '/']) || after_key.starts_with('=')
}
