//! Measures tokio's timers as the Go program measures the others: one measurement per process.

mod measured;

use measured::{allocated, fail, wall, Probes, Sample, Usage};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time::Sleep;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const PATIENCE: u64 = 5 * SECOND; // with unfired probes
const PROBE_ONE_IN: u64 = 16;
const COUNTED: u64 = 1000; // operations whose allocations are counted

/// The numbers of a measurement, by name.
type Spec = HashMap<String, u64>;

/// The arguments are the measurement, and its numbers as name=value.
fn main() {
    let mut args = std::env::args().skip(1);
    let measure = args.next().expect("a measurement");
    let spec: Spec = args
        .map(|arg| {
            let (name, value) = arg.split_once('=').expect("name=value");
            (name.to_string(), value.parse().expect("a number"))
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime");
    let _context = runtime.enter();
    let mut sample = Sample::default();
    match measure.as_str() {
        "cancel" => cancel(&spec, &mut sample),
        "heap" => heap(&spec, &mut sample),
        "expire" | "burst" => expire(&spec, &mut sample),
        "sustained" => sustained(&spec, &mut sample),
        other => panic!("no measurement {other}"),
    }
    println!("{}", sample.json());
    std::process::exit(0); // without dropping the pending timeouts
}

/// A pending timeout. Dropping it cancels it.
type Timeout = Pin<Box<Sleep>>;

/// Schedules a timeout that nothing waits for: a sleep is pending once it was polled.
fn schedule(nanos: u64) -> Timeout {
    const TABLE: RawWakerVTable = RawWakerVTable::new(|_| RAW, |_| {}, |_| {}, |_| {});
    const RAW: RawWaker = RawWaker::new(std::ptr::null(), &TABLE);
    // Safety: the functions do nothing, whatever the pointer is.
    let waker = unsafe { Waker::from_raw(RAW) };
    let mut timeout = Box::pin(tokio::time::sleep(Duration::from_nanos(nanos)));
    let _ = timeout.as_mut().poll(&mut Context::from_waker(&waker));
    timeout
}

/// Runs a function after the delay, in its own task, which continues without its handle.
fn after(nanos: u64, f: impl FnOnce() + Send + 'static) {
    let due = tokio::time::Instant::now() + Duration::from_nanos(nanos);
    drop(tokio::spawn(async move {
        tokio::time::sleep_until(due).await;
        f();
    }));
}

/// Schedules a probe, and returns whether there was room for it.
fn probe(probes: &Arc<Probes>, nanos: u64) -> bool {
    let Some(i) = probes.add(nanos) else { return false };
    let probes = probes.clone();
    after(nanos, move || probes.fire(i));
    true
}

/// Random numbers, the same in every process: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Schedules n timeouts that are due in 30 to 90 minutes.
fn fill(n: u64) -> Vec<Timeout> {
    let mut random = Random(1);
    let mut held = Vec::with_capacity(n as usize);
    for _ in 0..n {
        held.push(schedule(30 * MINUTE + random.below(60 * MINUTE)));
    }
    held
}

/// Runs producers in threads that may use the runtime, and returns the sum of their results.
fn all<T: Send>(producers: &mut [T], work: impl Fn(&mut T) -> u64 + Sync) -> u64 {
    let (runtime, work) = (Handle::current(), &work);
    thread::scope(|scope| {
        let start = |producer| {
            let runtime = runtime.clone();
            scope.spawn(move || {
                let _context = runtime.enter();
                work(producer)
            })
        };
        let threads: Vec<_> = producers.iter_mut().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("a producer")).sum()
    })
}

/// Schedules and cancels.
fn cancel(spec: &Spec, sample: &mut Sample) {
    let (n, producers) = (spec["n"], spec["producers"]);
    let background = fill(spec["pending"]);
    let cancelled = |n: u64| {
        (0..n).for_each(|_| drop(schedule(MINUTE)));
        n
    };
    cancelled(COUNTED); // warm-up
    sleep(Duration::from_millis(100));
    let used = Usage::begin();
    let done = all(&mut vec![(); producers as usize], |_| cancelled(n / producers)) as f64;
    sample.put("wall_ns", used.wall() * producers as f64 / done);
    sample.put("cpu_ns", used.cpu() / done);
    let (_, total) = allocated(|| cancelled(COUNTED));
    sample.put("bytes", total.bytes / COUNTED as f64);
    std::mem::forget(background);
}

/// Measures the heap per pending timeout, without the vector of handles.
fn heap(spec: &Spec, sample: &mut Sample) {
    let n = spec["pending"];
    let (background, total) = allocated(|| fill(n));
    sample.put("heap_bytes", total.held / n as f64 - std::mem::size_of::<Timeout>() as f64);
    std::mem::forget(background);
}

/// Measures many timeouts that are due within one second.
fn expire(spec: &Spec, sample: &mut Sample) {
    let n = spec["n"];
    let lead = 2 * SECOND + n.min(1_000_000) * 3000 + n.saturating_sub(1_000_000) * 1000;
    let probes = Probes::new(n as usize);
    let mut random = Random(1);
    for _ in 0..n {
        probe(&probes, (lead + random.below(SECOND)).saturating_sub(probes.now()));
    }
    if probes.now() > lead {
        fail(&format!("took more than {} ms to schedule {n} timeouts", lead / 1_000_000));
    }
    sleep(Duration::from_nanos((lead - SECOND / 20).saturating_sub(probes.now())));
    let used = Usage::begin();
    while !probes.all_fired() && probes.now() < lead + spec["span"] {
        sleep(Duration::from_millis(10));
    }
    sample.put("done_ms", (probes.now() as f64 - lead as f64) / 1e6);
    sample.put("cpu_ns", used.cpu() / n as f64);
    probes.put(sample, 0);
}

/// Schedules at a rate; half of the timeouts are cancelled after half their delay.
fn sustained(spec: &Spec, sample: &mut Sample) {
    let (rate, delay, span) = (spec["rate"], spec["delay"], spec["span"]);
    let each = rate / spec["producers"];
    let most = (each * delay / (4 * SECOND)) as usize + 1;
    let mut producers: Vec<Producer> = (0..spec["producers"])
        .map(|_| Producer { rate: each, delay, held: VecDeque::new(), most, steps: 0 })
        .collect();
    let (none, probes) = (Probes::new(0), Probes::new((rate * span / SECOND / PROBE_ONE_IN + PROBE_ONE_IN) as usize));
    all(&mut producers, |producer| producer.run(&none, delay + delay / 4));
    let used = Usage::begin();
    let done = all(&mut producers, |producer| producer.run(&probes, span)) as f64;
    let seconds = used.wall() / 1e9;
    sample.put("cpu_ns", used.cpu() / done.max(1.0));
    sample.put("behind", (100.0 * (1.0 - done / (rate as f64 * seconds))).max(0.0));
    sample.put("peak_mb", measured::peak_mb());
    probes.put(sample, delay + PATIENCE);
    std::mem::forget(producers);
}

/// Schedules at a pace.
struct Producer {
    rate: u64, // per second
    delay: u64,
    held: VecDeque<Timeout>, // to cancel
    most: usize,             // in held
    steps: u64,
}

impl Producer {
    /// Catches up at most a tenth of a second, and returns the number of timeouts.
    fn run(&mut self, probes: &Arc<Probes>, span: u64) -> u64 {
        let began = Instant::now();
        let (mut done, mut skipped) = (0, 0);
        while wall(began) < span {
            let mut due = (self.rate as f64 * wall(began) as f64 / SECOND as f64) as u64 - skipped;
            let limit = done + self.rate / 10;
            if due > limit {
                skipped += due - limit;
                due = limit;
            }
            while done < due && (done % 256 != 0 || wall(began) < span) {
                self.step(probes);
                done += 1;
            }
            sleep(Duration::from_millis(1));
        }
        done
    }

    fn step(&mut self, probes: &Arc<Probes>) {
        self.steps += 1;
        if self.steps % 2 == 0 {
            if self.held.len() == self.most {
                self.held.pop_front();
            }
            self.held.push_back(schedule(self.delay));
        } else if self.steps % PROBE_ONE_IN != 1 || !probe(probes, self.delay) {
            after(self.delay, || {});
        }
    }
}
