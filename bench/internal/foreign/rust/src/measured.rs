//! The parts of a measurement.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Nanoseconds since an instant.
pub fn wall(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

/// Counts allocations while it is on.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ON: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicI64 = AtomicI64::new(0);
static FREED: AtomicI64 = AtomicI64::new(0);

// Safety: the system's allocator does all of the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ON.load(Relaxed) {
            BYTES.fetch_add(layout.size() as i64, Relaxed);
        }
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if ON.load(Relaxed) {
            FREED.fetch_add(layout.size() as i64, Relaxed);
        }
        System.dealloc(p, layout)
    }
}

pub struct Allocated {
    pub bytes: f64,
    pub held: f64, // bytes that were not freed
}

/// Calls f once per process, and counts its allocations.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, Allocated) {
    ON.store(true, Relaxed);
    let result = f();
    ON.store(false, Relaxed);
    let (bytes, freed) = (BYTES.load(Relaxed) as f64, FREED.load(Relaxed) as f64);
    (result, Allocated { bytes, held: bytes - freed })
}

/// The resources that the process uses from now on, in nanoseconds.
pub struct Usage {
    began: Instant,
    before: f64,
}

impl Usage {
    pub fn begin() -> Usage {
        Usage { began: Instant::now(), before: cpu_nanos() }
    }

    pub fn wall(&self) -> f64 {
        wall(self.began) as f64
    }

    /// CPU time of all threads.
    pub fn cpu(&self) -> f64 {
        cpu_nanos() - self.before
    }
}

fn cpu_nanos() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safety: t is writable.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    assert_eq!(failed, 0);
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

/// The peak memory of the process, in MB.
pub fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    kib.trim_end_matches("kB").trim().parse::<f64>().unwrap_or(0.0) * 1024.0 / 1e6
}

/// Timeouts whose lateness is measured.
pub struct Probes {
    start: Instant,
    deadline: Vec<AtomicI64>,
    late: Vec<AtomicI64>, // 0 until it fires
    next: AtomicUsize,
    fired: AtomicUsize,
    repeated: AtomicUsize,
}

impl Probes {
    /// Returns room for n probes.
    pub fn new(n: usize) -> Arc<Probes> {
        let zeros = || (0..n).map(|_| AtomicI64::new(0)).collect();
        Arc::new(Probes {
            start: Instant::now(),
            deadline: zeros(),
            late: zeros(),
            next: AtomicUsize::new(0),
            fired: AtomicUsize::new(0),
            repeated: AtomicUsize::new(0),
        })
    }

    pub fn now(&self) -> u64 {
        wall(self.start)
    }

    /// Adds a probe that is about to be scheduled, if there is room for it.
    pub fn add(&self, delay: u64) -> Option<usize> {
        if self.next.load(Relaxed) >= self.late.len() {
            return None;
        }
        let i = self.next.fetch_add(1, Relaxed);
        self.deadline.get(i)?.store((self.now() + delay) as i64, Relaxed);
        Some(i)
    }

    /// Records that a probe fires.
    pub fn fire(&self, i: usize) {
        let late = self.now() as i64 - self.deadline[i].load(Relaxed);
        let first = self.late[i].swap(if late == 0 { 1 } else { late }, Relaxed) == 0;
        let count = if first { &self.fired } else { &self.repeated };
        count.fetch_add(1, Relaxed);
    }

    fn count(&self) -> usize {
        self.next.load(Relaxed).min(self.late.len())
    }

    pub fn all_fired(&self) -> bool {
        self.fired.load(Relaxed) >= self.count()
    }

    /// Waits for the probes. An unfired probe counts with its lateness so far.
    pub fn put(&self, sample: &mut Sample, patience: u64) {
        let began = Instant::now();
        while !self.all_fired() && wall(began) < patience {
            sleep(Duration::from_millis(10));
        }
        let now = self.now() as i64;
        let lateness = |i: usize| match self.late[i].load(Relaxed) {
            0 => (now - self.deadline[i].load(Relaxed)).max(0),
            late => late,
        };
        let ms = (0..self.count()).map(|i| lateness(i) as f64 / 1e6).collect();
        sample.put("lost", (self.count() - self.fired.load(Relaxed)) as f64);
        sample.put("repeated", self.repeated.load(Relaxed) as f64);
        sample.put_lateness(ms);
    }
}

/// Ends the process with a reason instead of a result.
pub fn fail(reason: &str) -> ! {
    println!("{{\"failure\":\"{reason}\"}}");
    std::process::exit(0)
}

/// The result of the process.
#[derive(Default)]
pub struct Sample {
    metrics: BTreeMap<&'static str, f64>,
}

impl Sample {
    pub fn put(&mut self, name: &'static str, value: f64) {
        self.metrics.insert(name, value);
    }

    /// Puts the distribution of values in milliseconds.
    fn put_lateness(&mut self, mut ms: Vec<f64>) {
        if ms.is_empty() {
            fail("nothing fired");
        }
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| ms[(share * (ms.len() - 1) as f64) as usize];
        self.put("early", ms.iter().take_while(|&&late| late < 0.0).count() as f64);
        self.put("late_min_ms", at(0.0));
        self.put("late_p50_ms", at(0.5));
        self.put("late_p99_ms", at(0.99));
        self.put("late_p999_ms", at(0.999));
        self.put("late_max_ms", at(1.0));
    }

    pub fn json(&self) -> String {
        let metrics: Vec<String> = self.metrics.iter().map(|(name, v)| format!("\"{name}\":{v:.6}")).collect();
        format!("{{\"metrics\":{{{}}}}}", metrics.join(","))
    }
}
