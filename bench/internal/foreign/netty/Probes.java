import io.netty.util.Timer;
import io.netty.util.Timeout;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/** Timeouts whose lateness is measured while a load runs. */
final class Probes {
    private final Timer timer;
    private final long start = System.nanoTime();
    private final long[] deadline;
    private final AtomicLongArray late; // 0 until it fires
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicInteger fired = new AtomicInteger();

    Probes(Timer timer, int n) {
        this.timer = timer;
        deadline = new long[n];
        late = new AtomicLongArray(n);
    }

    /** Schedules another probe, and returns whether there was room for it. */
    boolean schedule(long delay) {
        return reset(null, delay);
    }

    /** Schedules another probe in place of a timeout, and returns whether there was room for it. */
    boolean reset(Timeout old, long delay) {
        if (deadline.length == 0) {
            return false;
        }
        int i = next.getAndIncrement();
        if (i >= deadline.length) {
            next.decrementAndGet();
            return false;
        }
        long due = System.nanoTime() - start + delay;
        deadline[i] = due;
        if (old != null) {
            old.cancel();
        }
        timer.newTimeout(timeout -> {
            long l = System.nanoTime() - start - due;
            if (late.getAndSet(i, l == 0 ? 1 : l) == 0) {
                fired.incrementAndGet();
            }
        }, delay, TimeUnit.NANOSECONDS);
        return true;
    }

    /** Waits for the probes. One that has not fired counts with what it is late by then. */
    void put(Harness.Sample sample, long patience) throws InterruptedException {
        int n = Math.min(next.get(), deadline.length);
        long end = System.nanoTime() + patience;
        while (fired.get() < n && System.nanoTime() < end) {
            Thread.sleep(10);
        }
        long now = System.nanoTime() - start;
        double[] ms = new double[n];
        int unfired = 0;
        for (int i = 0; i < n; i++) {
            long l = late.get(i);
            if (l == 0) {
                l = Math.max(0, now - deadline[i]);
                unfired++;
            }
            ms[i] = l / 1e6;
        }
        sample.put("lost", unfired);
        if (n == 0) {
            sample.failure = "nothing fired";
            return;
        }
        Arrays.sort(ms);
        Expiry.percentiles(ms, sample);
    }
}
