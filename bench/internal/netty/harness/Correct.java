import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counts timeouts that were early, lost or repeated, or that ran though cancelled. */
final class Correct {
    private static final long EVERY = 10_000;
    private static final long TICK = 1_000_000;

    private Correct() { }

    static void correct(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int n = spec.get("n").intValue();
        long span = spec.get("span");
        long[] delay = new long[n];
        long[][] events = plan(delay, span);
        AtomicLongArray fired = new AtomicLongArray(n);
        AtomicIntegerArray times = new AtomicIntegerArray(n);
        long[] deadline = new long[n];
        boolean[] cancelled = new boolean[n];
        Timeout[] handles = new Timeout[n];
        HashedWheelTimer timer = Timers.create();
        long start = System.nanoTime();
        for (long[] event : events) {
            long wait = event[0] - (System.nanoTime() - start);
            if (wait > 1_000_000) {
                Thread.sleep(wait / 1_000_000);
            }
            int i = (int) event[1];
            if (event[2] == 1) {
                cancelled[i] = handles[i].cancel();
                continue;
            }
            deadline[i] = System.nanoTime() - start + delay[i];
            handles[i] = timer.newTimeout(timeout -> {
                long now = System.nanoTime() - start;
                if (times.incrementAndGet(i) == 1) {
                    fired.set(i, now);
                }
            }, delay[i], TimeUnit.NANOSECONDS);
        }
        Thread.sleep(span / 1_000_000 + Math.max(1000, span / 500_000) + 1);
        judge(sample, deadline, fired, times, cancelled);
        timer.stop();
    }

    /** Returns {when, which, 1 to cancel} in the order of time. */
    private static long[][] plan(long[] delay, long span) {
        Random random = new Random(3);
        long[][] events = new long[delay.length * 2][];
        int count = 0;
        for (int i = 0; i < delay.length; i++) {
            long at = i * EVERY;
            delay[i] = 1 + (long) (random.nextDouble() * span);
            events[count++] = new long[] {at, i, 0};
            if (i % 6 == 0) {
                events[count++] = new long[] {at + (long) (random.nextDouble() * delay[i]), i, 1};
            } else if (i % 6 == 1) {
                long jitter = (long) (random.nextDouble() * 3 * TICK) - TICK;
                events[count++] = new long[] {at + Math.max(0, delay[i] + jitter), i, 1};
            }
        }
        events = Arrays.copyOf(events, count);
        Arrays.sort(events, (a, b) -> Long.compare(a[0], b[0]));
        return events;
    }

    private static void judge(Harness.Sample sample, long[] deadline, AtomicLongArray fired,
                              AtomicIntegerArray times, boolean[] cancelled) {
        int early = 0;
        int lost = 0;
        int repeated = 0;
        int revived = 0;
        double earlyMs = 0;
        for (int i = 0; i < deadline.length; i++) {
            if (times.get(i) > 0 && fired.get(i) < deadline[i]) {
                early++;
                earlyMs = Math.max(earlyMs, (deadline[i] - fired.get(i)) / 1e6);
            }
            repeated += times.get(i) > 1 ? 1 : 0;
            revived += times.get(i) > 0 && cancelled[i] ? 1 : 0;
            lost += times.get(i) == 0 && !cancelled[i] ? 1 : 0;
        }
        sample.put("early", early);
        sample.put("early_ms", earlyMs);
        sample.put("lost", lost);
        sample.put("repeated", repeated);
        sample.put("revived", revived);
    }
}
