//! What the measurements have in common.

use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time::Sleep;

pub const SECOND: u64 = 1_000_000_000;
pub const MINUTE: u64 = 60 * SECOND;

/// A pending timeout. Dropping it cancels it.
pub type Timeout = Pin<Box<Sleep>>;

/// Schedules a timeout that nothing waits for: a sleep is pending once it was polled.
pub fn schedule(nanos: u64) -> Timeout {
    schedule_waking(nanos, &noop())
}

/// Schedules a timeout that calls the waker.
pub fn schedule_waking(nanos: u64, waker: &Waker) -> Timeout {
    let mut sleep = Box::pin(tokio::time::sleep(Duration::from_nanos(nanos)));
    let _ = sleep.as_mut().poll(&mut Context::from_waker(waker));
    sleep
}

pub fn reset(timeout: &mut Timeout, nanos: u64) {
    timeout.as_mut().reset(tokio::time::Instant::now() + Duration::from_nanos(nanos));
}

/// Runs a function when the delay has passed, on a task of its own.
pub fn after(nanos: u64, f: impl FnOnce() + Send + 'static) -> tokio::task::JoinHandle<()> {
    let due = tokio::time::Instant::now() + Duration::from_nanos(nanos);
    tokio::spawn(async move {
        tokio::time::sleep_until(due).await;
        f();
    })
}

/// A waker that wakes nothing and costs nothing.
fn noop() -> Waker {
    const TABLE: RawWakerVTable = RawWakerVTable::new(|_| RAW, |_| {}, |_| {}, |_| {});
    const RAW: RawWaker = RawWaker::new(ptr::null(), &TABLE);
    // Safety: the functions do nothing, whatever the pointer is.
    unsafe { Waker::from_raw(RAW) }
}

/// Random numbers, the same in every process: SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between 30 and 90 minutes.
    pub fn far(&mut self) -> u64 {
        30 * MINUTE + self.below(60 * MINUTE)
    }
}

/// Schedules n far timeouts.
pub fn fill(n: usize) -> Vec<Timeout> {
    let mut random = Random(1);
    (0..n).map(|_| schedule(random.far())).collect()
}

/// Runs work in so many threads, which may use the runtime, and returns the results.
pub fn parallel<T: Send>(each: Vec<T>, work: impl Fn(&mut T) -> u64 + Sync) -> (Vec<T>, u64) {
    let handle = Handle::current();
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = each
            .into_iter()
            .map(|mut state| {
                let handle = handle.clone();
                scope.spawn(move || {
                    let _context = handle.enter();
                    let done = work(&mut state);
                    (state, done)
                })
            })
            .collect();
        let mut states = Vec::new();
        let mut total = 0;
        for thread in threads {
            let (state, done) = thread.join().expect("a producer");
            states.push(state);
            total += done;
        }
        (states, total)
    })
}

/// Calls f for 0 to n-1 once every turn, evenly spread, until the span is over.
pub fn paced(n: u64, turn: u64, span: u64, mut f: impl FnMut(u64)) -> u64 {
    let began = Instant::now();
    let (mut done, mut skipped) = (0u64, 0u64);
    loop {
        let now = began.elapsed().as_nanos() as u64;
        if now >= span {
            return done;
        }
        let mut due = (n as f64 * now as f64 / turn as f64) as u64 - skipped;
        let most = n / 10;
        if due > done + most {
            skipped += due - done - most;
            due = done + most;
        }
        while done < due {
            f(done % n);
            done += 1;
            if done % 256 == 0 && began.elapsed().as_nanos() as u64 >= span {
                return done;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}
