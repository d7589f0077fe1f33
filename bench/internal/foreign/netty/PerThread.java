import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Sums a figure over all threads of the process, the JVM's own included. A thread that ended counts
 * with what it was last seen with: the JVM ends idle compiler threads, and what they used was used.
 */
final class PerThread {
    private static final File TASKS = new File("/proc/self/task");

    /** Reads the figure from a file in a thread's folder. */
    interface Figure {
        long of(String text);
    }

    private final String file;
    private final Figure figure;
    private final Map<String, Long> seen = new HashMap<>();
    private final byte[] buffer = new byte[4096]; // a page, the most that is given at once

    PerThread(String file, Figure figure) {
        this.file = file;
        this.figure = figure;
    }

    long sum() throws IOException {
        String[] ids = TASKS.list();
        if (ids == null) {
            throw new IOException("there is no " + TASKS);
        }
        for (String id : ids) {
            try {
                seen.put(id, figure.of(read(TASKS + "/" + id + "/" + file)));
            } catch (IOException e) {
                // It ended since it was listed.
            }
        }
        long sum = 0;
        for (long value : seen.values()) {
            sum += value;
        }
        return sum;
    }

    /** Files.readString would take the JVM far more time to run, and to compile. */
    private String read(String path) throws IOException {
        try (FileInputStream in = new FileInputStream(path)) {
            int n = Math.max(0, in.read(buffer));
            return new String(buffer, 0, n, StandardCharsets.ISO_8859_1);
        }
    }
}
