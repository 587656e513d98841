//! The mark that everything we start carries in its environment.
//!
//! `LONGRUN_TASK` holds `<nonce>/<serial>`: the nonce is drawn once in the life of the
//! host, the serial counts its processes. What was started inherits it, so whoever left
//! the session is still known by it. A host that runs inside a task of another one
//! appends, with a colon between, so that the outer one finds all of it too.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::random;

/// The name of the variable.
pub(crate) const NAME: &str = "LONGRUN_TASK";

static NONCE: OnceLock<String> = OnceLock::new();
static SERIALS: AtomicU64 = AtomicU64::new(1);

/// Most environments are smaller, and then one call reads them.
const COMMON_BYTES: usize = 16 * 1024;

/// The number of a process that this host started. Never used twice.
pub(crate) type Serial = u64;

/// The next one.
pub(crate) fn next_serial() -> Serial {
    SERIALS.fetch_add(1, Ordering::Relaxed)
}

/// What tells the processes of this host from those of any other.
pub(crate) fn nonce() -> &'static str {
    NONCE.get_or_init(random::hex)
}

/// What the variable says to the process with that serial.
pub(crate) fn value(serial: Serial) -> OsString {
    let mut value = env::var_os(NAME).filter(|outer| !outer.is_empty()).unwrap_or_default();
    if !value.is_empty() {
        value.push(":");
    }
    value.push(format!("{}/{serial}", nonce()));
    value
}

/// Which of our serials a process carries. None if its environment may not be read, has
/// been overwritten by the process itself, or is gone with it.
///
/// # Errors
///
/// If it could not be known, for lack of descriptors for example.
pub(crate) fn serials_of(pid: i32) -> io::Result<Vec<Serial>> {
    match environment_of(pid) {
        Ok(environment) => Ok(parse(&environment, nonce())),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => Ok(Vec::new()),
            _ => Err(error),
        },
    }
}

fn environment_of(pid: i32) -> io::Result<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/environ"))?;
    let mut environment = vec![0; COMMON_BYTES];
    let mut length = 0;
    loop {
        let read = file.read(&mut environment[length..])?;
        length += read;
        if read == 0 {
            environment.truncate(length);
            return Ok(environment);
        }
        if length == environment.len() {
            environment.resize(2 * length, 0);
        }
    }
}

fn parse(environment: &[u8], nonce: &str) -> Vec<Serial> {
    let values = environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(NAME.as_bytes())?.strip_prefix(b"="));
    let marks = values.flat_map(|value| value.split(|byte| *byte == b':'));
    marks
        .filter_map(|mark| {
            let serial = mark.strip_prefix(nonce.as_bytes())?.strip_prefix(b"/")?;
            std::str::from_utf8(serial).ok()?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: B6
    #[test]
    fn only_whole_marks_of_this_host_are_read() {
        let read = |text: &str| parse(text.as_bytes(), "ab");
        assert_eq!(read("PATH=/bin\0LONGRUN_TASK=ab/7\0HOME=/"), [7]);
        assert_eq!(read("LONGRUN_TASK=outer/1:ab/7:ab/8:inner/9\0"), [7, 8]);
        for other in [
            "",
            "LONGRUN_TASK=",
            "LONGRUN_TASK=ab/",
            "LONGRUN_TASK=ab7",
            "LONGRUN_TASK=xab/7",
            "LONGRUN_TASK=ab/7x",
            "LONGRUN_TASKS=ab/7",
            "MY_LONGRUN_TASK=ab/7",
            "A=LONGRUN_TASK=ab/7",
        ] {
            assert_eq!(read(other), Vec::<Serial>::new(), "{other}");
        }
    }

    // contract: B6
    #[test]
    fn serials_differ_and_the_nonce_stays() {
        assert_ne!(next_serial(), next_serial());
        assert_eq!(nonce(), nonce());
        assert_eq!(nonce().len(), 16);
    }
}
