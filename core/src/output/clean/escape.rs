//! What a character means to a terminal.
//!
//! One rule for both spellings of the second set of control characters: U+009B is ESC
//! `[`, U+009D is ESC `]`, and so on.

/// The longest escape sequence. What claims to be a longer one is none, and is text
/// from there on.
pub const MAX_SEQUENCE_BYTES: usize = 8192;

/// Which part of an escape sequence was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// None: text.
    Outside,
    /// ESC.
    Begun,
    /// ESC and what takes one character more, such as the choice of a character set.
    Choice,
    /// ESC `[` and its parameters: one plain number, or anything else.
    Control { number: Option<u16> },
    /// A title, a link, an image: anything up to its end.
    Words,
}

/// Where in a sequence the text stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escape {
    state: State,
    length: usize,
}

/// What a character does to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// It is text.
    Text,
    /// It has no other meaning than that it is there.
    Symbol,
    NewLine,
    /// Moves to the beginning of the line.
    Return,
    /// Moves to the left, as far as the line goes.
    Left(u16),
    /// Erases the line from where it stands.
    EraseRest,
    /// Erases the line.
    EraseLine,
}

impl Escape {
    pub(super) const fn new() -> Self {
        Self { state: State::Outside, length: 0 }
    }

    pub(super) fn outside(self) -> bool {
        self.state == State::Outside
    }

    pub(super) fn step(&mut self, character: char) -> Effect {
        self.length += character.len_utf8();
        if self.length > MAX_SEQUENCE_BYTES {
            self.state = State::Outside;
        }
        match (self.state, character) {
            (_, '\x1b') => self.enter(State::Begun),
            (_, '\u{80}'..='\u{9f}') => self.two_characters(to_seven_bits(character)),
            (State::Outside, _) => plain(character),
            (_, '\x18' | '\x1a') => self.leave(Effect::Nothing),
            (State::Begun | State::Choice, ' '..='/') => {
                self.state = State::Choice;
                Effect::Nothing
            }
            (State::Begun, '0'..='~') => self.two_characters(character),
            (State::Choice, '0'..='~') => self.leave(Effect::Nothing),
            (State::Control { number }, ' '..='?') => {
                let number = number.and_then(|number| with_digit(number, character));
                self.state = State::Control { number };
                Effect::Nothing
            }
            (State::Control { number }, '@'..='~') => self.leave(control(number, character)),
            (State::Words, '\x07') => self.leave(Effect::Nothing),
            (State::Words, _) if plain(character) != Effect::NewLine => Effect::Nothing,
            // Nothing that belongs here: the sequence is over, and this counts.
            (State::Begun | State::Choice | State::Control { .. } | State::Words, _) => {
                self.leave(plain(character))
            }
        }
    }

    /// ESC and this.
    fn two_characters(&mut self, second: char) -> Effect {
        match second {
            '[' => self.enter(State::Control { number: Some(0) }),
            ']' | 'P' | 'X' | '^' | '_' => self.enter(State::Words),
            'E' => self.leave(Effect::NewLine),
            _ => self.leave(Effect::Nothing),
        }
    }

    const fn enter(&mut self, state: State) -> Effect {
        *self = Self { state, length: 0 };
        Effect::Nothing
    }

    const fn leave(&mut self, effect: Effect) -> Effect {
        *self = Self::new();
        effect
    }
}

/// The second character of the two that mean the same as this one.
fn to_seven_bits(character: char) -> char {
    char::from_u32(u32::from(character) - 0x40).unwrap_or(character)
}

fn with_digit(number: u16, character: char) -> Option<u16> {
    let digit = u16::try_from(character.to_digit(10)?).ok()?;
    Some(number.saturating_mul(10).saturating_add(digit))
}

const fn plain(character: char) -> Effect {
    match character {
        '\n' | '\x0b' | '\x0c' => Effect::NewLine,
        '\r' => Effect::Return,
        '\x08' => Effect::Left(1),
        // The bell, and the two shifts of character set.
        '\x07' | '\x0e' | '\x0f' => Effect::Nothing,
        '\0'..'\x20' if character != '\t' => Effect::Symbol,
        '\x7f' => Effect::Symbol,
        _ => Effect::Text,
    }
}

/// ESC `[`, a number, and this.
const fn control(number: Option<u16>, last: char) -> Effect {
    match (last, number) {
        // No number counts as 1 here.
        ('D', Some(0)) => Effect::Left(1),
        ('D', Some(columns)) => Effect::Left(columns),
        ('G', Some(0 | 1)) => Effect::Return,
        ('K' | 'J', Some(0)) => Effect::EraseRest,
        ('K', Some(2)) => Effect::EraseLine,
        _ => Effect::Nothing,
    }
}
