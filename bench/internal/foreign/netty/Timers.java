import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** Creates the timer under test, and schedules on it. */
final class Timers {
    static final long TICK = 1_000_000;
    static final TimerTask NOP = timeout -> { };

    private Timers() { }

    static Timer create() {
        if ("jdk".equals(System.getProperty("timer"))) {
            return new JdkTimer();
        }
        HashedWheelTimer timer = new HashedWheelTimer(TICK, TimeUnit.NANOSECONDS, 8192);
        timer.start();
        return timer;
    }

    static Timeout schedule(Timer timer, long nanos) {
        return timer.newTimeout(NOP, nanos, TimeUnit.NANOSECONDS);
    }

    /** Between 30 and 90 minutes. */
    static long far(SplittableRandom random) {
        return 1800_000_000_000L + (long) (random.nextDouble() * 3600e9);
    }

    /** Schedules n far timeouts, and waits until they are in the timer. */
    static Timeout[] fill(Timer timer, int n, boolean hold) throws InterruptedException {
        Timeout[] handles = hold ? new Timeout[n] : null;
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < n; i++) {
            Timeout t = schedule(timer, far(random));
            if (hold) {
                handles[i] = t;
            }
        }
        Thread.sleep(100 + n / 2000);
        return handles;
    }

    static Timeout reset(Timer timer, Timeout old, long nanos) {
        old.cancel();
        return schedule(timer, nanos);
    }
}
