//! Sustained loads: lateness, CPU time, and memory.

use crate::probes::Probes;
use crate::sample::{Sample, Spec};
use crate::timers::{after, fill, paced, parallel, schedule, Random, Timeout, MINUTE, SECOND};
use crate::usage;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROBE_DELAY: u64 = 5_000_000;
const PROBE_EVERY: u64 = 1_000_000;
const PATIENCE: u64 = 5 * SECOND;
const PROBE_ONE_IN: u64 = 16;
const BATCH: u64 = 64;
const TRICKLE_DELAY: u64 = 20_000_000;
const TRICKLE_CANCEL: u64 = 3_000_000;

/// Producers keep timeouts pending: an operation schedules one and cancels the oldest.
pub fn churn(spec: &Spec, sample: &mut Sample) {
    let pools: Vec<Pool> = (0..spec.producers).map(|_| Pool { held: pool(spec.pending), oldest: 0 }).collect();
    let probes = Probes::new(spec.producers * (spec.span / PROBE_EVERY + 1) as usize);
    let load = Load::begin();
    let (pools, done) = parallel(pools, |pool| pool.full_speed(&probes, spec.span));
    load.put(sample, done, 0);
    probes.put(sample, PATIENCE, false);
    std::mem::forget(pools);
}

fn pool(n: usize) -> Vec<Timeout> {
    (0..n).map(|_| schedule(MINUTE)).collect()
}

/// The pending timeouts of one producer.
struct Pool {
    held: Vec<Timeout>,
    oldest: usize,
}

impl Pool {
    fn step(&mut self) {
        self.held[self.oldest] = schedule(MINUTE);
        self.oldest = (self.oldest + 1) % self.held.len();
    }

    fn full_speed(&mut self, probes: &Arc<Probes>, span: u64) -> u64 {
        let began = Instant::now();
        let (mut done, mut probe) = (0, 0);
        loop {
            let now = began.elapsed().as_nanos() as u64;
            if now >= span {
                return done;
            }
            if now >= probe {
                probes.schedule(PROBE_DELAY);
                probe = now + PROBE_EVERY;
            }
            for _ in 0..BATCH {
                self.step();
            }
            done += BATCH;
        }
    }
}

/// Timeouts at a rate, half of them cancelled after half their delay.
pub fn sustained(spec: &Spec, sample: &mut Sample) {
    let rate = spec.rate / spec.producers as u64;
    let cancelled = (rate as f64 * spec.delay as f64 / 4e9) as usize + 1;
    let producers: Vec<Mixed> =
        (0..spec.producers).map(|_| Mixed { delay: spec.delay, held: VecDeque::new(), most: cancelled, steps: 0 }).collect();
    let none = Probes::new(0);
    let probes = Probes::new((spec.rate as f64 * spec.span as f64 / 1e9) as usize / PROBE_ONE_IN as usize + 16);
    let (producers, _) = parallel(producers, |p| p.run(&none, rate, spec.delay + spec.delay / 4));
    let load = Load::begin();
    let (producers, done) = parallel(producers, |p| p.run(&probes, rate, spec.span));
    load.put(sample, done, spec.rate);
    probes.put(sample, spec.delay + PATIENCE, false);
    std::mem::forget(producers);
}

/// Schedules at a pace; some of the timeouts are cancelled.
struct Mixed {
    delay: u64,
    held: VecDeque<Timeout>,
    most: usize,
    steps: u64,
}

impl Mixed {
    fn run(&mut self, probes: &Arc<Probes>, rate: u64, span: u64) -> u64 {
        paced(rate, SECOND, span, |_| {
            self.steps += 1;
            if self.steps % 2 == 0 {
                if self.held.len() == self.most {
                    self.held.pop_front();
                }
                self.held.push_back(schedule(self.delay));
            } else if self.steps % PROBE_ONE_IN != 1 || !probes.schedule(self.delay) {
                drop(after(self.delay, || {}));
            }
        })
    }
}

/// A few timeouts per second, half of them cancelled.
pub fn trickle(spec: &Spec, sample: &mut Sample) {
    let far = fill(1); // warm-up
    let mut trickle = Trickle { random: Random(5), gap: SECOND / spec.rate };
    trickle.run(&Probes::new(spec.rate as usize), SECOND / 2);
    let probes = Probes::new((spec.rate as f64 * spec.span as f64 / 1e9) as usize + 100);
    let load = Load::begin();
    let wakeups = usage::wakeups();
    let done = trickle.run(&probes, spec.span);
    let wall = load.began.elapsed().as_nanos() as f64;
    sample.put("wakeups", (usage::wakeups() - wakeups) * 1e9 / wall);
    sample.put("core_pct", 100.0 * (usage::cpu_nanos() - load.cpu) / wall);
    load.put(sample, done, 0);
    probes.put(sample, PATIENCE, false);
    std::mem::forget(far);
}

/// Schedules at random times, and sleeps in between.
struct Trickle {
    random: Random,
    gap: u64,
}

impl Trickle {
    fn run(&mut self, probes: &Arc<Probes>, span: u64) -> u64 {
        let began = Instant::now();
        let mut shorts: VecDeque<(u64, Timeout)> = VecDeque::new();
        let (mut done, mut next) = (0, 0);
        loop {
            let now = began.elapsed().as_nanos() as u64;
            if now >= span {
                return done;
            }
            while next <= now {
                done += 1;
                if done % 2 == 0 {
                    shorts.push_back((now + TRICKLE_CANCEL, schedule(TRICKLE_DELAY)));
                } else {
                    probes.schedule(TRICKLE_DELAY);
                }
                next += (-(1.0 - self.random.unit()).ln() * self.gap as f64) as u64;
            }
            while shorts.front().map_or(false, |(at, _)| *at <= now) {
                shorts.pop_front();
            }
            let wake = shorts.front().map_or(span, |(at, _)| *at).min(next).min(span);
            sleep(Duration::from_nanos(wake.saturating_sub(began.elapsed().as_nanos() as u64)));
        }
    }
}

/// What a load used.
pub struct Load {
    began: Instant,
    cpu: f64,
}

impl Load {
    pub fn begin() -> Load {
        Load { began: Instant::now(), cpu: usage::cpu_nanos() }
    }

    pub fn put(&self, sample: &mut Sample, done: u64, rate: u64) {
        let wall = self.began.elapsed().as_nanos() as f64;
        let wanted = rate as f64 * wall / 1e9;
        sample.put("per_s", done as f64 * 1e9 / wall);
        sample.put("cpu_ns", (usage::cpu_nanos() - self.cpu) / done.max(1) as f64);
        sample.put("behind", if rate == 0 { 0.0 } else { (100.0 * (1.0 - done as f64 / wanted)).max(0.0) });
        sample.put("peak_mb", usage::peak_mb());
    }
}
