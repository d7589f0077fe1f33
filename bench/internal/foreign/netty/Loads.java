import io.netty.util.Timer;
import io.netty.util.Timeout;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.IntToLongFunction;

/** Sustained loads: lateness, CPU time, and memory. */
final class Loads {
    private static final long SECOND = 1_000_000_000L;
    private static final long MINUTE = 60 * SECOND;
    private static final long PROBE_DELAY = 5_000_000;
    private static final long PROBE_EVERY = 1_000_000;
    private static final long PATIENCE = 5 * SECOND;
    private static final int PROBE_ONE_IN = 16;
    private static final int BATCH = 64;
    private static final long TRICKLE_DELAY = 20_000_000;
    private static final long TRICKLE_CANCEL = 3_000_000;
    private static final long WARM_UP = 2 * SECOND;

    private Loads() { }

    /** Producers keep timeouts pending: an operation schedules one and cancels the oldest. */
    static void churn(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int producers = spec.get("producers").intValue();
        int pending = spec.get("pending").intValue();
        long span = spec.get("span");
        Timer timer = Timers.create();
        Probes probes = new Probes(timer, (int) (producers * (span / PROBE_EVERY + 1)));
        Probes none = new Probes(timer, 0);
        Pool[] pools = new Pool[producers];
        for (int i = 0; i < producers; i++) {
            pools[i] = new Pool(timer, pending);
        }
        all(producers, i -> pools[i].run(none, WARM_UP));
        Steady.awaitIdle(Steady.idle());
        Load load = new Load();
        long done = all(producers, i -> pools[i].run(probes, span));
        load.stop();
        Steady.awaitIdle(0.05);
        load.put(sample, done, 0, load.cpu());
        probes.put(sample, PATIENCE);
    }

    /** Timeouts at a rate; half are cancelled after half their delay. */
    static void sustained(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        int producers = spec.get("producers").intValue();
        long rate = spec.get("rate");
        long span = spec.get("span");
        long delay = spec.get("delay");
        Timer timer = Timers.create();
        Probes probes = new Probes(timer, (int) (rate * (span / 1e9) / PROBE_ONE_IN) + PROBE_ONE_IN);
        Probes none = new Probes(timer, 0);
        Mixed[] mixed = new Mixed[producers];
        for (int i = 0; i < producers; i++) {
            mixed[i] = new Mixed(timer, delay, (int) (rate / producers * (delay / 1e9) / 4) + 1);
        }
        all(producers, i -> mixed[i].run(none, rate / producers, delay + delay / 4 + WARM_UP));
        Load load = new Load();
        long done = all(producers, i -> mixed[i].run(probes, rate / producers, span));
        load.stop();
        load.put(sample, done, rate, load.cpu());
        probes.put(sample, delay + PATIENCE);
    }

    /** A few timeouts per second, half of them cancelled. */
    static void trickle(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        long rate = spec.get("rate");
        long span = spec.get("span");
        Timer timer = Timers.create();
        Trickle trickle = new Trickle(timer, SECOND / rate);
        trickle.run(new Probes(timer, 0), WARM_UP);
        Probes probes = new Probes(timer, (int) (rate * (span / 1e9)) + 100);
        long wakeUps = Usage.wakeUps(); // costs CPU time, as does each sample.put
        Load load = new Load();
        long done = trickle.run(probes, span);
        load.stop();
        long cpu = load.cpu();
        sample.put("wakeups", (Usage.wakeUps() - wakeUps) * 1e9 / load.wall);
        load.put(sample, done, 0, cpu);
        sample.put("core_pct", 100.0 * cpu / load.wall);
        probes.put(sample, PATIENCE);
    }

    /** Runs producers. Their threads stay, or the CPU time that they used could not be read. */
    private static long all(int producers, IntToLongFunction work) throws Exception {
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
        ended.await();
        return done.get();
    }

    /** The resources that a load used. */
    private static final class Load {
        private final long before = Usage.cpuNanos();
        private final long began = System.nanoTime();
        long wall;

        void stop() {
            wall = System.nanoTime() - began;
        }

        long cpu() {
            return Usage.cpuNanos() - before;
        }

        void put(Harness.Sample sample, long done, long rate, long cpu) throws Exception {
            sample.put("per_s", done * 1e9 / wall);
            sample.put("cpu_ns", cpu / (double) Math.max(1, done));
            sample.put("behind", rate == 0 ? 0 : Math.max(0, 100 * (1 - done / (rate * (wall / 1e9)))));
            sample.put("peak_mb", Usage.peakMB());
        }
    }

    /** The pending timeouts of one producer. */
    private static final class Pool {
        private final Timer timer;
        private final Timeout[] handles;
        private int oldest;

        Pool(Timer timer, int n) {
            this.timer = timer;
            handles = new Timeout[n];
            for (int i = 0; i < n; i++) {
                handles[i] = Timers.schedule(timer, MINUTE);
            }
        }

        long run(Probes probes, long span) {
            long done = 0;
            long began = System.nanoTime();
            long probe = 0;
            for (long now = 0; now < span; now = System.nanoTime() - began) {
                if (now >= probe) {
                    probes.schedule(PROBE_DELAY);
                    probe = now + PROBE_EVERY;
                }
                for (int i = 0; i < BATCH; i++) {
                    step();
                }
                done += BATCH;
            }
            return done;
        }

        private void step() {
            Timeout next = Timers.schedule(timer, MINUTE);
            handles[oldest].cancel();
            handles[oldest] = next;
            oldest = oldest + 1 == handles.length ? 0 : oldest + 1;
        }
    }

    /** Schedules at a pace; some of the timeouts are cancelled. */
    private static final class Mixed {
        private final Timer timer;
        private final long delay;
        private final Timeout[] held;
        private int next;
        private long steps;

        Mixed(Timer timer, long delay, int held) {
            this.timer = timer;
            this.delay = delay;
            this.held = new Timeout[held];
        }

        long run(Probes probes, long rate, long span) {
            IntConsumer step = i -> {
                steps++;
                if (steps % 2 == 0) {
                    if (held[next] != null) {
                        held[next].cancel();
                    }
                    held[next] = Timers.schedule(timer, delay);
                    next = next + 1 == held.length ? 0 : next + 1;
                } else if (steps % PROBE_ONE_IN != 1 || !probes.schedule(delay)) {
                    Timers.schedule(timer, delay);
                }
            };
            return Waiting.paced((int) rate, SECOND, span, step);
        }
    }

    /** Schedules at random times, and sleeps in between. */
    private static final class Trickle {
        private final Timer timer;
        private final SplittableRandom random = new SplittableRandom(5);
        private final long gap;

        Trickle(Timer timer, long gap) {
            this.timer = timer;
            this.gap = gap;
        }

        long run(Probes probes, long span) {
            ArrayDeque<Timeout> shorts = new ArrayDeque<>();
            ArrayDeque<Long> ends = new ArrayDeque<>();
            long done = 0;
            long next = 0;
            long began = System.nanoTime();
            for (;;) {
                long now = System.nanoTime() - began;
                if (now >= span) {
                    return done;
                }
                for (; next <= now; next += (long) (-Math.log(1 - random.nextDouble()) * gap)) {
                    if (++done % 2 == 0) {
                        shorts.add(Timers.schedule(timer, TRICKLE_DELAY));
                        ends.add(now + TRICKLE_CANCEL);
                    } else if (!probes.schedule(TRICKLE_DELAY)) {
                        Timers.schedule(timer, TRICKLE_DELAY);
                    }
                }
                while (!ends.isEmpty() && ends.peek() <= now) {
                    ends.remove();
                    shorts.remove().cancel();
                }
                long wake = Math.min(span, next);
                if (!ends.isEmpty()) {
                    wake = Math.min(wake, ends.peek());
                }
                LockSupport.parkNanos(wake - (System.nanoTime() - began));
            }
        }
    }
}
