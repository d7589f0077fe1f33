//! Timeouts whose lateness is measured.

use crate::sample::Sample;
use crate::timers::after;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

const UNUSED: i64 = i64::MIN;

pub struct Probes {
    start: Instant,
    deadline: Vec<AtomicI64>, // UNUSED until it is scheduled
    late: Vec<AtomicI64>,     // 0 until it fires
    next: AtomicUsize,
    fired: AtomicUsize,
    repeated: AtomicUsize,
}

impl Probes {
    /// Returns room for n probes.
    pub fn new(n: usize) -> Arc<Probes> {
        Arc::new(Probes {
            start: Instant::now(),
            deadline: (0..n).map(|_| AtomicI64::new(UNUSED)).collect(),
            late: (0..n).map(|_| AtomicI64::new(0)).collect(),
            next: AtomicUsize::new(0),
            fired: AtomicUsize::new(0),
            repeated: AtomicUsize::new(0),
        })
    }

    pub fn now(&self) -> i64 {
        self.start.elapsed().as_nanos() as i64
    }

    /// Schedules another probe, and returns whether there was room for it.
    pub fn schedule(self: &Arc<Probes>, delay: u64) -> bool {
        let i = match self.add(delay) {
            Some(i) => i,
            None => return false,
        };
        let probes = self.clone();
        drop(after(delay, move || probes.fire(i))); // the task goes on without its handle
        true
    }

    /// Adds a probe that is about to be scheduled, or reset, to run after the delay.
    pub fn add(&self, delay: u64) -> Option<usize> {
        if self.next.load(Relaxed) >= self.late.len() {
            return None;
        }
        let i = self.next.fetch_add(1, Relaxed);
        self.deadline.get(i)?.store(self.now() + delay as i64, Relaxed);
        Some(i)
    }

    /// Takes note that a probe runs.
    pub fn fire(&self, i: usize) {
        let late = self.now() - self.deadline[i].load(Relaxed);
        if self.late[i].swap(if late == 0 { 1 } else { late }, Relaxed) == 0 {
            self.fired.fetch_add(1, Relaxed);
        } else {
            self.repeated.fetch_add(1, Relaxed);
        }
    }

    pub fn all_fired(&self) -> bool {
        self.fired.load(Relaxed) >= self.next.load(Relaxed).min(self.late.len())
    }

    /// Waits for the probes. One that has not fired counts with what it is late by then.
    pub fn put(&self, sample: &mut Sample, patience: u64, shape: bool) {
        let began = Instant::now();
        while !self.all_fired() && (began.elapsed().as_nanos() as u64) < patience {
            sleep(Duration::from_millis(10));
        }
        let now = self.now();
        let mut unfired = 0;
        let mut ms = Vec::new();
        for (deadline, late) in self.deadline.iter().zip(&self.late) {
            let (deadline, mut late) = (deadline.load(Relaxed), late.load(Relaxed));
            if deadline == UNUSED {
                continue;
            }
            if late == 0 {
                late = (now - deadline).max(0);
                unfired += 1;
            }
            ms.push(late as f64 / 1e6);
        }
        sample.put("lost", unfired as f64);
        sample.put("repeated", self.repeated.load(Relaxed) as f64);
        sample.put_lateness(ms, shape);
    }
}
