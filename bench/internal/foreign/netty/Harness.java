import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Measures a timer of the JVM as the Go program measures the others: one measurement per process. */
public final class Harness {
    public static void main(String[] args) throws Exception {
        Map<String, Long> spec = new TreeMap<>();
        for (int i = 1; i < args.length; i++) {
            String[] pair = args[i].split("=");
            spec.put(pair[0], Long.parseLong(pair[1]));
        }
        Sample sample = new Sample();
        switch (args[0]) {
            case "schedule": Operations.schedule(spec, sample); break;
            case "cancel": Operations.cancel(spec, sample); break;
            case "reset-each": Operations.resetAll(spec, sample); break;
            case "heartbeats": Waiting.heartbeats(spec, sample); break;
            case "heap": Waiting.heap(spec, sample); break;
            case "expire": Expiry.expire(spec, sample); break;
            case "burst": Expiry.expire(spec, sample); break;
            case "full-speed": Loads.churn(spec, sample); break;
            case "sustained": Loads.sustained(spec, sample); break;
            case "trickle": Loads.trickle(spec, sample); break;
            default: sample.failure = "not measured";
        }
        System.out.println(sample.json());
        System.exit(0);
    }

    /** The result of one process. */
    static final class Sample {
        final Map<String, Double> metrics = new TreeMap<>();
        final StringBuilder late = new StringBuilder();
        String failure;

        void put(String name, double value) {
            metrics.put(name, value);
        }

        void late(double ms) {
            late.append(late.length() > 0 ? "," : "").append(String.format(Locale.ROOT, "%.6f", ms));
        }

        String json() {
            StringBuilder s = new StringBuilder("{\"metrics\":{");
            String comma = "";
            for (Map.Entry<String, Double> e : metrics.entrySet()) {
                s.append(comma).append(String.format(Locale.ROOT, "\"%s\":%.6f", e.getKey(), e.getValue()));
                comma = ",";
            }
            s.append("},\"late\":[").append(late).append("]");
            if (failure != null) {
                s.append(",\"failure\":\"").append(failure).append("\"");
            }
            return s.append("}").toString();
        }
    }
}
