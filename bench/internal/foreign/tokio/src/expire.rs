//! Many timeouts coming due within one second.

use crate::probes::Probes;
use crate::sample::{Sample, Spec};
use crate::timers::{Random, SECOND};
use crate::usage;
use std::thread::sleep;
use std::time::Duration;

pub fn expire(spec: &Spec, sample: &mut Sample) {
    let lead = 2 * SECOND + spec.n.min(1_000_000) as u64 * 3000 + spec.n.saturating_sub(1_000_000) as u64 * 1000;
    let probes = Probes::new(spec.n);
    let mut random = Random(1);
    for _ in 0..spec.n {
        let deadline = (lead + random.below(SECOND)) as i64;
        probes.schedule((deadline - probes.now()).max(0) as u64);
    }
    let left = lead as i64 - probes.now();
    if left < 0 {
        sample.failure = Some(format!("took more than {} ms to schedule {} timeouts", lead / 1_000_000, spec.n));
        return;
    }
    sleep(Duration::from_nanos((left - 50_000_000).max(0) as u64));
    let cpu = usage::cpu_nanos();
    while !probes.all_fired() && probes.now() < (lead + spec.span) as i64 {
        sleep(Duration::from_millis(10));
    }
    sample.put("done_ms", (probes.now() - lead as i64) as f64 / 1e6);
    sample.put("cpu_ns", (usage::cpu_nanos() - cpu) / spec.n as f64);
    probes.put(sample, 0, true);
}
