/** Waits for the process to change no more: until it is compiled, and until its work is done. */
final class Steady {
    private static final int FEWEST_BATCHES = 4; // two may agree by chance
    private static final long LONGEST_WARM_UP = 10_000_000_000L;
    private static final long LONGEST_WAIT = 5_000_000_000L;
    private static final long INTERVAL_MS = 25;

    private Steady() { }

    /** Some of the work that is to be measured. */
    interface Batch {
        /** Returns the CPU time that it took. */
        long run() throws Exception;
    }

    /**
     * Runs batches until two in a row took the same CPU time, give or take a tenth: that of the
     * compiler is in it, so that it has done its work by then.
     */
    static void warm(Batch batch) throws Exception {
        long began = System.nanoTime();
        long last = batch.run();
        for (int batches = 2; System.nanoTime() - began < LONGEST_WARM_UP; batches++) {
            long cost = batch.run();
            if (batches >= FEWEST_BATCHES && Math.abs(cost - last) <= last / 10) {
                return;
            }
            last = cost;
        }
    }

    /**
     * Waits until the process has nothing to do but wait, and returns what share of a core that
     * takes. It is not nothing: the timer looks at each timeout of a bucket, once in a turn.
     */
    static double idle() throws InterruptedException {
        long began = System.nanoTime();
        double last = share(4 * INTERVAL_MS);
        for (;;) {
            double share = share(4 * INTERVAL_MS);
            if (Math.abs(share - last) <= margin(last) || System.nanoTime() - began > LONGEST_WAIT) {
                return share;
            }
            last = share;
        }
    }

    /** Waits, after operations, until two intervals in a row are as idle as the process was before. */
    static void awaitIdle(double idle) throws InterruptedException {
        long began = System.nanoTime();
        for (int quiet = 0; quiet < 2 && System.nanoTime() - began < LONGEST_WAIT; ) {
            quiet = share(INTERVAL_MS) <= idle + margin(idle) ? quiet + 1 : 0;
        }
    }

    /** How much a share may differ from another and count as the same. */
    private static double margin(double share) {
        return Math.max(0.03, share / 10);
    }

    /** The share of a core that the process uses within the time. */
    private static double share(long ms) throws InterruptedException {
        long cpu = Usage.cpuNanos();
        long began = System.nanoTime();
        Thread.sleep(ms);
        double wall = System.nanoTime() - began;
        return (Usage.cpuNanos() - cpu) / wall;
    }
}
