//! Resets at full speed.

use crate::loads::{Load, BATCH, PATIENCE, PROBE_DELAY};
use crate::probes::Probes;
use crate::sample::{Sample, Spec};
use crate::timers::{fill, reset, schedule_waking, Random, Timeout, MINUTE};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

const FAR: u64 = 30 * 60 * MINUTE;
const PROBE_EVERY: u64 = 10_000_000;

/// Takes note that a probe fires. Nothing else waits for it.
struct Fire {
    probes: Arc<Probes>,
    i: usize,
}

impl Wake for Fire {
    fn wake(self: Arc<Fire>) {
        self.probes.fire(self.i);
    }
}

/// Resets timeouts as fast as it can; probes that are far ahead are reset to a short delay.
pub fn reset_storm(spec: &Spec, sample: &mut Sample) {
    let probes = Probes::new((spec.span / PROBE_EVERY) as usize + 1);
    let mut others: Vec<Timeout> = (0..(spec.span / PROBE_EVERY) as usize + 1)
        .map(|i| schedule_waking(FAR, &Waker::from(Arc::new(Fire { probes: probes.clone(), i }))))
        .collect();
    let mut held = fill(spec.pending);
    let mut random = Random(2);
    let load = Load::begin();
    let began = Instant::now();
    let (mut done, mut probe) = (0, 0);
    loop {
        let now = began.elapsed().as_nanos() as u64;
        if now >= spec.span {
            break;
        }
        if now >= probe {
            if let Some(i) = probes.add(PROBE_DELAY) {
                reset(&mut others[i], PROBE_DELAY);
            }
            probe = now + PROBE_EVERY;
        }
        for _ in 0..BATCH {
            reset(&mut held[done as usize % spec.pending], random.far());
            done += 1;
        }
    }
    load.put(sample, done, 0);
    probes.put(sample, PATIENCE, false);
    std::mem::forget((others, held));
}
