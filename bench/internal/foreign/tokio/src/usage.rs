//! What the process has used so far.

use std::fs;

/// CPU time of all threads, in nanoseconds.
pub fn cpu_nanos() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safety: t is writable, and the clock is there on every Unix system.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    assert_eq!(failed, 0);
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

/// Voluntary context switches.
pub fn wakeups() -> f64 {
    // Safety: all zeros is a value of the type, and a process can read its own usage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    usage.ru_nvcsw as f64
}

/// The most memory that the process has held, in MB.
pub fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    let digits: String = kib.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<f64>().unwrap_or(0.0) * 1024.0 / 1e6
}
