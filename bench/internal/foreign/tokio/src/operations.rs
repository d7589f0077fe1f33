//! The costs of single calls.

use crate::alloc;
use crate::sample::{Sample, Spec};
use crate::timers::{fill, parallel, reset, schedule as timeout, Random, Timeout, MINUTE, SECOND};
use crate::usage;
use std::time::{Duration, Instant};

const COUNTED: u64 = 1000; // operations whose allocations are counted

pub fn schedule(spec: &Spec, sample: &mut Sample) {
    let each = spec.n / spec.producers;
    let make = |i: usize| (Random(2 + i as u64), Vec::<Timeout>::with_capacity(each + 3 * COUNTED as usize));
    measure(spec, sample, make, |(random, held)| held.push(timeout(random.far())));
}

pub fn cancel(spec: &Spec, sample: &mut Sample) {
    measure(spec, sample, |_| (), |_| drop(timeout(MINUTE)));
}

/// Resets each timeout to be due within one second after the last reset, and waits for all.
pub fn reset_all(spec: &Spec, sample: &mut Sample) {
    let mut held = fill(spec.pending);
    std::thread::sleep(Duration::from_millis(100));
    let (n, lead) = (spec.pending as f64, 2 * SECOND + spec.pending as u64 * 2000);
    let mut random = Random(1);
    let (began, cpu) = (Instant::now(), usage::cpu_nanos());
    for timeout in &mut held {
        reset(timeout, (lead + random.below(SECOND)).saturating_sub(began.elapsed().as_nanos() as u64));
    }
    sample.put("wall_ns", began.elapsed().as_nanos() as f64 / n);
    std::thread::sleep(Duration::from_nanos(lead + SECOND + 100_000_000).saturating_sub(began.elapsed()));
    sample.put("cpu_ns", (usage::cpu_nanos() - cpu) / n);
    std::mem::forget(held);
}

/// Times an operation of each producer on top of the background.
fn measure<S: Send>(spec: &Spec, sample: &mut Sample, make: impl Fn(usize) -> S, operation: impl Fn(&mut S) + Sync) {
    let background = fill(spec.pending);
    let states: Vec<S> = (0..spec.producers).map(make).collect();
    let each = (spec.n / spec.producers) as u64;
    let (states, _) = parallel(states, |state| repeat(each.min(COUNTED), state, &operation)); // warm-up
    std::thread::sleep(Duration::from_millis(100));
    let (began, cpu) = (Instant::now(), usage::cpu_nanos());
    let (mut states, done) = parallel(states, |state| repeat(each, state, &operation));
    sample.put("wall_ns", began.elapsed().as_nanos() as f64 * spec.producers as f64 / done as f64);
    sample.put("cpu_ns", (usage::cpu_nanos() - cpu) / done as f64);
    let (_, allocated) = alloc::during(|| repeat(COUNTED, &mut states[0], &operation));
    sample.put("bytes", allocated.bytes / COUNTED as f64);
    sample.put("allocs", allocated.count / COUNTED as f64);
    std::mem::forget((background, states));
}

fn repeat<S>(n: u64, state: &mut S, operation: &(impl Fn(&mut S) + Sync)) -> u64 {
    for _ in 0..n {
        operation(state);
    }
    n
}
