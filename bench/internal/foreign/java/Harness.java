import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntToLongFunction;

/** Measures a timer of the JVM as the Go program measures the others: one measurement per process. */
public final class Harness {
    private static final long SECOND = 1_000_000_000L;
    private static final long MINUTE = 60 * SECOND;
    private static final long WARM_UP = 2 * SECOND; // until the code is compiled
    static final long PATIENCE = 5 * SECOND; // with unfired probes
    private static final int PROBE_ONE_IN = 16;

    private static final Map<String, Long> SPEC = new HashMap<>();
    private static final Measured.Sample SAMPLE = new Measured.Sample();

    /** The arguments are the measurement, and its numbers as name=value. */
    public static void main(String[] args) throws Exception {
        for (String arg : Arrays.asList(args).subList(1, args.length)) {
            String[] pair = arg.split("=");
            SPEC.put(pair[0], Long.parseLong(pair[1]));
        }
        switch (args[0]) {
            case "cancel": cancel(); break;
            case "heap": heap(); break;
            case "expire": case "burst": expire(); break;
            case "sustained": sustained(); break;
            default: throw new IllegalArgumentException(args[0]);
        }
        System.out.println(SAMPLE.json());
        System.exit(0);
    }

    /** The timer under test. */
    interface Subject {
        Object schedule(Task task, long nanos);

        void cancel(Object handle);
    }

    /** A task for both timers, without an adapter object. */
    abstract static class Task implements TimerTask, Runnable {
        @Override
        public void run(Timeout timeout) {
            run();
        }
    }

    private static final Task NOP = new Task() {
        @Override
        public void run() { }
    };

    private static Subject create() {
        return "jdk".equals(System.getProperty("timer")) ? new JDK() : new Netty();
    }

    private static final class Netty implements Subject {
        private final HashedWheelTimer timer = new HashedWheelTimer(1, TimeUnit.MILLISECONDS, 8192);

        Netty() {
            timer.start();
        }

        @Override
        public Object schedule(Task task, long nanos) {
            return timer.newTimeout(task, nanos, TimeUnit.NANOSECONDS);
        }

        @Override
        public void cancel(Object handle) {
            ((Timeout) handle).cancel();
        }
    }

    private static final class JDK implements Subject {
        private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);

        JDK() {
            executor.setRemoveOnCancelPolicy(true); // otherwise a cancelled timeout stays until its deadline
        }

        @Override
        public Object schedule(Task task, long nanos) {
            return executor.schedule(task, nanos, TimeUnit.NANOSECONDS);
        }

        @Override
        public void cancel(Object handle) {
            ((Future<?>) handle).cancel(false);
        }
    }

    private static int spec(String name) {
        return SPEC.get(name).intValue();
    }

    /** Schedules n timeouts that are due in 30 to 90 minutes. */
    private static Subject filled(int n) throws InterruptedException {
        Subject timer = create();
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < n; i++) {
            timer.schedule(NOP, 30 * MINUTE + random.nextLong(60 * MINUTE));
        }
        awaitIdle();
        return timer;
    }

    /** Schedules and cancels. */
    private static void cancel() throws Exception {
        int producers = spec("producers");
        long each = spec("n") / producers;
        Subject warm = filled(Math.min(spec("pending"), 10_000));
        long end = System.nanoTime() + WARM_UP;
        while (System.nanoTime() < end) {
            all(producers, i -> cancelled(warm, 10_000));
        }
        Subject timer = filled(spec("pending"));
        System.gc();
        Measured.Usage used = new Measured.Usage();
        AtomicLong bytes = new AtomicLong();
        long n = all(producers, i -> {
            long before = Measured.Usage.allocatedByThisThread();
            long done = cancelled(timer, each);
            bytes.addAndGet(Measured.Usage.allocatedByThisThread() - before);
            return done;
        });
        SAMPLE.put("wall_ns", used.wall() * (double) producers / n);
        awaitIdle();
        SAMPLE.put("cpu_ns", used.cpu() / (double) n);
        SAMPLE.put("bytes", bytes.get() / (double) n);
    }

    private static long cancelled(Subject timer, long n) {
        for (long i = 0; i < n; i++) {
            timer.cancel(timer.schedule(NOP, MINUTE));
        }
        return n;
    }

    /** Measures the heap per pending timeout, and a garbage collection. */
    private static void heap() throws Exception {
        long before = Measured.Usage.heap();
        Subject timer = filled(spec("pending"));
        SAMPLE.put("heap_bytes", (Measured.Usage.heap() - before) / (double) spec("pending"));
        double[] cycles = new double[3];
        for (int i = 0; i < cycles.length; i++) {
            long began = System.nanoTime();
            System.gc();
            cycles[i] = (System.nanoTime() - began) / 1e6;
        }
        Arrays.sort(cycles);
        SAMPLE.put("gc_ms", cycles[1]);
        timer.schedule(NOP, MINUTE); // keeps the timer alive until here
    }

    /** Measures many timeouts that are due within one second. The first round warms up. */
    private static void expire() throws Exception {
        int n = spec("n");
        for (int round = 0; round < 2; round++) {
            Measured.Probes probes = new Measured.Probes(create(), n);
            long lead = 2 * SECOND + Math.min(n, 1_000_000) * 3000L + Math.max(n - 1_000_000, 0) * 1000L;
            SplittableRandom random = new SplittableRandom(1);
            for (int i = 0; i < n; i++) {
                probes.schedule(lead + random.nextLong(SECOND) - probes.now());
            }
            if (probes.now() > lead) {
                Measured.fail("took more than " + lead / 1_000_000 + " ms to schedule " + n + " timeouts");
            }
            System.gc();
            Thread.sleep(Math.max(0, (lead - SECOND / 20 - probes.now()) / 1_000_000));
            Measured.Usage used = new Measured.Usage();
            while (!probes.done() && probes.now() < lead + SPEC.get("span")) {
                Thread.sleep(10);
            }
            SAMPLE.put("done_ms", (probes.now() - lead) / 1e6);
            SAMPLE.put("cpu_ns", used.cpu() / (double) n);
            probes.put(SAMPLE);
        }
    }

    /** Schedules at a rate; half of the timeouts are cancelled after half their delay. */
    private static void sustained() throws Exception {
        int rate = spec("rate");
        int producers = spec("producers");
        long span = SPEC.get("span");
        long delay = SPEC.get("delay");
        Subject timer = create();
        Measured.Probes none = new Measured.Probes(timer, 0);
        Measured.Probes probes = new Measured.Probes(timer, (int) (rate * (span / 1e9) / PROBE_ONE_IN) + PROBE_ONE_IN);
        Producer[] all = new Producer[producers];
        for (int i = 0; i < producers; i++) {
            all[i] = new Producer(timer, rate / producers, delay);
        }
        all(producers, i -> all[i].run(none, WARM_UP + delay));
        Measured.Usage used = new Measured.Usage();
        long done = all(producers, i -> all[i].run(probes, span));
        double wall = used.wall() / 1e9;
        SAMPLE.put("cpu_ns", used.cpu() / (double) Math.max(1, done));
        SAMPLE.put("behind", Math.max(0, 100 * (1 - done / (rate * wall))));
        SAMPLE.put("peak_mb", Measured.Usage.peakMB());
        probes.put(SAMPLE);
    }

    /** Schedules at a pace. */
    private static final class Producer {
        private final Subject timer;
        private final long rate; // per second
        private final long delay;
        private final Object[] held; // to cancel
        private long steps;

        Producer(Subject timer, long rate, long delay) {
            this.timer = timer;
            this.rate = rate;
            this.delay = delay;
            held = new Object[(int) (rate * (delay / 1e9) / 4) + 1];
        }

        /** Catches up at most a tenth of a second, and returns the number of timeouts. */
        long run(Measured.Probes probes, long span) {
            long began = System.nanoTime();
            long done = 0;
            long skipped = 0;
            for (long now = 0; now < span; now = System.nanoTime() - began) {
                long due = (long) (rate * (now / 1e9)) - skipped;
                if (due > done + rate / 10) {
                    skipped += due - done - rate / 10;
                    due = done + rate / 10;
                }
                for (; done < due && (done % 256 != 0 || System.nanoTime() - began < span); done++) {
                    step(probes);
                }
                LockSupport.parkNanos(1_000_000);
            }
            return done;
        }

        private void step(Measured.Probes probes) {
            steps++;
            if (steps % 2 == 0) {
                int i = (int) (steps / 2 % held.length);
                if (held[i] != null) {
                    timer.cancel(held[i]);
                }
                held[i] = timer.schedule(NOP, delay);
            } else if (steps % PROBE_ONE_IN != 1 || !probes.schedule(delay)) {
                timer.schedule(NOP, delay);
            }
        }
    }

    /** Runs producers. Their threads stay, or the CPU time that they used could not be read. */
    private static long all(int producers, IntToLongFunction work) {
        AtomicLong done = new AtomicLong();
        CountDownLatch ended = new CountDownLatch(producers);
        for (int i = 0; i < producers; i++) {
            int me = i;
            new Thread(() -> {
                done.addAndGet(work.applyAsLong(me));
                ended.countDown();
                for (;;) {
                    LockSupport.park();
                }
            }).start();
        }
        try {
            ended.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return done.get();
    }

    /** Waits until the timer has done its work: until the process uses less than a tenth of a core. */
    private static void awaitIdle() throws InterruptedException {
        long end = System.nanoTime() + PATIENCE;
        for (int quiet = 0; quiet < 2 && System.nanoTime() < end; ) {
            Measured.Usage used = new Measured.Usage();
            Thread.sleep(25);
            quiet = used.cpu() <= used.wall() / 10 ? quiet + 1 : 0;
        }
    }
}
