//! Seeds on the command line: `A..B`, one number, or a commit hash.

use std::str::FromStr;

/// Where to begin, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seeds {
    pub(crate) from: u64,
    pub(crate) count: u64,
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, until)) = text.split_once("..") else {
            return Ok(Self { from: seed(text)?, count: 1 });
        };
        let (from, until) = (number(from)?, number(until)?);
        let count = until.checked_sub(from).filter(|count| *count > 0);
        let count = count.ok_or_else(|| format!("{text} holds no seeds: write A..B with A < B"))?;
        Ok(Self { from, count })
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number: write A..B, such as 0..1000"))
}

/// A number, or the hash of a commit, folded into one.
fn seed(text: &str) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let is_hash = text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(format!("`{text}` is neither A..B, nor a number, nor a commit hash"));
    }
    // FNV-1a: short, and the same for ever.
    Ok(text.to_ascii_lowercase().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// A span of time: a number with `s`, `m` or `h`.
pub(crate) fn span(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || format!("`{text}` is not a span of time: write 30s, 10m or 2h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(wrong()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    count.checked_mul(seconds).map(std::time::Duration::from_secs).ok_or_else(wrong)
}

/// A part of the seeds: `2/8` is the second of eight.
pub(crate) fn shard(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` is not a part: write 2/8 for the second of eight");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    let part: u64 = part.parse().map_err(|_| wrong())?;
    let parts: u64 = parts.parse().map_err(|_| wrong())?;
    if (1..=parts).contains(&part) { Ok((part - 1, parts)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_a_number_or_a_commit_hash() {
        let seeds = |text: &str| text.parse::<Seeds>();
        assert_eq!(seeds("3..10"), Ok(Seeds { from: 3, count: 7 }));
        assert_eq!(seeds("42"), Ok(Seeds { from: 42, count: 1 }));
        let hash = seeds("0f5ca4d98be9b54e5f1b74bea5b1abc5e9bd2b3d");
        assert_eq!(hash, seeds("0F5CA4D98BE9B54E5F1B74BEA5B1ABC5E9BD2B3D"));
        assert_ne!(hash, seeds("0f5ca4d98be9b54e5f1b74bea5b1abc5e9bd2b3e"));
        assert!(seeds("10..3").is_err() && seeds("main").is_err() && seeds("..").is_err());
    }

    #[test]
    fn spans_and_shards_say_what_they_should_have_been() {
        assert_eq!(span("10m"), Ok(std::time::Duration::from_secs(600)));
        assert!(span("10").is_err() && span("").is_err() && span("xs").is_err());
        assert_eq!(shard("2/8"), Ok((1, 8)));
        assert!(shard("0/8").is_err() && shard("9/8").is_err() && shard("8").is_err());
    }
}
