//! The costs of pending timeouts, and of timeouts reset at an even pace.

use crate::alloc;
use crate::sample::{Sample, Spec};
use crate::timers::{paced, reset, schedule, Timeout};
use crate::usage;
use std::time::Instant;

pub fn heap(spec: &Spec, sample: &mut Sample) {
    let mut holder: Vec<Timeout> = Vec::with_capacity(spec.pending); // not the timer's
    let (_, allocated) = alloc::during(|| {
        let mut random = crate::timers::Random(1);
        holder.extend((0..spec.pending).map(|_| schedule(random.far())));
    });
    sample.put("heap_bytes", allocated.held / spec.pending as f64);
    std::mem::forget(holder);
}

pub fn heartbeats(spec: &Spec, sample: &mut Sample) {
    let (n, delay) = (spec.pending as u64, spec.span);
    let mut held: Vec<Timeout> = Vec::with_capacity(spec.pending);
    let turn = delay / 2;
    let mut beat = |i: u64| match held.get_mut(i as usize) {
        Some(timeout) => reset(timeout, delay),
        None => held.push(schedule(delay)),
    };
    paced(n, turn, turn, &mut beat);
    paced(n, turn, turn, &mut beat);
    measure(sample, n, turn, delay, beat);
    std::mem::forget(held);
}

fn measure(sample: &mut Sample, n: u64, turn: u64, span: u64, f: impl FnMut(u64)) {
    let (began, cpu) = (Instant::now(), usage::cpu_nanos());
    let done = paced(n, turn, span, f);
    let wall = began.elapsed().as_nanos() as f64;
    let used = usage::cpu_nanos() - cpu;
    sample.put("cpu_ns", used / done.max(1) as f64);
    sample.put("core_pct", 100.0 * used / wall);
    sample.put("behind", (100.0 * (1.0 - done as f64 / (n as f64 * wall / turn as f64))).max(0.0));
}
