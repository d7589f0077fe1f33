//! Measures tokio's timers as the Go program measures the others: one measurement per process.

mod alloc;
mod expire;
mod loads;
mod operations;
mod probes;
mod sample;
mod timers;
mod usage;
mod waiting;

use sample::{Sample, Spec};

fn main() {
    let mut args = std::env::args().skip(1);
    let measure = args.next().expect("a measurement");
    let spec = Spec::parse(args);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime");
    let _context = runtime.enter();
    let mut sample = Sample::default();
    match measure.as_str() {
        "schedule" => operations::schedule(&spec, &mut sample),
        "cancel" => operations::cancel(&spec, &mut sample),
        "reset-each" => operations::reset_all(&spec, &mut sample),
        "heartbeats" => waiting::heartbeats(&spec, &mut sample),
        "heap" => waiting::heap(&spec, &mut sample),
        "expire" | "burst" => expire::expire(&spec, &mut sample),
        "full-speed" => loads::churn(&spec, &mut sample),
        "sustained" => loads::sustained(&spec, &mut sample),
        "trickle" => loads::trickle(&spec, &mut sample),
        _ => sample.failure = Some("not measured".to_string()),
    }
    println!("{}", sample.json());
    std::process::exit(0); // without dropping the pending timeouts
}
