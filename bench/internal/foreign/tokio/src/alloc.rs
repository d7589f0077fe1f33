//! Counts what is allocated, while asked to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ON: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static FREED: AtomicI64 = AtomicI64::new(0);

// Safety: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ON.load(Relaxed) {
            COUNT.fetch_add(1, Relaxed);
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

/// What a function allocated.
pub struct Allocated {
    pub count: f64,
    pub bytes: f64,
    pub held: f64, // bytes that were not freed
}

pub fn during<T>(f: impl FnOnce() -> T) -> (T, Allocated) {
    let (count, bytes, freed) = (COUNT.load(Relaxed), BYTES.load(Relaxed), FREED.load(Relaxed));
    ON.store(true, Relaxed);
    let result = f();
    ON.store(false, Relaxed);
    let bytes = BYTES.load(Relaxed) - bytes;
    let allocated = Allocated {
        count: (COUNT.load(Relaxed) - count) as f64,
        bytes: bytes as f64,
        held: (bytes - (FREED.load(Relaxed) - freed)) as f64,
    };
    (result, allocated)
}
