import com.sun.management.ThreadMXBean;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;

/** The parts of a measurement. */
final class Measured {
    private Measured() { }

    /** Timeouts whose lateness is measured. */
    static final class Probes {
        private final Harness.Subject timer;
        private final long start = System.nanoTime();
        private final long[] deadline;
        private final AtomicLongArray late; // 0 until it fires
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicInteger fired = new AtomicInteger();
        private final AtomicInteger repeated = new AtomicInteger();

        Probes(Harness.Subject timer, int n) {
            this.timer = timer;
            deadline = new long[n];
            late = new AtomicLongArray(n);
        }

        long now() {
            return System.nanoTime() - start;
        }

        /** Schedules a probe, and returns whether there was room for it. */
        boolean schedule(long delay) {
            if (next.get() >= deadline.length) {
                return false;
            }
            int i = next.getAndIncrement();
            if (i >= deadline.length) {
                return false;
            }
            deadline[i] = now() + delay;
            timer.schedule(new Harness.Task() {
                @Override
                public void run() {
                    fire(i);
                }
            }, delay);
            return true;
        }

        private void fire(int i) {
            long l = now() - deadline[i];
            (late.getAndSet(i, l == 0 ? 1 : l) == 0 ? fired : repeated).incrementAndGet();
        }

        private int count() {
            return Math.min(next.get(), deadline.length);
        }

        boolean done() {
            return fired.get() >= count();
        }

        /** Waits for the probes. An unfired probe counts with its lateness so far. */
        void put(Sample sample) throws InterruptedException {
            for (long end = now() + Harness.PATIENCE; !done() && now() < end; ) {
                Thread.sleep(10);
            }
            long now = now();
            double[] ms = new double[count()];
            for (int i = 0; i < ms.length; i++) {
                ms[i] = (late.get(i) != 0 ? late.get(i) : Math.max(0, now - deadline[i])) / 1e6;
            }
            sample.put("lost", count() - fired.get());
            sample.put("repeated", repeated.get());
            sample.putLateness(ms);
        }
    }

    /** The resources that the process uses from now on. */
    static final class Usage {
        private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        private static final File TASKS = new File("/proc/self/task");
        private static final Map<String, Long> SEEN = new HashMap<>(); // CPU time by thread
        private static long looking; // CPU time of total

        private final long before = total();
        private final long began = System.nanoTime();

        long wall() {
            return System.nanoTime() - began;
        }

        /** Returns the CPU time of all threads, the JVM's included, in nanoseconds. */
        long cpu() {
            return total() - before;
        }

        /** A thread that has ended counts with its last known time. The look itself does not count. */
        private static long total() {
            long began = THREADS.getCurrentThreadCpuTime();
            byte[] buffer = new byte[256];
            for (String id : TASKS.list()) {
                try (FileInputStream in = new FileInputStream(TASKS + "/" + id + "/schedstat")) {
                    String text = new String(buffer, 0, in.read(buffer), StandardCharsets.ISO_8859_1);
                    SEEN.put(id, Long.parseLong(text.substring(0, text.indexOf(' '))));
                } catch (IOException e) {
                    // The thread ended since it was listed.
                }
            }
            long sum = SEEN.values().stream().mapToLong(Long::longValue).sum();
            looking += THREADS.getCurrentThreadCpuTime() - began;
            return sum - looking;
        }

        static long allocatedByThisThread() {
            return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
        }

        static long heap() {
            System.gc();
            System.gc();
            return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
        }

        static double peakMB() {
            try {
                for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                    if (line.startsWith("VmHWM:")) {
                        return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024 / 1e6;
                    }
                }
                return 0;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Ends the process with a reason instead of a result. */
    static void fail(String reason) {
        System.out.println("{\"failure\":\"" + reason + "\"}");
        System.exit(0);
    }

    /** The result of the process. */
    static final class Sample {
        private final Map<String, Double> metrics = new TreeMap<>();

        void put(String name, double value) {
            metrics.put(name, value);
        }

        /** Puts the distribution of values in milliseconds. */
        void putLateness(double[] ms) {
            if (ms.length == 0) {
                fail("nothing fired");
            }
            Arrays.sort(ms);
            put("early", Arrays.stream(ms).takeWhile(l -> l < 0).count());
            put("late_min_ms", ms[0]);
            put("late_p50_ms", at(ms, 0.5));
            put("late_p99_ms", at(ms, 0.99));
            put("late_p999_ms", at(ms, 0.999));
            put("late_max_ms", at(ms, 1));
        }

        private static double at(double[] sorted, double share) {
            return sorted[(int) (share * (sorted.length - 1))];
        }

        String json() {
            String values = metrics.entrySet().stream().map(e -> "\"" + e.getKey() + "\":" + number(e.getValue()))
                .collect(Collectors.joining(","));
            return "{\"metrics\":{" + values + "}}";
        }

        private static String number(double v) {
            return String.format(Locale.ROOT, "%.6f", v);
        }
    }
}
