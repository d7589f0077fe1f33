//! Counts timeouts that were early, lost or repeated, and cancels that were ignored.

use crate::sample::{Sample, Spec};
use crate::timers::{after, Random, SECOND};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const EVERY: i64 = 10_000;
const TICK: u64 = 1_000_000;
const MARGIN: i64 = 100_000_000; // a cancel that returned so long before was ignored

/// What a timeout did. Times count from the start.
#[derive(Default)]
struct Fate {
    fired: AtomicI64,
    times: AtomicU32,
}

/// One timeout under test.
#[derive(Default)]
struct Subject {
    delay: u64,
    deadline: i64, // counted from before the call, so the earliest that it can be
    handle: Option<JoinHandle<()>>,
    cancelled: i64, // when the cancel returned, or 0
    fate: Arc<Fate>,
}

pub fn correct(spec: &Spec, sample: &mut Sample) {
    let mut subjects: Vec<Subject> = (0..spec.n).map(|_| Subject::default()).collect();
    let events = plan(&mut subjects, spec.span);
    let start = Instant::now();
    let now = || start.elapsed().as_nanos() as i64;
    for (at, i, cancel) in events {
        if at - now() > 1_000_000 {
            sleep(Duration::from_nanos((at - now()).max(0) as u64));
        }
        let s = &mut subjects[i];
        if cancel {
            if let Some(handle) = &s.handle {
                handle.abort();
            }
            s.cancelled = now();
            continue;
        }
        let fate = s.fate.clone();
        s.deadline = now() + s.delay as i64;
        s.handle = Some(after(s.delay, move || {
            let fired = start.elapsed().as_nanos() as i64;
            if fate.times.fetch_add(1, Relaxed) == 0 {
                fate.fired.store(fired, Relaxed);
            }
        }));
    }
    let last = subjects.iter().map(|s| s.deadline).max().unwrap_or(0);
    sleep(Duration::from_nanos((last - now()).max(0) as u64 + TICK + SECOND.max(2 * spec.span)));
    judge(&subjects, sample);
}

/// Gives each subject a delay, and returns what to do when: a third is to be cancelled, half of
/// those about when they may fire.
fn plan(subjects: &mut [Subject], span: u64) -> Vec<(i64, usize, bool)> {
    let mut random = Random(3);
    let mut events = Vec::new();
    for (i, s) in subjects.iter_mut().enumerate() {
        let at = i as i64 * EVERY;
        s.delay = 1 + random.below(span);
        if random.below(10) == 0 {
            s.delay += 7 * span / 2;
        }
        events.push((at, i, false));
        match i % 6 {
            0 => events.push((at + random.below(s.delay) as i64, i, true)),
            1 => events.push((at + (s.delay as i64 + random.below(3 * TICK) as i64 - TICK as i64).max(0), i, true)),
            _ => {}
        }
    }
    events.sort_by_key(|event| event.0);
    events
}

fn judge(subjects: &[Subject], sample: &mut Sample) {
    let (mut early, mut early_ms, mut lost, mut repeated, mut revived) = (0.0, 0.0f64, 0.0, 0.0, 0.0);
    for s in subjects {
        let (times, fired) = (s.fate.times.load(Relaxed), s.fate.fired.load(Relaxed));
        if times > 0 && fired < s.deadline {
            early += 1.0;
            early_ms = early_ms.max((s.deadline - fired) as f64 / 1e6);
        }
        repeated += f64::from(u8::from(times > 1));
        lost += f64::from(u8::from(times == 0 && s.cancelled == 0));
        revived += f64::from(u8::from(times > 0 && s.cancelled > 0 && fired > s.cancelled + MARGIN));
    }
    sample.put("early", early);
    sample.put("early_ms", early_ms);
    sample.put("lost", lost);
    sample.put("repeated", repeated);
    sample.put("revived", revived);
    sample.put("refused", 0.0);
}
