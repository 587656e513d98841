//! What happens in the child between fork and exec: the only unsafe code of the
//! process layer.
//!
//! In there the child is a copy of one thread of the host, so nothing may be
//! called that could wait for a lock another thread held: no allocation, no
//! stdio, only system calls.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// The size of the kernel's own signal set, which it wants to hear.
const SIGNAL_SET_BYTES: u8 =
    if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 16 } else { 8 };

/// Signals are numbered from one to this.
const LAST_SIGNAL: u8 = SIGNAL_SET_BYTES * 8;

/// Everything above standard error.
const FIRST_PRIVATE_FD: libc::c_int = 3;

/// Makes `command` start as the leader of a session of its own, with default
/// signal handling and with no descriptors but 0, 1 and 2.
pub(crate) fn detach_from_host(command: &mut Command) {
    // SAFETY: `in_child` and all that it calls are system calls without
    // allocation or locks, which is what a forked child of a threaded host may do.
    unsafe { command.pre_exec(in_child) };
}

fn in_child() -> io::Result<()> {
    rustix::process::setsid()?;
    reset_signals();
    close_on_exec(FIRST_PRIVATE_FD)
}

/// An ignored signal stays ignored across exec, and a blocked one blocked: a
/// shell under a host that ignores SIGPIPE would never see `yes | head` end.
fn reset_signals() {
    // All zero is "default action, no flags, empty mask" in the kernel's own
    // struct on every architecture; 64 bytes are more than any of them reads.
    let default_action = [0_u64; 8];
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: the pointer is to memory larger than what the kernel reads, the
        // old action is not asked for. The C library's wrapper refuses the signals
        // it keeps for itself, which a grandparent may have ignored all the same;
        // SIGKILL and SIGSTOP answer an error that means nothing here.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                libc::c_int::from(signal),
                default_action.as_ptr(),
                ptr::null::<u64>(),
                libc::size_t::from(SIGNAL_SET_BYTES),
            );
        }
    }
    let nothing_blocked = [0_u64; 2];
    // SAFETY: as above; the set is as long as the size says.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            nothing_blocked.as_ptr(),
            ptr::null::<u64>(),
            libc::size_t::from(SIGNAL_SET_BYTES),
        );
    }
}

/// Marks every descriptor from `first` on to be closed by exec, those included
/// that the host opened without that mark.
fn close_on_exec(first: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers; descriptors are marked, not closed, so that the pipe
    // through which the standard library reports a failed exec stays open.
    let done = unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if done == 0 { Ok(()) } else { close_on_exec_one_by_one(first) }
}

/// The same for kernels before 5.11 and for sandboxes that refuse the call.
fn close_on_exec_one_by_one(first: libc::c_int) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is ours and of the right type.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let end = libc::c_int::try_from(limit.rlim_cur).unwrap_or(libc::c_int::MAX);
    for fd in first..end {
        // SAFETY: no pointers; a number that is no descriptor answers an error,
        // which is as good.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

    use super::*;

    // contract: B2
    #[test]
    fn without_close_range_descriptors_are_marked_one_by_one() {
        let file = File::open("/dev/null").unwrap();
        let high = rustix::io::fcntl_dupfd_cloexec(&file, 900).unwrap();
        fcntl_setfd(&high, FdFlags::empty()).unwrap();
        close_on_exec_one_by_one(high.as_raw_fd()).unwrap();
        assert_eq!(fcntl_getfd(&high).unwrap(), FdFlags::CLOEXEC);
    }
}
