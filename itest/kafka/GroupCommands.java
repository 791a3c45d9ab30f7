import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;

/**
 * Runs kafka-consumer-groups once for every line of standard input, all in one
 * process: a line is "## " and the options, what the tool printed, and "-> " and
 * the status it would have ended with.
 */
public class GroupCommands {
    static class Ended extends RuntimeException {
        final int status;

        Ended(int status) {
            this.status = status;
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((status, message) -> { throw new Ended(status); });
        System.setErr(System.out);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            System.out.println("## " + line);
            int status = 0;
            try {
                ConsumerGroupCommand.main(("--bootstrap-server " + args[0] + " " + line).split(" "));
            } catch (Ended e) {
                status = e.status;
            }
            System.out.println("-> " + status);
        }
        System.out.flush();
    }
}
