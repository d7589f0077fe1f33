//! What is asked for and what is answered, in the words of the Go program.

use std::collections::BTreeMap;

/// One measurement. Times are in nanoseconds.
#[derive(Default)]
pub struct Spec {
    pub producers: usize,
    pub pending: usize,
    pub n: usize,
    pub span: u64,
    pub rate: u64,
    pub delay: u64,
}

impl Spec {
    pub fn parse(args: impl Iterator<Item = String>) -> Spec {
        let mut spec = Spec::default();
        for arg in args {
            let (name, value) = arg.split_once('=').expect("name=value");
            let value: u64 = value.parse().expect("a number");
            match name {
                "producers" => spec.producers = value as usize,
                "pending" => spec.pending = value as usize,
                "n" => spec.n = value as usize,
                "span" => spec.span = value,
                "rate" => spec.rate = value,
                "delay" => spec.delay = value,
                _ => {}
            }
        }
        spec
    }
}

/// As spec.Shares of the Go program.
const SHARES: [f64; 22] = [
    0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995,
    0.9999, 1.0,
];

/// What one process measured.
#[derive(Default)]
pub struct Sample {
    metrics: BTreeMap<&'static str, f64>,
    late: Vec<f64>,
    pub failure: Option<String>,
}

impl Sample {
    pub fn put(&mut self, name: &'static str, value: f64) {
        self.metrics.insert(name, value);
    }

    /// Puts how a lateness in milliseconds is distributed, and keeps its shape if asked to.
    pub fn put_lateness(&mut self, mut ms: Vec<f64>, shape: bool) {
        if ms.is_empty() {
            self.failure = Some("nothing fired".to_string());
            return;
        }
        ms.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        let at = |share: f64| ms[(share * (ms.len() - 1) as f64) as usize];
        self.put("early", ms.iter().take_while(|&&l| l < 0.0).count() as f64);
        self.put("late_min_ms", at(0.0));
        self.put("late_p50_ms", at(0.5));
        self.put("late_p99_ms", at(0.99));
        self.put("late_p999_ms", at(0.999));
        self.put("late_max_ms", at(1.0));
        if shape {
            self.late = SHARES.iter().map(|&share| at(share)).collect();
        }
    }

    pub fn json(&self) -> String {
        let metrics: Vec<String> = self.metrics.iter().map(|(name, v)| format!("\"{name}\":{v:.6}")).collect();
        let late: Vec<String> = self.late.iter().map(|ms| format!("{ms:.6}")).collect();
        let failure = match &self.failure {
            Some(text) => format!(",\"failure\":\"{text}\""),
            None => String::new(),
        };
        format!("{{\"metrics\":{{{}}},\"late\":[{}]{}}}", metrics.join(","), late.join(","), failure)
    }
}
