import io.netty.util.Timer;
import io.netty.util.Timeout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts timeouts that were early, lost or repeated, and cancels that were ignored or refused. */
final class Correct {
    private static final long EVERY = 10_000;
    private static final long TICK = 1_000_000;
    // A cancel may come too late for one that is due so soon.
    private static final long SOON = 100_000_000L;

    private Correct() { }

    /** One timeout under test. Times count from the start. */
    static final class Subject {
        long delay;
        long deadline; // counted from before the call, so the earliest that it can be
        Timeout handle;
        long cancelled; // when cancel returned, or 0
        boolean verdict;
        volatile long fired; // when first, or 0
        final AtomicInteger times = new AtomicInteger();

        void schedule(Timer timer, long start) {
            deadline = System.nanoTime() - start + delay;
            handle = timer.newTimeout(timeout -> {
                long now = System.nanoTime() - start;
                if (times.incrementAndGet() == 1) {
                    fired = now;
                }
            }, delay, TimeUnit.NANOSECONDS);
        }

        void cancel(long start) {
            verdict = handle.cancel();
            cancelled = System.nanoTime() - start;
        }

        boolean early() {
            return times.get() > 0 && fired < deadline;
        }

        /** Whether its cancel said that it came too late, and it did not. */
        boolean refused() {
            boolean expired = times.get() > 0 && fired <= cancelled;
            return cancelled > 0 && !verdict && !expired && cancelled + SOON < deadline;
        }
    }

    /** Something to do with a subject. */
    static final class Event {
        final long at;
        final Subject subject;
        final boolean cancel;

        Event(long at, Subject subject, boolean cancel) {
            this.at = at;
            this.subject = subject;
            this.cancel = cancel;
        }
    }

    static void correct(Map<String, Long> spec, Harness.Sample sample) throws Exception {
        Subject[] subjects = new Subject[spec.get("n").intValue()];
        long span = spec.get("span");
        List<Event> events = plan(subjects, span);
        Timer timer = Timers.create();
        long start = System.nanoTime();
        for (Event event : events) {
            sleepUntil(start + event.at);
            if (event.cancel) {
                event.subject.cancel(start);
            } else {
                event.subject.schedule(timer, start);
            }
        }
        long last = 0;
        for (Subject s : subjects) {
            last = Math.max(last, s.deadline);
        }
        sleepUntil(start + last + TICK + Math.max(1_000_000_000L, 2 * span)); // it may be late
        judge(sample, subjects);
        timer.stop();
    }

    private static void sleepUntil(long nanos) throws InterruptedException {
        long wait = nanos - System.nanoTime();
        if (wait > 1_000_000) {
            TimeUnit.NANOSECONDS.sleep(wait);
        }
    }

    /** Makes the subjects, and returns what to do when. A third of them is to be cancelled. */
    private static List<Event> plan(Subject[] subjects, long span) {
        SplittableRandom random = new SplittableRandom(3);
        List<Event> events = new ArrayList<>();
        for (int i = 0; i < subjects.length; i++) {
            long at = i * EVERY;
            Subject s = subjects[i] = new Subject();
            s.delay = delay(random, span);
            events.add(new Event(at, s, false));
            if (i % 6 == 0) { // any time before the deadline
                events.add(new Event(at + random.nextLong(s.delay), s, true));
            } else if (i % 6 == 1) { // about when it may fire
                long jitter = random.nextLong(3 * TICK) - TICK;
                events.add(new Event(at + Math.max(0, s.delay + jitter), s, true));
            }
        }
        events.sort(Comparator.comparingLong(event -> event.at));
        return events;
    }

    /**
     * At most span, or for a tenth of them 3.5 times that more: with the span of a full run, more
     * than the 8.2 s that the wheel takes to turn once.
     */
    private static long delay(SplittableRandom random, long span) {
        long delay = 1 + random.nextLong(span);
        return random.nextInt(10) == 0 ? delay + 7 * span / 2 : delay;
    }

    private static void judge(Harness.Sample sample, Subject[] subjects) {
        int early = 0;
        int lost = 0;
        int repeated = 0;
        int revived = 0;
        int refused = 0;
        double earlyMs = 0;
        for (Subject s : subjects) {
            int times = s.times.get();
            if (s.early()) {
                early++;
                earlyMs = Math.max(earlyMs, (s.deadline - s.fired) / 1e6);
            }
            lost += times == 0 && !s.verdict ? 1 : 0;
            repeated += times > 1 ? 1 : 0;
            revived += times > 0 && s.verdict ? 1 : 0;
            refused += s.refused() ? 1 : 0;
        }
        sample.put("early", early);
        sample.put("early_ms", earlyMs);
        sample.put("lost", lost);
        sample.put("repeated", repeated);
        sample.put("revived", revived);
        sample.put("refused", refused);
    }
}
