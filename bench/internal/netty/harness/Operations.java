import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** What single calls cost. Each operation is run unmeasured first, until it is compiled. */
final class Operations {
    private static final int WARM_UP = 1_000_000;
    private static final long SETTLE_MS = 50;

    private Operations() { }

    static void schedule(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        measure(spec, sample, timer -> {
            Random random = new Random(1);
            return () -> Timers.schedule(timer, Timers.far(random));
        });
    }

    static void cancel(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        measure(spec, sample, timer -> () -> Timers.schedule(timer, 60_000_000_000L).cancel());
    }

    static void resetOne(Map<String, Long> spec, Harness.Sample sample, long first, long step) throws Exception {
        spec.put("producers", 1L);
        measure(spec, sample, timer -> {
            long[] delay = {first};
            Timeout[] handle = {Timers.schedule(timer, first)};
            return () -> handle[0] = Timers.reset(timer, handle[0], delay[0] += step);
        });
    }

    static void resetAll(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int n = spec.get("pending").intValue();
        HashedWheelTimer warm = Timers.create();
        resetEach(warm, Timers.fill(warm, Math.min(n, WARM_UP), true));
        warm.stop();
        HashedWheelTimer timer = Timers.create();
        Timeout[] handles = Timers.fill(timer, n, true);
        System.gc();
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        resetEach(timer, handles);
        sample.put("wall_ns", (System.nanoTime() - began) / (double) n);
        Thread.sleep(SETTLE_MS);
        sample.put("cpu_ns", (Usage.cpuNanos() - cpu) / (double) n);
    }

    private static void resetEach(HashedWheelTimer timer, Timeout[] handles) {
        Random random = new Random(1);
        for (int i = 0; i < handles.length; i++) {
            handles[i] = Timers.reset(timer, handles[i], Timers.far(random) / 2);
        }
    }

    /** Makes the operation of one producer. */
    interface Maker {
        Runnable make(HashedWheelTimer timer);
    }

    private static void measure(Map<String, Long> spec, Harness.Sample sample, Maker maker) throws Exception {
        int producers = spec.get("producers").intValue();
        int each = spec.get("n").intValue() / producers;
        long n = (long) each * producers;
        HashedWheelTimer warm = Timers.create();
        CountDownLatch warmed = new CountDownLatch(1);
        produce(() -> maker.make(warm), 1, WARM_UP, warmed);
        warmed.countDown();
        warm.stop();
        HashedWheelTimer timer = Timers.create();
        Timers.fill(timer, spec.getOrDefault("pending", 0L).intValue(), false);
        System.gc();
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        CountDownLatch measured = new CountDownLatch(1);
        long bytes = produce(() -> maker.make(timer), producers, each, measured);
        sample.put("wall_ns", (System.nanoTime() - began) * (double) producers / n);
        Thread.sleep(SETTLE_MS);
        sample.put("cpu_ns", (Usage.cpuNanos() - cpu) / (double) n);
        sample.put("bytes", bytes / (double) n);
        measured.countDown();
    }

    /**
     * Runs an operation so many times in each of so many threads; returns what they allocated. The
     * threads live until they are measured, or their CPU time would be lost.
     */
    private static long produce(Supplier<Runnable> maker, int producers, int each, CountDownLatch measured)
            throws Exception {
        CountDownLatch done = new CountDownLatch(producers);
        AtomicLong bytes = new AtomicLong();
        Thread[] threads = new Thread[producers];
        for (int i = 0; i < producers; i++) {
            threads[i] = new Thread(() -> {
                Runnable operation = maker.get();
                long before = Usage.allocatedByThisThread();
                for (int k = 0; k < each; k++) {
                    operation.run();
                }
                bytes.addAndGet(Usage.allocatedByThisThread() - before);
                done.countDown();
                try {
                    measured.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            threads[i].start();
        }
        done.await();
        return bytes.get();
    }
}
