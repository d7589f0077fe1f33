import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;

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
    private static final boolean BY_THREAD = toldByThread();

    private static long looking; // the CPU time that cpuNanos took itself

    private Usage() { }

    /**
     * Some systems have no such files, and some have them with zeros. Where they are, they are read
     * until the JVM has compiled that: it is not to do so while it is measured.
     */
    private static boolean toldByThread() {
        try {
            boolean told = CPU.sum() > 0;
            for (int i = 0; told && i < LOOKS; i++) {
                CPU.sum();
            }
            return told;
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    /**
     * CPU time of the process, to the nanosecond; in hundredths of a second where the system does
     * not tell that of threads. A look reads a file for each thread, so it does not count itself.
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

    static long heapInUse() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        Runtime r = Runtime.getRuntime();
        return r.totalMemory() - r.freeMemory();
    }
}
