import io.netty.util.Timer;
import io.netty.util.Timeout;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/** The costs of pending timeouts, and of timeouts reset at an even pace. */
final class Waiting {
    private Waiting() { }

    static void heap(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int n = spec.get("pending").intValue();
        Timer timer = Timers.create();
        long before = Usage.heapInUse();
        Timers.fill(timer, n, false);
        sample.put("heap_bytes", (Usage.heapInUse() - before) / (double) n);
        double[] cycles = new double[3];
        for (int i = 0; i < cycles.length; i++) {
            long began = System.nanoTime();
            System.gc();
            cycles[i] = (System.nanoTime() - began) / 1e6;
        }
        Arrays.sort(cycles);
        sample.put("gc_ms", cycles[1]);
        timer.stop();
    }

    static void heartbeats(Map<String, Long> spec, Harness.Sample sample) {
        int n = spec.get("pending").intValue();
        long delay = spec.get("span");
        Timer timer = Timers.create();
        Timeout[] handles = new Timeout[n];
        paced(n, delay / 2, delay / 2, i -> handles[i] = Timers.schedule(timer, delay));
        IntConsumer beat = i -> {
            if (handles[i] != null) {
                handles[i].cancel();
            }
            handles[i] = Timers.schedule(timer, delay);
        };
        paced(n, delay / 2, delay / 2, beat);
        measure(sample, n, delay / 2, delay, beat);
    }

    private static void measure(Harness.Sample sample, int n, long turn, long span, IntConsumer f) {
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        long done = paced(n, turn, span, f);
        double wall = System.nanoTime() - began;
        double used = Usage.cpuNanos() - cpu;
        sample.put("cpu_ns", used / done);
        sample.put("core_pct", 100 * used / wall);
        sample.put("behind", Math.max(0, 100 * (1 - done / (n * wall / turn))));
    }

    /** Calls f for 0 to n-1 once every turn, evenly spread, until the span is over. */
    static long paced(int n, long turn, long span, IntConsumer f) {
        long began = System.nanoTime();
        long done = 0;
        long skipped = 0;
        for (;;) {
            long now = System.nanoTime() - began;
            if (now >= span) {
                return done;
            }
            long due = (long) ((double) n * now / turn) - skipped;
            long most = n / 10;
            if (due - done > most) {
                skipped += due - done - most;
                due = done + most;
            }
            for (; done < due; done++) {
                f.accept((int) (done % n));
                if (done % 256 == 0 && System.nanoTime() - began >= span) {
                    return done + 1;
                }
            }
            LockSupport.parkNanos(1_000_000);
        }
    }
}
