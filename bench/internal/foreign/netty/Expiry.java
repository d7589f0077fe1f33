import io.netty.util.Timer;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/** Many timeouts coming due within one second. */
final class Expiry {
    private static final long UNFIRED = Long.MIN_VALUE;

    // As spec.Shares of the Go program.
    private static final double[] SHARES = {
        0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995,
        0.9999, 1,
    };

    private Expiry() { }

    static void expire(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int n = spec.get("n").intValue();
        round(n, spec.get("span"), new Harness.Sample()); // until it is compiled
        round(n, spec.get("span"), sample);
    }

    private static void round(int n, long span, Harness.Sample sample) throws Exception {
        Timer timer = Timers.create();
        AtomicLongArray late = new AtomicLongArray(n);
        AtomicInteger fired = new AtomicInteger();
        AtomicInteger repeated = new AtomicInteger();
        long lead = 2_000_000_000L + Math.min(n, 1_000_000) * 3000L + Math.max(n - 1_000_000, 0) * 1000L;
        long start = System.nanoTime();
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < n; i++) {
            int me = i;
            late.set(i, UNFIRED);
            long deadline = lead + (long) (random.nextDouble() * 1e9);
            timer.newTimeout(timeout -> {
                if (late.getAndSet(me, System.nanoTime() - start - deadline) == UNFIRED) {
                    fired.incrementAndGet();
                } else {
                    repeated.incrementAndGet();
                }
            }, deadline - (System.nanoTime() - start), TimeUnit.NANOSECONDS);
        }
        if (System.nanoTime() - start > lead) {
            sample.failure = "took more than " + lead / 1_000_000 + " ms to schedule " + n + " timeouts";
            return;
        }
        System.gc();
        Thread.sleep(Math.max(0, (lead - 50_000_000 - (System.nanoTime() - start)) / 1_000_000));
        long cpu = Usage.cpuNanos();
        while (fired.get() < n && System.nanoTime() - start < lead + span) {
            Thread.sleep(10);
        }
        sample.put("done_ms", (System.nanoTime() - start - lead) / 1e6);
        sample.put("cpu_ns", (Usage.cpuNanos() - cpu) / (double) n);
        sample.put("repeated", repeated.get());
        timer.stop();
        spread(late, sample);
    }

    private static void spread(AtomicLongArray late, Harness.Sample sample) {
        double[] ms = new double[late.length()];
        int count = 0;
        for (int i = 0; i < late.length(); i++) {
            long l = late.get(i);
            if (l != UNFIRED) {
                ms[count++] = l / 1e6;
            }
        }
        sample.put("lost", late.length() - count);
        if (count == 0) {
            sample.failure = "nothing fired";
            return;
        }
        double[] sorted = Arrays.copyOf(ms, count);
        Arrays.sort(sorted);
        percentiles(sorted, sample);
        for (double share : SHARES) {
            sample.late(at(sorted, share));
        }
    }

    static void percentiles(double[] sorted, Harness.Sample sample) {
        int early = 0;
        while (early < sorted.length && sorted[early] < 0) {
            early++;
        }
        sample.put("early", early);
        sample.put("late_min_ms", sorted[0]);
        sample.put("late_p50_ms", at(sorted, 0.5));
        sample.put("late_p99_ms", at(sorted, 0.99));
        sample.put("late_p999_ms", at(sorted, 0.999));
        sample.put("late_max_ms", sorted[sorted.length - 1]);
    }

    private static double at(double[] sorted, double share) {
        return sorted[(int) (share * (sorted.length - 1))];
    }
}
