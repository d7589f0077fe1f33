import io.netty.util.Timer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;

/** What single calls cost. Each operation is run unmeasured first, until it is compiled. */
final class Operations {
    private static final int WARM_UP = 250_000; // operations of a batch
    private static final int BACKGROUND = 10_000; // so that a worker meets what it will meet

    private Operations() { }

    static void schedule(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        measure(spec, sample, (timer, producer) -> {
            SplittableRandom random = new SplittableRandom(1 + producer);
            return () -> Timers.schedule(timer, Timers.far(random));
        });
    }

    static void cancel(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        measure(spec, sample, (timer, producer) -> () -> Timers.schedule(timer, 60_000_000_000L).cancel());
    }

    /** Resets each timeout to be due within one second after the last reset, and waits until all have run. */
    static void resetAll(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int n = spec.get("pending").intValue();
        warmResets(Math.min(n, WARM_UP));
        Timer timer = Timers.create();
        Timeout[] handles = Timers.fill(timer, n, true);
        AtomicLong fired = new AtomicLong();
        TimerTask task = timeout -> fired.incrementAndGet();
        SplittableRandom random = new SplittableRandom(1);
        long lead = 2_000_000_000L + n * 2000L;
        System.gc();
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        for (Timeout handle : handles) {
            handle.cancel();
            long delay = lead + random.nextLong(1_000_000_000L) - (System.nanoTime() - began);
            timer.newTimeout(task, delay, TimeUnit.NANOSECONDS);
        }
        long wall = System.nanoTime() - began;
        if (wall > lead) {
            sample.failure = "took more than " + lead / 1_000_000 + " ms to reset " + n + " timeouts";
            return;
        }
        while (fired.get() < n && System.nanoTime() - began < lead + spec.get("span")) {
            Thread.sleep(10);
        }
        sample.put("wall_ns", wall / (double) n);
        sample.put("cpu_ns", (Usage.cpuNanos() - cpu) / (double) n);
        sample.put("lost", n - fired.get());
    }

    private static void warmResets(int n) throws Exception {
        Timer warm = Timers.create();
        Timeout[] handles = Timers.fill(warm, n, true);
        Steady.warm(() -> {
            System.gc();
            long cpu = Usage.cpuNanos();
            for (int done = 0; done < WARM_UP; done += n) {
                resetEach(warm, handles);
            }
            return Usage.cpuNanos() - cpu;
        });
        warm.stop();
    }

    private static void resetEach(Timer timer, Timeout[] handles) {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < handles.length; i++) {
            handles[i] = Timers.reset(timer, handles[i], Timers.far(random) / 2);
        }
    }

    /** Makes the operation of one producer. */
    interface Maker {
        Runnable make(Timer timer, int producer);
    }

    private static void measure(Map<String, Long> spec, Harness.Sample sample, Maker maker) throws Exception {
        int producers = spec.get("producers").intValue();
        int each = spec.get("n").intValue() / producers;
        long n = (long) each * producers;
        int pending = spec.getOrDefault("pending", 0L).intValue();
        Steady.warm(() -> warm(maker, producers, Math.min(pending, BACKGROUND)));
        Timer timer = Timers.create();
        Timers.fill(timer, pending, false);
        System.gc();
        double idle = Steady.idle();
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        CountDownLatch measured = new CountDownLatch(1);
        long bytes = produce(i -> maker.make(timer, i), producers, each, measured);
        sample.put("wall_ns", (System.nanoTime() - began) * (double) producers / n);
        Steady.awaitIdle(idle);
        sample.put("cpu_ns", (Usage.cpuNanos() - cpu) / (double) n);
        sample.put("bytes", bytes / (double) n);
        measured.countDown();
    }

    /** Each batch has a timer of its own, or what it leaves pending would slow the next one down. */
    private static long warm(Maker maker, int producers, int pending) throws Exception {
        Timer timer = Timers.create();
        Timers.fill(timer, pending, false);
        System.gc(); // or one batch would collect for another
        CountDownLatch measured = new CountDownLatch(1);
        long cpu = Usage.cpuNanos();
        produce(i -> maker.make(timer, i), producers, WARM_UP / producers, measured);
        cpu = Usage.cpuNanos() - cpu;
        measured.countDown();
        timer.stop();
        return cpu;
    }

    /**
     * Runs an operation so many times in each of so many threads; returns what they allocated. The
     * threads live until they are measured, or their CPU time would be lost.
     */
    private static long produce(IntFunction<Runnable> maker, int producers, int each, CountDownLatch measured)
            throws Exception {
        CountDownLatch done = new CountDownLatch(producers);
        AtomicLong bytes = new AtomicLong();
        for (int i = 0; i < producers; i++) {
            int producer = i;
            new Thread(() -> {
                Runnable operation = maker.apply(producer);
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
            }).start();
        }
        done.await();
        return bytes.get();
    }
}
