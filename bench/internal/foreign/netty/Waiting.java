import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/** What timeouts cost that wait, or that are reset at an even pace. */
final class Waiting {
    private static final long SHORT = 5_000_000_000L;
    private static final long LONG = 10_000_000_000L;
    private static final long TURN = 20_000_000L;
    // An idle worker runs its code once a tick: it takes thousands until that is compiled.
    private static final long COMPILED_MS = 5000;

    private Waiting() { }

    static void heap(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int n = spec.get("pending").intValue();
        HashedWheelTimer timer = Timers.create();
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

    static void idle(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        HashedWheelTimer timer = Timers.create();
        Timers.fill(timer, spec.getOrDefault("pending", 0L).intValue(), false);
        System.gc();
        Thread.sleep(COMPILED_MS);
        Steady.idle();
        long wakeUps = Usage.wakeUps();
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        Thread.sleep(spec.get("span") / 1_000_000);
        double wall = System.nanoTime() - began;
        sample.put("core_pct", 100 * (Usage.cpuNanos() - cpu) / wall);
        sample.put("wakeups", (Usage.wakeUps() - wakeUps) * 1e9 / wall);
        timer.stop();
    }

    static void heartbeats(Map<String, Long> spec, Harness.Sample sample) {
        int n = spec.get("pending").intValue();
        long delay = spec.get("span");
        HashedWheelTimer timer = Timers.create();
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

    static void deadlines(Map<String, Long> spec, Harness.Sample sample) {
        int n = spec.get("n").intValue();
        HashedWheelTimer timer = Timers.create();
        Timeout[] handles = new Timeout[n];
        for (int i = 0; i < n; i++) {
            handles[i] = Timers.schedule(timer, SHORT);
        }
        IntConsumer round =
            i -> handles[i] = Timers.reset(timer, Timers.reset(timer, handles[i], SHORT), LONG);
        paced(n, TURN, 1_000_000_000L, round);
        measure(sample, n, TURN, spec.get("span"), round);
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
