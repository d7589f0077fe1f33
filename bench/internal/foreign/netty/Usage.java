import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;

/** What the process has used so far. Only the main thread looks at all but what a thread allocated. */
final class Usage {
    private static final OperatingSystemMXBean OS =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final PerThread CPU =
        new PerThread("schedstat", text -> Long.parseLong(text.substring(0, text.indexOf(' '))));
    private static final PerThread WAKE_UPS = new PerThread("status", Usage::voluntarySwitches);

    private static final int LOOKS = 500;

    // Chosen once: the difference of two clocks would mean nothing.
    private static final boolean BY_THREAD = knownByThread();

    private static long looking; // the CPU time that cpuNanos took itself

    private Usage() { }

    /**
     * Some systems have no such files, and some have them with zeros. Where they are, they are read
     * until the JVM has compiled that: it is not to do so while it is measured.
     */
    private static boolean knownByThread() {
        try {
            boolean known = CPU.sum() > 0;
            for (int i = 0; known && i < LOOKS; i++) {
                CPU.sum();
            }
            return known;
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    /**
     * CPU time of the process, to the nanosecond; in hundredths of a second where that of threads is
     * not known. Looking reads a file for each thread, so it does not count itself.
     */
    static long cpuNanos() {
        long before = THREADS.getCurrentThreadCpuTime();
        long sum = sumOfCPU();
        looking += THREADS.getCurrentThreadCpuTime() - before;
        return sum - looking;
    }

    private static long sumOfCPU() {
        if (!BY_THREAD) {
            return OS.getProcessCpuTime();
        }
        try {
            return CPU.sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // it was there at the start
        }
    }

    static long allocatedByThisThread() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    /** Voluntary context switches. */
    static long wakeUps() throws IOException {
        return WAKE_UPS.sum();
    }

    private static long voluntarySwitches(String status) {
        String name = "\nvoluntary_ctxt_switches:";
        int begin = status.indexOf(name) + name.length();
        return Long.parseLong(status.substring(begin, status.indexOf('\n', begin)).trim());
    }

    /** The most memory that the process has held, in MB. */
    static double peakMB() throws IOException {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024 / 1e6;
            }
        }
        return 0;
    }

    static long heapInUse() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        Runtime r = Runtime.getRuntime();
        return r.totalMemory() - r.freeMemory();
    }
}
