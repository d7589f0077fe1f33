import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** ScheduledThreadPoolExecutor behind Netty's interface, with one thread. */
final class JdkTimer implements Timer {
    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });

    JdkTimer() {
        executor.setRemoveOnCancelPolicy(true); // otherwise a cancelled timeout stays until its deadline
    }

    @Override
    public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
        JdkTimeout timeout = new JdkTimeout(this, task);
        timeout.future = executor.schedule(timeout, delay, unit);
        return timeout;
    }

    @Override
    public Set<Timeout> stop() {
        executor.shutdownNow();
        return Set.of();
    }

    /** The task that an executor needs in any case, which is also the handle. */
    private static final class JdkTimeout implements Timeout, Runnable {
        private final Timer timer;
        private final TimerTask task;
        private ScheduledFuture<?> future;

        JdkTimeout(Timer timer, TimerTask task) {
            this.timer = timer;
            this.task = task;
        }

        @Override
        public void run() {
            try {
                task.run(this);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public Timer timer() {
            return timer;
        }

        @Override
        public TimerTask task() {
            return task;
        }

        @Override
        public boolean isExpired() {
            return future.isDone() && !future.isCancelled();
        }

        @Override
        public boolean isCancelled() {
            return future.isCancelled();
        }

        @Override
        public boolean cancel() {
            return future.cancel(false);
        }
    }
}
